//! Who ran when, and where.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{Action, AppId, CoRun, Cpus, EndedTurn, ThreadId, Time};

use crate::promise::{self, hold};

/// What a machine that schedules was asked for, and has told.
#[derive(Default)]
pub(crate) struct Turns {
    cpus: Option<Cpus>,
    /// Of times together, the shortest that was asked for; what ended at the instant at which that changed may
    /// still be as was asked before.
    shortest: Option<Duration>,
    before: (Time, Option<Duration>),
    threads: BTreeMap<ThreadId, Thread>,
}

#[derive(Default)]
struct Thread {
    /// Where it may run, and since when.
    allowed: Option<(Time, Vec<u32>)>,
    /// Turns that were ordered of it.
    ordered: Vec<Duration>,
    /// When its last turn ended.
    ended: Time,
}

impl Turns {
    pub(crate) fn machine(&mut self, cpus: Cpus) {
        let can_be = cpus.count > 0 && !cpus.quantum.is_zero();
        hold(can_be, promise::TURNS, format_args!("{cpus:?}"));
        self.cpus = Some(cpus);
    }

    /// How many CPUs there are, if the machine schedules.
    pub(crate) fn cpus(&self) -> Option<u32> {
        Some(self.cpus?.count)
    }

    pub(crate) fn ask(&mut self, at: Time, action: &Action<'_>) {
        let Some(cpus) = self.cpus else { return };
        match action {
            Action::WatchTogether { shortest } => {
                let least = if self.before.0 == at { self.before.1 } else { None };
                let asked = self.shortest.into_iter().chain(least).min();
                self.before = (at, asked);
                self.shortest = Some(*shortest);
            }
            Action::Allow { thread, cpus: asked, .. } => {
                let known = asked.iter().copied().filter(|&cpu| cpu < cpus.count);
                let known: Vec<u32> = known.collect();
                let all = || (0..cpus.count).collect();
                let allowed = if known.is_empty() { all() } else { known };
                self.threads.entry(*thread).or_default().allowed = Some((at, allowed));
            }
            Action::Quantum { thread, time, .. } => {
                self.threads.entry(*thread).or_default().ordered.push(*time);
            }
            _ => {}
        }
    }

    /// A turn ended.
    pub(crate) fn gave(&mut self, at: Time, slice: &EndedTurn, running: &[AppId]) {
        let told = format_args!("{slice:?} at {at:?}");
        let Some(cpus) = self.cpus else { return hold(false, promise::TURNS, told) };
        let is_real = slice.cpu < cpus.count && !slice.ran.is_zero();
        hold(is_real && running.contains(&slice.thread.app), promise::TURNS, told);
        let thread = self.threads.entry(slice.thread).or_default();
        let nanos = u64::try_from(slice.ran.as_nanos()).unwrap_or(u64::MAX);
        let began = at.nanos().checked_sub(nanos).map(Time::from_nanos);
        hold(began >= Some(thread.ended), promise::TURNS, format_args!("{told} overlaps another"));
        thread.ended = at;
        let is_asked = slice.ordered == cpus.quantum || thread.ordered.contains(&slice.ordered);
        hold(is_asked, promise::TURNS, format_args!("{told}: nobody ordered so"));
        if let Some((since, allowed)) = &thread.allowed {
            let may = began < Some(*since) || allowed.contains(&slice.cpu);
            hold(may, promise::ALLOWED, format_args!("{told}, not {allowed:?} since {since:?}"));
        }
    }

    /// A time together ended.
    pub(crate) fn ran(&self, at: Time, together: &CoRun, running: &[AppId]) {
        let told = format_args!("{together:?} at {at:?}");
        let before = if self.before.0 == at { self.before.1 } else { None };
        let shortest = self.shortest.into_iter().chain(before).min();
        let (Some(cpus), Some(shortest)) = (self.cpus, shortest) else {
            return hold(false, promise::TOGETHER, told);
        };
        let threads = || together.threads.iter().map(|ran| ran.thread);
        let count = together.threads.len();
        let fits = (1..=cpus.count as usize).contains(&count) && together.window >= shortest;
        let in_order = threads().is_sorted_by(|a, b| a < b);
        let run = threads().all(|thread| running.contains(&thread.app));
        hold(fits && in_order && run, promise::TOGETHER, told);
    }

    /// Its threads are gone.
    pub(crate) fn forget(&mut self, app: AppId) {
        self.threads.retain(|thread, _| thread.app != app);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use fairways_core::{Counters, ThreadCounters};

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn turns() -> Turns {
        let mut turns = Turns::default();
        turns.machine(Cpus { count: 2, quantum: 2 * MS });
        turns
    }

    fn thread(app: u32) -> ThreadId {
        ThreadId::first_of(AppId(app))
    }

    fn at(ms: u32) -> Time {
        Time::ZERO.after(MS * ms)
    }

    /// The promise that is broken by what is told; nothing if none is.
    fn broken(told: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(told)).err();
        panic.and_then(|panic| panic.downcast::<String>().ok()).map_or(String::new(), |text| *text)
    }

    #[test]
    fn turns_that_can_not_have_been_are_named() {
        let slice = EndedTurn { thread: thread(0), cpu: 1, ordered: 2 * MS, ran: 2 * MS };
        let running = [AppId(0)];
        let gave = |turns: &mut Turns, ms, slice: EndedTurn| {
            broken(|| turns.gave(at(ms), &slice, &running))
        };
        let mut good = turns();
        assert_eq!(gave(&mut good, 2, slice), "");
        assert_eq!(gave(&mut good, 4, slice), "");
        for (ms, wrong) in [
            (5, slice),
            (6, EndedTurn { cpu: 2, ..slice }),
            (6, EndedTurn { thread: thread(1), ..slice }),
            (6, EndedTurn { ran: Duration::ZERO, ..slice }),
            (6, EndedTurn { ordered: 3 * MS, ..slice }),
        ] {
            assert!(gave(&mut good, ms, wrong).contains(promise::TURNS), "{ms} {wrong:?}");
        }
        let mut silent = Turns::default();
        assert!(gave(&mut silent, 6, slice).contains(promise::TURNS));
        let mut asked = turns();
        asked.ask(
            at(0),
            &Action::Quantum { thread: thread(0), time: 3 * MS, reason: "a test".into() },
        );
        assert_eq!(gave(&mut asked, 6, EndedTurn { ordered: 3 * MS, ..slice }), "");
        asked.ask(
            at(8),
            &Action::Allow {
                thread: thread(0),
                cpus: (&[0, 9][..]).into(),
                reason: "a test".into(),
            },
        );
        assert_eq!(gave(&mut asked, 9, slice), "");
        assert!(gave(&mut asked, 11, slice).contains(promise::ALLOWED));
        asked.ask(
            at(8),
            &Action::Allow { thread: thread(0), cpus: (&[9][..]).into(), reason: "a test".into() },
        );
        assert_eq!(gave(&mut asked, 13, slice), "");
    }

    #[test]
    fn times_that_nobody_asked_for_are_named() {
        let counters = Counters::default();
        let together = |threads: &[u32], ms| CoRun {
            threads: threads
                .iter()
                .map(|&app| ThreadCounters { thread: thread(app), counters })
                .collect(),
            group: counters,
            window: MS * ms,
        };
        let running = [AppId(0), AppId(1), AppId(2)];
        let mut turns = turns();
        let ran = |turns: &Turns, together: CoRun| broken(|| turns.ran(at(9), &together, &running));
        assert!(ran(&turns, together(&[0, 1], 1)).contains(promise::TOGETHER));
        turns.ask(at(0), &Action::WatchTogether { shortest: MS });
        assert_eq!(ran(&turns, together(&[0, 1], 1)), "");
        for (threads, ms) in [(&[0, 1][..], 0), (&[], 1), (&[1, 0], 1), (&[0, 1, 2], 1), (&[3], 1)]
        {
            assert!(ran(&turns, together(threads, ms)).contains(promise::TOGETHER), "{threads:?}");
        }
    }
}
