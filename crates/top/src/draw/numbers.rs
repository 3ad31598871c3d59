//! All that is known of a program, whatever columns there is room for.

use fairways_command_kit::partition::letter;
use fairways_policy::words;
use fairways_record::status::{Program, estimate};

use super::head::takes_turns;
use super::table::{latency, milliseconds};
use super::text::{number, wrap};
use crate::source::Scene;
use crate::view::View;

/// Where what is known begins, behind the word for it.
const BEHIND: usize = 12;

/// A program's numbers, a kind of them a line or more.
pub(super) fn numbers(scene: &Scene, view: &View, name: &str, width: u16) -> Vec<String> {
    let programs = view.programs(scene);
    let Some(program) = programs.into_iter().find(|of| of.name == name) else {
        return wrap("  it is not there", width, 2);
    };
    let has_turns = view.domain(scene).is_some_and(|of| takes_turns(&scene.status, of));
    let mut told = vec![("class", class(program))];
    if has_turns {
        told.push(("CPUs", turns(program)));
    } else {
        told.extend([("ways", ways(program)), ("occupancy", occupancy(program))]);
    }
    told.extend([
        ("window", window(program)),
        ("slowdown", number(program.slowdown())),
        ("SLO", objective(program)),
        ("estimates", estimates(program)),
    ]);
    let line = |(word, text): &(&str, String)| {
        let blanks = " ".repeat(BEHIND);
        let mut lines = wrap(&format!("{blanks}{text}"), width, BEHIND);
        let behind = lines[0].trim_start().to_owned();
        lines[0] = format!("{:BEHIND$}{behind}", format!("  {word}"));
        lines
    };
    told.iter().flat_map(line).collect()
}

fn class(of: &Program) -> String {
    match (&of.class, &of.class_reason) {
        (Some(class), Some(reason)) => format!("{class} ({reason})"),
        (Some(class), None) => class.clone(),
        (None, _) => "-".to_owned(),
    }
}

fn ways(of: &Program) -> String {
    let mut parts = Vec::new();
    match (of.ways, &of.mask) {
        (Some(ways), Some(mask)) => {
            let unit = if ways == 1 { "way" } else { "ways" };
            parts.push(format!("{ways} {unit} {mask}"));
        }
        _ => parts.push("-".to_owned()),
    }
    if let (Some(ways), Some(mask)) = (of.planned_ways, &of.planned_mask) {
        parts.push(format!("{ways} {mask} planned"));
    }
    if let Some(cluster) = of.cluster.and_then(|of| usize::try_from(of).ok()) {
        parts.push(format!("cluster {}", letter(cluster)));
    }
    parts.extend(of.baseline_ways.map(|ways| format!("baseline {ways}")));
    parts.extend(of.best_effort.then(|| "background work".to_owned()));
    parts.join(", ")
}

fn occupancy(of: &Program) -> String {
    of.occupancy_ways.map_or("-".to_owned(), |ways| format!("{ways:.2} ways"))
}

fn turns(of: &Program) -> String {
    let mut text = of.cpus.as_deref().unwrap_or("all").to_owned();
    text += &format!(", next turn {}", of.ordered_ns.map_or("-".to_owned(), milliseconds));
    if of.raised {
        text += ", runs before others";
    }
    text
}

/// What it did in the last one.
fn window(of: &Program) -> String {
    let bytes = of.memory_bytes_per_second().map(|bytes| bytes / 1e9);
    let numbers = [("IPC", of.ipc), ("MPKI", of.llcmpki), ("LLCMPKC", of.llcmpkc), ("GB/s", bytes)];
    let numbers = numbers.map(|(word, value)| format!("{word} {}", number(value))).join(", ");
    match of.window_ns {
        Some(nanos) => format!("{}: {numbers}", milliseconds(nanos)),
        None => numbers,
    }
}

fn objective(of: &Program) -> String {
    let Some(of) = of.objective else { return "-".to_owned() };
    let mut text = format!("{}, {}", of.word(), latency(&of));
    if let Some(requests) = of.requests {
        text += &format!(", {requests} requests");
    }
    text
}

/// What the policy found out of it, by the paper's words.
fn estimates(of: &Program) -> String {
    // The slowdown has a line of its own.
    let others = of.estimates.iter().filter(|(what, _)| **what != words::SLOWDOWN.text());
    let all: Vec<String> = others.map(|(what, value)| estimate(what, *value)).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(", ") }
}
