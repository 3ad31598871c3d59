//! One CPU's switches: from what the kernel wrote to who ran.

use fairways_core::{Counter, Counters};

use super::Stay;
use super::records::Record;
use crate::sys::Group;

/// What was read at a moment, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug)]
struct Moment {
    at: u64,
    counted: Group,
}

/// Who is on a CPU, and since when.
#[derive(Debug)]
pub(super) struct Row {
    cpu: u32,
    /// What the group's events count, but the leader, which counts switches.
    fields: Vec<Counter>,
    /// The last moment of which all is known; `None` after something was lost.
    since: Option<Moment>,
    /// Who has run since then, if that is known.
    on: Option<i32>,
}

impl Row {
    pub(super) const fn new(cpu: u32, fields: Vec<Counter>) -> Self {
        Self { cpu, fields, since: None, on: None }
    }

    /// Takes the next record, and appends the stay that it ends.
    pub(super) fn take(&mut self, record: Record, stays: &mut Vec<Stay>) {
        match record {
            Record::Left { thread, at, counted } => {
                let on = self.on.take();
                // Each must be the one that came, where that is known.
                let who = match (on, thread) {
                    (Some(on), Some(thread)) if on != thread => None,
                    (on, thread) => thread.or(on),
                };
                let now = Moment { at, counted };
                if let (Some(who), Some(since)) = (who, &self.since) {
                    stays.extend(self.stay(who, since, &now, 1));
                }
                self.since = Some(now);
            }
            // One that has ended has no number when it comes for the last time.
            Record::Comes(thread) => self.on = Some(thread).filter(|&thread| thread >= 0),
            Record::Lost | Record::Malformed => self.forget(),
            Record::Other => {}
        }
    }

    pub(super) fn forget(&mut self) {
        (self.since, self.on) = (None, None);
    }

    /// Since when the one who is on the CPU is there, or was last looked at; `None` where that is not known.
    pub(super) fn since(&self) -> Option<u64> {
        self.since.as_ref().filter(|_| self.on.is_some()).map(|since| since.at)
    }

    /// Cuts the stay of the one who is there, if the counters were read, after `at`, before any other switch.
    pub(super) fn look(&mut self, at: u64, counted: Group, stays: &mut Vec<Stay>) {
        let (Some(on), Some(since)) = (self.on, &self.since) else { return };
        let now = Moment { at, counted };
        if let Some(stay) = self.stay(on, since, &now, 0).filter(|stay| stay.span.0 < at) {
            stays.push(Stay { goes_on: true, ..stay });
            self.since = Some(now);
        }
    }

    /// What was between two moments; `None` where it is not so many switches, the group was off the counters meanwhile, so that switches
    /// may be missing, or time went back, as the fast clock may where it is adjusted.
    fn stay(&self, thread: i32, since: &Moment, now: &Moment, switches: u64) -> Option<Stay> {
        let (before, after) = (&since.counted, &now.counted);
        let rose = |of: fn(&Group) -> u64| of(after).checked_sub(of(before));
        let first = |group: &Group| group.values.first().copied();
        let followed = first(before)?.checked_add(switches)? == first(after)?;
        let is_on = rose(|group| group.enabled)? == rose(|group| group.running)?;
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

    fn group(switches: u64, time: u64, cycles: u64) -> Group {
        Group { enabled: time, running: time, values: vec![switches, cycles] }
    }

    fn left(thread: i32, at: u64, switches: u64, cycles: u64) -> Record {
        let thread = Some(thread).filter(|&thread| thread >= 0);
        Record::Left { thread, at, counted: group(switches, at, cycles) }
    }

    fn told(records: Vec<Record>) -> Vec<(i32, (u64, u64), Option<u64>)> {
        let mut row = Row::new(3, vec![Counter::Cycles]);
        let mut stays = Vec::new();
        records.into_iter().for_each(|record| row.take(record, &mut stays));
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
        assert_eq!(told(records), expected);
    }

    #[test]
    fn nothing_is_told_of_what_is_not_known() {
        use Record::{Comes, Lost};
        let between = |records: Vec<Record>| {
            let all = [left(1, 10, 1, 0)].into_iter().chain(records).chain([
                left(2, 50, 9, 50),
                Comes(3),
                left(3, 60, 10, 55),
            ]);
            told(all.collect())
        };
        let last = (3, (50, 60), Some(5));
        assert_eq!(between(vec![Comes(2), Lost]), [last]);
        // One that had ended already when it came has no number at all.
        let ended = vec![left(1, 20, 8, 0), Comes(-1), left(-1, 30, 9, 0), Lost];
        assert_eq!(between(ended), [last]);
        // A switch is missing, though nothing says so.
        assert_eq!(between(vec![Comes(2)]), [last]);
        // Somebody else left than came.
        assert_eq!(between(vec![left(1, 20, 8, 0), Comes(4)]), [last]);
        // Time goes back.
        assert_eq!(between(vec![left(1, 55, 8, 0), Comes(2)]), [last]);
        // The group was off the counters.
        let counted = Group { enabled: 50, running: 49, values: vec![11, 60] };
        let off =
            vec![left(3, 40, 10, 0), Comes(1), Record::Left { thread: Some(1), at: 50, counted }];
        assert_eq!(told(off), []);
    }

    #[test]
    fn who_stays_is_cut_if_nobody_switched() {
        let mut row = Row::new(0, vec![Counter::Cycles]);
        let mut stays = Vec::new();
        row.take(left(1, 10, 1, 0), &mut stays);
        row.look(20, group(1, 20, 5), &mut stays);
        assert_eq!((row.since(), stays.len()), (None, 0), "it is not known who is there");
        row.take(Record::Comes(2), &mut stays);
        assert_eq!(row.since(), Some(10));
        row.look(20, group(2, 20, 5), &mut stays);
        assert_eq!(stays.len(), 0, "there was a switch since");
        row.look(30, group(1, 30, 6), &mut stays);
        row.take(left(2, 45, 2, 9), &mut stays);
        let told: Vec<_> =
            stays.iter().map(|s| (s.thread, s.span, s.counters.cycles, s.goes_on)).collect();
        assert_eq!(told, [(2, (10, 30), Some(6), true), (2, (30, 45), Some(3), false)]);
    }
}
