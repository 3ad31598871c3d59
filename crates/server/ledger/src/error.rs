//! Errors, each in a line.

use std::error::Error;
use std::path::PathBuf;

/// Why a ledger, or what it depends on, can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct LedgerError {
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

/// Why a host can't be managed: its caches, or where its threads run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// This host is not able to; with the remedy, if there is one.
    #[error("{0}")]
    NotSupported(String),
    /// Another manager is in the way.
    #[error("{0}")]
    Busy(String),
    /// What was given can't be used: a state directory that others can write, or one that is for
    /// another mount.
    #[error("{0}")]
    Input(String),
    /// This user may not; with what is missing.
    #[error("{0}")]
    Permission(String),
    /// Anything else.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl From<LedgerError> for OpenError {
    fn from(error: LedgerError) -> Self {
        Self::Other(error.into())
    }
}
