//! What commands print: comparisons of policies, the best plans, the claims of papers, and runs,
//! each as a table for people, as JSON for programs, and as a section of an HTML page ([`page`]).
//!
//! Nothing here computes results, or reads flags.

pub mod chip;
pub mod optimum;
pub mod page;
pub mod paper;
pub mod programs;
pub mod run;
mod services;
pub mod simulate;
mod tidy;

pub use tidy::ResultFormat;
