//! The counters of one program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use fairways_core::{Counter, Counters};
use rustix::io::Errno;

use super::events::BY_PROCESSOR;
use super::part::{Layout, Part};
use super::tally::Tally;
use super::trouble;

/// Whose events are the program's.
pub(super) enum By {
    /// Each thread's.
    Threads,
    /// Its cgroup's on each CPU.
    Cgroup(File),
}

/// Why a program is not counted at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blind {
    /// There are not descriptors enough, or the kernel fails for another reason that may pass; it is tried again.
    ForNow,
    /// The kernel does not let it be counted.
    Refused,
}

impl Blind {
    /// By the error of perf_event_open(2), or of read(2).
    pub(super) fn of(error: &io::Error) -> Self {
        let never = [Errno::ACCESS, Errno::PERM, Errno::INVAL, Errno::NOENT];
        if never.into_iter().any(|errno| trouble::is(error, errno)) {
            Self::Refused
        } else {
            Self::ForNow
        }
    }
}

/// How long a program runs, with an event on no counter, until the event's group is taken never to be put on any. The kernel gives
/// groups turns every few milliseconds (`perf_event_mux_interval_ms`).
const STARVED: u64 = 1_000_000_000;

/// What some of its parts counted together: those of a domain, or all where parts do not tell CPUs apart.
#[derive(Default)]
struct Pool {
    tallies: [Tally; BY_PROCESSOR.len()],
    /// Nanoseconds for which the counted threads ran, summed over the groups that count instructions.
    ran: u64,
    /// How often some of what the program did was not counted in it.
    gaps: u32,
    /// How often each domain was told so.
    told: BTreeMap<u32, u32>,
}

pub(super) struct Program {
    pub(super) name: String,
    pub(super) by: By,
    /// By thread, or by CPU.
    parts: BTreeMap<i32, Part>,
    pools: BTreeMap<Option<u32>, Pool>,
    pub(super) blind: Option<Blind>,
}

impl Program {
    pub(super) fn new(name: String, by: By) -> Self {
        Self { name, by, parts: BTreeMap::new(), pools: BTreeMap::new(), blind: None }
    }

    pub(super) fn parts(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn holds(&self, key: i32) -> bool {
        self.parts.contains_key(&key)
    }

    /// The parts whose threads or CPUs `within` picks.
    pub(super) fn parts_mut(
        &mut self,
        within: impl Fn(i32) -> bool,
    ) -> impl Iterator<Item = &mut Part> {
        let picked = self.parts.iter_mut().filter(move |&(&key, _)| within(key));
        picked.map(|(_, part)| part)
    }

    /// A part counts for the program, and for `domain` if it tells CPUs apart.
    pub(super) fn join(&mut self, key: i32, part: Part, domain: Option<u32>) {
        let gaps = u32::from(self.blind.is_some());
        self.pools.entry(domain).or_insert_with(|| Pool { gaps, ..Pool::default() });
        self.parts.insert(key, part);
    }

    /// Ends the parts that `gone` says are; what they counted is kept. The answer is how many ended.
    pub(super) fn part_with(
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

    /// From now on the program is not counted as a whole, so it is not counted at all. The answer is how many parts ended.
    pub(super) fn go_blind(
        &mut self,
        why: Blind,
        layout: &Layout,
        domain: impl Fn(i32) -> Option<u32>,
    ) -> usize {
        self.blind = Some(why);
        let ended = self.part_with(layout, domain, |_| true);
        for pool in self.pools.values_mut() {
            pool.gaps += 1;
        }
        ended
    }

    /// Ends all parts, as their groups are to be others from now on. The answer is which there were.
    pub(super) fn regroup(
        &mut self,
        layout: &Layout,
        domain: impl Fn(i32) -> Option<u32>,
    ) -> Vec<i32> {
        let keys = self.parts.keys().copied().collect();
        self.part_with(layout, domain, |_| true);
        for pool in self.pools.values_mut() {
            pool.gaps += 1;
            pool.tallies.iter_mut().for_each(Tally::drop_waiting);
        }
        keys
    }

    /// An event that has been on no counter for long, though there was something to count.
    pub(super) fn starved(&self) -> Option<Counter> {
        let is_starved = |(_, tally): &(&Counter, &Tally)| tally.starved() >= STARVED;
        let of = |pool: &Pool| {
            BY_PROCESSOR.iter().zip(&pool.tallies).find(is_starved).map(|(field, _)| *field)
        };
        self.pools.values().find_map(of)
    }

    /// What the program has counted; where parts tell CPUs apart, in `domain`, whose CPUs' parts `within` picks.
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
            By::Threads => self.pools.entry(None).or_default(),
            By::Cgroup(_) => match self.pools.get_mut(&Some(domain)) {
                Some(pool) => pool,
                None => return Ok(counters),
            },
        };
        let all = matches!(self.by, By::Threads);
        for (_, part) in self.parts.iter_mut().filter(|&(&key, _)| all || within(key)) {
            collect(pool, part, layout)?;
        }
        for ((field, tally), &groups) in BY_PROCESSOR.iter().zip(&mut pool.tallies).zip(groups) {
            if groups > 0 {
                *counters.get_mut(*field) = tally.tell(groups);
            }
            if *field == Counter::Instructions {
                counters.cpu_nanos = pool.ran.checked_div(groups.into());
            }
        }
        // Each domain that reads the same count is told of a gap once.
        if pool.told.insert(domain, pool.gaps).unwrap_or(0) != pool.gaps {
            return Ok(Counters::default());
        }
        Ok(counters)
    }

    /// The cgroup, where its events are counted.
    pub(super) fn cgroup(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        match &self.by {
            By::Cgroup(file) => Some(file.as_fd()),
            By::Threads => None,
        }
    }
}

fn collect(pool: &mut Pool, part: &mut Part, layout: &Layout) -> io::Result<()> {
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
    fn every_domain_is_told_of_a_gap_once() {
        let layout = Layout::new();
        let groups = [1; BY_PROCESSOR.len()];
        let mut program = Program::new("test".to_owned(), By::Threads);
        let is_known = |program: &mut Program, domain| {
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
    fn only_what_no_time_mends_is_refused_for_good() {
        for (errno, blind) in [
            (Errno::ACCESS, Blind::Refused),
            (Errno::INVAL, Blind::Refused),
            (Errno::MFILE, Blind::ForNow),
            (Errno::NOMEM, Blind::ForNow),
            (Errno::BUSY, Blind::ForNow),
        ] {
            assert_eq!(Blind::of(&errno.into()), blind, "{errno}");
        }
    }
}
