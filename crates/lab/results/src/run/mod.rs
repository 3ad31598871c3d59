//! Programs of a simulated machine under a policy: what happens, and how they fared in the end.

mod report;
mod summary;

pub use report::Report;
pub use summary::{RunOfProgram, Summary};
