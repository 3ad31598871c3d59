//! The columns of the programs, and which of them fit.

use fairways_record::blame::BlameReport;
use fairways_record::status::ProgramStatus;
use fairways_record::status::fields::{self, columns};

use crate::source::Scene;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Program,
    Class,
    /// A program's ways as a bar.
    Ways,
    Cpus,
    Turn,
    /// The one number that the policy estimates for a thread.
    Estimate,
    Ipc,
    Mpki,
    Occupancy,
    Bandwidth,
    /// The limit of memory bandwidth.
    Limit,
    /// What the program loses.
    Slowdown,
    /// The slowdown that the policy expects.
    Expected,
    /// The neighbour that costs it most.
    Culprit,
    /// Whether the objective is met.
    Slo,
    Latency,
    History,
}

impl Column {
    /// The same column as other tables show it; `None` for those that `top` alone has.
    pub(super) const fn shared(self) -> Option<&'static fields::Column<ProgramStatus>> {
        Some(match self {
            Self::Program => &columns::PROGRAM,
            Self::Class => &columns::CLASS,
            Self::Cpus => &columns::CPUS,
            Self::Turn => &columns::TURN,
            Self::Ipc => &columns::IPC,
            Self::Mpki => &columns::MPKI,
            Self::Occupancy => &columns::OCCUPANCY,
            Self::Bandwidth => &columns::TRAFFIC,
            Self::Limit => &columns::LIMIT,
            Self::Expected => &columns::EXPECTED,
            Self::Slo => &columns::SLO,
            Self::Ways
            | Self::Estimate
            | Self::Slowdown
            | Self::Culprit
            | Self::Latency
            | Self::History => return None,
        })
    }

    /// Its name, and what it shows; both are empty for one that is named by what it shows.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        if let Some(shared) = self.shared() {
            return (shared.name, shared.help);
        }
        match self {
            Self::Ways => (
                columns::WAYS.name,
                "the highest first, as the bits of a mask: only its cluster may fill a full cell; \
                 others may fill a shaded one, or a part of it, as well",
            ),
            Self::Slowdown => (
                "slowdown",
                "how many times longer than alone with the whole cache, as windows of the last 30 \
                 to 60 seconds show it; as `blame`",
            ),
            Self::Culprit => (
                "culprit",
                "the neighbour that costs it most, and how much of its time alone, of the same \
                 windows",
            ),
            Self::Latency => ("latency", "at the objective's percentile, and the objective"),
            Self::History => (
                "history",
                "a point every 100 ms of a journal's or a simulated machine's time, every second \
                 otherwise; the highest is the largest shown of that program",
            ),
            _ => ("", ""),
        }
    }

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        self.words().0
    }
}

/// The columns that are dropped when the screen is narrow, the first one first; docs/top.md lists
/// the same.
const GIVEN_UP: [Column; 12] = [
    Column::Latency,
    Column::Bandwidth,
    Column::Occupancy,
    Column::History,
    Column::Expected,
    Column::Culprit,
    Column::Slowdown,
    Column::Slo,
    Column::Mpki,
    Column::Limit,
    Column::Estimate,
    Column::Class,
];

/// Left of all columns: the mark of the selected program, and the cluster.
pub(super) const MARGIN: u16 = 4;

/// The fewest and the most cells of a history.
const HISTORY: (u16, u16) = (8, 60);

/// The columns and their widths, without the blank after each.
pub(super) struct Columns {
    pub(super) all: Vec<(Column, u16)>,
    /// The ways that a cell of a bar stands for.
    pub(super) ways_per_cell: u32,
    /// The number that a scheduling policy estimates, if it is a single one.
    pub(super) estimate: Option<String>,
}

fn longest<'a>(texts: impl Iterator<Item = &'a str>, (least, most): (u16, u16)) -> u16 {
    let longest = texts.map(|text| text.chars().count()).max().unwrap_or(0);
    u16::try_from(longest).unwrap_or(most).clamp(least, most)
}

/// The neighbour that costs a program most, and how much.
pub(super) fn culprit_text(losses: &BlameReport, program: &ProgramStatus) -> Option<String> {
    let (culprit, loss) = losses.worst_culprit(&program.name)?;
    Some(format!("+{loss:.2} {culprit}"))
}

impl Columns {
    /// The columns that fit a width, for programs that share a cache of `ways` ways, or for threads
    /// that take turns.
    pub(super) fn fit(
        scene: &Scene,
        programs: &[&ProgramStatus],
        losses: Option<&BlameReport>,
        ways: Option<u32>,
        width: u16,
    ) -> Self {
        let is_wide = width >= 100;
        let a_cell = ways.map_or(1, |ways| ways.div_ceil(u32::from(width) / 3).max(1));
        let bar = ways.map(|ways| u16::try_from(ways.div_ceil(a_cell)).unwrap_or(u16::MAX));
        let names = programs.iter().map(|program| program.name.as_str());
        let classes = programs.iter().filter_map(|program| program.class.as_deref());
        let cpus = programs.iter().filter_map(|program| program.cpus.as_deref());
        let mut all = vec![
            (Column::Program, longest(names, (7, if is_wide { 24 } else { 13 }))),
            (Column::Class, longest(classes, (7, if is_wide { 18 } else { 12 }))),
        ];
        match bar {
            Some(bar) => all.push((Column::Ways, bar.max(8))),
            // One more column for the sign of threads that run before others.
            None => all.extend([(Column::Cpus, longest(cpus, (4, 11)) + 1), (Column::Turn, 9)]),
        }
        let mut names_of_estimates: Vec<&String> =
            programs.iter().flat_map(|program| program.estimates.keys()).collect();
        names_of_estimates.sort_unstable();
        names_of_estimates.dedup();
        let limits = programs.iter().filter_map(|program| scene.status.limit_text(program));
        let limits: Vec<String> = limits.collect();
        let culprits: Vec<String> =
            programs.iter().filter_map(|of| culprit_text(losses?, of)).collect();
        let estimate = match names_of_estimates[..] {
            [one] if bar.is_none() => Some(one.clone()),
            _ => None,
        };
        all.extend(estimate.iter().map(|_| (Column::Estimate, 8)));
        all.extend([
            (Column::Ipc, 5),
            (Column::Mpki, 6),
            (Column::Occupancy, 9),
            (Column::Bandwidth, 6),
            (Column::Limit, longest(limits.iter().map(String::as_str), (5, 24))),
            (Column::Slowdown, 8),
            (Column::Expected, 8),
            (Column::Culprit, longest(culprits.iter().map(String::as_str), (7, 20))),
            (Column::Slo, 7),
            (Column::Latency, 18),
            (Column::History, HISTORY.0),
        ]);
        // A value that no program has in the whole machine would be a column of dashes.
        let programs = &scene.status.programs;
        let mut unused = Vec::new();
        if programs.iter().all(|program| program.objective.is_none()) {
            unused.extend([Column::Slo, Column::Latency]);
        }
        if programs.iter().all(|program| scene.status.limit_text(program).is_none()) {
            unused.push(Column::Limit);
        }
        if losses.is_none() {
            unused.push(Column::Slowdown);
        }
        if programs.iter().all(|program| program.expected_slowdown().is_none()) {
            unused.push(Column::Expected);
        }
        if culprits.is_empty() {
            unused.push(Column::Culprit);
        }
        all.retain(|(column, _)| !unused.contains(column));
        let mut columns = Self { all, ways_per_cell: a_cell, estimate };
        for given_up in GIVEN_UP {
            if columns.remaining(width).is_none() {
                columns.all.retain(|(column, _)| *column != given_up);
            }
        }
        let rest = columns.remaining(width).unwrap_or(0);
        if let Some((Column::History, cells)) = columns.all.last_mut() {
            *cells = (*cells + rest).min(HISTORY.1);
        }
        columns
    }

    /// The width that is left; `None` if the columns do not fit.
    fn remaining(&self, width: u16) -> Option<u16> {
        let used = self.all.iter().map(|(_, width)| width + 1).sum::<u16>();
        (width + 1).checked_sub(MARGIN + used)
    }
}
