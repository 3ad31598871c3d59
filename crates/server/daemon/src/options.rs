//! The daemon's part of the command line.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use fairways_exec_policy::policies::Setting;

use crate::config::Config;

/// What the command line sets for a daemon.
pub struct Options {
    /// The configuration, instead of the host's.
    pub file: Option<PathBuf>,
    /// Lays the flags over the configuration: at the start, and whenever it is read again.
    pub flags: Box<dyn Fn(&mut Config)>,
    /// Parameters of the policy, instead of those of the configuration.
    pub parameters: Vec<Setting>,
    /// How long to run; `None`: until it is stopped.
    pub duration: Option<Duration>,
    /// Whether to print one JSON object on exit.
    pub json: bool,
    /// The commit that the program was built from, for metrics; empty if it is not known.
    pub commit: &'static str,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, parameters, duration, .. } = self;
        let mut options = f.debug_struct("Options");
        options.field("file", file).field("parameters", parameters).field("duration", duration);
        options.finish_non_exhaustive()
    }
}

/// The options of `fairways restore`.
#[derive(Clone, Debug, Default)]
pub struct Restore {
    /// The configuration, instead of the host's.
    pub config: Option<PathBuf>,
    /// Where resctrl is mounted.
    pub resctrl_root: Option<PathBuf>,
    /// The folder where the daemon kept the state needed for `restore`.
    pub state: Option<PathBuf>,
    /// Whether to print one JSON object instead of lines.
    pub json: bool,
    /// Whether to print nothing if there is nothing to restore.
    pub quiet: bool,
}
