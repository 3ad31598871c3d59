//! What exists on this host, what others use of it, and what is left: the ways and classes of
//! service that can be assigned.

pub mod bandwidth_domains;
pub(crate) mod claims;
pub(crate) mod domain;
pub(crate) mod findings;
pub(crate) mod foreign;
pub mod managers;
pub(crate) mod shown_caches;
pub(crate) mod survey;
pub(crate) mod ways;
