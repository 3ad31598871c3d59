//! What exists on this host, what others have of it, and what is left: which ways and classes of
//! service can be given out.

pub mod bandwidth_domains;
pub(crate) mod claims;
pub(crate) mod domain;
pub(crate) mod findings;
pub(crate) mod foreign;
pub mod managers;
pub(crate) mod shown_caches;
pub(crate) mod survey;
pub(crate) mod ways;
