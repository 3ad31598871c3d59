//! Errors: chips and programs that can't be simulated.

use thiserror::Error;

use crate::geometry::GeometryError;

/// Programs that can't run on a chip, or a chip that can't be simulated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ChipError {
    /// The chip can't be simulated.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// More programs than CPUs.
    #[error("expected at most {cpus} programs, one for each CPU, found {programs}")]
    TooManyPrograms {
        /// The CPUs.
        cpus: u32,
        /// The programs.
        programs: usize,
    },
    /// More programs than can take turns.
    #[error("expected at most {most} programs, found {programs}")]
    TooManyThreads {
        /// The most programs.
        most: u32,
        /// The programs.
        programs: usize,
    },
    /// An impossible load or impossible requests.
    #[error("a service: expected {0}")]
    Service(&'static str),
    /// A service among programs that take turns: it needs a CPU to itself.
    #[error("a service can't take turns with others: expected no quantum")]
    ServiceTurns,
    /// A stream that left other private caches than the chip's.
    #[error("stream of {program}: expected private caches of {recorded}, found {found}")]
    Stream {
        /// The program that was recorded.
        program: String,
        /// The private caches then.
        recorded: String,
        /// The chip's.
        found: String,
    },
    /// A span of 0.
    #[error("{0}: expected more than 0")]
    Span(&'static str),
    /// A program failed; the error in one line.
    #[error("{0}")]
    Failed(String),
    /// A share of sets or of time that is out of range.
    #[error("{what}: expected 1 to {most}, found {found}")]
    Share {
        /// The name of the share.
        what: &'static str,
        /// The largest allowed value.
        most: u32,
        /// The requested value.
        found: u32,
    },
}
