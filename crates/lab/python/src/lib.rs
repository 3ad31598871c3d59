//! The native part of the Python package `fairways` (docs/python.md).
//!
//! Each module has one part of the API, and hands it on to the crates that the commands use. While
//! they work, Python's lock is free and its signals are heard (`watched`); a policy of the user's
//! takes the lock for each event (`policy`). Tables leave through Arrow's C stream (`table`).

mod error;
mod journal;
mod machine;
mod mix;
mod optimum;
mod policy;
mod profiles;
mod results;
mod score;
mod simulate;
mod stream;
mod table;
mod watched;

/// The native module.
#[pyo3::pymodule]
mod _fairways {
    #[pymodule_export]
    use super::error::FairwaysError;
    #[pymodule_export]
    use super::journal::journal;
    #[pymodule_export]
    use super::machine::PyMachine;
    #[pymodule_export]
    use super::mix::{PyMix, draw_mixes, random_mixes};
    #[pymodule_export]
    use super::optimum::optimum;
    #[pymodule_export]
    use super::policy::policies;
    #[pymodule_export]
    use super::profiles::{Profiles, profiles};
    #[pymodule_export]
    use super::results::paper_results;
    #[pymodule_export]
    use super::score::score;
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::stream::{PyStream, read_stream};
    #[pymodule_export]
    use super::table::PyTable;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
