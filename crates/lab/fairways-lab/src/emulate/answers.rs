//! The answers of a running emulator, as tables and JSON.

use std::io::Write;
use std::path::Path;

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::BadInput;
use fairways_command_kit::table::{STYLE, fit};
use serde::Serialize;

use fairways_emulated::{
    ArmedFault, Client, ClientError, ClockState, ProgramCounters, ProgramLatencies, ProgramState,
    Request, Response, SCHEMA, Status, socket_of,
};

/// Sends a request to the emulator that is mounted here, or listens here, and prints the answer.
///
/// # Errors
/// If no emulator answers, or it refuses.
pub(crate) fn run(
    dir: &Path,
    request: &Request,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut client = Client::connect(&socket_of(dir)).map_err(refused)?;
    let response = if let Request::Advance { .. } = request {
        // A clock that runs by itself must stop while we advance it.
        if client.status().map_err(refused)?.clock != ClockState::Lockstep {
            client.hold().map_err(refused)?;
        }
        client.request(request)
    } else {
        client.request(request)
    };
    let response = response.map_err(refused)?;
    if as_json { json(&response, out) } else { table(&response, out) }
}

/// The error of a command that an emulator has refused: what the user can change is bad input.
#[must_use]
pub(crate) fn refused(why: ClientError) -> anyhow::Error {
    match why {
        ClientError::Connect { .. } | ClientError::Refused(_) => BadInput(why.to_string()).into(),
        why => why.into(),
    }
}

/// The JSON object: the response, with its version.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    #[serde(flatten)]
    response: &'a Response,
}

fn json(response: &Response, out: &mut dyn Write) -> anyhow::Result<()> {
    serde_json::to_writer(&mut *out, &Report { schema: SCHEMA, response })?;
    Ok(writeln!(out)?)
}

fn table(response: &Response, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE);
    match response {
        Response::Status(of) => status(of, &mut table),
        Response::Programs(of) => programs(of, &mut table),
        Response::Counters(of) => counters(of, &mut table),
        Response::Latencies(of) => latencies(of, &mut table),
        Response::Faults(of) => faults(of, &mut table),
        Response::Error(why) => return Err(BadInput(why.clone()).into()),
    }
    Ok(writeln!(out, "{}", fit(table, &[]))?)
}

fn seconds(nanos: u64) -> String {
    fairways_core::Time::from_nanos(nanos).to_string()
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn status(of: &Status, table: &mut Table) {
    let clock = match of.clock {
        ClockState::Paced => format!("paced, up to {} times real time", of.pace),
        ClockState::Lockstep => "lockstep".to_owned(),
        ClockState::Held => "held by a client".to_owned(),
    };
    let rows = [
        ("mount", of.mount.clone()),
        ("options", of.options.clone()),
        ("process", of.pid.to_string()),
        ("clock", clock),
        ("time", seconds(of.now_ns)),
        ("times real time", or_none(of.factor.map(|factor| format!("{factor:.3}")))),
        ("programs", format!("{} of {} run", of.running, of.programs)),
        ("faults", of.faults.to_string()),
    ];
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
}

fn programs(of: &[ProgramState], table: &mut Table) {
    table.set_header(["program", "process", "state", "CPU", "CLOSID", "RMID"]);
    for program in of {
        table.add_row([
            program.name.clone(),
            program.pid.to_string(),
            if program.running { "runs" } else { "over" }.to_owned(),
            or_none(program.cpu),
            or_none(program.closid),
            or_none(program.rmid),
        ]);
    }
}

fn counters(of: &[ProgramCounters], table: &mut Table) {
    table.set_header([
        "program",
        "time",
        "instructions",
        "cycles",
        "LLC references",
        "LLC misses",
        "stalls",
        "memory bytes",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for program in of {
        let of = &program.counters;
        table.add_row([
            program.name.clone(),
            seconds(program.now_ns),
            or_none(of.instructions),
            or_none(of.cycles),
            or_none(of.llc_references),
            or_none(of.llc_misses),
            or_none(of.stalls_l2_miss),
            or_none(of.memory_bytes),
        ]);
    }
}

fn latencies(of: &[ProgramLatencies], table: &mut Table) {
    table.set_header(["program", "time", "requests", "p50 ms", "p95 ms", "p99 ms"]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for program in of {
        let answered = program.answered.as_deref();
        let all = answered.map(|of| of.iter().map(|of| of.requests).sum::<u64>());
        let at = |hundredths: u64| {
            let rank = (all? * hundredths).div_ceil(100).max(1);
            let mut so_far = 0;
            let found = answered?.iter().find(|of| {
                so_far += of.requests;
                so_far >= rank
            });
            found.map(|of| format!("{:.3}", of.latency.as_secs_f64() * 1e3))
        };
        table.add_row([
            program.name.clone(),
            seconds(program.now_ns),
            or_none(all),
            or_none(at(50)),
            or_none(at(95)),
            or_none(at(99)),
        ]);
    }
}

fn faults(of: &[ArmedFault], table: &mut Table) {
    table.set_header(["id", "fault", "met"]);
    for armed in of {
        table.add_row([armed.id.to_string(), armed.fault.to_string(), armed.met.to_string()]);
    }
}
