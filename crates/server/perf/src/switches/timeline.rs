//! One CPU's switches: from the kernel's records to stays of threads.

use fairways_core::{Counter, Counters};

use super::Stay;
use super::records::Record;
use crate::sys::GroupReading;

/// A reading, and its time in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug)]
struct Moment {
    at: u64,
    counted: GroupReading,
}

/// Which thread is on a CPU, and since when.
#[derive(Debug)]
pub(super) struct Timeline {
    cpu: u32,
    /// The counters of the group's events, without the leader, which counts switches.
    fields: Vec<Counter>,
    /// The last moment at which everything was known; `None` after something was lost.
    since: Option<Moment>,
    /// The thread that has run since then, if that is known.
    on: Option<i32>,
}

impl Timeline {
    pub(super) const fn new(cpu: u32, fields: Vec<Counter>) -> Self {
        Self { cpu, fields, since: None, on: None }
    }

    /// Takes the next record, and appends the stay that it ends.
    pub(super) fn take(&mut self, record: Record, stays: &mut Vec<Stay>) {
        match record {
            Record::Left { thread, at, counted } => {
                let on = self.on.take();
                // Both must name the same thread, where both are known.
                let thread = match (on, thread) {
                    (Some(on), Some(thread)) if on != thread => None,
                    (on, thread) => thread.or(on),
                };
                let now = Moment { at, counted };
                if let (Some(who), Some(since)) = (thread, &self.since) {
                    stays.extend(self.stay(who, since, &now, 1));
                }
                self.since = Some(now);
            }
            // A thread that has ended has no number when it comes for the last time.
            Record::Comes(thread) => self.on = Some(thread).filter(|&thread| thread >= 0),
            Record::Lost | Record::Malformed => self.forget(),
            Record::Other => {}
        }
    }

    pub(super) fn forget(&mut self) {
        (self.since, self.on) = (None, None);
    }

    /// When the thread on the CPU came, or was last looked at; `None` where that is not known.
    pub(super) fn since(&self) -> Option<u64> {
        self.since.as_ref().filter(|_| self.on.is_some()).map(|since| since.at)
    }

    /// Cuts the stay of the thread on the CPU, if the counters were read, after `at`, before any
    /// other switch.
    pub(super) fn look(&mut self, at: u64, counted: GroupReading, stays: &mut Vec<Stay>) {
        let (Some(on), Some(since)) = (self.on, &self.since) else { return };
        let now = Moment { at, counted };
        if let Some(stay) = self.stay(on, since, &now, 0).filter(|stay| stay.span.0 < at) {
            stays.push(Stay { goes_on: true, ..stay });
            self.since = Some(now);
        }
    }

    /// The stay between two moments; `None` if the number of switches differs, the group was off
    /// the counters meanwhile, so that switches may be missing, or time went back, as the fast
    /// clock may where it is adjusted.
    fn stay(&self, thread: i32, since: &Moment, now: &Moment, switches: u64) -> Option<Stay> {
        let (before, after) = (&since.counted, &now.counted);
        let followed = before.values.first()?.checked_add(switches)? == *after.values.first()?;
        let enabled = after.enabled.checked_sub(before.enabled)?;
        let is_on = after.running.checked_sub(before.running)? == enabled;
        if !followed || !is_on || now.at < since.at {
            return None;
        }
        let mut counters = Counters::default();
        let values = before.values.iter().zip(&after.values).skip(1);
        for (&field, (before, after)) in self.fields.iter().zip(values) {
            *counters.get_mut(field) = after.checked_sub(*before);
        }
        Some(Stay { cpu: self.cpu, thread, span: (since.at, now.at), counters, goes_on: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(switches: u64, time: u64, cycles: u64) -> GroupReading {
        GroupReading { enabled: time, running: time, values: vec![switches, cycles] }
    }

    fn left(thread: i32, at: u64, switches: u64, cycles: u64) -> Record {
        let thread = Some(thread).filter(|&thread| thread >= 0);
        Record::Left { thread, at, counted: group(switches, at, cycles) }
    }

    fn stays_of(records: Vec<Record>) -> Vec<(i32, (u64, u64), Option<u64>)> {
        let mut timeline = Timeline::new(3, vec![Counter::Cycles]);
        let mut stays = Vec::new();
        records.into_iter().for_each(|record| timeline.take(record, &mut stays));
        assert!(stays.iter().all(|stay| stay.cpu == 3 && !stay.goes_on));
        stays.iter().map(|stay| (stay.thread, stay.span, stay.counters.cycles)).collect()
    }

    #[test]
    fn what_lies_between_two_switches_is_a_stay() {
        use Record::Comes;
        let records = vec![
            left(7, 100, 1, 1000),
            Comes(0),
            left(0, 150, 2, 1010),
            Comes(8),
            Record::Other,
            // It has ended, and is known as the one that came.
            left(-1, 190, 3, 1500),
            Comes(9),
            left(9, 200, 4, 1600),
        ];
        let expected =
            [(0, (100, 150), Some(10)), (8, (150, 190), Some(490)), (9, (190, 200), Some(100))];
        assert_eq!(stays_of(records), expected);
    }

    #[test]
    fn nothing_is_reported_of_what_is_not_known() {
        use Record::{Comes, Lost};
        fn between(records: Vec<Record>) -> Vec<(i32, (u64, u64), Option<u64>)> {
            let all = [left(1, 10, 1, 0)].into_iter().chain(records).chain([
                left(2, 50, 9, 50),
                Comes(3),
                left(3, 60, 10, 55),
            ]);
            stays_of(all.collect())
        }
        let last = (3, (50, 60), Some(5));
        assert_eq!(between(vec![Comes(2), Lost]), [last]);
        // A thread that had already ended when it came has no number at all.
        let ended = vec![left(1, 20, 8, 0), Comes(-1), left(-1, 30, 9, 0), Lost];
        assert_eq!(between(ended), [last]);
        // A switch is missing, without a record of the loss.
        assert_eq!(between(vec![Comes(2)]), [last]);
        // Another thread left than came.
        assert_eq!(between(vec![left(1, 20, 8, 0), Comes(4)]), [last]);
        // Time goes back.
        assert_eq!(between(vec![left(1, 55, 8, 0), Comes(2)]), [last]);
        // The group was off the counters.
        let counted = GroupReading { enabled: 50, running: 49, values: vec![11, 60] };
        let off =
            vec![left(3, 40, 10, 0), Comes(1), Record::Left { thread: Some(1), at: 50, counted }];
        assert_eq!(stays_of(off), []);
    }

    #[test]
    fn the_stay_of_a_thread_is_cut_if_no_other_came() {
        let mut timeline = Timeline::new(0, vec![Counter::Cycles]);
        let mut stays = Vec::new();
        timeline.take(left(1, 10, 1, 0), &mut stays);
        timeline.look(20, group(1, 20, 5), &mut stays);
        assert_eq!((timeline.since(), stays.len()), (None, 0), "it is not known which thread runs");
        timeline.take(Record::Comes(2), &mut stays);
        assert_eq!(timeline.since(), Some(10));
        timeline.look(20, group(2, 20, 5), &mut stays);
        assert_eq!(stays.len(), 0, "there was a switch since");
        timeline.look(30, group(1, 30, 6), &mut stays);
        timeline.take(left(2, 45, 2, 9), &mut stays);
        let parts: Vec<_> =
            stays.iter().map(|s| (s.thread, s.span, s.counters.cycles, s.goes_on)).collect();
        assert_eq!(parts, [(2, (10, 30), Some(6), true), (2, (30, 45), Some(3), false)]);
    }
}
