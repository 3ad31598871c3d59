//! The command line of Fairways.
//!
//! Exit codes: 0, done; 1, it could not be done; 2, bad usage or bad input, told in one line; 3, this host is not supported;
//! 4, others hold its cache; 5, no permission; 130, interrupted.

mod args;
mod chip;
mod config;
mod daemon;
mod doctor;
mod emulate;
mod emulated;
mod exit;
mod explain;
mod export;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod journal;
mod man;
mod moment;
mod optimum;
mod paper;
mod partition;
mod plain;
mod policies;
mod profile;
mod report;
mod run;
mod scan;
mod services;
mod similar;
mod simulate;
mod status;
mod table;
mod top;
mod trial;
mod unmatched;
mod whole;
mod world;

use std::io::{self, BufWriter, Write};
use std::process;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::CommandFactory;
use clap::error::ErrorKind;
use signal_hook::consts::{SIGINT, SIGTERM};

use args::{Args, Command, Machine, one_line};

/// The user has seen enough (SIGINT or SIGTERM): exit code 130, after all is put in order.
#[derive(Debug)]
struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// A command that was run has ended with this code, and all is said.
#[derive(Debug)]
struct ExitCode(u8);

impl std::fmt::Display for ExitCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for ExitCode {}

/// Bad usage or bad input: exit code 2.
#[derive(Debug)]
struct BadInput(String);

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// Runs the command line that this process was started with; its exit code is one of those above.
pub fn main() -> process::ExitCode {
    let args = match args::parsed() {
        Ok(args) => args,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                let _ = error.print();
                return process::ExitCode::SUCCESS;
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                let _ = error.print();
                return process::ExitCode::from(exit::USAGE);
            }
            _ => return fail(&one_line(&error), exit::USAGE),
        },
    };
    if let Some(done) = emulate::hidden(&args.command) {
        return done.map_or_else(|why| fail(&why.to_string(), 1), |()| process::ExitCode::SUCCESS);
    }
    // It may quote a file, a process or a socket of others.
    let mut out = BufWriter::new(plain::Plain::new(io::stdout().lock()));
    let done = match args.command {
        Command::Simulate(simulate) => match simulate.machine {
            Some(Machine::Chip(_)) => chip::simulate(&simulate, &mut out),
            _ => simulate::run(&simulate, &mut out),
        },
        Command::Scan(scan) => scan::run(&scan, &mut out),
        Command::Run(run) if run.machine.is_none() => daemon::run(&run, &mut out),
        Command::Run(run) => run::run(&run, &mut out),
        Command::Trial(trial) => trial::run(&trial, &mut out),
        Command::Status(status) => daemon::status(&status, &mut out),
        Command::Top(top) => top::run(*top, &mut out),
        Command::Explain(explain) => explain::run(&explain, &mut out),
        Command::Restore(restore) => daemon::restore(&restore, &mut out),
        Command::Replay(replay) => journal::replay(&replay, &mut out),
        Command::Optimum(optimum) => optimum::run(&optimum, &mut out),
        Command::Policies(policies) => policies::run(&policies, &mut out),
        Command::Profile(profile) => profile::run(&profile, &mut out),
        Command::Paper(paper) => paper::run(&paper, &mut out),
        Command::Report(report) => report::run(&report, &mut out),
        Command::Emulate(emulate) => emulate::run(&emulate, &mut out),
        Command::Emulated(emulated) => emulated::run(&emulated, &mut out),
        Command::Doctor(doctor) => doctor::run(&doctor, &mut out),
        Command::Config(config) => config::run(&config, &mut out),
        Command::Export(export) => export::run(&export, &mut out),
        // They have come and gone.
        Command::Placeholder { .. } | Command::Guardian { .. } => Ok(()),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "fairways", &mut out);
            Ok(())
        }
        Command::Man { dir } => man::run(dir.as_deref(), &mut out),
    };
    match done.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => process::ExitCode::SUCCESS,
        // Who reads has seen enough.
        Err(error) if is_broken_pipe(&error) => process::ExitCode::SUCCESS,
        Err(error) if error.is::<ExitCode>() => process::ExitCode::from(exit_code(&error)),
        Err(error) => fail(&format!("{error:#}"), exit_code(&error)),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(ExitCode(code)) = error.downcast_ref() {
        *code
    } else if error.is::<BadInput>() {
        exit::USAGE
    } else if error.is::<Interrupted>() {
        exit::INTERRUPTED
    } else {
        1
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        io.or_else(|| cause.downcast_ref::<serde_json::Error>().and_then(|e| e.io_error_kind()))
    };
    error.chain().any(|cause| kind(cause) == Some(io::ErrorKind::BrokenPipe))
}

/// SIGINT and SIGTERM say that the user has seen enough; a second one ends everything at once.
fn stop_on_signals(stop: &Arc<AtomicBool>) -> anyhow::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// SIGINT and SIGTERM end this process, and what it has started.
fn end_all_on_signals() -> anyhow::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            fairways_tracer::kill_all();
            process::exit(130);
        }
    });
    Ok(())
}

/// Something that the user may not have meant, in a line on standard error.
fn warn(message: &str) {
    let _ = writeln!(io::stderr(), "fairways: warning: {}", plain::lines(message));
}

fn fail(message: &str, code: u8) -> process::ExitCode {
    let _ = writeln!(io::stderr(), "fairways: {}", plain::lines(message));
    process::ExitCode::from(code)
}
