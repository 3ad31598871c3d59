//! Pages that replace the list of programs: the keys, or the decisions about a program.

use std::ops::Range;

use fairways_record::explain;
use fairways_record::status::Decision;

use super::Screen;
use super::columns::Column;
use super::numbers::numbers;
use super::text::wrap;
use crate::keys::{HELP, KeyScope};
use crate::source::Scene;
use crate::view::{Page, View};

/// The columns that the page of words explains.
const EXPLAINED: [Column; 12] = [
    Column::Ways,
    Column::Ipc,
    Column::Mpki,
    Column::Occupancy,
    Column::Bandwidth,
    Column::Limit,
    Column::Slowdown,
    Column::Expected,
    Column::Culprit,
    Column::Slo,
    Column::Latency,
    Column::History,
];

/// Below the losses.
const BLAME_NOTE: &str = "  In units of the time alone with the whole cache, over the last 30 to 60 \
                          seconds; estimates (`blame` has more).";

/// On narrow screens, lines of decisions are indented less.
const NARROW: u16 = 70;
const FAR: &str = "             ";

/// Draws a page from its current line on.
pub(super) fn draw(
    page: &Page,
    scene: &Scene,
    view: &mut View,
    lines: Range<u16>,
    screen: &mut Screen<'_>,
) {
    let width = screen.area.width;
    let mut lines = lines;
    let (title, text) = match page {
        Page::Help => ("keys and words".to_owned(), help(view, width - 2)),
        Page::Blame => ("which program slows which".to_owned(), blamed(scene, view, width - 2)),
        Page::Why(name) => {
            let mut text = numbers(scene, view, name, width - 2);
            let decisions = decisions(scene, view, name, width - 2);
            // They stay fixed if the decisions keep half of the room; otherwise they scroll with
            // the decisions.
            let own = u16::try_from(text.len() + 1).unwrap_or(u16::MAX);
            if own <= lines.len().try_into().unwrap_or(u16::MAX) / 2 {
                screen.put(1, lines.start, name, screen.colours.strong());
                for (line, y) in text.iter().zip(lines.start + 1..) {
                    screen.put(1, y, line, ratatui::style::Style::new());
                }
                lines.start += own;
                text = decisions;
            } else {
                text.extend(decisions);
            }
            (format!("decisions about {name}"), text)
        }
    };
    let room = usize::from(lines.end.saturating_sub(lines.start + 1));
    view.line = view.line.min(text.len().saturating_sub(room));
    screen.put(1, lines.start, &title, screen.colours.strong());
    if text.len() > room {
        let last = (view.line + room).min(text.len());
        let shown = format!("lines {}-{last} of {}", view.line + 1, text.len());
        screen.put_right(width - 1, lines.start, &shown, screen.colours.quiet());
    }
    let seen = text.iter().skip(view.line);
    for (line, y) in seen.zip(lines.start + 1..lines.end) {
        screen.put(1, y, line, ratatui::style::Style::new());
    }
}

fn help(view: &View, width: u16) -> Vec<String> {
    let hidden = if view.is_journal { KeyScope::Others } else { KeyScope::Journal };
    let keys = HELP.iter().filter(|(_, _, on)| *on != hidden);
    let keys = keys.map(|(keys, does, _)| format!("  {keys:16}{does}"));
    let clusters = ("A, B, ...", "the clusters; programs of a cluster share its ways");
    let raised = ("^", "a thread that runs before others");
    let means = [clusters].into_iter().chain(EXPLAINED.map(Column::words)).chain([raised]);
    let means = means.map(|(word, means)| format!("  {word:16}{means}"));
    let all = keys.chain([String::new()]).chain(means);
    all.flat_map(|line| {
        if line.chars().count() <= usize::from(width) { vec![line] } else { broken(&line, width) }
    })
    .collect()
}

/// Wraps a line of the help; the continuation stands under the meaning.
fn broken(line: &str, width: u16) -> Vec<String> {
    let (word, means): (String, String) =
        (line.chars().take(18).collect(), line.chars().skip(18).collect());
    let means = wrap(&means, width.saturating_sub(18).max(10), 0);
    let words = [word.as_str()].into_iter().chain(std::iter::repeat(""));
    words.zip(means).map(|(word, means)| format!("{word:18}{means}")).collect()
}

/// What programs lose to each other.
fn blamed(scene: &Scene, view: &View, width: u16) -> Vec<String> {
    let Some(losses) = view.losses(scene) else {
        let text = "  nothing is known: losses are estimated from windows with cycles, LLC \
                    references and misses, and stalls";
        return wrap(text, width, 2);
    };
    let lines = losses.sentences().flat_map(|line| wrap(&format!("  {line}"), width, 4));
    lines.chain([String::new()]).chain(wrap(BLAME_NOTE, width, 2)).collect()
}

fn decisions(scene: &Scene, view: &View, name: &str, width: u16) -> Vec<String> {
    let domain = view.domain(scene).map(|domain| domain.id);
    let here = scene.decisions.iter().filter(|decision| Some(decision.domain) == domain);
    let here: Vec<Decision> = here.cloned().collect();
    let lines = explain::sentences(&here, &explain::decisions_about(&here, name), Some(name));
    if lines.is_empty() {
        return wrap("  no recent decision is about it", width, 2);
    }
    let is_narrow = width < NARROW;
    let wrapped = lines.iter().flat_map(|line| match (line.strip_prefix(FAR), is_narrow) {
        (Some(rest), true) => wrap(&format!("    {rest}"), width, 6),
        (Some(_), false) => wrap(line, width, FAR.len() + 2),
        (None, true) => wrap(line.trim_start(), width, 2),
        (None, false) => wrap(line, width, FAR.len()),
    });
    wrapped.collect()
}
