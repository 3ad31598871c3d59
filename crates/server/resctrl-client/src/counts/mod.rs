//! What resctrl counts for programs: the cache that they occupy, their traffic, their energy.

pub(crate) mod counted_events;
pub(crate) mod events;
pub(crate) mod packages;
pub(crate) mod traffic;
