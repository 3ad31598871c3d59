//! How a core runs a program for a turn.
//!
//! Time passes in turns of about [`TURN`] cycles. In a turn one core after the other runs until the
//! turn's end, so accesses to the last-level cache are in order only from turn to turn. Hardware
//! threads of a core run in the order of their clocks.

use crate::account::{Account, TICKS};
use crate::bus::Bus;
use crate::cache::{DIRTY, HitLevel, NONE, PrivateCaches, SharedCache, Tag};
use crate::pages::PageMap;
use crate::program::{AccessKind, Supply};
use crate::runner::{PhaseState, Runner, Stall, owner};
use crate::throttles::Throttles;

/// Cycles of a turn.
pub(crate) const TURN: u64 = 1000;

/// The most instructions that run at once.
const STRETCH: u32 = 1000;

/// The most instructions for which a hardware thread has the pipeline at once.
const ISSUE: u32 = 16;

/// The number of uses of simulated sets after which older uses weigh half.
const SEEN: u32 = 1 << 14;

/// Accesses whose sets are read at once: the sets fit into the nearest cache of this machine.
const READ_AHEAD: usize = 64;

/// Sets are read ahead if one of so many accesses uses the last-level cache.
const READ_AHEAD_SHARE: u64 = 4;

/// The parts of the chip that all cores share.
pub(crate) struct Uncore {
    pub(crate) llc: SharedCache,
    pub(crate) bus: Bus,
    pub(crate) throttles: Throttles,
    /// Lines of each program in the simulated sets, by the program's number (`place`).
    pub(crate) lines_held: Vec<u32>,
    /// One of this many sets is simulated.
    pub(crate) sampling: usize,
    pub(crate) inclusive: bool,
    /// Hardware threads of a core; `None`: programs go from core to core.
    pub(crate) threads: Option<usize>,
    /// The pages of each program, by its number: on a shared core, another program's line may make
    /// room.
    pub(crate) pages: Vec<Option<PageMap>>,
    /// The number of banks minus one: a bit mask.
    pub(crate) banks: usize,
}

/// A program on its core, with everything that running it needs.
pub(crate) struct CoreTurn<'a> {
    pub(crate) core: usize,
    pub(crate) cpu: usize,
    /// The program's number, which marks its lines.
    pub(crate) place: usize,
    pub(crate) runner: &'a mut Runner,
    pub(crate) account: &'a mut Account,
    pub(crate) caches: &'a mut [PrivateCaches],
    pub(crate) uncore: &'a mut Uncore,
    /// The time from which the core's pipeline is free, in ticks.
    pub(crate) pipeline: &'a mut u64,
}

/// Where an access found its line, which decides the counter of the wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServedFrom {
    Llc,
    Memory,
}

/// Whether the first of these sets follow each other: this machine prefetches them by itself.
fn are_in_a_row(sets: &[usize]) -> bool {
    sets.windows(2).take(8).all(|two| two[1] == two[0] + 1)
}

impl CoreTurn<'_> {
    /// Runs until the core's clock reaches `until`, or the program has run `instructions` in all.
    /// `SHARED`: another thread uses the pipeline, too.
    pub(crate) fn run<const SHARED: bool>(&mut self, until: u64, instructions: u64) {
        let stretch = if SHARED { ISSUE } else { STRETCH };
        let near_the_end = instructions.saturating_sub(u64::from(stretch));
        self.runner.supply = Supply::More;
        while self.runner.clock < until && self.account.instructions < instructions {
            if self.runner.now.next == self.runner.now.ahead && !self.read_ahead() {
                self.runner.clock = until;
                return;
            }
            let PhaseState { accesses, sets, next, cost, .. } = &mut self.runner.now;
            let access = &mut accesses[*next];
            // Instructions before an access run in pieces, and not beyond the end.
            if access.instructions > stretch || self.account.instructions > near_the_end {
                let left = instructions - self.account.instructions;
                let most = u32::try_from(left).map_or(stretch, |left| left.min(stretch));
                if access.instructions > most {
                    access.instructions -= most;
                    let instruction = cost.instruction;
                    self.issue::<SHARED>(most, instruction);
                    self.runner.last = Stall::default();
                    continue;
                }
            }
            let (access, set, instruction) = (*access, sets[*next], cost.instruction);
            *next += 1;
            self.account.l1_references += u64::from(access.references);
            self.issue::<SHARED>(access.instructions, instruction);
            self.runner.last = Stall::default();
            let tag = self.runner.tag(access.line);
            let ticks = match access.kind {
                AccessKind::None => 0,
                AccessKind::Load => self.access(set, tag),
                AccessKind::Store if self.runner.buffer.is_some() => self.store(set, tag),
                AccessKind::Store => self.access(set, tag | DIRTY),
                AccessKind::Fetch => self.fetch(set, tag),
                AccessKind::WriteBack => {
                    self.write_back(set, tag | DIRTY);
                    0
                }
                AccessKind::HitL2 => {
                    let hits = u64::from(access.line);
                    self.account.l1_misses += hits;
                    hits * self.runner.now.cost.l2
                }
                AccessKind::Missed => {
                    self.account.l1_misses += 1;
                    self.load(set, tag)
                }
            };
            self.runner.clock += ticks;
            self.account.ticks += ticks;
        }
        if self.runner.seen.0 > SEEN {
            self.runner.seen = (self.runner.seen.0 / 2, self.runner.seen.1 / 2);
        }
    }

    /// Sends instructions through the pipeline, each of which takes `each` ticks.
    fn issue<const SHARED: bool>(&mut self, instructions: u32, each: u64) {
        let count = u64::from(instructions);
        self.account.instructions += count;
        let mut ticks = count * each;
        if SHARED {
            let begins = self.runner.clock.max(*self.pipeline);
            *self.pipeline = begins + count * TICKS;
            ticks = begins - self.runner.clock + count * each.max(TICKS);
        }
        self.runner.clock += ticks;
        self.account.ticks += ticks;
    }

    /// Reads the sets of the next accesses, if enough of the last ones used the last-level cache;
    /// returns whether there are any. The sets are in more memory than this machine's nearest
    /// caches hold, and reads that do not depend on each other wait for it together.
    fn read_ahead(&mut self) -> bool {
        let is_used_up = self.runner.now.next == self.runner.now.accesses.len();
        if is_used_up && !self.runner.refill() {
            return false;
        }
        let PhaseState { accesses, sets, next, ahead, references, .. } = &mut self.runner.now;
        let before = core::mem::replace(references, self.account.llc_references);
        let is_worth_it = (*references - before) * READ_AHEAD_SHARE >= READ_AHEAD as u64;
        *ahead = accesses.len().min(*next + READ_AHEAD);
        if is_worth_it && !are_in_a_row(&sets[*next..]) {
            let (sets, sampling) = (sets[*next..*ahead].iter(), self.uncore.sampling);
            if sampling == 1 {
                self.uncore.llc.read_ahead(sets.copied());
            } else {
                self.uncore.llc.read_ahead(sets.map(|set| set / sampling));
            }
        }
        true
    }

    /// Accesses the private caches first; returns the ticks.
    fn access(&mut self, set: usize, tag: Tag) -> u64 {
        let (pages, others, place) =
            (&mut self.runner.now.pages, &mut self.uncore.pages, self.place);
        let set_of = |tag| match &mut others[owner(tag)] {
            Some(pages) if owner(tag) != place => pages.set_of(Runner::line(tag)),
            _ => pages.set_of(Runner::line(tag)),
        };
        let (level, left) = self.caches[self.core].access(set, tag, set_of);
        if level == HitLevel::L1 {
            return 0;
        }
        self.account.l1_misses += 1;
        for tag in left.into_iter().filter(|&tag| tag != NONE) {
            self.write_back_left(tag);
        }
        match level {
            HitLevel::L1 => 0,
            HitLevel::L2 => self.runner.now.cost.l2,
            HitLevel::Beyond => self.load(set, tag & !DIRTY),
        }
    }

    /// Fetches instructions; returns the ticks.
    fn fetch(&mut self, set: usize, tag: Tag) -> u64 {
        let Some((level, left)) = self.caches[self.core].fetch(set, tag) else { return 0 };
        if left != NONE {
            self.write_back_left(left);
        }
        match level {
            HitLevel::L1 => 0,
            HitLevel::L2 => self.runner.now.cost.l2,
            HitLevel::Beyond => self.load(set, tag),
        }
    }

    /// Stores through the store buffer; returns the ticks of waiting for an entry.
    fn store(&mut self, set: usize, tag: Tag) -> u64 {
        self.caches[self.core].l1.touch(set, tag);
        let before = self.account.throttled_ticks;
        let (_, takes) = self.shared(set, tag | DIRTY);
        let throttled = self.account.throttled_ticks - before;
        let now = self.runner.clock;
        let Some(buffer) = &mut self.runner.buffer else { return 0 };
        let waits = buffer.put(now, takes);
        self.account.store_ticks += waits;
        // Behind the buffer, only the store was held back.
        self.account.throttled_ticks = before + throttled.min(waits);
        self.runner.last.stores = waits;
        waits
    }

    /// Writes back a dirty line that leaves the private caches, of any program.
    fn write_back_left(&mut self, tag: Tag) {
        let set = match &mut self.uncore.pages[owner(tag)] {
            Some(pages) if owner(tag) != self.place => pages.set_of(Runner::line(tag)),
            _ => self.runner.now.pages.set_of(Runner::line(tag)),
        };
        self.write_back(set, tag);
    }

    /// Writes back a dirty line.
    fn write_back(&mut self, set: usize, tag: Tag) {
        let Uncore { llc, sampling, .. } = &mut *self.uncore;
        let there = if *sampling == 1 {
            llc.write_back(set, tag)
        } else if set.is_multiple_of(*sampling) {
            llc.write_back(set / *sampling, tag)
        } else {
            // In sets that are not simulated, assume that it is still there.
            true
        };
        if !there {
            self.post_write();
        }
    }

    /// Sends a line to memory; no program waits for it.
    fn post_write(&mut self) {
        self.uncore.bus.take_line();
        self.uncore.throttles.take_line(self.runner.limit);
        self.account.lines += 1;
    }

    /// Loads a line from the last-level cache; returns the ticks.
    fn load(&mut self, set: usize, tag: Tag) -> u64 {
        let (found, ticks) = self.shared(set, tag);
        let memory = if found == ServedFrom::Memory { ticks } else { 0 };
        self.account.stall_ticks += ticks;
        self.account.memory_ticks += memory;
        self.runner.last = Stall { beyond_l2: ticks, memory, stores: 0 };
        ticks
    }

    /// Accesses the last-level cache; returns where the line was, and the ticks until it arrives.
    fn shared(&mut self, set: usize, tag: Tag) -> (ServedFrom, u64) {
        let wait = self.uncore.throttles.space(self.cpu, self.runner.clock);
        let throttled = self.runner.now.cost.overlapped(wait);
        self.account.throttled_ticks += throttled;
        let (found, ticks) = self.reference(set, tag);
        (found, throttled + ticks)
    }

    fn reference(&mut self, set: usize, tag: Tag) -> (ServedFrom, u64) {
        self.account.llc_references += 1;
        self.account.banks[set & self.uncore.banks] += 1;
        let sampling = self.uncore.sampling;
        if sampling == 1 {
            self.look_up(set, set, tag)
        } else if set.is_multiple_of(sampling) {
            let (found, ticks) = self.look_up(set / sampling, set, tag);
            let (uses, hits) = &mut self.runner.seen;
            *uses += 1;
            *hits += u32::from(found == ServedFrom::Llc);
            (found, ticks)
        } else {
            let (uses, hits) = self.runner.seen;
            self.runner.owed += (hits << 10).checked_div(uses).unwrap_or(0);
            if self.runner.owed >= 1 << 10 {
                self.runner.owed -= 1 << 10;
                (ServedFrom::Llc, self.runner.now.cost.llc)
            } else {
                self.bring()
            }
        }
    }

    fn look_up(&mut self, index: usize, set: usize, tag: Tag) -> (ServedFrom, u64) {
        let Some(evicted) = self.uncore.llc.access(index, tag, &self.runner.fill) else {
            return (ServedFrom::Llc, self.runner.now.cost.llc);
        };
        self.uncore.lines_held[self.place] += 1;
        if evicted != NONE {
            let owner = owner(evicted);
            self.uncore.lines_held[owner] -= 1;
            let mut dirty = evicted & DIRTY != 0;
            if self.uncore.inclusive {
                let cores = match self.uncore.threads {
                    Some(threads) => owner / threads..owner / threads + 1,
                    None => 0..self.caches.len(),
                };
                for caches in &mut self.caches[cores] {
                    dirty |= caches.invalidate(set, evicted);
                }
            }
            if dirty {
                self.post_write();
            }
        }
        self.bring()
    }

    /// Fetches a line from memory.
    fn bring(&mut self) -> (ServedFrom, u64) {
        self.account.llc_misses += 1;
        self.account.lines += 1;
        let cost = &mut self.runner.now.cost;
        let throttled = self.uncore.throttles.take_line(self.runner.limit);
        if throttled > 0 {
            self.account.throttled_ticks += throttled * TICKS / cost.overlap;
        }
        let wait = self.uncore.bus.take_line() + throttled;
        (ServedFrom::Memory, cost.memory + cost.overlapped(wait))
    }
}
