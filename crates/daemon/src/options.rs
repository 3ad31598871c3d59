//! What is asked of the daemon on the command line.

use std::path::PathBuf;

use crate::config::{LogFormat, LogLevel, LogTarget, SchedulerKind};

/// What is asked of a daemon, beside what its configuration says, which it stands before; texts are
/// as they were typed, and checked when the configuration is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The configuration, instead of the host's.
    pub config: Option<PathBuf>,
    /// Programs, `NAME=SELECTOR`, instead of those of the configuration.
    pub programs: Vec<String>,
    /// Whether to decide only, and change nothing.
    pub dry_run: bool,
    /// Whether to watch only.
    pub observe: bool,
    /// Where resctrl is mounted.
    pub resctrl_root: Option<PathBuf>,
    /// Where it is kept what is to be put back.
    pub state: Option<PathBuf>,
    /// What counts.
    pub counters: Option<String>,
    /// Whose time it is.
    pub clock: Option<String>,
    /// By what threads take turns.
    pub scheduler: Option<SchedulerKind>,
    /// Whether tasks may be taken out of others' groups.
    pub take_over: bool,
    /// Whether others' monitoring groups come along.
    pub adopt_monitors: bool,
    /// To how many ways what is not managed is kept.
    pub confine_others: Option<String>,
    /// Whether ways that hardware fills too are given out.
    pub use_shareable: bool,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// Where Prometheus is answered.
    pub metrics: Option<String>,
    /// Where to log.
    pub log: Option<LogTarget>,
    /// How a line of the log looks.
    pub log_format: Option<LogFormat>,
    /// How much to log.
    pub log_level: Option<LogLevel>,
    /// The policy.
    pub policy: Option<String>,
    /// Parameters of it, `NAME=VALUE`.
    pub set: Vec<String>,
    /// How long to run.
    pub duration: Option<String>,
    /// The journal's file.
    pub journal: Option<PathBuf>,
    /// The size of its parts.
    pub journal_size: Option<String>,
    /// How many finished parts are kept.
    pub journal_parts: Option<String>,
    /// One JSON object in the end.
    pub json: bool,
    /// The commit that the program was built of, which metrics tell; empty where that is not known.
    pub commit: &'static str,
}

/// What is asked of `fairways restore`.
#[derive(Clone, Debug, Default)]
pub struct Restore {
    /// The configuration, instead of the host's.
    pub config: Option<PathBuf>,
    /// Where resctrl is mounted.
    pub resctrl_root: Option<PathBuf>,
    /// Where the daemon kept what is to be put back.
    pub state: Option<PathBuf>,
    /// One JSON object instead of lines.
    pub json: bool,
    /// Nothing is said where there is nothing to restore.
    pub quiet: bool,
}
