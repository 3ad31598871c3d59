//! Checks for what the policy needs and this host lacks. Without it, the policy learns nothing, and
//! leaves every program as it is. This is logged at the start, and shown as long as it lasts.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{Counter, Event, Sample, Time};
use fairways_host::machine::Host;
use fairways_policy::Descriptor;
use fairways_policy::table::PolicyNeed;
use parking_lot::Mutex;
use tracing::warn;

use crate::config::{Config, CounterSource, all_needs, lacks};
use crate::observer::HostObserver;

/// After all windows have lacked a value for this long, the host counts as lacking it, although it
/// seems to count it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether resctrl counts it, not the processor.
const fn is_of_resctrl(need: PolicyNeed) -> bool {
    !matches!(need, PolicyNeed::Counter(counter) if !matches!(counter, Counter::MemoryBytes))
}

/// The policy's needs that this host lacks.
fn on_host(config: &Config, host: &Host) -> Vec<PolicyNeed> {
    let Some(actuator) = host.actuator() else { return Vec::new() };
    let uncounted = host.uncounted();
    let counts_nothing = matches!(config.counters.source, CounterSource::None);
    let has_lever = actuator.domains().iter().any(|domain| domain.bandwidth.is_some());
    all_needs()
        .filter(|&need| match need {
            PolicyNeed::Occupancy => !actuator.counts_occupancy(),
            PolicyNeed::Counter(Counter::MemoryBytes) => !actuator.counts_memory(),
            PolicyNeed::Bandwidth => !has_lever,
            PolicyNeed::Counter(counter) => {
                // A counter that nothing reads is not counted, but could be.
                let lost = uncounted.iter().any(|(of, why)| *of == counter && why.is_some());
                counts_nothing || lost
            }
        })
        .collect()
}

/// A need that recent windows lack.
#[derive(Clone, Copy, Debug)]
struct UnmetNeed {
    need: PolicyNeed,
    /// Since when; `None` while windows have it, and before the first window.
    since: Option<Time>,
}

/// What the policy lacks on this host.
pub(super) struct Lacking {
    policy: Option<&'static Descriptor>,
    missing: Vec<PolicyNeed>,
    /// The needs that seem to be met.
    watched: Vec<UnmetNeed>,
    /// When the last window ended.
    last: Option<Time>,
    line: Arc<Mutex<Option<String>>>,
}

impl Lacking {
    /// Compares the policy's needs with what the host has, and logs what it lacks. A policy that
    /// schedules threads lacks nothing, nor does any policy on a host that only counts programs.
    pub(super) fn new(config: &Config, host: &Host) -> Self {
        let decides = host.actuator().is_some() && !config.schedules();
        let policy = config.descriptor().filter(|_| decides);
        let mut lacking = Self::of(policy, on_host(config, host));
        // A dry run makes no monitoring groups, which is reported elsewhere.
        if config.dry_run {
            lacking.watched.retain(|unmet| !is_of_resctrl(unmet.need));
        }
        lacking
    }

    fn of(policy: Option<&'static Descriptor>, missing: Vec<PolicyNeed>) -> Self {
        let needs = policy.map_or(&[][..], |policy| policy.needs);
        let watched = needs.iter().filter(|need| !missing.contains(need));
        let watched = watched.filter(|&&need| need != PolicyNeed::Bandwidth);
        let watched = watched.map(|&need| UnmetNeed { need, since: None }).collect();
        let lacking = Self { policy, missing, watched, last: None, line: Arc::default() };
        lacking.say();
        lacking
    }

    /// The line about it, which may change while the daemon runs.
    pub(super) fn line(&self) -> Arc<Mutex<Option<String>>> {
        Arc::clone(&self.line)
    }

    /// Takes in an event: a window that lacks something, or has it after all.
    fn hear(&mut self, at: Time, event: &Event) {
        let Event::Sampled(sample) = event else { return };
        // Single windows, far apart, say nothing about the host.
        if self.last.replace(at).is_some_and(|last| at.since(last) > PATIENCE) {
            self.watched.iter_mut().for_each(|unmet| unmet.since = None);
        }
        let mut has_changed = false;
        for unmet in &mut self.watched {
            let was_missing = self.missing.contains(&unmet.need);
            if has(sample, unmet.need) {
                unmet.since = None;
                self.missing.retain(|need| *need != unmet.need);
                has_changed |= was_missing;
            } else if at.since(*unmet.since.get_or_insert(at)) >= PATIENCE && !was_missing {
                self.missing.push(unmet.need);
                has_changed = true;
            }
        }
        if has_changed {
            self.say();
        }
    }

    fn say(&self) {
        let line = self.policy.and_then(|policy| lacks(policy, &self.missing));
        if let Some(line) = &line {
            warn!("{line}");
        }
        *self.line.lock() = line;
    }
}

impl HostObserver for Lacking {
    fn event(&mut self, _: &Host, _: u32, at: Time, event: &Event) {
        self.hear(at, event);
    }
}

/// Whether a window has what a policy needs.
fn has(sample: &Sample, need: PolicyNeed) -> bool {
    match need {
        PolicyNeed::Counter(counter) => sample.counters.get(counter).is_some(),
        PolicyNeed::Occupancy => sample.occupancy.or(sample.occupancy_at_least).is_some(),
        PolicyNeed::Bandwidth => true,
    }
}

#[cfg(test)]
mod tests {
    use fairways_core::{AppId, Counters, Q32};
    use fairways_policy::descriptor;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn sampled(occupancy: Option<Q32>, counted: &[Counter]) -> Event {
        let counters = Counters::from_fn(|counter| counted.contains(&counter).then_some(1));
        let (app, window, plan) = (AppId(0), SECOND, None);
        Event::Sampled(Sample { occupancy, plan, ..Sample::new(app, counters, window) })
    }

    fn after(seconds: u32) -> Time {
        Time::ZERO.after(SECOND * seconds)
    }

    fn fairways() -> &'static Descriptor {
        descriptor("fairways").unwrap()
    }

    #[test]
    fn what_no_window_has_is_missing_until_one_has_it() {
        let all = Counter::ALL;
        let mut lacking = Lacking::of(Some(fairways()), Vec::new());
        let line = lacking.line();
        for second in 1..6 {
            lacking.hear(after(second), &sampled(None, &all));
            assert_eq!(*line.lock(), None, "{second}");
        }
        lacking.hear(after(6), &sampled(None, &all));
        assert!(line.lock().as_ref().unwrap().contains("(occupancy)"));
        lacking.hear(after(7), &sampled(None, &[Counter::Cycles]));
        lacking.hear(after(12), &sampled(None, &[Counter::Cycles]));
        let both = line.lock().clone().unwrap();
        assert!(both.contains("(instructions, llc_misses, occupancy)"), "{both}");
        assert!(both.contains("policy dunn works here"), "{both}");
        // For example, a window of another program.
        lacking.hear(after(13), &sampled(Some(Q32::ONE), &all));
        assert_eq!(*line.lock(), None);
        // One window without it among others that have it says nothing about the host.
        for second in 14..40 {
            lacking.hear(after(second), &sampled((second % 4 == 0).then_some(Q32::ONE), &all));
            assert_eq!(*line.lock(), None, "{second}");
        }
    }
}
