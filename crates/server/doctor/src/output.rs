//! What was found, as lines and as JSON.

use std::io::{self, Write};

use fairways_command_kit::plain::plain;
use fairways_command_kit::table::{columns, fold, fold_to};
use serde::Serialize;

use crate::{Ability, Finding, FindingState, Report, Verdict};

/// Changes when a field changes its meaning or goes; new fields do not change it.
const SCHEMA: u32 = 1;
/// The most columns of a line; a terminal may have fewer.
const WIDTH: usize = 80;
/// What is below a finding's first line is so far to the right.
const INDENT: &str = "         ";

#[derive(Serialize)]
struct Json<'a> {
    schema: u32,
    #[serde(flatten)]
    report: &'a Report,
    exit_code: u8,
}

/// Writes one object and a newline.
///
/// # Errors
/// If it can't be written.
pub fn json(report: &Report, code: u8, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Json { schema: SCHEMA, report, exit_code: code })?;
    writeln!(out)
}

/// Writes text: one line for a finding that is fine; otherwise also the reason and the remedy.
///
/// # Errors
/// If it can't be written.
pub fn text(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        write_finding(finding, out)?;
    }
    writeln!(out)?;
    for (what, answer) in [
        ("can partition", &report.partition),
        ("can monitor", &report.monitor),
        ("can count", &report.count),
        ("can schedule", &report.schedule),
    ] {
        writeln!(out, "{}", fold(&format!("{what}: {}", word(answer)), 2))?;
    }
    let verdict = match report.verdict {
        Verdict::Manageable => "Fairways can manage this host.",
        Verdict::NotSupported => "Fairways cannot manage this host as it is.",
        Verdict::Busy => "Others hold this host's cache.",
        Verdict::Permission => "This user may not manage this host.",
    };
    writeln!(out, "{verdict}")
}

fn write_finding(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let state = match finding.state {
        FindingState::Ok => "ok",
        FindingState::Limited => "limited",
        FindingState::Missing => "missing",
        FindingState::Unknown => "unknown",
        FindingState::NotAsked => "-",
    };
    let first = format!("{}: {}", finding.id, plain(&finding.found));
    let width = columns().map_or(WIDTH, |columns| WIDTH.min(columns.into()));
    writeln!(out, "{}", fold_to(&format!("{state:<9}{first}"), INDENT.len() + 2, width))?;
    if matches!(finding.state, FindingState::Ok | FindingState::NotAsked) {
        return Ok(());
    }
    let remedy = finding.remedy.as_ref().map(|remedy| format!("do: {remedy}"));
    for text in [Some(format!("why: {}", finding.why)), remedy].into_iter().flatten() {
        writeln!(out, "{}", fold_to(&format!("{INDENT}  {text}"), INDENT.len() + 4, width))?;
    }
    Ok(())
}

fn word(answer: &Ability) -> String {
    match (answer.yes, &answer.why) {
        (Some(false), Some(why)) => format!("no: {why}"),
        (None, Some(why)) => why.clone(),
        _ => "yes".to_owned(),
    }
}
