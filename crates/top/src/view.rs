//! What the user has chosen to see.

use std::cmp::Ordering;

use fairways_record::status::{Domain, Program};

use super::history::Metric;
use super::keys::Command;
use super::source::Scene;

/// By what programs are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// Those of a cluster stand together.
    #[default]
    Cluster,
    Program,
    Ipc,
    Mpki,
    Occupancy,
    Bandwidth,
    Slowdown,
}

impl Sort {
    const ALL: [Self; 7] = [
        Self::Cluster,
        Self::Program,
        Self::Ipc,
        Self::Mpki,
        Self::Occupancy,
        Self::Bandwidth,
        Self::Slowdown,
    ];

    /// As the column's header has it.
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
        let place = Self::ALL.iter().position(|of| *of == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }

    /// The largest first, and what is missing last.
    fn number(self, of: &Program) -> Option<f64> {
        match self {
            Self::Cluster | Self::Program => None,
            Self::Ipc => of.ipc,
            Self::Mpki => of.llcmpki,
            Self::Occupancy => of.occupancy_ways,
            Self::Bandwidth => of.memory_bytes_per_second(),
            Self::Slowdown => of.slowdown(),
        }
    }

    fn order(self, one: &Program, other: &Program) -> Ordering {
        let place = |of: &Program| of.cluster.unwrap_or(u32::MAX);
        let first = match self {
            Self::Cluster => place(one).cmp(&place(other)),
            Self::Program => Ordering::Equal,
            _ => match (self.number(one), self.number(other)) {
                (Some(one), Some(other)) => other.total_cmp(&one),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
        };
        first.then_with(|| one.name.cmp(&other.name)).then_with(|| one.app.cmp(&other.app))
    }
}

/// What is shown in the place of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Help,
    /// The decisions about a program.
    Why(String),
}

/// What the user has chosen to see.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The domain, the first if there is none of this id.
    domain: Option<u32>,
    /// The selected program, and where it was last.
    pub(super) selected: Option<u32>,
    place: usize,
    pub(super) sort: Sort,
    pub(super) metric: Metric,
    pub(super) page: Option<Page>,
    /// The first line of the page, and the first program, that can be seen.
    pub(super) line: usize,
    pub(super) first: usize,
    /// Whether there are keys of a journal.
    pub(super) journal: bool,
}

impl View {
    /// Before anything was chosen, of a source that is a journal or not.
    pub(super) fn new(journal: bool) -> Self {
        Self { journal, ..Self::default() }
    }

    /// The domain that is shown.
    pub(super) fn domain<'a>(&self, scene: &'a Scene) -> Option<&'a Domain> {
        let mut all = scene.status.domains.iter();
        all.clone().find(|of| Some(of.id) == self.domain).or_else(|| all.next())
    }

    /// Its programs, sorted.
    pub(super) fn programs<'a>(&self, scene: &'a Scene) -> Vec<&'a Program> {
        // Before a domain is told of, there is one.
        let domain = self.domain(scene).map_or(0, |of| of.id);
        let all = scene.status.programs.iter().filter(|of| of.domain == domain);
        let mut programs: Vec<&Program> = all.collect();
        programs.sort_by(|one, other| self.sort.order(one, other));
        programs
    }

    /// Keeps to programs that are there.
    pub(super) fn heed(&mut self, scene: &Scene) {
        let programs = self.programs(scene);
        let Some(selected) = self.selected else { return };
        match programs.iter().position(|of| of.app == selected) {
            Some(place) => self.place = place,
            None => {
                // The one that took its place.
                let last = programs.len().saturating_sub(1);
                self.place = self.place.min(last);
                self.selected = programs.get(self.place).map(|of| of.app);
            }
        }
    }

    fn select(&mut self, scene: &Scene, place: usize) {
        let programs = self.programs(scene);
        self.place = place.min(programs.len().saturating_sub(1));
        self.selected = programs.get(self.place).map(|of| of.app);
    }

    /// Does what the user wants of the view; false if that is to leave.
    pub(super) fn heeds(&mut self, command: Command, scene: &Scene) -> bool {
        match command {
            Command::Quit => return false,
            Command::Leave => return self.page.take().is_some(),
            Command::Help => self.turn(Page::Help),
            Command::Why => {
                if self.selected.is_none() {
                    self.select(scene, 0);
                }
                let selected = self.programs(scene).into_iter();
                let selected = selected.into_iter().find(|of| Some(of.app) == self.selected);
                if let Some(name) = selected.map(|of| of.name.clone()) {
                    self.turn(Page::Why(name));
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
                let ids: Vec<u32> = scene.status.domains.iter().map(|of| of.id).collect();
                let here = self.domain(scene).map(|of| of.id);
                let next = ids.iter().position(|id| Some(*id) == here).map_or(0, |at| at + 1);
                self.domain = ids.get(next).or(ids.first()).copied();
                (self.selected, self.place, self.first) = (None, 0, 0);
            }
            Command::Play(_) => {}
        }
        self.heed(scene);
        true
    }

    /// To a page, or back from it. The last decision is what one wants to know first.
    fn turn(&mut self, page: Page) {
        self.line = if page == Page::Help { 0 } else { usize::MAX };
        self.page = if self.page.as_ref() == Some(&page) { None } else { Some(page) };
    }
}

fn moved(from: usize, by: i32) -> usize {
    let steps = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    if by < 0 { from.saturating_sub(steps) } else { from.saturating_add(steps) }
}
