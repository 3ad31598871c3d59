//! The programs, a row each.

use std::ops::Range;
use std::time::Duration;

use fairways_command_kit::partition::letter;
use fairways_record::status::{Objective, Program};
use ratatui::style::Style;

use super::Screen;
use super::bar::Cache;
use super::columns::{Column, Columns, MARGIN};
use super::head::takes_turns;
use super::text::{fit, number};
use crate::source::Scene;
use crate::view::{Sort, View};

/// Draws the header and as many programs as there is room for, the selected one among them; which these are, if there are others.
pub(super) fn draw(
    scene: &Scene,
    view: &mut View,
    lines: Range<u16>,
    screen: &mut Screen<'_>,
) -> String {
    let programs = view.programs(scene);
    let domain = view.domain(scene);
    let cache = domain.filter(|of| !takes_turns(&scene.status, of)).map(Cache::of);
    let ways = match (&cache, domain) {
        (Some(cache), _) => Some(cache.ways()),
        (None, Some(_)) => None,
        (None, None) => Some(1),
    };
    let columns = Columns::fit(scene, &programs, ways, screen.area.width);
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
    let selected = programs.iter().position(|of| Some(of.app) == view.selected);
    if let Some(selected) = selected {
        view.first = view.first.clamp((selected + 1).saturating_sub(room), selected);
    }
    let seen = programs.iter().skip(view.first).take(room);
    for (program, y) in seen.zip(lines.start + 1..lines.end) {
        let row = Row { program, scene, view, cache: cache.as_ref(), columns: &columns };
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
    let a_cell = columns.a_cell;
    match column {
        // What the paper calls it; its unit stands behind a comma.
        Column::Estimate => {
            columns.estimate.as_ref().map_or("", |of| of.split(',').next().unwrap_or(of))
        }
        Column::Program => "program",
        Column::Class => "class",
        Column::Ways if a_cell > 1 => return format!("{a_cell} a cell"),
        Column::Ways => "ways",
        Column::Cpus => "CPUs",
        Column::Turn => "next turn",
        Column::Ipc => "IPC",
        Column::Mpki => "MPKI",
        Column::Occupancy => "occupancy",
        Column::Bandwidth => "GB/s",
        Column::Slowdown => "slowdown",
        Column::Slo => "SLO",
        Column::Latency => "latency",
        Column::History if width < 12 => view.metric.name(),
        Column::History => return format!("{} history", view.metric.name()),
    }
    .to_owned()
}

fn is_number(column: Column) -> bool {
    use Column::{Bandwidth, Estimate, Ipc, Mpki, Occupancy, Slowdown, Turn};
    [Turn, Estimate, Ipc, Mpki, Occupancy, Bandwidth, Slowdown].contains(&column)
}

/// A program.
struct Row<'a> {
    program: &'a Program,
    scene: &'a Scene,
    view: &'a View,
    cache: Option<&'a Cache>,
    columns: &'a Columns,
}

impl Row<'_> {
    fn draw(&self, y: u16, screen: &mut Screen<'_>) {
        let (program, colours) = (self.program, screen.colours);
        let is_selected = Some(program.app) == self.view.selected;
        let cluster = program.cluster.and_then(|of| usize::try_from(of).ok());
        let own = colours.cluster(cluster);
        if is_selected {
            let blank = " ".repeat(usize::from(screen.area.width));
            screen.put(0, y, &blank, colours.selected());
        }
        let sign = cluster.map_or('-', letter);
        let style =
            |style: Style| if is_selected { style.patch(colours.selected()) } else { style };
        screen.put(0, y, if is_selected { ">" } else { " " }, style(Style::new()));
        if self.cache.is_some() {
            screen.put(2, y, &sign.to_string(), style(own.patch(colours.strong())));
        }
        let mut x = MARGIN;
        for &(column, width) in &self.columns.all {
            let text = fit(&self.text(column, width), width);
            let colour = match (column, program.objective.and_then(|of| of.met)) {
                (Column::Ways, _) => own,
                (Column::History, _) => colours.quiet(),
                (Column::Slo, Some(true)) => colours.good(),
                (Column::Slo, Some(false)) => colours.bad(),
                _ => Style::new(),
            };
            if is_number(column) {
                screen.put_right(x + width, y, &text, style(colour));
            } else {
                screen.put(x, y, &text, style(colour));
            }
            x += width + 1;
        }
    }

    fn text(&self, column: Column, width: u16) -> String {
        let of = self.program;
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        match column {
            Column::Program => of.name.clone(),
            Column::Class => or_dash(&of.class),
            Column::Ways => match (&of.mask, self.cache) {
                (Some(_), Some(cache)) => cache.own(of, self.columns.a_cell),
                _ => "-".to_owned(),
            },
            Column::Cpus => {
                let first = if of.raised { "^" } else { "" };
                format!("{}{first}", of.cpus.as_deref().unwrap_or("all"))
            }
            Column::Turn => of.ordered_ns.map_or_else(|| "-".to_owned(), milliseconds),
            Column::Estimate => {
                let what = self.columns.estimate.as_ref();
                number(what.and_then(|what| of.estimates.get(what)).copied())
            }
            Column::Ipc => number(of.ipc),
            Column::Mpki => number(of.llcmpki),
            Column::Occupancy => number(of.occupancy_ways),
            Column::Bandwidth => number(of.memory_bytes_per_second().map(|bytes| bytes / 1e9)),
            Column::Slowdown => number(of.slowdown()),
            Column::Slo => of.objective.map_or("-", |of| of.word()).to_owned(),
            Column::Latency => of.objective.map_or_else(|| "-".to_owned(), |of| latency(&of)),
            Column::History => self.scene.history.line(of, self.view.metric, usize::from(width)),
        }
    }
}

pub(super) fn milliseconds(nanos: u64) -> String {
    format!("{:.2}ms", Duration::from_nanos(nanos).as_secs_f64() * 1e3)
}

/// What it is at the percentile, and is to be.
pub(super) fn latency(of: &Objective) -> String {
    let is = of.latency_ns.map_or_else(|| "-".to_owned(), milliseconds);
    let to_be = humantime::format_duration(Duration::from_nanos(of.slo_ns));
    format!("p{} {is} of {to_be}", of.percentile)
}

/// By what programs are sorted, for the hints.
pub(super) fn sorted(view: &View) -> String {
    match view.sort {
        Sort::Cluster => "s sort: cluster".to_owned(),
        sort => format!("s sort: {}", sort.name()),
    }
}
