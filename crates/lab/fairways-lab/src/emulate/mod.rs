//! `fairways-lab emulate`: resctrl's files, with a simulated machine behind them.

pub(crate) mod answers;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::Table;
use fairways_command_kit::input::shown;
use fairways_command_kit::table::{STYLE, fit};
use fairways_command_kit::{BadInput, Interrupted};
use fairways_emulated::{Client, ProgramState, SCHEMA};
use fairways_emulator::hardware::ProcessorShape;
use fairways_emulator::{Emulator, MountError, Pace, Settings, StartError, host_files};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How often to check whether the emulator should end.
const LOOK: Duration = Duration::from_millis(20);
/// How often to rewrite the status line.
const SHOW: Duration = Duration::from_millis(500);

/// What `--json` prints once the emulator is mounted.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    mount: String,
    socket: String,
    pid: u32,
    machine: &'a str,
    platform: &'a str,
    kernel: &'a str,
    clock: &'static str,
    programs: &'a [ProgramState],
    least_time_scales: &'a BTreeMap<String, f64>,
}

/// An emulator, and the files that go with it.
pub(crate) struct Emulation {
    /// Where it is mounted.
    pub(crate) dir: PathBuf,
    /// Its machine, as users name it.
    pub(crate) machine: String,
    /// The CPUs and caches of the machine.
    pub(crate) processor: ProcessorShape,
    /// The least time scale of each policy that has one.
    pub(crate) least_time_scales: BTreeMap<String, f64>,
    pub(crate) settings: Settings,
    /// The folder for the files that the machine would have in /proc and /sys.
    pub(crate) host_files: Option<PathBuf>,
}

/// Mounts the emulator, and waits for its end.
pub(crate) fn run(
    emulation: Emulation,
    is_json: bool,
    is_quiet: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Emulation { dir, machine, processor, least_time_scales, settings, host_files } = emulation;
    let platform = settings.platform.clone();
    let clock = if settings.pace == Pace::Lockstep { "lockstep" } else { "paced" };
    // From here on, signals are handled only after everything is set up.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    if let Some(folder) = &host_files {
        host_files::write(folder, &platform, processor, &dir, &settings.options)
            .map_err(|why| BadInput(format!("--host-files: {}: {why}", shown(folder))))?;
    }
    let emulator = Emulator::start(&dir, settings).map_err(|why| {
        // Nothing is as they say.
        let _ = host_files.as_deref().map(host_files::remove);
        refused(why)
    })?;
    let programs = Client::connect(emulator.socket())?.programs()?;
    let report = Report {
        schema: SCHEMA,
        mount: emulator.dir().display().to_string(),
        socket: emulator.socket().display().to_string(),
        pid: std::process::id(),
        machine: &machine,
        platform: platform.name,
        kernel: platform.kernel.name,
        clock,
        programs: &programs,
        least_time_scales: &least_time_scales,
    };
    if is_json {
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)?;
    } else if !is_quiet {
        table(&report, out)?;
    }
    out.flush()?;
    let end = watch(&emulator, &mut signals, is_quiet);
    let gone = emulator.end().map_err(anyhow::Error::from);
    if end.is_ok() { gone } else { gone.and(end) }
}

fn table(report: &Report<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let Report { machine, platform, kernel, mount, socket, .. } = report;
    writeln!(out, "{machine} as {platform}, Linux {kernel}, on {mount}; control socket {socket}")?;
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["program", "process"]);
    for program in report.programs {
        table.add_row([program.name.clone(), program.pid.to_string()]);
    }
    writeln!(out, "{}", fit(table, &[]))?;
    Ok(())
}

/// Waits until the user has seen enough, or somebody has unmounted, or the machine can't go on.
fn watch(emulator: &Emulator, signals: &mut Signals, quiet: bool) -> anyhow::Result<()> {
    let shows = !quiet && std::io::stderr().is_terminal();
    let mut shown = Instant::now();
    let end = loop {
        if signals.pending().next().is_some() {
            break Err(Interrupted.into());
        }
        if emulator.is_unmounted() {
            break Ok(());
        }
        if let Some(why) = emulator.failure() {
            break Err(anyhow::anyhow!("after {}: {why}", emulator.now()));
        }
        if shows && shown.elapsed() >= SHOW {
            shown = Instant::now();
            let pace = match emulator.factor() {
                Some(factor) => format!("{factor:.3} times real time"),
                None => "standing still".to_owned(),
            };
            let (now, running) = (emulator.now(), emulator.running());
            // Who does not see it has lost nothing.
            let _ = write!(std::io::stderr(), "\r\x1b[K{now}, {pace}, {running} programs run");
        }
        std::thread::sleep(LOOK);
    };
    if shows {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    end
}

/// What is the user's to change is bad input.
fn refused(why: StartError) -> anyhow::Error {
    match why {
        StartError::Mount(MountError::Refused { .. })
        | StartError::Placeholder { .. }
        | StartError::Guardian(_)
        | StartError::Thread(_) => why.into(),
        why => BadInput(why.to_string()).into(),
    }
}
