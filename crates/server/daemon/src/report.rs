//! `fairways status`, and the report of a daemon that has ended.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::ExitCode;
use fairways_command_kit::table::{STYLE, fit};
use fairways_core::Time;
use fairways_record::client;
use fairways_record::status::fields::{Column, columns};
use fairways_record::status::{ProgramStatus, Status};

/// Runs `fairways status`: prints the status of the daemon that listens at `control`, or at the
/// default socket, as a table or as one JSON object.
///
/// # Errors
/// If no daemon answers, or its policy has failed.
pub fn status(control: Option<&Path>, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let status = client::status(control)?;
    print(&status, json, out)?;
    out.flush()?;
    // Scripts go by the exit code.
    if status.failed.is_some() { Err(ExitCode(1).into()) } else { Ok(()) }
}

/// The columns of programs; the limit is shown where there is one.
const PROGRAMS: [Column<ProgramStatus>; 13] = [
    columns::PROGRAM,
    columns::DOMAIN,
    columns::WAYS,
    columns::MASK,
    columns::CLASS,
    columns::IPC,
    columns::MPKI,
    columns::LLCMPKC,
    columns::OCCUPANCY,
    columns::TRAFFIC,
    columns::EXPECTED,
    columns::SLO,
    columns::LIMIT,
];

/// The columns of threads.
const THREADS: [Column<ProgramStatus>; 8] = [
    Column { name: "thread", ..columns::PROGRAM },
    columns::DOMAIN,
    Column { text: |_, thread| cpus(thread), ..columns::CPUS },
    Column { text: |_, thread| thread.ordered_ns.map_or("-".to_owned(), time), ..columns::TURN },
    columns::CLASS,
    columns::IPC,
    columns::MPKI,
    columns::LLCMPKC,
];

/// The columns that are left out where the terminal is too narrow, in this order.
const GIVEN_UP: [&str; 10] = [
    columns::MASK.name,
    columns::LLCMPKC.name,
    columns::TRAFFIC.name,
    columns::OCCUPANCY.name,
    columns::MPKI.name,
    columns::DOMAIN.name,
    columns::SLO.name,
    columns::EXPECTED.name,
    columns::LIMIT.name,
    columns::CLASS.name,
];

/// Prints it, as a table or as one JSON object.
pub(super) fn print(status: &Status, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, status)?;
        return writeln!(out);
    }
    let Status { policy, mode, now_ns, now, .. } = status;
    let did = match mode.as_str() {
        "observe" => " observes",
        "counters-only" => " watches by counters alone",
        "dry-run" => " decides, and changes nothing",
        _ => "",
    };
    write!(out, "{policy}{did} after {}", Time::from_nanos(*now_ns))?;
    writeln!(out, "{}", now.map_or(String::new(), |now| format!(", at {now}")))?;
    if let Some(why) = &status.failed {
        writeln!(out, "the policy has failed, and its last decision stays in force: {why}")?;
    }
    for line in &status.degraded {
        writeln!(out, "degraded: {line}")?;
    }
    let unread: Vec<&str> =
        status.uncounted.iter().filter(|of| of.why.is_none()).map(|of| &*of.counter).collect();
    if !unread.is_empty() {
        writeln!(out, "not counted (nothing reads them): {}", unread.join(", "))?;
    }
    if let (Some(scheduler), Some(reason)) = (&status.scheduler, &status.scheduler_reason) {
        writeln!(out, "threads take turns by {scheduler}: {reason}")?;
        return threads(status, out);
    }
    for domain in &status.domains {
        let (id, ways, clos) = (domain.id, domain.ways, domain.clos);
        if mode == "counters-only" {
            let is_limited = status.programs.iter().any(|of| of.not_managed.is_some());
            let how =
                if is_limited { "programs share as others let them" } else { "all programs share" };
            writeln!(out, "domain {id}: {ways} ways, which {how}")?;
            continue;
        }
        write!(out, "domain {id}: {ways} ways and {clos} classes of service to give out")?;
        match (&domain.plan, &domain.reason) {
            (Some(plan), Some(reason)) => writeln!(out, "; plan {plan}: {reason}")?,
            _ => writeln!(out, "; no plan yet")?,
        }
        if let Some(mask) = &domain.io_mask {
            writeln!(out, "devices fill {mask} of domain {id} (io_alloc)")?;
        }
        for line in status.differences(id) {
            writeln!(out, "the plan is not fully in force: {line}")?;
        }
        if let Some(why) = &domain.refused {
            writeln!(out, "the last plan was refused: {why}")?;
        }
    }
    // Most hosts limit nothing.
    let is_limited = status.programs.iter().any(|program| status.limit_text(program).is_some());
    let shown = if is_limited { &PROGRAMS[..] } else { &PROGRAMS[..PROGRAMS.len() - 1] };
    let mut table = table_of(shown, status);
    for missing in &status.unmatched {
        let rest = std::iter::repeat_n("-", shown.len() - 1);
        table.add_row(std::iter::once(missing.name.as_str()).chain(rest));
    }
    writeln!(out, "{}", fit(table, &GIVEN_UP))?;
    unmatched(status, out)?;
    let mut reported = BTreeSet::new();
    for program in &status.programs {
        // It is of the whole program, whatever its domains.
        if let Some(joules) = program.core_energy_joules.filter(|_| reported.insert(program.app)) {
            writeln!(out, "cores used {joules:.3} J for {}", program.name)?;
        }
        if let Some(why) = &program.not_managed {
            writeln!(out, "{} in domain {} is not managed: {why}", program.name, program.domain)?;
        }
    }
    Ok(())
}

/// Prints the missing programs, and why each is missing.
fn unmatched(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    let mut all = status.unmatched.iter();
    all.try_for_each(|of| writeln!(out, "{} is not there: {}", of.name, of.why))
}

/// Prints where threads run, and for how long.
fn threads(status: &Status, out: &mut dyn Write) -> io::Result<()> {
    for domain in &status.domains {
        let cpus = domain.cpus.as_deref().unwrap_or("none");
        let turn = domain.quantum_ns.map_or("-".to_owned(), time);
        writeln!(out, "domain {}: CPUs {cpus}, turns of {turn}", domain.id)?;
    }
    let table = table_of(&THREADS, status);
    writeln!(out, "{}", fit(table, &GIVEN_UP))
}

fn time(nanos: u64) -> String {
    humantime::format_duration(std::time::Duration::from_nanos(nanos)).to_string()
}

/// The CPUs of a thread, and whether it runs before others.
fn cpus(thread: &ProgramStatus) -> String {
    let raised = if thread.raised { " (before others)" } else { "" };
    format!("{}{raised}", thread.cpus.as_deref().unwrap_or("all"))
}

/// The programs, a row each.
fn table_of(columns: &[Column<ProgramStatus>], status: &Status) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(columns.iter().map(|column| column.name));
    for (column, of) in columns.iter().zip(table.column_iter_mut()) {
        if column.is_number {
            of.set_cell_alignment(CellAlignment::Right);
        }
    }
    for program in &status.programs {
        table.add_row(columns.iter().map(|column| (column.text)(status, program)));
    }
    table
}

#[cfg(test)]
mod tests {
    use fairways_command_kit::table::keep_whole;
    use fairways_record::status::{DomainStatus, ObjectiveStatus};

    use super::*;

    #[test]
    fn what_is_missing_is_a_dash() {
        let program =
            ProgramStatus { name: "web".to_owned(), ipc: Some(0.0), ..ProgramStatus::default() };
        let domain = DomainStatus { id: 8, ways: 9, clos: 15, ..DomainStatus::default() };
        let (policy, mode) = ("lfoc".to_owned(), "dry-run".to_owned());
        let (programs, domains) = (vec![program], vec![domain]);
        let status = Status { policy, mode, programs, domains, ..Status::default() };
        let mut out = Vec::new();
        keep_whole();
        print(&status, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("lfoc decides, and changes nothing after 0.000 s\n"), "{text}");
        assert!(text.contains("domain 8: 9 ways and 15 classes of service to give out; no plan"));
        let row = text.lines().find(|line| line.contains("web")).unwrap();
        let row = row.split_whitespace().collect::<Vec<_>>();
        assert_eq!(row, ["web", "0", "-", "-", "-", "0.00", "-", "-", "-", "-", "-", "-"]);
        let objective = |met| Some(ObjectiveStatus { met, ..ObjectiveStatus::default() });
        let words = [Some(true), Some(false), None].map(|met| {
            let program = ProgramStatus { objective: objective(met), ..ProgramStatus::default() };
            (columns::SLO.text)(&Status::default(), &program)
        });
        assert_eq!(words, ["met", "missed", "unknown"]);
    }

    #[test]
    fn what_is_only_planned_is_shown_as_such() {
        let (planned_ways, planned_mask) = (Some(3), Some("0x7".to_owned()));
        let program = ProgramStatus { planned_ways, planned_mask, ..ProgramStatus::default() };
        let cells =
            [columns::WAYS, columns::MASK].map(|of| (of.text)(&Status::default(), &program));
        assert_eq!(cells, ["- (3 planned)", "0x7 planned"]);
    }

    #[test]
    fn a_limit_of_memory_bandwidth_has_a_column_where_there_is_one() {
        let limited = ProgramStatus { bandwidth_level: Some(20), ..ProgramStatus::default() };
        let programs = vec![limited, ProgramStatus::default()];
        let mut out = Vec::new();
        keep_whole();
        print(&Status { programs, ..Status::default() }, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines = text.lines().filter_map(|line| line.split_whitespace().last());
        let column: Vec<&str> = lines.filter(|end| ["limit", "20", "-"].contains(end)).collect();
        assert_eq!(column, ["limit", "20", "-"], "{text}");
    }

    #[test]
    fn threads_are_shown_with_their_cpus() {
        let (cpus, ordered_ns) = (Some("1,3".to_owned()), Some(12_500_000));
        let program = ProgramStatus { cpus, ordered_ns, raised: true, ..ProgramStatus::default() };
        let programs = vec![ProgramStatus { name: "web/77".to_owned(), ..program }];
        let (cpus, quantum_ns) = (Some("0-3".to_owned()), Some(10_000_000));
        let domains = vec![DomainStatus { cpus, quantum_ns, ..DomainStatus::default() }];
        let (scheduler, scheduler_reason) = (Some("affinity".to_owned()), Some("so".to_owned()));
        let status = Status { programs, domains, scheduler, scheduler_reason, ..Status::default() };
        let mut out = Vec::new();
        keep_whole();
        print(&status, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(
                "threads take turns by affinity: so\ndomain 0: CPUs 0-3, turns of 10ms\n"
            )
        );
        let row = text.lines().find(|line| line.contains("web/77")).unwrap();
        let row = row.split_whitespace().collect::<Vec<_>>();
        let expected =
            ["web/77", "0", "1,3", "(before", "others)", "12ms", "500us", "-", "-", "-", "-"];
        assert_eq!(row, expected);
    }
}
