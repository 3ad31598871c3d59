//! The counters of one program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use fairways_core::Counters;

use super::events::Field;
use super::part::{Layout, Part};
use super::tally::Tally;

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
    /// There are not descriptors enough; it is tried again.
    Budget,
    /// The kernel does not let it be counted.
    Refused,
}

/// What some of its parts counted together: those of a domain, or all where parts do not tell CPUs apart.
#[derive(Default)]
struct Pool {
    tallies: [Tally; Field::ALL.len()],
    /// Whether some of what the program did since the pool was told is not in it.
    gap: bool,
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

    /// A part counts for the program, and for `domain` if it tells CPUs apart.
    pub(super) fn join(&mut self, key: i32, part: Part, domain: Option<u32>) {
        let gap = self.blind.is_some();
        self.pools.entry(domain).or_insert_with(|| Pool { gap, ..Pool::default() });
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
                pools.entry(domain(key)).or_default().gap = true;
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
            pool.gap = true;
        }
        ended
    }

    /// What the program has counted; where parts tell CPUs apart, in `domain`, whose CPUs' parts `within` picks.
    ///
    /// # Errors
    /// read(2)'s.
    pub(super) fn read(
        &mut self,
        layout: &Layout,
        groups: &[u32; Field::ALL.len()],
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
        for ((field, tally), &groups) in Field::ALL.iter().zip(&mut pool.tallies).zip(groups) {
            if groups > 0 {
                *field.of(&mut counters) = tally.tell(groups);
            }
        }
        if std::mem::take(&mut pool.gap) {
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
        for (known, tally) in Field::ALL.iter().zip(&mut pool.tallies) {
            if *known == field {
                tally.add(span);
            }
        }
    })
}
