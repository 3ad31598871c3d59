use std::io;
use std::path::{Path, PathBuf};

/// Why the lab failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read, written or made.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Programs are missing, and they could not be installed.
    #[error("{missing} is missing; install the Debian packages {packages}")]
    Tools {
        /// The first program that is missing.
        missing: String,
        /// The packages that have all of them.
        packages: String,
    },
    /// The lab is not prepared.
    #[error("no kernel in {}; prepare it with `cargo run -p fairways-kernel-lab -- prepare`", .0.display())]
    Unprepared(PathBuf),
    /// A program failed.
    #[error("{program}: {what}")]
    Program {
        /// Its name.
        program: String,
        /// Its last words, or how it ended.
        what: String,
    },
    /// No Debian archive among the machine's package sources.
    #[error("the package sources of this machine name no Debian archive")]
    Archive,
    /// The archive has no such kernel.
    #[error("no kernel for clouds (cloud-amd64) in {0}")]
    NoKernel(String),
    /// The kernel is not built as the lab expects.
    #[error("{}: {what}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// The guest took longer than it may.
    #[error("the guest did not end in {seconds} s; its last line: {last}")]
    Timeout {
        /// Its limit in seconds.
        seconds: u64,
        /// Whether the job had begun.
        up: bool,
        /// The last line on its console.
        last: String,
    },
    /// The guest ended before its job did.
    #[error("the guest ended before its job did; its last line: {last}")]
    Died {
        /// Whether the job had begun.
        up: bool,
        /// The last line on its console.
        last: String,
    },
}

impl Error {
    pub(crate) fn file(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::File { path, source }
    }

    pub(crate) fn program(program: &str, what: impl ToString) -> Self {
        Self::Program { program: program.into(), what: what.to_string() }
    }
}
