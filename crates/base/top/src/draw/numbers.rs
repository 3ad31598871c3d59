//! All that is known of a program, whatever columns fit.

use fairways_command_kit::partition::letter;
use fairways_policy::words;
use fairways_record::status::fields::{columns, milliseconds, number};
use fairways_record::status::{ProgramStatus, Status, estimate_text};

use super::head::takes_turns;
use super::table::{latency, slowdown};
use super::text::wrap;
use crate::source::Scene;
use crate::view::View;

/// The column in which values begin.
const BEHIND: usize = 12;

/// A program's numbers, each kind on one line or more.
pub(super) fn numbers(scene: &Scene, view: &View, name: &str, width: u16) -> Vec<String> {
    let programs = view.programs(scene);
    let Some(program) = programs.into_iter().find(|program| program.name == name) else {
        return wrap("  it does not run", width, 2);
    };
    let has_turns = view.domain(scene).is_some_and(|domain| takes_turns(&scene.status, domain));
    let mut entries = vec![("class", class(program))];
    if has_turns {
        entries.push(("CPUs", turns(program)));
    } else {
        entries.extend([("ways", ways(program)), ("occupancy", occupancy(program))]);
        entries.extend(scene.status.limit_text(program).map(|limit| ("limit", limit)));
    }
    entries.extend([
        ("window", window(&scene.status, program)),
        ("slowdown", slowdowns(scene, view, program)),
        ("SLO", objective(program)),
        ("estimates", estimates(program)),
    ]);
    entries
        .iter()
        .flat_map(|(word, text): &(&str, String)| {
            let blanks = " ".repeat(BEHIND);
            let mut lines = wrap(&format!("{blanks}{text}"), width, BEHIND);
            let behind = lines[0].trim_start().to_owned();
            lines[0] = format!("{:BEHIND$}{behind}", format!("  {word}"));
            lines
        })
        .collect()
}

fn class(program: &ProgramStatus) -> String {
    match (&program.class, &program.class_reason) {
        (Some(class), Some(reason)) => format!("{class} ({reason})"),
        (Some(class), None) => class.clone(),
        (None, _) => "-".to_owned(),
    }
}

fn ways(program: &ProgramStatus) -> String {
    let mut parts = Vec::new();
    match (program.ways, &program.mask) {
        (Some(ways), Some(mask)) => {
            let unit = if ways == 1 { "way" } else { "ways" };
            parts.push(format!("{ways} {unit} {mask}"));
        }
        _ => parts.push("-".to_owned()),
    }
    if let (Some(ways), Some(mask)) = (program.planned_ways, &program.planned_mask) {
        parts.push(format!("{ways} {mask} planned"));
    }
    if let Some(cluster) = program.cluster.and_then(|index| usize::try_from(index).ok()) {
        parts.push(format!("cluster {}", letter(cluster)));
    }
    parts.extend(program.baseline_ways.map(|ways| format!("baseline {ways}")));
    parts.extend(program.best_effort.then(|| "background work".to_owned()));
    parts.extend(program.importance.map(|times| format!("importance {times}")));
    parts.join(", ")
}

fn occupancy(program: &ProgramStatus) -> String {
    match program.shown_occupancy() {
        unknown if unknown == "-" => unknown,
        ways => format!("{ways} ways"),
    }
}

/// What it loses, and what the policy expects it to.
fn slowdowns(scene: &Scene, view: &View, program: &ProgramStatus) -> String {
    let is = slowdown(view.losses(scene), program);
    format!("{is}, the policy expects {}", number(program.expected_slowdown()))
}

fn turns(program: &ProgramStatus) -> String {
    let mut text = program.cpus.as_deref().unwrap_or("all").to_owned();
    text += &format!(", next turn {}", program.ordered_ns.map_or("-".to_owned(), milliseconds));
    if program.raised {
        text += ", runs before others";
    }
    text
}

/// The counts of the last window.
fn window(status: &Status, program: &ProgramStatus) -> String {
    let numbers = [&columns::IPC, &columns::MPKI, &columns::LLCMPKC, &columns::TRAFFIC];
    let numbers =
        numbers.map(|of| format!("{} {}", of.name, (of.text)(status, program))).join(", ");
    match program.window_ns {
        Some(nanos) => format!("{}: {numbers}", milliseconds(nanos)),
        None => numbers,
    }
}

fn objective(program: &ProgramStatus) -> String {
    let Some(objective) = program.objective else { return "-".to_owned() };
    let mut text = format!("{}, {}", objective.word(), latency(&objective));
    if let Some(requests) = objective.requests {
        text += &format!(", {requests} requests");
    }
    text
}

/// The policy's estimates, by the paper's words.
fn estimates(program: &ProgramStatus) -> String {
    // The slowdown to expect stands in a line with the one there is.
    let others = program.estimates.iter().filter(|(what, _)| **what != words::SLOWDOWN.text());
    let all: Vec<String> = others.map(|(what, value)| estimate_text(what, *value)).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}
