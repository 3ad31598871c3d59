//! What is counted from the start on: sums of windows, decisions, and readings that were missing.

use std::collections::BTreeMap;

use fairways_core::{Action, Counter, Event, Sample};

use super::{Counted, Status};

/// What is counted from the start on.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Of programs, by domain and number, as long as they run.
    programs: BTreeMap<(u32, u32), Counted>,
    /// Plans that hold, or did.
    pub planned: u64,
    /// Plans that the machine refused.
    pub refused: u64,
    /// Policies that failed.
    pub failed: u64,
    /// How often policies said where threads may run.
    pub allowed: u64,
    /// How often whether they run before others.
    pub raised: u64,
    /// How often for how long.
    pub ordered: u64,
    /// How many windows ended, of programs that are over too.
    pub windows: u64,
    /// How many of them lacked each counter.
    pub missing: [u64; Counter::ALL.len()],
    /// How many of them lacked the occupancy.
    pub missing_occupancy: u64,
}

impl Totals {
    /// What was counted of a program; `None` of one that has not started or is over.
    pub fn of(&self, domain: u32, app: u32) -> Option<&Counted> {
        self.programs.get(&(domain, app))
    }

    /// Takes in what happened in a domain, of which `status` knows already, unless that is a plan
    /// that was put in force.
    pub(super) fn event(&mut self, domain: u32, event: &Event, status: &Status) {
        match event {
            Event::Started { app, .. } => {
                self.programs.insert((domain, app.0), Counted::default());
            }
            Event::Exited { app } => drop(self.programs.remove(&(domain, app.0))),
            Event::Sampled(sample) => self.sampled(domain, sample),
            // It is told again where it becomes something else.
            Event::Applied { plan, .. } => {
                let is_new = status.in_force(domain).is_none_or(|of| of.plan != *plan);
                self.planned += u64::from(is_new);
            }
            Event::Refused { .. } => self.refused += 1,
            Event::Latency(of) => {
                let Some(counted) = self.programs.get_mut(&(domain, of.app.0)) else { return };
                *counted.requests.get_or_insert(0) += of.requests();
                match status.program_of(domain, of.app).and_then(|of| of.objective?.met) {
                    Some(true) => counted.met += 1,
                    Some(false) => counted.missed += 1,
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn sampled(&mut self, domain: u32, sample: &Sample) {
        let Some(counted) = self.programs.get_mut(&(domain, sample.app.0)) else { return };
        counted.sampled(sample);
        self.windows += 1;
        for (missing, counter) in self.missing.iter_mut().zip(Counter::ALL) {
            *missing += u64::from(sample.counters.get(counter).is_none());
        }
        self.missing_occupancy += u64::from(sample.occupancy.is_none());
    }

    /// Takes in what a policy does.
    pub(super) fn action(&mut self, action: &Action<'_>) {
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
        Event::Sampled(Sample { app, counters, occupancy, window, plan, straddled })
    }

    #[test]
    fn what_is_missing_adds_nothing_and_is_counted_as_missing() {
        let (mut totals, status) = (Totals::default(), Status::default());
        let app = AppId(2);
        let started = Event::Started { app, wish: Wish::default(), profile: None };
        totals.event(1, &started, &status);
        for event in [sample(Some(5), None), sample(None, None), sample(Some(0), None)] {
            totals.event(1, &event, &status);
        }
        let counted = totals.of(1, 2).unwrap();
        assert_eq!((counted.windows, counted.window_ns), (3, 300_000_000));
        assert_eq!(counted.counters, Counters { instructions: Some(5), ..Counters::default() });
        let missing = |counter: Counter| totals.missing[counter as usize];
        assert_eq!((missing(Counter::Instructions), missing(Counter::MemoryBytes)), (1, 3));
        assert_eq!(totals.missing_occupancy, 3);
        totals.event(1, &Event::Exited { app }, &status);
        assert_eq!(totals.of(1, 2), None);
        totals.event(1, &sample(Some(5), Some(7)), &status);
        let missing = totals.missing[Counter::Instructions as usize];
        assert_eq!((missing, totals.windows), (1, 3), "who is over has no windows");
    }
}
