//! The state of a machine and its programs, and the decisions that led to it: events and actions
//! are added up ([`status`]), written to a [`journal`], requested from a daemon ([`client`]), and
//! printed as sentences ([`explain`]), or as what programs lose to each other ([`blame`]). A
//! [`replay`] gives a journal's events to its policy again, and [`trial`] is what a machine asks of
//! a trial of its policy. Nothing here decides, or changes a machine.

pub mod blame;
pub mod client;
pub mod explain;
pub mod journal;
pub mod replay;
pub mod status;
pub mod trial;
