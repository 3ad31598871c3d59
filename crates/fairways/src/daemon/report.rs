//! `fairways status`, and what is shown of a daemon that has ended.

use std::io::{self, Write};
use std::path::Path;

use comfy_table::{CellAlignment, Table};
use fairways_core::Time;

use super::control::{Request, Response, ask};
use super::status::{Program, Status};
use crate::ExitCode;
use crate::args;
use crate::table::STYLE;

/// Where the daemon listens unless it was told otherwise.
pub(super) const SOCKET: &str = "/run/fairways/fairways.sock";

/// Runs `fairways status`.
pub(crate) fn status(args: &args::Status, out: &mut dyn Write) -> anyhow::Result<()> {
    let path = args.control.as_deref().unwrap_or(Path::new(SOCKET));
    let response = ask(path, Request::Status {}).map_err(|why| {
        let shown = crate::world::shown(path);
        anyhow::anyhow!("{shown}: no daemon answers there: {why} (fairways run starts one)")
    })?;
    let status = match response {
        Response::Status(status) => status,
        Response::Error(why) => anyhow::bail!("{}: {why}", crate::world::shown(path)),
    };
    print(&status, args.json, out)?;
    out.flush()?;
    // Who asks in a script should know.
    if status.failed.is_some() { Err(ExitCode(1).into()) } else { Ok(()) }
}

/// Prints it, as a table or as one JSON object.
pub(super) fn print(status: &Status, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, status)?;
        return writeln!(out);
    }
    let Status { policy, mode, now_ns, .. } = status;
    let did = match mode.as_str() {
        "observe" => " observes",
        "dry-run" => " decides, and changes nothing",
        _ => "",
    };
    writeln!(out, "{policy}{did} after {}", Time::from_nanos(*now_ns))?;
    if let Some(why) = &status.failed {
        writeln!(out, "it has failed, and what it decided last holds: {why}")?;
    }
    for domain in &status.domains {
        let (id, ways, clos) = (domain.id, domain.ways, domain.clos);
        write!(out, "domain {id}: {ways} ways and {clos} classes of service to give out")?;
        match (&domain.plan, &domain.reason) {
            (Some(plan), Some(reason)) => writeln!(out, "; plan {plan}: {reason}")?,
            _ => writeln!(out, "; no plan yet")?,
        }
        if let Some(why) = &domain.refused {
            writeln!(out, "the last plan was refused: {why}")?;
        }
    }
    let mut table = Table::new();
    let header = ["program", "domain", "ways", "mask", "class", "IPC", "LLCMPKC", "occupancy"];
    table.load_style(STYLE).set_header(header);
    for (column, of) in table.column_iter_mut().enumerate() {
        if ![0, 4].contains(&column) {
            of.set_cell_alignment(CellAlignment::Right);
        }
    }
    for program in &status.programs {
        table.add_row(row(program));
    }
    writeln!(out, "{}", table.trim_fmt())
}

fn row(program: &Program) -> [String; 8] {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let number = |number: Option<f64>| number.map_or("-".to_owned(), |value| format!("{value:.2}"));
    [
        program.name.clone(),
        program.domain.to_string(),
        program.ways.map_or("-".to_owned(), |ways| ways.to_string()),
        text(&program.mask),
        text(&program.class),
        number(program.ipc),
        number(program.llcmpkc),
        number(program.occupancy_ways),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::status::Domain;
    use super::*;

    #[test]
    fn what_is_missing_is_a_dash() {
        let program = Program { name: "web".to_owned(), ipc: Some(0.0), ..Program::default() };
        let domain = Domain { id: 8, ways: 9, clos: 15, ..Domain::default() };
        let (policy, mode) = ("lfoc".to_owned(), "dry-run".to_owned());
        let (programs, domains) = (vec![program], vec![domain]);
        let status = Status { policy, mode, programs, domains, ..Status::default() };
        let mut out = Vec::new();
        print(&status, false, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("lfoc decides, and changes nothing after 0.000 s\n"), "{text}");
        assert!(text.contains("domain 8: 9 ways and 15 classes of service to give out; no plan"));
        let row = text.lines().find(|line| line.contains("web")).unwrap();
        let row = row.split_whitespace().collect::<Vec<_>>();
        assert_eq!(row, ["web", "0", "-", "-", "-", "0.00", "-", "-"]);
    }
}
