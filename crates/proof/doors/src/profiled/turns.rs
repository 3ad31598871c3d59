//! Counters from profiles, for a host whose threads take turns: the counts of threads that run at
//! the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairways_core::{AppId, Counters, WayMask, Ways};
use fairways_perf::{Source, Target};
use fairways_profiles::{ProfiledProgram, ProgramCatalog, divide};

use super::{PerSecond, find};

/// The counters of threads, from the profiles of their programs. The threads that run at the same
/// time share a cache in which each may fill every way; the analytic model of exactly that group
/// gives each its occupancy, and is remembered for when the group runs again. The cache is that of
/// the profiles, whatever cache this host has. Cycles are at 2 GHz, and pass while a thread has a
/// CPU.
///
/// A thread without a profile has no counters, and takes no part of the cache from others.
pub(crate) struct ByTurns {
    programs: ProgramCatalog,
    threads: BTreeMap<AppId, Thread>,
    /// The rates of programs that run together, by their indexes in the table, ascending.
    groups: BTreeMap<Vec<usize>, Vec<PerSecond>>,
    /// Kinds of programs that have no profile, which was logged.
    missing: BTreeSet<String>,
}

struct Thread {
    /// Its program's index in the table.
    index: Option<usize>,
    /// What it counted in each domain.
    counted: BTreeMap<u32, PerSecond>,
    /// For each domain, since the thread's CPU time there was last reported: its counts while its
    /// neighbours were known, and the seconds of that.
    lately: BTreeMap<u32, (PerSecond, f64)>,
    /// Its rates beside the neighbours that were last reported.
    rate: Option<PerSecond>,
}

impl ByTurns {
    pub(crate) fn new(programs: ProgramCatalog) -> Self {
        let (threads, groups, missing) = Default::default();
        Self { programs, threads, groups, missing }
    }

    /// A program's rates beside these others, which are in any order.
    fn rate(&mut self, own: usize, others: impl Iterator<Item = usize>) -> Option<PerSecond> {
        let mut group: Vec<usize> = others.chain([own]).collect();
        group.sort_unstable();
        let place = group.iter().position(|&index| index == own)?;
        let programs = &self.programs;
        let rates = self.groups.entry(group).or_insert_with_key(|group| together(programs, group));
        rates.get(place).copied()
    }
}

/// The rates of each of these programs while all of them may fill every way.
fn together(programs: &ProgramCatalog, group: &[usize]) -> Vec<PerSecond> {
    let table = programs.table();
    let ways: Ways = table.ways();
    let group: Vec<ProfiledProgram> =
        group.iter().map(|&index| ProfiledProgram::new(table, index, ways)).collect();
    let parts = divide(group.iter().map(|program| (program, WayMask::full(ways))), ways);
    let occupancies = parts.chunks(ways.get() as usize).map(|parts| parts.iter().sum());
    group.iter().zip(occupancies).map(|(program, ways)| PerSecond::of(program, ways)).collect()
}

impl Source for ByTurns {
    fn is_measured(&self) -> bool {
        false
    }

    fn begin(&mut self, target: &Target) {
        let index = find(&self.programs, &target.name, &mut self.missing);
        let (counted, lately) = Default::default();
        let thread = Thread { index, counted, lately, rate: None };
        self.threads.insert(target.app, thread);
    }

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, app: AppId, domain: u32) -> Counters {
        let Some(thread) = self.threads.get(&app).filter(|of| of.index.is_some()) else {
            return Counters::default();
        };
        thread.counted.get(&domain).copied().unwrap_or_default().counters()
    }

    fn end(&mut self, app: AppId) {
        self.threads.remove(&app);
    }

    fn beside(&mut self, app: AppId, domain: u32, others: &[AppId], time: Duration) -> Counters {
        let index = |app: &AppId| self.threads.get(app)?.index;
        let others: Vec<usize> = others.iter().filter_map(index).collect();
        let Some(rate) = index(&app).and_then(|own| self.rate(own, others.into_iter())) else {
            return Counters::default();
        };
        let seconds = time.as_secs_f64();
        if let Some(thread) = self.threads.get_mut(&app) {
            let (did, known) = thread.lately.entry(domain).or_default();
            (*did, *known) = (did.and(&rate, seconds), *known + seconds);
            thread.rate = Some(rate);
        }
        PerSecond::default().and(&rate, seconds).counters()
    }

    fn ran(&mut self, app: AppId, domain: u32, time: Duration) {
        let alone = self.threads.get(&app).and_then(|thread| thread.index);
        let Some(alone) = alone.and_then(|own| self.rate(own, std::iter::empty())) else { return };
        let Some(thread) = self.threads.get_mut(&app) else { return };
        let counted = thread.counted.entry(domain).or_default();
        // The time with unknown neighbours counts like the time with known ones; if all are
        // unknown, like the last time when they were known.
        let (did, known) = thread.lately.remove(&domain).unwrap_or_default();
        let seconds = time.as_secs_f64();
        *counted = if known > 0.0 {
            counted.and(&did, seconds / known)
        } else {
            counted.and(&thread.rate.unwrap_or(alone), seconds)
        };
    }
}

#[cfg(test)]
mod tests {
    use fairways_profiles::embedded_programs;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn source(names: &[&str]) -> ByTurns {
        let mut source = ByTurns::new(embedded_programs().clone());
        for (app, name) in (0..).map(AppId).zip(names) {
            let (name, cgroup, threads) = ((*name).to_owned(), None, Vec::new());
            source.begin(&Target { app, name, cgroup, threads });
        }
        source
    }

    #[test]
    fn a_program_beside_a_greedy_one_misses_more() {
        let mut source = source(&["hash-join", "triad.2/77", "nobody"]);
        let [join, triad, nobody] = [0, 1, 2].map(AppId);
        let alone = source.beside(join, 0, &[], SECOND);
        let beside = source.beside(join, 0, &[triad], SECOND);
        assert!(beside.llc_misses > alone.llc_misses, "{alone:?} {beside:?}");
        assert_eq!(beside.cycles, Some(2_000_000_000));
        // A program without a profile has no counters, and counts as no neighbour.
        assert_eq!(source.beside(nobody, 0, &[join], SECOND), Counters::default());
        assert_eq!(source.beside(join, 0, &[nobody], SECOND), alone);
        // A group is the same for each of its members.
        assert_eq!(source.groups.len(), 2);
        source.beside(triad, 0, &[join], SECOND);
        assert_eq!(source.groups.len(), 2);
    }

    #[test]
    fn cycles_pass_while_a_thread_has_a_cpu() {
        let mut source = source(&["hash-join", "triad", "nobody"]);
        let [join, triad, nobody] = [0, 1, 2].map(AppId);
        assert_eq!(source.read(join, 0).cycles, Some(0));
        assert_eq!(source.read(nobody, 0), Counters::default());
        // Its neighbours are known for half of its time, and the other half counts like that.
        let did = source.beside(join, 0, &[triad], SECOND);
        source.ran(join, 0, 2 * SECOND);
        let counted = source.read(join, 0);
        assert_eq!(counted.cycles, Some(4_000_000_000));
        let twice = did.llc_misses.unwrap() * 2;
        assert!(counted.llc_misses.unwrap().abs_diff(twice) < 3);
        // A time in which no neighbours are known counts like the time before.
        source.ran(join, 0, SECOND);
        let more = source.read(join, 0).llc_misses.unwrap() - counted.llc_misses.unwrap();
        assert!(more.abs_diff(did.llc_misses.unwrap()) < 3);
        assert_eq!(source.read(join, 1).cycles, Some(0));
    }

    #[test]
    fn counts_of_one_domain_do_not_affect_another() {
        let mut source = source(&["hash-join", "triad"]);
        let [join, triad] = [0, 1].map(AppId);
        let alone = source.beside(join, 0, &[], SECOND);
        let beside = source.beside(join, 1, &[triad], SECOND);
        for (domain, did) in [(0, alone), (1, beside)] {
            source.ran(join, domain, SECOND);
            let misses = source.read(join, domain).llc_misses.unwrap();
            assert!(misses.abs_diff(did.llc_misses.unwrap()) < 3, "{domain}: {misses} {did:?}");
        }
    }

    #[test]
    fn a_kind_without_a_profile_is_logged_once() {
        let source = source(&["nobody", "nobody/7", "nobody.2/9", "else", "triad.3"]);
        assert_eq!(source.missing.into_iter().collect::<Vec<_>>(), ["else", "nobody"]);
    }
}
