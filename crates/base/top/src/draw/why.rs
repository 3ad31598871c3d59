//! The last decision and its reason.

use std::ops::Range;

use fairways_record::explain;

use super::Screen;
use super::text::{fit, wrap};
use crate::source::Scene;
use crate::view::View;

/// Draws as much of the domain's last decision as fits, lines about the selected program first; the
/// rule above it shows which programs are listed.
pub(super) fn draw(
    scene: &Scene,
    view: &View,
    shown: &str,
    lines: Range<u16>,
    screen: &mut Screen<'_>,
) {
    let width = screen.area.width;
    let quiet = screen.colours.quiet();
    screen.put(0, lines.start, &"─".repeat(width.into()), quiet);
    screen.put(3, lines.start, " last decision ", screen.colours.strong());
    if !shown.is_empty() {
        screen.put_right(width - 3, lines.start, &format!(" {shown} "), screen.colours.strong());
    }
    let room = usize::from(lines.end.saturating_sub(lines.start + 1));
    let text = text(scene, view, width - 2);
    let is_more = text.len() > room;
    for (at, (line, y)) in text.iter().zip(lines.start + 1..lines.end).enumerate() {
        let line = if is_more && at + 1 == room {
            fit(&format!("{line} …"), width - 2)
        } else {
            line.clone()
        };
        screen.put(1, y, &line, ratatui::style::Style::new());
    }
}

fn text(scene: &Scene, view: &View, width: u16) -> Vec<String> {
    let domain = view.domain(scene).map(|domain| domain.id);
    // Only this domain's decisions matter here.
    let here: Vec<_> = scene
        .decisions
        .iter()
        .filter(|decision| Some(decision.domain) == domain)
        .cloned()
        .collect();
    let Some(last) = here.last() else { return vec!["nothing was decided yet".to_owned()] };
    let mut sentences = explain::sentences(&here, &[last.number], None);
    let programs = view.programs(scene);
    let selected = programs.iter().find(|program| Some(program.app) == view.selected);
    if let Some(program) = selected {
        let own =
            explain::sentences(&here, &[last.number], Some(&program.name)).into_iter().skip(1);
        let others: Vec<String> = sentences
            .drain(1..)
            .filter(|line: &String| !line.trim_start().starts_with(&format!("{}: ", program.name)))
            .collect();
        sentences.extend(own.chain(others));
    }
    let trimmed = sentences.iter().map(|line| line.trim_start());
    let mut lines = Vec::new();
    for (at, line) in trimmed.enumerate() {
        let (indent, hanging) = if at == 0 { ("", 2) } else { ("  ", 4) };
        lines.extend(wrap(&format!("{indent}{line}"), width, hanging));
    }
    lines
}
