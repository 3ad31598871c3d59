//! The state of a machine and its programs, and the decisions that led to it: events and actions
//! are added up ([`status`]), written to a [`journal`], requested from a daemon ([`client`]), and
//! printed as sentences ([`explain`]). Nothing here decides, or changes a machine.

pub mod client;
pub mod explain;
pub mod journal;
pub mod status;
