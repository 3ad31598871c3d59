//! The flags of a run.

use std::io::Write;

use fairways_daemon::Options;
use fairways_daemon::config::Config;
use fairways_verbs::args::{DecideFlags, JournalFlags};

use super::daemon::{HostFlags, set};

/// Share the cache between the programs of this host
///
/// Examples:
///   fairways run --dry-run --program web=unit:nginx.service --program batch=process:make
///   fairways run --policy dcat --config fairways.toml
///   fairways run --config fairways.toml --journal run.journal --duration 10m
///
/// The policy decides which ways of the cache the programs may fill, and resctrl
/// enforces it. On SIGINT or SIGTERM, the daemon undoes all changes and exits. On
/// SIGHUP, it reads the configuration again.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DaemonRun {
    #[command(flatten)]
    managed: ManagedRun,

    #[command(flatten)]
    journal: JournalFlags,

    /// Print one JSON object at the end, instead of events (docs/daemon.md)
    #[arg(long, help_heading = None::<&'static str>)]
    json: bool,
}

/// What is managed, and by which policy: the flags that a trial has, too.
#[derive(Debug, clap::Args)]
pub(super) struct ManagedRun {
    #[command(flatten)]
    pub(super) host: HostFlags,

    #[command(flatten)]
    pub(super) decide: DecideFlags,
}

impl DaemonRun {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        fairways_daemon::run(&self.managed.options(Some(self.journal), self.json), out)
    }
}

impl ManagedRun {
    /// The daemon's options; it checks them together with the configuration.
    pub(super) fn options(self, journal: Option<JournalFlags>, json: bool) -> Options {
        Options {
            file: self.host.config.clone(),
            parameters: self.decide.set.clone(),
            duration: self.decide.duration,
            json,
            commit: env!("FAIRWAYS_HASH"),
            flags: Box::new(move |config| {
                self.host.lay_over(config);
                set(&mut config.policy, &self.decide.policy);
                if let Some(journal) = &journal {
                    lay_journal_over(journal, config);
                }
            }),
        }
    }
}

/// Overrides the configuration's journal by the flags that were given.
fn lay_journal_over(flags: &JournalFlags, config: &mut Config) {
    config.journal.file = flags.journal.clone().or(config.journal.file.take());
    set(&mut config.journal.size, &flags.journal_size);
    config.journal.parts = flags.journal_parts.or(config.journal.parts);
}
