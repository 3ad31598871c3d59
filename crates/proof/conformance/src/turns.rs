//! Checks of turns and co-runs.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_core::{Action, AppId, CoRun, Cpus, EndedTurn, ThreadId, Time};

use crate::promise::{self, Reported, require};

/// The actions requested of a machine that schedules, and its reports about turns.
#[derive(Default)]
pub(crate) struct TurnChecker {
    cpus: Option<Cpus>,
    /// The shortest co-run requested; a co-run that ended at the instant at which this changed may
    /// still fit the request before.
    shortest: Option<Duration>,
    before: (Time, Option<Duration>),
    threads: BTreeMap<ThreadId, ThreadTurns>,
}

#[derive(Default)]
struct ThreadTurns {
    /// The CPUs on which it may run, and since when.
    allowed: Option<(Time, Vec<u32>)>,
    /// The turns ordered for it.
    ordered: Vec<Duration>,
    /// When its last turn ended.
    ended: Time,
}

impl TurnChecker {
    pub(crate) fn set_cpus(&mut self, cpus: Cpus) {
        let is_possible = cpus.count > 0 && !cpus.quantum.is_zero();
        require(is_possible, promise::TURNS, format_args!("{cpus:?}"));
        self.cpus = Some(cpus);
    }

    /// The number of CPUs, if the machine schedules.
    pub(crate) fn cpus(&self) -> Option<u32> {
        Some(self.cpus?.count)
    }

    pub(crate) fn request(&mut self, at: Time, action: &Action<'_>) {
        let Some(cpus) = self.cpus else { return };
        match action {
            Action::WatchTogether { shortest } => {
                let least = if self.before.0 == at { self.before.1 } else { None };
                let requested = self.shortest.into_iter().chain(least).min();
                self.before = (at, requested);
                self.shortest = Some(*shortest);
            }
            Action::Allow { thread, cpus: requested, .. } => {
                let known = requested.iter().copied().filter(|&cpu| cpu < cpus.count);
                let known: Vec<u32> = known.collect();
                let allowed = if known.is_empty() { (0..cpus.count).collect() } else { known };
                self.threads.entry(*thread).or_default().allowed = Some((at, allowed));
            }
            Action::Quantum { thread, time, .. } => {
                self.threads.entry(*thread).or_default().ordered.push(*time);
            }
            _ => {}
        }
    }

    /// Checks a turn that ended.
    pub(crate) fn check_turn(&mut self, at: Time, turn: &EndedTurn, running: &[AppId]) {
        let report = Reported(turn, at);
        let Some(cpus) = self.cpus else { return require(false, promise::TURNS, report) };
        let is_real = turn.cpu < cpus.count && !turn.ran.is_zero();
        require(is_real && running.contains(&turn.thread.app), promise::TURNS, report);
        let thread = self.threads.entry(turn.thread).or_default();
        let nanos = u64::try_from(turn.ran.as_nanos()).unwrap_or(u64::MAX);
        let began = at.nanos().checked_sub(nanos).map(Time::from_nanos);
        require(
            began >= Some(thread.ended),
            promise::TURNS,
            format_args!("{report} overlaps another"),
        );
        thread.ended = at;
        let is_ordered = turn.ordered == cpus.quantum || thread.ordered.contains(&turn.ordered);
        require(is_ordered, promise::TURNS, format_args!("{report}: no such order"));
        if let Some((since, allowed)) = &thread.allowed {
            let may = began < Some(*since) || allowed.contains(&turn.cpu);
            require(
                may,
                promise::ALLOWED,
                format_args!("{report}, not {allowed:?} since {since:?}"),
            );
        }
    }

    /// Checks a co-run that ended.
    pub(crate) fn check_co_run(&self, at: Time, co_run: &CoRun, running: &[AppId]) {
        let report = Reported(co_run, at);
        let before = if self.before.0 == at { self.before.1 } else { None };
        let shortest = self.shortest.into_iter().chain(before).min();
        let (Some(cpus), Some(shortest)) = (self.cpus, shortest) else {
            return require(false, promise::CO_RUNS, report);
        };
        let threads = co_run.threads.iter().map(|counted| counted.thread);
        let count = co_run.threads.len();
        let fits = (1..=cpus.count as usize).contains(&count) && co_run.window >= shortest;
        let in_order = threads.clone().is_sorted_by(|a, b| a < b);
        let run = threads.clone().all(|thread| running.contains(&thread.app));
        require(fits && in_order && run, promise::CO_RUNS, report);
    }

    /// Forgets a program's threads.
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

    fn turns() -> TurnChecker {
        let mut turns = TurnChecker::default();
        turns.set_cpus(Cpus { count: 2, quantum: 2 * MS });
        turns
    }

    fn thread(app: u32) -> ThreadId {
        ThreadId::first_of(AppId(app))
    }

    fn at(ms: u32) -> Time {
        Time::ZERO.after(MS * ms)
    }

    /// The promise that these reports break; empty if they break none.
    fn broken(report: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(report)).err();
        panic.and_then(|panic| panic.downcast::<String>().ok()).map_or(String::new(), |text| *text)
    }

    /// The promise that a turn of the first program breaks.
    fn gave(turns: &mut TurnChecker, ms: u32, turn: EndedTurn) -> String {
        broken(|| turns.check_turn(at(ms), &turn, &[AppId(0)]))
    }

    /// The promise that a co-run breaks while three programs run.
    fn ran(turns: &TurnChecker, co_run: CoRun) -> String {
        broken(|| turns.check_co_run(at(9), &co_run, &[0, 1, 2].map(AppId)))
    }

    fn co_run(threads: &[u32], ms: u32) -> CoRun {
        let counters = Counters::default();
        let threads = threads.iter().map(|&app| ThreadCounters { thread: thread(app), counters });
        CoRun { threads: threads.collect(), group: counters, window: MS * ms }
    }

    #[test]
    fn turns_that_can_not_have_been_are_named() {
        let turn = EndedTurn { thread: thread(0), cpu: 1, ordered: 2 * MS, ran: 2 * MS };
        let mut good = turns();
        assert_eq!(gave(&mut good, 2, turn), "");
        assert_eq!(gave(&mut good, 4, turn), "");
        for (ms, wrong) in [
            (5, turn),
            (6, EndedTurn { cpu: 2, ..turn }),
            (6, EndedTurn { thread: thread(1), ..turn }),
            (6, EndedTurn { ran: Duration::ZERO, ..turn }),
            (6, EndedTurn { ordered: 3 * MS, ..turn }),
        ] {
            assert!(gave(&mut good, ms, wrong).contains(promise::TURNS), "{ms} {wrong:?}");
        }
        let mut silent = TurnChecker::default();
        assert!(gave(&mut silent, 6, turn).contains(promise::TURNS));
        let mut asked = turns();
        asked.request(
            at(0),
            &Action::Quantum { thread: thread(0), time: 3 * MS, reason: "a test".into() },
        );
        assert_eq!(gave(&mut asked, 6, EndedTurn { ordered: 3 * MS, ..turn }), "");
        asked.request(
            at(8),
            &Action::Allow {
                thread: thread(0),
                cpus: (&[0, 9][..]).into(),
                reason: "a test".into(),
            },
        );
        assert_eq!(gave(&mut asked, 9, turn), "");
        assert!(gave(&mut asked, 11, turn).contains(promise::ALLOWED));
        asked.request(
            at(8),
            &Action::Allow { thread: thread(0), cpus: (&[9][..]).into(), reason: "a test".into() },
        );
        assert_eq!(gave(&mut asked, 13, turn), "");
    }

    #[test]
    fn times_that_nobody_asked_for_are_named() {
        let mut turns = turns();
        assert!(ran(&turns, co_run(&[0, 1], 1)).contains(promise::CO_RUNS));
        turns.request(at(0), &Action::WatchTogether { shortest: MS });
        assert_eq!(ran(&turns, co_run(&[0, 1], 1)), "");
        for (threads, ms) in [(&[0, 1][..], 0), (&[], 1), (&[1, 0], 1), (&[0, 1, 2], 1), (&[3], 1)]
        {
            assert!(ran(&turns, co_run(threads, ms)).contains(promise::CO_RUNS), "{threads:?}");
        }
    }
}
