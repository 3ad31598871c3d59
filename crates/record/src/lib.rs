//! How a machine and its programs are, and how they came to be so: what events and actions say,
//! added up ([`status`]), written down ([`journal`]), asked of a daemon ([`ask`]), and told in
//! sentences ([`explain`]). Nothing here decides, or changes a machine.

pub mod ask;
pub mod explain;
pub mod journal;
pub mod status;
