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

/// Whose counts a part's are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedFor {
    /// The host's only domain.
    Host,
    /// A domain: of several, the only one in which the thread may run, or that of the CPU.
    Domain(u32),
    /// Unknown: the thread may run in several domains.
    Several,
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

/// The joint counts of some of its parts: those of a domain, or all on a host with one.
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
    parts: BTreeMap<i32, (CountedFor, CountedPart)>,
    /// By domain; by `None` on a host with one.
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
        picked.map(|(_, (_, part))| part)
    }

    /// Adds a part to the program's counts.
    pub(super) fn join(&mut self, key: i32, part: CountedPart, counted_for: CountedFor) {
        let gaps = u32::from(self.blind.is_some());
        if let Some(pool) = counted_for.pool() {
            self.pools.entry(pool).or_insert_with(|| Pool { gaps, ..Pool::default() });
        }
        self.parts.insert(key, (counted_for, part));
    }

    /// Ends the parts that `gone` selects; their counts are kept. Returns how many ended.
    pub(super) fn end_parts(
        &mut self,
        layout: &Layout,
        mut gone: impl FnMut(i32) -> bool,
    ) -> usize {
        let before = self.parts.len();
        let pools = &mut self.pools;
        self.parts.retain(|&key, (counted_for, part)| {
            let ended = gone(key);
            if ended {
                match counted_for.pool().map(|pool| pools.entry(pool).or_default()) {
                    Some(pool) => pool.gaps += u32::from(collect(pool, part, layout).is_err()),
                    None => add_gap(pools),
                }
            }
            !ended
        });
        before - self.parts.len()
    }

    /// Stops counting: as the program can't be counted as a whole, none of it is. Returns how many
    /// parts ended.
    pub(super) fn go_blind(&mut self, why: Blind, layout: &Layout) -> usize {
        self.blind = Some(why);
        let ended = self.end_parts(layout, |_| true);
        add_gap(&mut self.pools);
        ended
    }

    /// Ends all parts, because their groups are about to change. Returns their keys.
    pub(super) fn regroup(&mut self, layout: &Layout) -> Vec<i32> {
        let keys = self.parts.keys().copied().collect();
        self.end_parts(layout, |_| true);
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

    /// The program's counts: those in `domain`, or all with `None`. `counted_for` says whose a
    /// thread's are now, or that it has ended; if they may be several domains', or have changed,
    /// the counts since the last reading are missing in every domain.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        groups: &[u32; BY_PROCESSOR.len()],
        reader: u32,
        domain: Option<u32>,
        counted_for: impl Fn(i32) -> Option<CountedFor>,
    ) -> io::Result<Counters> {
        let mut counters = Counters::default();
        if self.blind.is_some() {
            return Ok(counters);
        }
        let by_cpu = matches!(self.by, CountedBy::Cgroup(_));
        if by_cpu && !self.pools.contains_key(&domain) {
            return Ok(counters);
        }
        self.pools.entry(domain).or_default();
        let pools = &mut self.pools;
        for (&thread, (known, part)) in &mut self.parts {
            if by_cpu && known.pool() != Some(domain) {
                continue;
            }
            let now = if by_cpu { *known } else { counted_for(thread).unwrap_or(*known) };
            let was = std::mem::replace(known, now);
            match now.pool().filter(|_| was == now) {
                Some(pool) => collect(pools.entry(pool).or_default(), part, layout)?,
                None => {
                    part.read(layout, |_, _| ())?;
                    add_gap(pools);
                }
            }
        }
        let Some(pool) = pools.get_mut(&domain) else { return Ok(counters) };
        for ((field, tally), &groups) in BY_PROCESSOR.iter().zip(&mut pool.tallies).zip(groups) {
            if groups > 0 {
                *counters.get_mut(*field) = tally.take_total(groups);
            }
            if *field == Counter::Instructions {
                counters.cpu_nanos = pool.ran.checked_div(groups.into());
            }
        }
        // Each domain learns of a gap once.
        if pool.gaps_reported.insert(reader, pool.gaps).unwrap_or(0) != pool.gaps {
            return Ok(Counters::default());
        }
        Ok(counters)
    }

    /// Whether a thread may run in several domains.
    pub(super) fn may_run_anywhere(&self) -> bool {
        self.parts.values().any(|(counted_for, _)| *counted_for == CountedFor::Several)
    }

    /// The cgroup, if its events are counted.
    pub(super) fn cgroup(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        match &self.by {
            CountedBy::Cgroup(file) => Some(file.as_fd()),
            CountedBy::Threads => None,
        }
    }
}

impl CountedFor {
    /// The key of the counts that a part's are added to; `None` if that is unknown.
    const fn pool(self) -> Option<Option<u32>> {
        match self {
            Self::Host => Some(None),
            Self::Domain(domain) => Some(Some(domain)),
            Self::Several => None,
        }
    }
}

/// Some of the program's work is in the counts of no domain, whichever it was.
fn add_gap(pools: &mut BTreeMap<Option<u32>, Pool>) {
    for pool in pools.values_mut() {
        pool.gaps += 1;
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
            let read = program.read(&layout, &groups, domain, None, |_| Some(CountedFor::Host));
            read.unwrap().instructions.is_some()
        };
        assert!(is_known(&mut program, 0) && is_known(&mut program, 1));
        program.go_blind(Blind::ForNow, &layout);
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
