//! The state that a core needs to run a program.

use fairways_core::{AppId, WayMask};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::account::Cost;
use crate::buffer::StoreBuffer;
use crate::cache::{DIRTY, FillMask, Tag};
use crate::geometry::StorePath;
use crate::pages::{PageMap, PagePlacement, mix};
use crate::phase::Phase;
use crate::program::{Access, AccessKind, BATCH, Generate, SimulatedProgram, Supply};
use crate::settings::Settings;
use crate::throttle::BandwidthLimit;

/// Ticks of waiting: after L2 misses, the part of that for memory, and for room in the store
/// buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stall {
    pub(crate) beyond_l2: u64,
    pub(crate) memory: u64,
    pub(crate) stores: u64,
}

/// The state that a core needs to run a program.
pub(crate) struct Runner {
    /// Its core's clock, in ticks.
    pub(crate) clock: u64,
    /// The last span, from and to, in which its clock moved without it, while it waited for its
    /// CPU.
    passed: (u64, u64),
    /// The current phase.
    pub(crate) now: PhaseState,
    phase: usize,
    others: Vec<Option<PhaseState>>,
    pub(crate) random: Pcg64Mcg,
    pub(crate) placed: u64,
    /// The node in whose memory its pages are; `None`: in that of all.
    node: Option<u32>,
    pub(crate) fill: FillMask,
    /// Its limit of memory bandwidth, if it has one.
    pub(crate) limit: Option<BandwidthLimit>,
    /// The bits of its tags that mark its lines.
    pub(crate) owner: Tag,
    /// The last result of its source.
    pub(crate) supply: Supply,
    /// The waits of its last access.
    pub(crate) last: Stall,
    /// Its stores under way, if the chip has store buffers.
    pub(crate) buffer: Option<StoreBuffer>,
    /// Recent uses of the simulated sets, and the hits among them.
    pub(crate) seen: (u32, u32),
    /// The part of a hit that is carried over for sets that are not simulated, in 1024ths.
    pub(crate) owed: u32,
}

/// A phase, and its state.
pub(crate) struct PhaseState {
    /// The source of accesses; `None`: the core is idle.
    pub(crate) source: Option<Box<dyn Generate>>,
    pub(crate) accesses: Vec<Access>,
    /// The set of the last-level cache of each access' line.
    pub(crate) sets: Vec<usize>,
    pub(crate) next: usize,
    /// The end of the accesses whose sets were read ahead, or need not be.
    pub(crate) ahead: usize,
    /// The program's references to the last-level cache when it was there.
    pub(crate) references: u64,
    pub(crate) pages: PageMap,
    pub(crate) cost: Cost,
}

/// The lowest bit of a tag's program number.
const OWNER: u32 = 26;

/// The number of the program that a line belongs to.
pub(crate) fn owner(tag: Tag) -> usize {
    (tag >> OWNER) as usize
}

/// The pages of a program, in the memory of a node, or of all.
pub(crate) fn pages_of(
    settings: &Settings,
    program: Option<&SimulatedProgram>,
    (placed, node): (u64, Option<u32>),
) -> PageMap {
    let picks = program.is_some_and(|program| program.accesses.picks_sets());
    let placement = if picks { PagePlacement::Sequential } else { settings.placement };
    let pages = PageMap::new(settings.pages, placement, settings.chip.sets, placed);
    match node {
        Some(node) => pages.of_node(node, settings.nodes),
        None => pages,
    }
}

/// The node of a program that starts on a CPU of its own, where several share the cache.
fn node_of(settings: &Settings, cpu: usize) -> Option<u32> {
    let is_bound = settings.nodes > 1 && settings.scheduler.is_none();
    let cpu = u32::try_from(cpu).ok().filter(|_| is_bound)?;
    Some(cpu * settings.nodes / settings.chip.cpus().max(1))
}

/// The seed of a program's pages, and its random numbers.
pub(crate) fn seeds(settings: &Settings, app: AppId, key: u64) -> (u64, Pcg64Mcg) {
    let placed = mix(settings.seed ^ mix(key));
    (placed, Pcg64Mcg::seed_from_u64(mix(placed ^ mix(u64::from(app.0)))))
}

impl PhaseState {
    fn new(settings: &Settings, phase: &Phase, placed: (u64, Option<u32>)) -> Self {
        let chip = &settings.chip;
        let program = phase.program.as_deref();
        Self {
            source: program.map(|program| program.accesses.source(chip)),
            accesses: Vec::with_capacity(2 * BATCH),
            sets: Vec::with_capacity(2 * BATCH),
            next: 0,
            ahead: 0,
            references: 0,
            pages: pages_of(settings, program, placed),
            cost: program.map_or(Cost::NONE, |program| {
                Cost::new(program.base_cpi, program.overlap, chip.latency)
            }),
        }
    }
}

impl Runner {
    /// A runner that runs nothing yet and may fill all ways; `key` determines where its pages are.
    pub(crate) fn new(
        settings: &Settings,
        place: usize,
        (app, key): (AppId, u64),
        clock: u64,
    ) -> Self {
        let (placed, random) = seeds(settings, app, key);
        let node = node_of(settings, place);
        let idle = Phase { program: None, length: None };
        Self {
            clock,
            passed: (clock, clock),
            now: PhaseState::new(settings, &idle, (placed, node)),
            phase: usize::MAX,
            others: Vec::new(),
            random,
            placed,
            node,
            fill: FillMask::new(WayMask::full(settings.chip.llc.ways)),
            limit: None,
            owner: Tag::try_from(place).unwrap_or(0) << OWNER,
            supply: Supply::More,
            last: Stall::default(),
            buffer: match settings.chip.stores {
                StorePath::Back => None,
                StorePath::Through { buffer } => Some(StoreBuffer::new(buffer)),
            },
            seen: (0, 0),
            owed: 0,
        }
    }

    /// Switches to another phase, where that was left.
    pub(crate) fn switch_phase(&mut self, settings: &Settings, phases: &[Phase], phase: usize) {
        if phase == self.phase {
            return;
        }
        self.others.resize_with(phases.len(), || None);
        let next = self.others[phase].take();
        let next = next
            .unwrap_or_else(|| PhaseState::new(settings, &phases[phase], (self.placed, self.node)));
        let before = core::mem::replace(&mut self.now, next);
        if let Some(place) = self.others.get_mut(self.phase) {
            *place = Some(before);
        }
        (self.phase, self.supply) = (phase, Supply::More);
    }

    /// Asks its source for accesses; returns whether there are any. `supply` says why not.
    pub(crate) fn refill(&mut self) -> bool {
        let PhaseState { source, accesses, sets, next, ahead, pages, .. } = &mut self.now;
        let Some(source) = source else { return false };
        accesses.clear();
        (*next, *ahead) = (0, 0);
        self.supply = source.generate(&mut self.random, accesses);
        sets.clear();
        sets.extend(accesses.iter().map(|access| match access.kind {
            AccessKind::None | AccessKind::HitL2 => 0,
            _ => pages.set_of(access.line),
        }));
        self.supply == Supply::More
    }

    /// Ends programs that run outside the simulation.
    pub(crate) fn end(&mut self) {
        self.now.source = None;
        self.others.clear();
    }

    /// The pages of a phase.
    pub(crate) fn pages_of(&self, settings: &Settings, phase: &Phase) -> PageMap {
        pages_of(settings, phase.program.as_deref(), (self.placed, self.node))
    }

    /// Its core's clock when it last ran, in ticks.
    pub(crate) fn reached(&self) -> u64 {
        let (from, to) = self.passed;
        if self.clock == to { from } else { self.clock }
    }

    /// Moves its clock up to `clock`: the time until then belongs to another program, not to its
    /// own cycles.
    pub(crate) fn wait_until(&mut self, clock: u64) {
        if self.clock < clock {
            (self.passed, self.clock) = ((self.reached(), clock), clock);
        }
    }

    /// The tag of a line.
    pub(crate) fn tag(&self, line: u32) -> Tag {
        self.owner | line << 1
    }

    /// The line of a tag.
    pub(crate) fn line(tag: Tag) -> u32 {
        (tag & ((1 << OWNER) - 1)) >> DIRTY
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Of a few seeds and a few programs, no two have their pages in the same places.
    #[test]
    fn every_seed_places_every_program_elsewhere() {
        let chip = crate::preset::preset("t1").expect("a preset");
        let placed = |seed, key| {
            let settings = Settings { seed, ..Settings::new(chip) };
            Runner::new(&settings, 0, (AppId(0), key), 0).placed
        };
        let pairs = (0..16).flat_map(|seed| (0..16).map(move |key| (seed, key)));
        let different: BTreeSet<u64> = pairs.map(|(seed, key)| placed(seed, key)).collect();
        assert_eq!(different.len(), 256);
    }
}
