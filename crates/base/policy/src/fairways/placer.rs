//! The programs of a machine with several caches, placed by their profiles: a policy for the whole
//! machine, above that of each cache, which then divides its ways as it always does.

use alloc::vec::Vec;
use core::cmp::Reverse;

use fairways_core::{MachineCache, Profile, Ways, Wish};

use super::clusters::{Clusters, MOST_PROGRAMS};
use super::limits::Limits;
use super::objective::{Aim, Outcome};
use super::parameters::Parameters;
use super::placement::{PlacementRoom, PlacementSearch, ProgramRoom, Task};
use super::program::{SharingProgram, members};
use crate::occupancy::below_one;
use crate::slowdown::slowdown_table;

/// A program to place.
#[derive(Clone, Copy, Debug)]
pub struct PlacedProgram<'a> {
    /// How it fares with each number of ways of the largest cache, or of a larger one.
    pub profile: &'a Profile,
    /// What its owner asks for.
    pub wish: Wish,
    /// The CPUs that it takes.
    pub threads: u32,
    /// The cache that it is on, if it runs already.
    pub cache: Option<usize>,
}

/// How the programs of a machine's other caches fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub(super) outcome: Outcome,
    /// The ways of the largest cache: slowdowns are relative to a program alone on that.
    pub(super) largest: Ways,
}

/// Places programs; its memory is reused.
#[derive(Clone, Debug, Default)]
pub struct Placer {
    clusters: Clusters,
    search: PlacementSearch,
    /// The ways of the largest cache.
    largest: Option<Ways>,
    rooms: Vec<PlacementRoom>,
    programs: Vec<ProgramRoom>,
    /// What each program needs to run nearly as fast as it can, in ways times 2^32.
    needs: Vec<u64>,
    order: Vec<usize>,
    start: Vec<u64>,
    free: Vec<i128>,
    placed: Vec<usize>,
}

impl Placer {
    /// The cache of each program: that of the best placement that is found, by the parameters'
    /// objective over all programs of the machine. `None` if no placement to start from has CPUs
    /// for all programs, if they are more than 64, or there are none.
    ///
    /// Promised ways are on a cache that has them for their program. If they are too many, the
    /// promises of the last programs do not count. The ways of all caches are of equal size.
    pub fn place(
        &mut self,
        p: &Parameters,
        caches: &[MachineCache],
        programs: &[PlacedProgram<'_>],
    ) -> Option<&[usize]> {
        self.largest = None;
        self.search.begin();
        let largest = caches.iter().map(|cache| cache.llc.ways).max()?;
        if programs.is_empty() || programs.len() > MOST_PROGRAMS {
            return None;
        }
        self.programs.clear();
        self.programs.extend(programs.iter().map(|program| ProgramRoom {
            threads: program.threads,
            promised: program.wish.baseline_ways.map(|ways| ways.min(largest.get())),
        }));
        loop {
            self.restart(p, caches, programs, largest);
            self.search_from_starts(p, programs);
            if self.search.outcome().is_some() {
                break;
            }
            let last = self.programs.iter_mut().rfind(|program| program.promised.is_some())?;
            last.promised = None;
        }
        self.largest = Some(largest);
        for number in 0..KICKS {
            if self.kick(number) {
                self.search_from(p, true);
            }
        }
        self.placed.clear();
        self.placed.resize(programs.len(), 0);
        for (cache, set) in self.search.best().enumerate() {
            members(set).for_each(|program| self.placed[program as usize] = cache);
        }
        Some(&self.placed)
    }

    /// How the programs of all caches but this one fare, by the plan that the last placement was
    /// based on; `None` before there is one.
    #[must_use]
    pub fn elsewhere(&self, cache: usize) -> Option<Elsewhere> {
        Some(Elsewhere { outcome: self.search.best_without(cache), largest: self.largest? })
    }

    /// Searches from each start that has room for the programs.
    fn search_from_starts(&mut self, p: &Parameters, programs: &[PlacedProgram<'_>]) {
        let is_placed = programs.iter().all(|program| program.cache.is_some());
        for start in [PlacementStart::Present, PlacementStart::Apart, PlacementStart::Together] {
            let is_possible = is_placed || start != PlacementStart::Present;
            if is_possible && self.start_from(start, programs) {
                self.search_from(p, false);
            }
        }
    }

    /// Searches from `start`, which may be near the best placement.
    fn search_from(&mut self, p: &Parameters, is_near: bool) {
        let Self { rooms, programs, .. } = self;
        let task = Task { aim: Aim::Alone(p.objective), rooms, programs, trials: p.trials };
        self.search.run(task, (&self.start, is_near), &mut self.clusters);
    }

    /// Restarts with these caches and programs.
    fn restart(
        &mut self,
        p: &Parameters,
        caches: &[MachineCache],
        programs: &[PlacedProgram<'_>],
        largest: Ways,
    ) {
        self.rooms.clear();
        self.rooms.extend(caches.iter().map(|MachineCache { llc, cpus }| {
            let limits = Limits {
                clusters: llc.max_clusters() as usize,
                ways: llc.ways.get(),
                least_ways: llc.min_ways(),
                trials: p.trials,
                elsewhere: Outcome::NONE,
            };
            PlacementRoom { limits, cpus: *cpus }
        }));
        let tolerated = 100 + u128::from(p.tolerance_percent);
        let sharing: Vec<SharingProgram> = programs
            .iter()
            .zip(&self.programs)
            .map(|(PlacedProgram { profile, wish, .. }, room)| {
                let slowdowns = slowdown_table(&profile.ipc, largest, p.reference);
                let promise = room.promised.map(|ways| {
                    let there = u128::from(slowdowns.at(ways).raw()) * tolerated / 100;
                    (ways, u64::try_from(there).unwrap_or(u64::MAX))
                });
                SharingProgram {
                    slowest: below_one(&slowdowns).raw(),
                    slowdowns,
                    pressures: profile.llcmpkc.resized(largest),
                    promise,
                    is_best_effort: wish.best_effort,
                    weight: p.objective.weight(wish.importance),
                }
            })
            .collect();
        let nearly = (1 << 32) * 21 / 20;
        self.needs.clear();
        self.needs.extend(sharing.iter().map(|program| program.least_occupancy(nearly)));
        self.clusters.restart(largest.get(), sharing.into_iter());
    }

    /// Fills `start` with the best placement so far, in which some programs are on other caches:
    /// each moves there if there is room, or else swaps with another one. Returns whether any did.
    fn kick(&mut self, number: u64) -> bool {
        let Self { search, start, rooms, programs, .. } = self;
        start.clear();
        start.extend(search.best());
        let mut state = number + 1;
        let mut has_changed = false;
        for _ in 0..KICKED {
            let program = draw(&mut state, programs.len());
            let from = start.iter().position(|set| set >> program & 1 == 1).unwrap_or(0);
            let to = (from + 1 + draw(&mut state, rooms.len() - 1)) % rooms.len();
            let other = draw(&mut state, programs.len());
            let own = 1 << program;
            let swapped = own | start[to] & 1 << other;
            for moved in [own, swapped] {
                let after = [start[from] ^ moved, start[to] ^ moved];
                let fits =
                    rooms[from].fits(after[0], programs) && rooms[to].fits(after[1], programs);
                if to != from && fits {
                    [start[from], start[to]] = after;
                    has_changed = true;
                    break;
                }
            }
        }
        has_changed
    }

    /// Fills `start` with a placement to start from; whether the programs fit there.
    fn start_from(&mut self, start: PlacementStart, placed: &[PlacedProgram<'_>]) -> bool {
        let Self { needs, order, free, rooms, programs, start: sets, .. } = self;
        order.clear();
        order.extend(0..programs.len());
        if start != PlacementStart::Present {
            order.sort_by_key(|&program| {
                let ProgramRoom { threads, promised } = programs[program];
                (Reverse(promised), Reverse(threads), Reverse(needs[program]))
            });
        }
        sets.clear();
        sets.resize(rooms.len(), 0);
        free.clear();
        free.extend(rooms.iter().map(|room| i128::from(room.limits.ways) << 32));
        for &program in &*order {
            let own = 1 << program;
            let fits =
                (0..rooms.len()).filter(|&cache| rooms[cache].fits(sets[cache] | own, programs));
            let cache = match start {
                PlacementStart::Present => {
                    fits.into_iter().find(|&cache| placed[program].cache == Some(cache))
                }
                PlacementStart::Apart => fits.max_by_key(|&cache| {
                    let programs = sets[cache].count_ones();
                    (free[cache], rooms[cache].cpus.saturating_sub(programs))
                }),
                PlacementStart::Together => fits.max_by_key(|&cache| {
                    (free[cache] > 0, rooms[cache].limits.ways, Reverse(cache))
                }),
            };
            let Some(cache) = cache else { return false };
            free[cache] -= i128::from(needs[program]);
            sets[cache] |= own;
        }
        true
    }
}

/// How often the search begins again near the best placement.
const KICKS: u64 = 4;

/// How many programs then move.
const KICKED: u32 = 3;

/// A number below `most`, the same ones each time: a linear congruential generator.
fn draw(state: &mut u64, most: usize) -> usize {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    usize::try_from(*state >> 33).unwrap_or(0) % most.max(1)
}

/// A placement to start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlacementStart {
    /// Where the programs are.
    Present,
    /// The programs that need most first, each where most is left.
    Apart,
    /// In the same order, but one cache after the other is filled.
    Together,
}
