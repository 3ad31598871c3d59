//! The watched machine and its cache.

use fairways_command_kit::partition::{NOBODY, SEVERAL};
use fairways_core::Time;
use fairways_record::status::{DomainStatus, Status};
use ratatui::style::Style;

use super::Screen;
use super::bar::{DrawnCache, OTHERS};
use super::text::{bytes, fit, fit_end};
use crate::source::Scene;
use crate::view::View;

/// From this width on, the time of day is shown.
const DATED: u16 = 64;

/// The most columns that a way is drawn with.
const WIDEST: u32 = 3;

/// Whether threads take turns under the policy, so that it divides no ways.
pub(super) fn takes_turns(status: &Status, domain: &DomainStatus) -> bool {
    status.scheduler.is_some() || domain.quantum_ns.is_some() && domain.plan.is_none()
}

/// Draws the head and returns the next line.
pub(super) fn draw(scene: &Scene, view: &View, screen: &mut Screen<'_>) -> u16 {
    let Scene { status, source: from, pace, note, .. } = scene;
    let (width, quiet, strong) =
        (screen.area.width, screen.colours.quiet(), screen.colours.strong());
    let x = screen.put(1, 0, &status.policy, strong);
    let x = screen.put(x, 0, "  ", Style::new());
    let x = screen.put(x, 0, &status.mode, Style::new());
    let clock = Time::from_nanos(status.now_ns).to_string();
    let pace = if pace.is_empty() { String::new() } else { format!("  {pace}") };
    let now = status.now.filter(|_| width >= DATED).map_or(String::new(), |now| format!("  {now}"));
    let right = format!("{pace}{now}  {clock}");
    let room = width.saturating_sub(1 + x + 2);
    let own = u16::try_from(right.chars().count()).unwrap_or(u16::MAX);
    screen.put_right(width - 1, 0, &right, Style::new());
    if let Some(room) = room.checked_sub(own).filter(|room| *room >= 8) {
        screen.put_right(width - 1 - own, 0, &fit_end(from, room), quiet);
    }
    let mut y = 1;
    if let Some(domain) = view.domain(scene) {
        let mut x: u16 = 1;
        for part in about(status, domain) {
            let length = u16::try_from(part.chars().count()).unwrap_or(u16::MAX);
            if x > 1 && x.saturating_add(length) >= width {
                break;
            }
            x = screen.put(x, y, &part, Style::new()) + 3;
        }
        y += 1;
        if !takes_turns(status, domain) && domain.ways > 0 {
            bar(domain, y, screen);
            y += 1;
        }
    }
    let failed = status.failed.as_ref();
    let failed = failed.map(|why| format!("failed; its last decision stays in force: {why}"));
    let refused = view.domain(scene).and_then(|domain| domain.refused.as_ref());
    let refused = refused.map(|why| format!("the last plan was refused: {why}"));
    for line in [failed, refused, note.clone()].into_iter().flatten() {
        screen.put(1, y, &fit(&line, width - 2), screen.colours.bad());
        y += 1;
    }
    y
}

/// A domain in a line; the first parts matter most.
fn about(status: &Status, domain: &DomainStatus) -> Vec<String> {
    let mut parts = Vec::new();
    parts.push(match &status.domains[..] {
        [_] | [] => format!("domain {}", domain.id),
        all => {
            let ids = all.iter().map(|domain| domain.id.to_string()).collect::<Vec<_>>();
            format!("domain {} of {}", domain.id, ids.join(","))
        }
    });
    if takes_turns(status, domain) {
        parts.push(format!("CPUs {}", domain.cpus.as_deref().unwrap_or("-")));
        let turn = domain.quantum_ns.map(std::time::Duration::from_nanos);
        let turn =
            turn.map_or("-".to_owned(), |length| humantime::format_duration(length).to_string());
        parts.push(format!("turns of {turn}"));
        if let Some(scheduler) = &status.scheduler {
            let reason = status.scheduler_reason.as_deref().unwrap_or("-");
            parts.push(format!("by {scheduler}: {reason}"));
        }
        return parts;
    }
    let of_it = if status.observes() { ", not in force" } else { "" };
    parts.push(domain.plan.map_or("no plan yet".to_owned(), |plan| format!("plan {plan}{of_it}")));
    parts.push(format!("{} of {} classes", domain.clusters.len(), domain.clos));
    let cache = DrawnCache::new(domain);
    let offered = match cache.offered() {
        offered if offered == cache.ways() => String::new(),
        offered => format!(", {offered} given out"),
    };
    parts.push(format!("{} ways{offered}", cache.ways()));
    parts.extend(domain.way_bytes.map(|way| format!("{} a way", bytes(way))));
    parts
}

/// Draws the cache: each way with the letter of its cluster, between the numbers of the highest and
/// the lowest, and a legend of the other signs.
fn bar(domain: &DomainStatus, y: u16, screen: &mut Screen<'_>) {
    let cache = DrawnCache::new(domain);
    let (quiet, width) = (screen.colours.quiet(), u32::from(screen.area.width));
    let ways = cache.ways().max(1);
    let room = width.saturating_sub(10).max(1);
    let wide = (room / ways).min(WIDEST);
    let a_cell = if wide == 0 { ways.div_ceil(room) } else { 1 };
    let cells = cache.cells(a_cell);
    let mut x = screen.put(1, y, &format!("{} ", ways - 1), quiet);
    for (sign, cluster) in &cells {
        let style = screen.colours.cluster(*cluster);
        let style = if cluster.is_some() { style.patch(screen.colours.strong()) } else { style };
        let cell = match wide {
            0 | 1 => sign.to_string(),
            2 => format!("{sign} "),
            _ => format!(" {sign} "),
        };
        x = screen.put(x, y, &cell, style);
    }
    x = screen.put(x, y, " 0", quiet);
    fn is_there(wanted: char, cells: &[(char, Option<usize>)]) -> bool {
        cells.iter().any(|(sign, _)| *sign == wanted)
    }
    if a_cell > 1 {
        x = screen.put(x, y, &format!("   {a_cell} ways a letter"), quiet);
    }
    for (sign, means) in [(NOBODY, "unused"), (SEVERAL, "several"), (OTHERS, "not given out")] {
        if is_there(sign, &cells) {
            let legend = format!("   {sign} {means}");
            let length = u32::try_from(legend.chars().count()).unwrap_or(u32::MAX);
            if u32::from(x) + length <= width {
                x = screen.put(x, y, &legend, quiet);
            }
        }
    }
}
