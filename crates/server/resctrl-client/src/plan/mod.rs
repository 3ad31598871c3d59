//! From policies' plans to classes of service: their masks, and their limits.

pub(crate) mod limits;
pub(crate) mod outcome;
pub(crate) mod refine;
