//! The state of a machine and its programs, and the decisions that led to it. Events and actions
//! are added up ([`status`]), written to a [`journal`], requested from a daemon ([`client`]), and
//! printed as sentences ([`explain`]) or as losses ([`blame`]). A [`replay`] sends a journal's
//! events to its policy again, and [`trial`] is what a machine needs from a trial of its policy.
//! Nothing in this crate decides, or changes a machine.

pub mod blame;
pub mod client;
pub mod explain;
pub mod journal;
pub mod replay;
pub mod status;
pub mod trial;
