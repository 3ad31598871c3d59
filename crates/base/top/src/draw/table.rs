//! The programs, a row each.

use std::ops::Range;
use std::time::Duration;

use fairways_command_kit::partition::letter;
use fairways_record::blame::BlameReport;
use fairways_record::status::fields::{columns, milliseconds, number};
use fairways_record::status::{ObjectiveStatus, ProgramStatus};
use ratatui::style::Style;

use super::Screen;
use super::bar::DrawnCache;
use super::columns::{Column, Columns, MARGIN, culprit_text};
use super::head::takes_turns;
use super::text::fit;
use crate::source::Scene;
use crate::view::{SortOrder, View};

/// Draws the header and as many programs as fit, the selected one among them; returns which these
/// are, if there are more.
pub(super) fn draw(
    scene: &Scene,
    view: &mut View,
    lines: Range<u16>,
    screen: &mut Screen<'_>,
) -> String {
    let programs = view.programs(scene);
    let domain = view.domain(scene);
    let cache = domain.filter(|domain| !takes_turns(&scene.status, domain)).map(DrawnCache::new);
    let ways = match (&cache, domain) {
        (Some(cache), _) => Some(cache.ways()),
        (None, Some(_)) => None,
        (None, None) => Some(1),
    };
    let columns = Columns::fit(scene, &programs, view.losses(scene), ways, screen.area.width);
    header(&columns, view, lines.start, screen);
    let below = lines.start.saturating_add(1 + u16::try_from(programs.len()).unwrap_or(u16::MAX));
    for (missing, y) in scene.status.unmatched.iter().zip(below..lines.end) {
        let end = screen.put(MARGIN, y, &format!("{}  ", missing.name), screen.colours.strong());
        screen.put(end, y, &missing.why, screen.colours.quiet());
    }
    if programs.is_empty() && !scene.status.unmatched.is_empty() {
        return String::new();
    }
    if programs.is_empty() {
        screen.put(MARGIN, lines.start + 1, "no program yet", screen.colours.quiet());
        return String::new();
    }
    let room = usize::from(lines.end.saturating_sub(lines.start + 1)).max(1);
    view.first = view.first.min(programs.len().saturating_sub(room));
    let selected = programs.iter().position(|program| Some(program.app) == view.selected);
    if let Some(selected) = selected {
        view.first = view.first.clamp((selected + 1).saturating_sub(room), selected);
    }
    let seen = programs.iter().skip(view.first).take(room);
    for (program, y) in seen.zip(lines.start + 1..lines.end) {
        let row = ProgramRow { program, scene, view, cache: cache.as_ref(), columns: &columns };
        row.draw(y, screen);
    }
    if programs.len() <= room {
        return String::new();
    }
    format!("{}-{} of {} programs", view.first + 1, view.first + room, programs.len())
}

fn header(columns: &Columns, view: &View, y: u16, screen: &mut Screen<'_>) {
    let mut x = MARGIN;
    for &(column, width) in &columns.all {
        let title = title((column, width), view, columns);
        let sorted = view.sort.name() == title;
        let mut style = screen.colours.quiet();
        if sorted {
            style = style.patch(screen.colours.strong());
        }
        let title = fit(&title, width);
        if is_number(column) {
            screen.put_right(x + width, y, &title, style);
        } else {
            screen.put(x, y, &title, style);
        }
        x += width + 1;
    }
}

fn title((column, width): (Column, u16), view: &View, columns: &Columns) -> String {
    if let Some(shared) = column.shared() {
        return shared.name.to_owned();
    }
    let a_cell = columns.ways_per_cell;
    match column {
        // The paper's word; its unit follows a comma.
        Column::Estimate => {
            columns.estimate.as_ref().map_or("", |name| name.split(',').next().unwrap_or(name))
        }
        Column::Ways if a_cell > 1 => return format!("{a_cell} a cell"),
        Column::History if width < 12 => view.metric.name(),
        Column::History => return format!("{} history", view.metric.name()),
        column => column.name(),
    }
    .to_owned()
}

fn is_number(column: Column) -> bool {
    match column.shared() {
        Some(shared) => shared.is_number,
        None => matches!(column, Column::Estimate | Column::Slowdown),
    }
}

/// A program's row, and what it is drawn from.
struct ProgramRow<'a> {
    program: &'a ProgramStatus,
    scene: &'a Scene,
    view: &'a View,
    cache: Option<&'a DrawnCache>,
    columns: &'a Columns,
}

impl ProgramRow<'_> {
    fn draw(&self, y: u16, screen: &mut Screen<'_>) {
        let (program, colours) = (self.program, screen.colours);
        let is_selected = Some(program.app) == self.view.selected;
        let cluster = program.cluster.and_then(|index| usize::try_from(index).ok());
        let own = colours.cluster(cluster);
        if is_selected {
            let blank = " ".repeat(usize::from(screen.area.width));
            screen.put(0, y, &blank, colours.selected());
        }
        let sign = cluster.map_or('-', letter);
        let selection = if is_selected { colours.selected() } else { Style::new() };
        screen.put(0, y, if is_selected { ">" } else { " " }, selection);
        if self.cache.is_some() {
            screen.put(2, y, &sign.to_string(), own.patch(colours.strong()).patch(selection));
        }
        let mut x = MARGIN;
        for &(column, width) in &self.columns.all {
            let text = fit(&self.text(column, width), width);
            let colour = match (column, program.objective.and_then(|objective| objective.met)) {
                (Column::Ways, _) => own,
                (Column::History, _) => colours.quiet(),
                (Column::Slo, Some(true)) => colours.good(),
                (Column::Slo, Some(false)) => colours.bad(),
                _ => Style::new(),
            };
            if is_number(column) {
                screen.put_right(x + width, y, &text, colour.patch(selection));
            } else {
                screen.put(x, y, &text, colour.patch(selection));
            }
            x += width + 1;
        }
    }

    fn text(&self, column: Column, width: u16) -> String {
        let program = self.program;
        match column {
            Column::Ways => match (&program.mask, self.cache) {
                (Some(_), Some(cache)) => cache.program_bar(program, self.columns.ways_per_cell),
                _ => "-".to_owned(),
            },
            Column::Cpus if program.raised => {
                (columns::CPUS.text)(&self.scene.status, program) + "^"
            }
            Column::Estimate => {
                let what = self.columns.estimate.as_ref();
                number(what.and_then(|what| program.estimates.get(what)).copied())
            }
            Column::Slowdown => slowdown(self.view.losses(self.scene), program),
            Column::Culprit => {
                let losses = self.view.losses(self.scene);
                let culprit = losses.and_then(|losses| culprit_text(losses, program));
                culprit.unwrap_or_else(|| "-".to_owned())
            }
            Column::Latency => {
                program.objective.map_or_else(|| "-".to_owned(), |objective| latency(&objective))
            }
            Column::History => {
                self.scene.history.line(program, self.view.metric, usize::from(width))
            }
            shared => {
                let shared = shared.shared();
                shared.map_or_else(String::new, |of| (of.text)(&self.scene.status, program))
            }
        }
    }
}

/// What a program loses, as far as that is known.
pub(super) fn slowdown(losses: Option<&BlameReport>, program: &ProgramStatus) -> String {
    let known = losses.and_then(|losses| losses.slowdown(&program.name));
    known.map_or_else(|| "-".to_owned(), |slowdown| slowdown.to_string())
}

/// The latency at the objective's percentile, and the objective.
pub(super) fn latency(objective: &ObjectiveStatus) -> String {
    let is = objective.latency_ns.map_or_else(|| "-".to_owned(), milliseconds);
    let to_be = humantime::format_duration(Duration::from_nanos(objective.slo_ns));
    format!("p{} {is} of {to_be}", objective.percentile)
}

/// The order of the programs, as a hint.
pub(super) fn sorted(view: &View) -> String {
    match view.sort {
        SortOrder::Cluster => "s sort: cluster".to_owned(),
        sort => format!("s sort: {}", sort.name()),
    }
}
