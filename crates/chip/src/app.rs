//! What runs.

use fairways_core::{AppId, Every, Time};
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::account::{Account, Cost};
use crate::cache::{DIRTY, Fill, Private, Tag};
use crate::job::Phase;
use crate::pages::{Pages, Placement, mix};
use crate::program::{Access, BATCH, Generate};
use crate::settings::Settings;

/// A program that runs.
pub(crate) struct App {
    pub(crate) id: AppId,
    pub(crate) job: usize,
    pub(crate) core: usize,
    pub(crate) started: Time,
    pub(crate) phase: usize,
    /// When the phase began, and after how many instructions it ends.
    pub(crate) turned: Time,
    pub(crate) phase_end: u64,
    /// After how many instructions the run ends.
    pub(crate) run_end: u64,
    pub(crate) account: Account,
    pub(crate) window: Option<Window>,
    pub(crate) runner: Runner,
}

impl App {
    /// What it has counted by the time its core's clock should show. An access that is under way is counted,
    /// but not the time that it is still to take.
    pub(crate) fn counted(&self, clock: u64) -> Account {
        let ahead = self.runner.clock.saturating_sub(clock);
        Account {
            ticks: self.account.ticks.saturating_sub(ahead),
            stall_ticks: self.account.stall_ticks - ahead.min(self.runner.last_stall),
            ..self.account
        }
    }
}

/// A window under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// How long it was asked to be, and is here: instructions, or when it ends.
    pub(crate) every: Every,
    pub(crate) since: Time,
    pub(crate) from: Account,
    pub(crate) straddled: bool,
}

/// What a core needs to run a program.
pub(crate) struct Runner {
    /// In ticks: how far its core is.
    pub(crate) clock: u64,
    /// What runs; `None`: it is idle.
    pub(crate) source: Option<Box<dyn Generate>>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) next: usize,
    pub(crate) random: Pcg64Mcg,
    pub(crate) pages: Pages,
    pub(crate) cost: Cost,
    pub(crate) fill: Fill,
    /// The bits of its tags that say whose lines they are.
    pub(crate) owner: Tag,
    /// Of its last access: the ticks of waiting for what missed the L2.
    pub(crate) last_stall: u64,
    /// Of the sets that are simulated, of late: uses, and those that hit.
    pub(crate) seen: (u32, u32),
    /// Of a hit in the others, in 1024ths.
    pub(crate) owed: u32,
}

/// The private caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    pub(crate) l1: Private,
    pub(crate) l2: Option<Private>,
}

/// Where a tag says whose line it is.
const OWNER: u32 = 26;

/// Whose line it is: a core.
pub(crate) fn owner(tag: Tag) -> usize {
    (tag >> OWNER) as usize
}

impl Runner {
    pub(crate) fn new(
        settings: &Settings,
        core: usize,
        app: AppId,
        fill: Fill,
        clock: u64,
    ) -> Self {
        let seed = mix(settings.seed ^ mix(u64::from(app.0)));
        let Settings { pages, placement, chip, .. } = *settings;
        Self {
            clock,
            source: None,
            accesses: Vec::with_capacity(2 * BATCH),
            next: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
            pages: Pages::new(pages, placement, chip.sets, seed),
            cost: Cost::NONE,
            fill,
            owner: Tag::try_from(core).unwrap_or(0) << OWNER,
            last_stall: 0,
            seen: (0, 0),
            owed: 0,
        }
    }

    /// Goes on with another phase.
    pub(crate) fn turn(&mut self, settings: &Settings, phase: &Phase, seed: u64) {
        self.accesses.clear();
        self.next = 0;
        let Some(program) = &phase.program else {
            self.source = None;
            return;
        };
        let picks_sets = program.accesses.picks_sets();
        let placement = if picks_sets { Placement::Sequential } else { settings.placement };
        let sets = settings.chip.sets;
        self.pages = Pages::new(settings.pages, placement, sets, seed);
        self.cost = Cost::new(program, settings.chip.latency);
        self.source = Some(program.accesses.source(sets));
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
