//! What can't be simulated.

use thiserror::Error;

use crate::geometry::GeometryError;

/// Programs that can't run on a chip, or a chip that can't be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChipError {
    /// The chip.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// Every program has a CPU.
    #[error("expected at most {cpus} programs, one for each CPU, found {programs}")]
    TooManyPrograms {
        /// The CPUs.
        cpus: u32,
        /// The programs.
        programs: usize,
    },
    /// No more programs can take turns.
    #[error("expected at most {most} programs, found {programs}")]
    TooManyThreads {
        /// So many can.
        most: u32,
        /// The programs.
        programs: usize,
    },
    /// A load or requests that there can't be.
    #[error("a service: expected {0}")]
    Service(&'static str),
    /// A service has a CPU to itself.
    #[error("a service can't take turns with others: expected no quantum")]
    ServiceTurns,
    /// A real program has a CPU to itself.
    #[error("a live program can't take turns with others: expected no quantum")]
    LiveTurns,
    /// A span that is none.
    #[error("{0}: expected more than nothing")]
    Span(&'static str),
    /// A program could not go on, in a line.
    #[error("{0}")]
    Failed(String),
    /// A share of sets or of time.
    #[error("{what}: expected 1 to {most}, found {found}")]
    Share {
        /// Which.
        what: &'static str,
        /// At most.
        most: u32,
        /// What was asked for.
        found: u32,
    },
}
