//! Counts from the start on: sums over windows, decisions, and missing readings.

use std::collections::BTreeMap;

use fairways_core::{Action, Counter, Event, Sample};

use super::{ProgramTotals, Status};

/// Counts from the start on.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// By domain and number: the totals of the programs that run.
    programs: BTreeMap<(u32, u32), ProgramTotals>,
    /// Plans that are or were in force.
    pub planned: u64,
    /// Plans that the machine refused.
    pub refused: u64,
    /// Policies that failed.
    pub failed: u64,
    /// How often policies set the CPUs on which a thread may run.
    pub allowed: u64,
    /// How often policies set whether threads run ahead of others.
    pub raised: u64,
    /// How often policies set the length of a turn.
    pub ordered: u64,
    /// Windows that ended, including those of programs that have ended.
    pub windows: u64,
    /// By counter: the windows that lacked it.
    pub missing: [u64; Counter::ALL.len()],
    /// Windows that lacked the occupancy.
    pub missing_occupancy: u64,
}

impl Totals {
    /// A program's totals; `None` before its start and after its end.
    pub fn program(&self, domain: u32, app: u32) -> Option<&ProgramTotals> {
        self.programs.get(&(domain, app))
    }

    /// Records an event in a domain. `status` has recorded it already, unless it is a plan that
    /// came into force.
    pub(super) fn record_event(&mut self, domain: u32, event: &Event, status: &Status) {
        match event {
            Event::Started { app, .. } => {
                self.programs.insert((domain, app.0), ProgramTotals::default());
            }
            Event::Exited { app } => drop(self.programs.remove(&(domain, app.0))),
            Event::Sampled(sample) => self.add_window(domain, sample),
            // A plan is answered again when its effective ways change.
            Event::Applied { plan, .. } => {
                let is_new = status.in_force(domain).is_none_or(|current| current.plan != *plan);
                self.planned += u64::from(is_new);
            }
            Event::Refused { .. } => self.refused += 1,
            Event::Latency(latencies) => {
                let Some(counted) = self.programs.get_mut(&(domain, latencies.app.0)) else {
                    return;
                };
                *counted.requests.get_or_insert(0) += latencies.requests();
                match status
                    .program_status(domain, latencies.app)
                    .and_then(|program| program.objective?.met)
                {
                    Some(true) => counted.met += 1,
                    Some(false) => counted.missed += 1,
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn add_window(&mut self, domain: u32, sample: &Sample) {
        let Some(counted) = self.programs.get_mut(&(domain, sample.app.0)) else { return };
        counted.add_window(sample);
        self.windows += 1;
        for (missing, counter) in self.missing.iter_mut().zip(Counter::ALL) {
            *missing += u64::from(sample.counters.get(counter).is_none());
        }
        self.missing_occupancy +=
            u64::from(sample.occupancy.or(sample.occupancy_at_least).is_none());
    }

    /// Records an action.
    pub(super) fn record_action(&mut self, action: &Action<'_>) {
        match action {
            Action::Allow { .. } => self.allowed += 1,
            Action::Priority { .. } => self.raised += 1,
            Action::Quantum { .. } => self.ordered += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{AppId, Counters, Wish};

    use super::*;

    fn sample(instructions: Option<u64>, memory_bytes: Option<u64>) -> Event {
        let counters = Counters { instructions, memory_bytes, ..Counters::default() };
        let (window, app) = (Duration::from_millis(100), AppId(2));
        let (occupancy, plan, straddled) = (None, None, false);
        let occupancy_at_least = None;
        Event::Sampled(Sample {
            app,
            counters,
            occupancy,
            occupancy_at_least,
            window,
            plan,
            straddled,
        })
    }

    /// Rates are over the windows that were counted: 30 bytes in the two of three of 100 ms.
    #[test]
    fn a_window_without_a_count_has_no_part_in_a_rate() {
        let mut counted = ProgramTotals::default();
        for bytes in [Some(10), None, Some(20)] {
            let Event::Sampled(sample) = sample(Some(1), bytes) else { panic!("a sample") };
            counted.add_window(&sample);
        }
        let rate = counted.memory_bytes_per_second().unwrap();
        assert!((rate - 150.0).abs() < 1e-9, "{rate}");
        assert_eq!(counted.llc_misses_per_second(), None);
    }

    #[test]
    fn what_is_missing_adds_nothing_and_is_counted_as_missing() {
        let (mut totals, status) = (Totals::default(), Status::default());
        let app = AppId(2);
        let started = Event::Started { app, wish: Wish::default(), profile: None };
        totals.record_event(1, &started, &status);
        for event in [sample(Some(5), None), sample(None, None), sample(Some(0), None)] {
            totals.record_event(1, &event, &status);
        }
        let counted = totals.program(1, 2).unwrap();
        assert_eq!((counted.windows, counted.window_ns), (3, 300_000_000));
        assert_eq!(counted.counters, Counters { instructions: Some(5), ..Counters::default() });
        let missing = |counter: Counter| totals.missing[counter as usize];
        assert_eq!((missing(Counter::Instructions), missing(Counter::MemoryBytes)), (1, 3));
        assert_eq!(totals.missing_occupancy, 3);
        totals.record_event(1, &Event::Exited { app }, &status);
        assert_eq!(totals.program(1, 2), None);
        totals.record_event(1, &sample(Some(5), Some(7)), &status);
        let missing = totals.missing[Counter::Instructions as usize];
        assert_eq!((missing, totals.windows), (1, 3), "a program that is over has no windows");
    }
}
