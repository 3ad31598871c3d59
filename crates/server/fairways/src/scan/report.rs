//! The programs that use the cache, as a table, as JSON, and as a configuration.

use std::fmt::Write as _;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table};
use fairways_command_kit::plain::plain;
use fairways_command_kit::table::{STYLE, fit, fold};
use fairways_daemon::config::{ClockSource, Config};
use serde::Serialize;

use super::measure::{Measured, Row, caution};

/// The version of the JSON object: it changes when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// The configuration has the programs that occupy at least this share of the cache.
const SHARE: f64 = 0.02;
/// It also has those that move at least this many bytes to and from memory per second.
const TRAFFIC: f64 = 100e6;
/// If neither is known, it has those that use at least this many CPUs.
const CPUS: f64 = 0.1;

/// The whole report.
#[derive(Serialize)]
pub(super) struct Report {
    schema: u32,
    /// Size of all caches that were watched; `null` if none was.
    cache_bytes: Option<u64>,
    /// What can't be measured on this host, with the reason.
    without: Option<String>,
    /// Why the daemon could give out nothing of some caches, if that is so.
    nothing_free: Option<String>,
    /// The programs, the greatest first.
    programs: Vec<Program>,
    /// Keys of the configuration before its programs.
    #[serde(skip)]
    keys: String,
}

/// A program that could be managed. What was not measured is `null`.
#[derive(Serialize)]
struct Program {
    name: String,
    select: String,
    /// Number of processes.
    processes: usize,
    cpus: Option<f64>,
    occupancy_bytes: Option<u64>,
    /// What it holds at least, where more is not known.
    occupancy_bytes_at_least: Option<u64>,
    memory_bytes_per_second: Option<f64>,
    llc_misses_per_second: Option<f64>,
    llcmpki: Option<f64>,
    /// Whether the configuration has the program.
    proposed: bool,
    /// What to know about `select` before it is used for long.
    #[serde(skip)]
    caution: Option<&'static str>,
}

impl Report {
    pub(super) fn new(config: &Config, measured: Measured) -> Self {
        let Measured { rows, cache_bytes, without, nothing_free, .. } = measured;
        let program = |row: Row| Program {
            proposed: is_worth_it(&row, cache_bytes),
            name: row.user.name,
            select: row.user.selector.to_string(),
            caution: caution(&row.user.selector),
            processes: row.user.pids.len(),
            cpus: row.user.cpus,
            occupancy_bytes: row.occupancy_bytes.filter(|_| !row.is_at_least),
            occupancy_bytes_at_least: row.occupancy_bytes.filter(|_| row.is_at_least),
            memory_bytes_per_second: row.bytes_per_second,
            llc_misses_per_second: row.misses_per_second,
            llcmpki: row.mpki,
        };
        let programs = rows.into_iter().map(program).collect();
        Self { schema: SCHEMA, cache_bytes, without, nothing_free, programs, keys: keys(config) }
    }

    pub(super) fn json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        Ok(writeln!(out)?)
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.programs.is_empty() {
            return writeln!(out, "no program uses the processor now");
        }
        let mut table = Table::new();
        let header = [
            "program",
            "select",
            "processes",
            "CPUs",
            "MB held",
            "of the cache",
            "GB/s",
            "MPKI",
            "misses/s",
        ];
        table.load_style(STYLE).set_header(header);
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for of in &self.programs {
            let number = |value: Option<f64>, digits: usize| {
                value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
            };
            let read = of.occupancy_bytes.or(of.occupancy_bytes_at_least);
            let held = read.map(|bytes| bytes as f64);
            let at_least = if of.occupancy_bytes_at_least.is_some() { "≥" } else { "" };
            let share = held.zip(self.cache_bytes).map(|(held, all)| 100.0 * held / all as f64);
            table.add_row([
                of.name.clone(),
                plain(&of.select),
                of.processes.to_string(),
                number(of.cpus, 2),
                at_least.to_owned() + &number(held.map(|held| held / f64::from(1 << 20)), 1),
                share.map_or("-".to_owned(), |share| format!("{at_least}{share:.0} %")),
                number(of.memory_bytes_per_second.map(|bytes| bytes / 1e9), 2),
                number(of.llcmpki, 2),
                number(of.llc_misses_per_second, 0),
            ]);
        }
        let given_up = ["processes", "misses/s", "CPUs", "of the cache", "MPKI", "select"];
        writeln!(out, "{}", fit(table, &given_up))?;
        for note in [&self.without, &self.nothing_free].into_iter().flatten() {
            writeln!(out, "{}", fold(&plain(note), 2))?;
        }
        writeln!(out, "\nA configuration to begin with (fairways scan --toml):\n")?;
        write!(out, "{}", self.configuration())
    }

    /// A configuration to begin with, as TOML: those that are worth it.
    pub(super) fn configuration(&self) -> String {
        let mut text = self.keys.clone();
        let proposed = self.programs.iter().filter(|of| of.proposed);
        for of in proposed.clone() {
            let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
            // Writing to memory does not fail.
            let _ = write!(
                text,
                "\n[[program]]\nname = {}\nselect = {}\n",
                quoted(&of.name),
                quoted(&of.select)
            );
            if let Some(caution) = of.caution {
                let _ = writeln!(text, "# {caution}");
            }
        }
        if proposed.count() == 0 {
            text += "\n# No program uses much of the cache. An example of a program:\n\
                     # [[program]]\n# name = \"web\"\n# select = \"unit:nginx.service\"\n";
        }
        text
    }
}

/// Whether a program is worth managing, for its own sake or to protect others.
fn is_worth_it(row: &Row, cache_bytes: Option<u64>) -> bool {
    let share = row.occupancy_bytes.zip(cache_bytes).map(|(own, all)| own as f64 / all as f64);
    let miss_bytes = row.misses_per_second.map(|misses| 64.0 * misses);
    let traffic = row.bytes_per_second.or(miss_bytes);
    match (share, traffic) {
        (None, None) => row.user.cpus.is_some_and(|cpus| cpus >= CPUS),
        (share, traffic) => {
            share.is_some_and(|share| share >= SHARE) || traffic.is_some_and(|rate| rate >= TRAFFIC)
        }
    }
}

/// What stands before the programs: the policy, and where this is no usual host.
fn keys(config: &Config) -> String {
    let usual = Config::default();
    let mut text = format!(
        "# Written by fairways scan. Before it manages: fairways config check FILE, fairways run --config FILE --observe,\n\
         # fairways trial --config FILE. All keys: docs/config.md.\n\
         policy = \"{}\"\n",
        usual.policy
    );
    let quoted =
        |path: &std::path::Path| toml::Value::String(path.display().to_string()).to_string();
    let places = [
        ("root", &config.resctrl.root, &usual.resctrl.root),
        ("state", &config.resctrl.state, &usual.resctrl.state),
    ];
    for (key, place, usual) in places {
        if place != usual {
            let _ = writeln!(text, "resctrl.{key} = {}", quoted(place));
        }
    }
    if config.clock.source != ClockSource::Real {
        text += "counters.source = \"emulator\"\nclock.source = \"emulator\"\n";
    }
    text
}
