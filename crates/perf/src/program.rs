//! The counters of one program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use fairways_core::{Counter, Counters};
use rustix::io::Errno;

use super::events::BY_PROCESSOR;
use super::part::{CountedPart, Layout};
use super::tally::Tally;
use super::trouble;

/// How a program's events are counted.
pub(super) enum CountedBy {
    /// Per thread.
    Threads,
    /// For its cgroup, per CPU.
    Cgroup(File),
}

/// Why a program is not counted at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blind {
    /// Too few descriptors are left, or the kernel fails for another reason that may pass; it is
    /// tried again.
    ForNow,
    /// The kernel refuses to count it.
    Refused,
}

impl Blind {
    /// Classifies an error from perf_event_open(2) or read(2).
    pub(super) fn from_error(error: &io::Error) -> Self {
        let never = [Errno::ACCESS, Errno::PERM, Errno::INVAL, Errno::NOENT];
        if never.into_iter().any(|errno| trouble::is(error, errno)) {
            Self::Refused
        } else {
            Self::ForNow
        }
    }
}

/// After running this long with an event on no counter, the event's group is assumed never to be
/// put on any. The kernel gives groups turns every few milliseconds (`perf_event_mux_interval_ms`).
const STARVED: u64 = 1_000_000_000;

/// The joint counts of some of its parts: those of a domain, or all where parts do not separate
/// CPUs.
#[derive(Default)]
struct Pool {
    tallies: [Tally; BY_PROCESSOR.len()],
    /// Nanoseconds that the counted threads ran, summed over the groups that count instructions.
    ran: u64,
    /// How often some of the program's work was not counted in it.
    gaps: u32,
    /// The number of gaps that each domain has been given.
    gaps_reported: BTreeMap<u32, u32>,
}

pub(super) struct CountedProgram {
    pub(super) name: String,
    pub(super) by: CountedBy,
    /// By thread, or by CPU.
    parts: BTreeMap<i32, CountedPart>,
    pools: BTreeMap<Option<u32>, Pool>,
    pub(super) blind: Option<Blind>,
}

impl CountedProgram {
    pub(super) fn new(name: String, by: CountedBy) -> Self {
        Self { name, by, parts: BTreeMap::new(), pools: BTreeMap::new(), blind: None }
    }

    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn has_part(&self, key: i32) -> bool {
        self.parts.contains_key(&key)
    }

    /// The parts whose threads or CPUs `within` selects.
    pub(super) fn parts_mut(
        &mut self,
        within: impl Fn(i32) -> bool,
    ) -> impl Iterator<Item = &mut CountedPart> {
        let picked = self.parts.iter_mut().filter(move |&(&key, _)| within(key));
        picked.map(|(_, part)| part)
    }

    /// Adds a part to the program's counts, and to `domain` if parts are per CPU.
    pub(super) fn join(&mut self, key: i32, part: CountedPart, domain: Option<u32>) {
        let gaps = u32::from(self.blind.is_some());
        self.pools.entry(domain).or_insert_with(|| Pool { gaps, ..Pool::default() });
        self.parts.insert(key, part);
    }

    /// Ends the parts that `gone` selects; their counts are kept. Returns how many ended.
    pub(super) fn end_parts(
        &mut self,
        layout: &Layout,
        domain: impl Fn(i32) -> Option<u32>,
        mut gone: impl FnMut(i32) -> bool,
    ) -> usize {
        let before = self.parts.len();
        let pools = &mut self.pools;
        self.parts.retain(|&key, part| {
            let ended = gone(key);
            if ended && collect(pools.entry(domain(key)).or_default(), part, layout).is_err() {
                pools.entry(domain(key)).or_default().gaps += 1;
            }
            !ended
        });
        before - self.parts.len()
    }

    /// Stops counting: as the program can't be counted as a whole, none of it is. Returns how many
    /// parts ended.
    pub(super) fn go_blind(
        &mut self,
        why: Blind,
        layout: &Layout,
        domain: impl Fn(i32) -> Option<u32>,
    ) -> usize {
        self.blind = Some(why);
        let ended = self.end_parts(layout, domain, |_| true);
        for pool in self.pools.values_mut() {
            pool.gaps += 1;
        }
        ended
    }

    /// Ends all parts, because their groups are about to change. Returns their keys.
    pub(super) fn regroup(
        &mut self,
        layout: &Layout,
        domain: impl Fn(i32) -> Option<u32>,
    ) -> Vec<i32> {
        let keys = self.parts.keys().copied().collect();
        self.end_parts(layout, domain, |_| true);
        for pool in self.pools.values_mut() {
            pool.gaps += 1;
            pool.tallies.iter_mut().for_each(Tally::drop_waiting);
        }
        keys
    }

    /// An event that has been on no counter for long, though there was something to count.
    pub(super) fn starved(&self) -> Option<Counter> {
        self.pools.values().find_map(|pool| {
            BY_PROCESSOR
                .iter()
                .zip(&pool.tallies)
                .find(|(_, tally)| tally.starved() >= STARVED)
                .map(|(field, _)| *field)
        })
    }

    /// The program's counts; where parts are per CPU, those in `domain`, whose CPUs' parts `within`
    /// selects.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        groups: &[u32; BY_PROCESSOR.len()],
        domain: u32,
        within: impl Fn(i32) -> bool,
    ) -> io::Result<Counters> {
        let mut counters = Counters::default();
        if self.blind.is_some() {
            return Ok(counters);
        }
        let pool = match self.by {
            CountedBy::Threads => self.pools.entry(None).or_default(),
            CountedBy::Cgroup(_) => match self.pools.get_mut(&Some(domain)) {
                Some(pool) => pool,
                None => return Ok(counters),
            },
        };
        let all = matches!(self.by, CountedBy::Threads);
        for (_, part) in self.parts.iter_mut().filter(|&(&key, _)| all || within(key)) {
            collect(pool, part, layout)?;
        }
        for ((field, tally), &groups) in BY_PROCESSOR.iter().zip(&mut pool.tallies).zip(groups) {
            if groups > 0 {
                *counters.get_mut(*field) = tally.take_total(groups);
            }
            if *field == Counter::Instructions {
                counters.cpu_nanos = pool.ran.checked_div(groups.into());
            }
        }
        // Each domain that reads the same count learns of a gap once.
        if pool.gaps_reported.insert(domain, pool.gaps).unwrap_or(0) != pool.gaps {
            return Ok(Counters::default());
        }
        Ok(counters)
    }

    /// The cgroup, if its events are counted.
    pub(super) fn cgroup(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        match &self.by {
            CountedBy::Cgroup(file) => Some(file.as_fd()),
            CountedBy::Threads => None,
        }
    }
}

fn collect(pool: &mut Pool, part: &mut CountedPart, layout: &Layout) -> io::Result<()> {
    part.read(layout, |field, span| {
        for (known, tally) in BY_PROCESSOR.iter().zip(&mut pool.tallies) {
            if *known == field {
                tally.add(span);
            }
        }
        if field == Counter::Instructions {
            pool.ran = pool.ran.saturating_add(span.enabled);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_domain_learns_of_a_gap_once() {
        let layout = Layout::new();
        let groups = [1; BY_PROCESSOR.len()];
        let mut program = CountedProgram::new("test".to_owned(), CountedBy::Threads);
        let is_known = |program: &mut CountedProgram, domain| {
            program.read(&layout, &groups, domain, |_| true).unwrap().instructions.is_some()
        };
        assert!(is_known(&mut program, 0) && is_known(&mut program, 1));
        program.go_blind(Blind::ForNow, &layout, |_| None);
        assert!(!is_known(&mut program, 0));
        program.blind = None;
        for domain in [0, 1] {
            assert!(!is_known(&mut program, domain), "{domain}");
            assert!(is_known(&mut program, domain), "{domain}");
        }
    }

    #[test]
    fn only_a_lasting_error_refuses_a_program_for_good() {
        for (errno, blind) in [
            (Errno::ACCESS, Blind::Refused),
            (Errno::INVAL, Blind::Refused),
            (Errno::MFILE, Blind::ForNow),
            (Errno::NOMEM, Blind::ForNow),
            (Errno::BUSY, Blind::ForNow),
        ] {
            assert_eq!(Blind::from_error(&errno.into()), blind, "{errno}");
        }
    }
}
