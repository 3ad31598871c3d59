//! Errors of this crate.

use std::io;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a program, or refused to let it schedule.
    #[error("{what}: {why}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The kernel's message.
        why: String,
    },
    /// This machine does not support it: [`supported`](crate::supported).
    #[error("{0}")]
    Unsupported(String),
    /// A thread's policy could not be read or set.
    #[error("thread {thread}: {source}")]
    Thread {
        /// The thread, by gettid(2).
        thread: i32,
        /// The error.
        source: io::Error,
    },
    /// A setting is out of its bounds.
    #[error("{0}")]
    Setting(String),
    /// The kernel ended the scheduler; threads run as they did before.
    #[error("the kernel ended the scheduler: {0}")]
    Ended(String),
}

impl Error {
    pub(crate) fn kernel(what: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Self {
        move |error| Self::Kernel { what, why: format!("{error:#}") }
    }
}
