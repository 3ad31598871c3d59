//! Chooses the scheduler by which threads take turns, and says why.

#[cfg_attr(feature = "sched-ext", path = "sched_ext.rs")]
#[cfg_attr(not(feature = "sched-ext"), path = "without.rs")]
mod sched_ext;

use std::io;
use std::time::Duration;

use anyhow::Context;
use fairways_host::machine::{Successors, Turns};
use fairways_ledger::{OpenError, Restored};
use fairways_perf::events::ProcessorEvents;
use fairways_turns::{Affinity, Scheduler, Settings};
use tracing::warn;

use super::restore::refused;
use crate::config::{Config, CounterSource, SchedulerKind};

/// Opens the scheduler that a configuration asks for. The text says why it was chosen.
pub(super) fn open(config: &Config) -> anyhow::Result<(Turns, String)> {
    let (scheduler, successors, why) = choose(config).map_err(refused)?;
    let turns = Turns::new(scheduler, successors, settings(config).sysfs);
    Ok((turns.context("the turns of threads can't be watched")?, why))
}

/// The shortest turn by affinity and weight: the host looks this often, and the kernel accounts for
/// time by its tick, which is 4 ms at 250 Hz.
const SHORTEST: Duration = Duration::from_millis(10);

type Opened = (Box<dyn Scheduler>, Option<Box<dyn Successors>>, String);

fn choose(config: &Config) -> Result<Opened, OpenError> {
    let chosen = |why: &str| Ok((affinity(config)?, None, why.to_owned()));
    if config.dry_run || config.observe {
        return chosen("threads are only watched");
    }
    match config.scheduler.kind {
        SchedulerKind::Affinity => chosen("as configured"),
        kind => match sched_ext::open(&settings(config)) {
            Ok(scheduler) => {
                let after = Box::new(AfterSchedExt(config.clone()));
                Ok((scheduler, Some(after), "this kernel has sched_ext".to_owned()))
            }
            Err(OpenError::NotSupported(why)) if kind == SchedulerKind::Auto => {
                chosen(&format!("sched_ext can't be used: {why}"))
            }
            Err(why) => Err(why),
        },
    }
}

/// The kernel may end its scheduler at any time, which frees the state directory.
struct AfterSchedExt(Config);

impl Successors for AfterSchedExt {
    fn substitute(&mut self) -> io::Result<Box<dyn Scheduler>> {
        affinity(&self.0).map_err(io::Error::other)
    }

    fn may_return(&self) -> Result<(), String> {
        in_kernel()
    }

    fn first(&mut self) -> io::Result<Box<dyn Scheduler>> {
        sched_ext::open(&settings(&self.0)).map_err(io::Error::other)
    }
}

fn affinity(config: &Config) -> Result<Box<dyn Scheduler>, OpenError> {
    let requested = settings(config);
    let quantum = requested.quantum.max(SHORTEST);
    if quantum != requested.quantum {
        warn!(requested = ?requested.quantum, ?quantum, "turns by affinity and weight can't be shorter");
    }
    let (affinity, restored) = Affinity::open(Settings { quantum, ..requested })?;
    log_restored(&restored);
    Ok(Box::new(affinity))
}

/// Logs what was restored after a killed daemon.
fn log_restored(restored: &Restored) {
    for line in restored.to_string().lines() {
        warn!("from before: {line}");
    }
}

/// The settings of schedulers. CPUs count nothing where counters come from elsewhere, since two
/// sources would be mixed up.
pub(super) fn settings(config: &Config) -> Settings {
    let counts = matches!(config.counters.source, CounterSource::Perf);
    Settings {
        state: config.resctrl.state.clone(),
        quantum: config.scheduler.quantum,
        events: (!counts).then(ProcessorEvents::none),
        dry_run: config.dry_run,
        ..Settings::default()
    }
}

/// Whether threads can be scheduled in the kernel by this program on this host.
///
/// # Errors
/// Why not.
pub fn in_kernel() -> Result<(), String> {
    sched_ext::supported()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_count_only_where_nothing_else_does() {
        let mut config = Config::default();
        config.counters.source = CounterSource::Perf;
        assert_eq!(settings(&config).events, None);
        for source in [CounterSource::Invented(String::new()), CounterSource::None] {
            config.counters.source = source;
            assert!(settings(&config).events.is_some_and(|chosen| chosen.events.is_empty()));
        }
    }
}
