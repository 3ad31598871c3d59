//! From the configuration and the flags over it to a daemon that can be started.

use std::time::Duration;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::repeated;
use fairways_exec_policy::policies;

use super::Options;
use super::rules::{self, Rules};
use crate::config::{self, ClockSource, Config, CounterSource};

/// A daemon that can be started.
pub(super) struct Checked {
    pub(super) config: Config,
    pub(super) rules: Rules,
    /// How long to run; `None`: until a signal stops it.
    pub(super) duration: Option<Duration>,
    /// Whether it listens at the control socket.
    pub(super) is_asked: bool,
    /// The commit that it was built from, for metrics.
    pub(super) commit: &'static str,
}

impl Checked {
    /// Reads the configuration, lays the flags over it, and checks all.
    pub(super) fn new(options: &Options) -> Result<Self, BadInput> {
        let checked = Self::reloaded(options)?;
        if checked.config.manages_none() {
            let expected = "expected a program to manage: --program NAME=SELECTOR, or [[program]] in \
                            /etc/fairways/fairways.toml (docs/config.md); on a simulated machine: fairways-lab run";
            return Err(BadInput(expected.to_owned()));
        }
        Ok(checked)
    }

    /// The same while the daemon runs, when there may be no program.
    pub(super) fn reloaded(options: &Options) -> Result<Self, BadInput> {
        let mut config = config::read(options.file.as_deref())?;
        (options.flags)(&mut config);
        rules::describe(&config.policy)?;
        check(&config)?;
        let mut parameters = config.given();
        parameters.extend(policies::parameters(&options.parameters)?);
        let rules = Rules::new(&config.policy, parameters)?;
        let Options { duration, commit, .. } = *options;
        Ok(Self { config, rules, duration, is_asked: true, commit })
    }

    /// The mode that `status` shows: `manage`, `observe`, `dry-run` or `counters-only`.
    pub(super) fn mode(&self) -> &'static str {
        match &self.config {
            config if config.counters_only => "counters-only",
            config if config.dry_run => "dry-run",
            config if config.observe => "observe",
            _ => "manage",
        }
    }
}

/// Checks what flags may contradict in a configuration that is correct without them.
fn check(config: &Config) -> Result<(), BadInput> {
    if let Some(why) = config.log.contradiction() {
        return Err(BadInput(why.to_owned()));
    }
    if let Some(name) = repeated(config.program.iter().map(|program| program.name.as_str())) {
        return Err(BadInput(format!(
            "--program: expected programs of different names, found two {name:?}"
        )));
    }
    if let Some(why) = config.contradiction_to_counters_only() {
        return Err(BadInput(why));
    }
    if config.schedules() && needs_emulator(config) {
        return Err(BadInput(format!(
            "policy {}: expected the real clock, and counters of perf or none: an emulator's programs take no turns",
            config.policy
        )));
    }
    config.missing_need().map_or(Ok(()), |why| Err(BadInput(why)))
}

/// Whether the configuration uses an emulator's clock or counters.
fn needs_emulator(config: &Config) -> bool {
    matches!(config.clock.source, ClockSource::Emulator(_))
        || matches!(config.counters.source, CounterSource::Emulator(_))
}
