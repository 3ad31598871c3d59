//! By what threads take turns: which scheduler it is, and why.

#[cfg_attr(feature = "sched-ext", path = "sched_ext.rs")]
#[cfg_attr(not(feature = "sched-ext"), path = "without.rs")]
mod sched_ext;

use std::time::Duration;

use anyhow::Context;
use fairways_host::machine::{Instead, Turns};
use fairways_perf::events::ProcessorEvents;
use fairways_resctrl_client::{OpenError, Restored};
use fairways_turns::{Affinity, Scheduler, Settings};
use tracing::warn;

use super::restore::refused;
use crate::config::{Config, CounterSource, SchedulerKind};

/// Opens the scheduler that a configuration asks for. The second is why it is this one.
pub(super) fn open(config: &Config) -> anyhow::Result<(Turns, String)> {
    let (scheduler, instead, why) = choose(config).map_err(refused)?;
    let turns = Turns::new(scheduler, instead, settings(config).sysfs);
    Ok((turns.context("who runs when can't be told")?, why))
}

/// The shortest turn by affinity and weight: the host looks as often, and the kernel accounts time by its tick, 4 ms of it where
/// that is 250 Hz.
const SHORTEST: Duration = Duration::from_millis(10);

type Opened = (Box<dyn Scheduler>, Option<Instead>, String);

fn choose(config: &Config) -> Result<Opened, OpenError> {
    let chosen = |why: &str| Ok((affinity(config)?, None, why.to_owned()));
    if config.dry_run || config.observe {
        return chosen("threads are only watched");
    }
    match config.scheduler.kind {
        SchedulerKind::Affinity => chosen("as configured"),
        kind => match sched_ext::open(&settings(config)) {
            Ok(scheduler) => {
                // The one in the kernel may end at any time, and has given up the state directory then.
                let config = config.clone();
                let other = move || affinity(&config).map_err(std::io::Error::other);
                Ok((scheduler, Some(Box::new(other)), "this kernel has sched_ext".to_owned()))
            }
            Err(OpenError::NotSupported(why)) if kind == SchedulerKind::Auto => {
                chosen(&format!("sched_ext can't be used: {why}"))
            }
            Err(why) => Err(why),
        },
    }
}

fn affinity(config: &Config) -> Result<Box<dyn Scheduler>, OpenError> {
    let asked = settings(config);
    let quantum = asked.quantum.max(SHORTEST);
    if quantum != asked.quantum {
        warn!(asked = ?asked.quantum, ?quantum, "turns by affinity and weight are not told of more often");
    }
    let (affinity, restored) = Affinity::open(Settings { quantum, ..asked })?;
    say(&restored);
    Ok(Box::new(affinity))
}

/// What was found of a fairways that was killed, and put back.
fn say(restored: &Restored) {
    for line in restored.to_string().lines() {
        warn!("from before: {line}");
    }
}

/// How threads are scheduled. What CPUs count is of no use beside counters from elsewhere: two sources would be taken for one.
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
        for source in [CounterSource::Profiles(None), CounterSource::None] {
            config.counters.source = source;
            assert!(settings(&config).events.is_some_and(|chosen| chosen.events.is_empty()));
        }
    }
}
