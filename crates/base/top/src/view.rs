//! What the user has chosen to see.

use std::cmp::Ordering;

use fairways_record::blame::{BlameReport, Slowdown};
use fairways_record::status::{DomainStatus, ProgramStatus};

use super::history::Metric;
use super::keys::Command;
use super::source::Scene;

/// The order of the programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SortOrder {
    /// Programs of a cluster stand together.
    #[default]
    Cluster,
    Program,
    Ipc,
    Mpki,
    Occupancy,
    Bandwidth,
    Slowdown,
}

impl SortOrder {
    const ALL: [Self; 7] = [
        Self::Cluster,
        Self::Program,
        Self::Ipc,
        Self::Mpki,
        Self::Occupancy,
        Self::Bandwidth,
        Self::Slowdown,
    ];

    /// The name, as in the column's header.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Program => "program",
            Self::Ipc => "IPC",
            Self::Mpki => "MPKI",
            Self::Occupancy => "occupancy",
            Self::Bandwidth => "GB/s",
            Self::Slowdown => "slowdown",
        }
    }

    fn next(self) -> Self {
        let place = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }

    /// The number to sort by: the largest first, and missing ones last.
    fn number(self, program: &ProgramStatus, losses: Option<&BlameReport>) -> Option<f64> {
        match self {
            Self::Cluster | Self::Program => None,
            Self::Ipc => program.ipc,
            Self::Mpki => program.llcmpki,
            Self::Occupancy => program.occupancy_ways.or(program.occupancy_ways_at_least),
            Self::Bandwidth => program.memory_bytes_per_second(),
            Self::Slowdown => match losses?.slowdown(&program.name)? {
                Slowdown::Known(slowdown) | Slowdown::AtLeast(slowdown) => Some(slowdown),
                Slowdown::Unknown => None,
            },
        }
    }

    fn order(
        self,
        losses: Option<&BlameReport>,
        one: &ProgramStatus,
        other: &ProgramStatus,
    ) -> Ordering {
        fn place(program: &ProgramStatus) -> u32 {
            program.cluster.unwrap_or(u32::MAX)
        }
        let first = match self {
            Self::Cluster => place(one).cmp(&place(other)),
            Self::Program => Ordering::Equal,
            _ => match (self.number(one, losses), self.number(other, losses)) {
                (Some(one), Some(other)) => other.total_cmp(&one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
        };
        first.then_with(|| one.name.cmp(&other.name)).then_with(|| one.app.cmp(&other.app))
    }
}

/// A page that replaces the list of programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Help,
    /// What programs lose to each other.
    Blame,
    /// The decisions about a program.
    Why(String),
}

/// What the user has chosen to see.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The domain; the first one if no domain has this id.
    domain: Option<u32>,
    /// The selected program, and its last position.
    pub(super) selected: Option<u32>,
    place: usize,
    pub(super) sort: SortOrder,
    pub(super) metric: Metric,
    pub(super) page: Option<Page>,
    /// The first visible line of the page, and the first visible program.
    pub(super) line: usize,
    pub(super) first: usize,
    /// Whether the keys of a journal work.
    pub(super) is_journal: bool,
}

impl View {
    /// The initial view.
    pub(super) fn new(journal: bool) -> Self {
        Self { is_journal: journal, ..Self::default() }
    }

    /// The domain that is shown.
    pub(super) fn domain<'a>(&self, scene: &'a Scene) -> Option<&'a DomainStatus> {
        let mut all = scene.status.domains.iter();
        all.clone().find(|domain| Some(domain.id) == self.domain).or_else(|| all.next())
    }

    /// The domain's programs, sorted.
    pub(super) fn programs<'a>(&self, scene: &'a Scene) -> Vec<&'a ProgramStatus> {
        // Before the first domain is known, 0 is assumed.
        let domain = self.domain(scene).map_or(0, |domain| domain.id);
        let all = scene.status.programs.iter().filter(|program| program.domain == domain);
        let mut programs: Vec<&ProgramStatus> = all.collect();
        let losses = self.losses(scene);
        programs.sort_by(|one, other| self.sort.order(losses, one, other));
        programs
    }

    /// The losses in the domain.
    pub(super) fn losses<'a>(&self, scene: &'a Scene) -> Option<&'a BlameReport> {
        let domain = self.domain(scene)?.id;
        scene.losses.iter().find(|losses| losses.is_of_domain(domain))
    }

    /// Selects another program if the selected one has ended.
    pub(super) fn follow_selection(&mut self, scene: &Scene) {
        let programs = self.programs(scene);
        let Some(selected) = self.selected else { return };
        match programs.iter().position(|program| program.app == selected) {
            Some(place) => self.place = place,
            None => {
                // The program that took its place.
                let last = programs.len().saturating_sub(1);
                self.place = self.place.min(last);
                self.selected = programs.get(self.place).map(|program| program.app);
            }
        }
    }

    fn select(&mut self, scene: &Scene, place: usize) {
        let programs = self.programs(scene);
        self.place = place.min(programs.len().saturating_sub(1));
        self.selected = programs.get(self.place).map(|program| program.app);
    }

    /// Does what the user wants of the view; false to leave `top`.
    pub(super) fn handle(&mut self, command: Command, scene: &Scene) -> bool {
        match command {
            Command::Quit => return false,
            Command::Leave => return self.page.take().is_some(),
            Command::Help => self.toggle_page(Page::Help),
            Command::Blame => self.toggle_page(Page::Blame),
            Command::Why => {
                if self.selected.is_none() {
                    self.select(scene, 0);
                }
                let selected = self.programs(scene).into_iter();
                let selected =
                    selected.into_iter().find(|program| Some(program.app) == self.selected);
                if let Some(name) = selected.map(|program| program.name.clone()) {
                    self.toggle_page(Page::Why(name));
                }
            }
            Command::Move(by) if self.page.is_some() => {
                self.line = moved(self.line, by);
            }
            Command::First if self.page.is_some() => self.line = 0,
            Command::Last if self.page.is_some() => self.line = usize::MAX,
            Command::Move(by) => {
                let place = if self.selected.is_none() { 0 } else { moved(self.place, by) };
                self.select(scene, place);
            }
            Command::First => self.select(scene, 0),
            Command::Last => self.select(scene, usize::MAX),
            Command::Sort => self.sort = self.sort.next(),
            Command::Metric => {
                self.metric = match self.metric {
                    Metric::Ipc => Metric::Mpki,
                    Metric::Mpki => Metric::Ipc,
                }
            }
            Command::Domain => {
                let ids: Vec<u32> = scene.status.domains.iter().map(|domain| domain.id).collect();
                let here = self.domain(scene).map(|domain| domain.id);
                let next = ids.iter().position(|id| Some(*id) == here).map_or(0, |at| at + 1);
                self.domain = ids.get(next).or(ids.first()).copied();
                (self.selected, self.place, self.first) = (None, 0, 0);
            }
            Command::Play(_) => {}
        }
        self.follow_selection(scene);
        true
    }

    /// Shows a page, or closes it. Decisions are shown from the last one.
    fn toggle_page(&mut self, page: Page) {
        let is_from_end = matches!(page, Page::Why(_));
        self.line = if is_from_end { usize::MAX } else { 0 };
        self.page = if self.page.as_ref() == Some(&page) { None } else { Some(page) };
    }
}

fn moved(from: usize, by: i32) -> usize {
    let steps = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { from.saturating_sub(steps) } else { from.saturating_add(steps) }
}
