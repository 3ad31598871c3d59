//! What is counted from the start on: sums of windows, decisions, and readings that were missing.

use std::collections::BTreeMap;

use fairways_core::{Action, Counters, Event, Sample};

use super::Status;

/// The counters that are summed up, by the kernel's words, as they stand in [`Counted::events`].
pub(crate) const EVENTS: [(&str, Read); 5] = [
    ("instructions", |of| of.instructions),
    ("cycles", |of| of.cycles),
    ("llc_references", |of| of.llc_references),
    ("llc_misses", |of| of.llc_misses),
    ("mbm_total_bytes", |of| of.memory_bytes),
];

type Read = fn(&Counters) -> Option<u64>;

/// What a window's occupancy is called.
pub(crate) const OCCUPANCY: &str = "llc_occupancy";

/// What is counted from the start on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Of programs, by domain and number, as long as they run.
    programs: BTreeMap<(u32, u32), Counted>,
    /// Plans that hold, plans that the machine refused, and policies that failed.
    pub(crate) planned: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    /// What policies said of threads: where they may run, whether before others, and for how long.
    pub(crate) allowed: u64,
    pub(crate) raised: u64,
    pub(crate) ordered: u64,
    /// How many windows ended, of programs that are over too, and how many of them lacked each of [`EVENTS`], and [`OCCUPANCY`].
    pub(crate) windows: u64,
    pub(crate) missing: [u64; EVENTS.len()],
    pub(crate) missing_occupancy: u64,
}

/// What was counted of a program in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Windows that ended, and how long they were together.
    pub(crate) windows: u64,
    pub(crate) window_ns: u64,
    /// Sums of [`EVENTS`] over the windows in which they were told; `None` if in none.
    pub(crate) events: [Option<u64>; EVENTS.len()],
    /// Requests answered, if any window told of them, and windows in which the objective was met and was not.
    pub(crate) requests: Option<u64>,
    pub(crate) met: u64,
    pub(crate) missed: u64,
}

impl Counted {
    /// Of a program that has just started.
    pub(crate) const NOTHING: Self = Self {
        windows: 0,
        window_ns: 0,
        events: [None; EVENTS.len()],
        requests: None,
        met: 0,
        missed: 0,
    };
}

impl Totals {
    /// What was counted of a program; `None` of one that has not started or is over.
    pub(crate) fn of(&self, domain: u32, app: u32) -> Option<&Counted> {
        self.programs.get(&(domain, app))
    }

    /// Takes in what happened in a domain, of which `status` knows already, unless that is a plan
    /// that was put in force.
    pub(super) fn event(&mut self, domain: u32, event: &Event, status: &Status) {
        match event {
            Event::Started { app, .. } => {
                self.programs.insert((domain, app.0), Counted::NOTHING);
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
        counted.windows += 1;
        self.windows += 1;
        let length = u64::try_from(sample.window.as_nanos()).unwrap_or(u64::MAX);
        counted.window_ns = counted.window_ns.saturating_add(length);
        let sums = counted.events.iter_mut().zip(&mut self.missing);
        for ((sum, missing), (_, read)) in sums.zip(EVENTS) {
            match read(&sample.counters) {
                Some(count) => *sum = Some(sum.unwrap_or(0).saturating_add(count)),
                None => *missing += 1,
            }
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

    use fairways_core::{AppId, Wish};

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
        assert_eq!(counted.events, [Some(5), None, None, None, None]);
        assert_eq!((totals.missing, totals.missing_occupancy), ([1, 3, 3, 3, 3], 3));
        totals.event(1, &Event::Exited { app }, &status);
        assert_eq!(totals.of(1, 2), None);
        totals.event(1, &sample(Some(5), Some(7)), &status);
        assert_eq!((totals.missing[0], totals.windows), (1, 3), "who is over has no windows");
    }
}
