//! The command line of Fairways.
//!
//! Exit codes: 0, done; 1, failed; 2, bad usage or bad input, explained in one line; 3, this host
//! is not supported; 4, another manager occupies its cache; 5, no permission; 130, interrupted.

mod args;
mod chip;
mod doctor;
mod emulate;
mod optimum;
mod paper;
mod plot;
mod run;
mod simulate;

use std::io::{self, BufWriter, Write};
use std::process;

use clap::error::ErrorKind;
use fairways_command_kit::{ExitCode, exit, fail, plain};
use fairways_daemon::config;

use args::{AskedOfConfig, Command, one_line};

/// Runs the command line of this process, and returns one of the exit codes above.
pub fn main() -> process::ExitCode {
    let args = match args::parsed(std::env::args_os().collect()) {
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
    if let Some(done) = hidden(&args.command) {
        return done.map_or_else(|why| fail(&why.to_string(), 1), |()| process::ExitCode::SUCCESS);
    }
    // The output may quote text of other users: files, processes, sockets.
    let mut out = BufWriter::new(plain::Plain::new(io::stdout().lock()));
    let done = match args.command {
        Command::Simulate(simulate) => simulate.run(&mut out),
        Command::Scan(scan) => scan.run(&mut out),
        Command::Run(run) => run.run(&mut out),
        Command::Trial(trial) => trial.run(&mut out),
        Command::Status(status) => {
            fairways_daemon::status(status.control.as_deref(), status.json, &mut out)
        }
        Command::Top(top) => top.run(&mut out),
        Command::Explain(explain) => fairways_record::explain::run(&explain.into(), &mut out),
        Command::Blame(blame) => blame.run(&mut out),
        Command::Restore(restore) => fairways_daemon::restore(&restore.into(), &mut out),
        Command::Replay(replay) => replay.run(&mut out),
        Command::Optimum(optimum) => optimum.run(&mut out),
        Command::Policies(policies) => policies.run(&mut out),
        Command::Programs(programs) => programs.run(&mut out),
        Command::Profile(profile) => profile.run(&mut out),
        Command::Record(record) => record.run(&mut out),
        Command::Paper(paper) => paper.run(&mut out),
        Command::Sweep(sweep) => sweep.run(&mut out),
        Command::Report(report) => fairways_report::run(&report.into(), &mut out),
        Command::Emulate(emulate) => emulate.run(&mut out),
        Command::Emulated(emulated) => emulated.run(&mut out),
        Command::Doctor(doctor) => doctor.run(&mut out),
        Command::Collect(collect) => collect.run(&mut out),
        Command::Config(config) => match config.asked {
            AskedOfConfig::Check { file } => config::check(file.as_deref(), &mut out),
            AskedOfConfig::Show { file, json } => config::show(file.as_deref(), json, &mut out),
            AskedOfConfig::Import(import) => config::import(&import.into(), &mut out),
        },
        Command::Export(export) => fairways_export::run(&export.into(), &mut out),
        // They have run already.
        Command::Placeholder { .. }
        | Command::Guardian { .. }
        | Command::PolicyKeeper { .. }
        | Command::PolicyConfined { .. } => Ok(()),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut args::command(), "fairways", &mut out);
            Ok(())
        }
        Command::Man { markdown: true, .. } => args::man::print_markdown(&mut out),
        Command::Man { dir, .. } => args::man::run(dir.as_deref(), &mut out),
    };
    match done.and_then(|()| Ok(out.flush()?)).and_then(|()| no_faults()) {
        Ok(()) => process::ExitCode::SUCCESS,
        // The reader of the output has seen enough.
        Err(error) if exit::is_broken_pipe(&error) => process::ExitCode::SUCCESS,
        Err(error) if error.is::<ExitCode>() => process::ExitCode::from(exit::code_of(&error)),
        Err(error) => fail(&format!("{error:#}"), exit::code_of(&error)),
    }
}

/// Checks that no policy that is a program has failed.
fn no_faults() -> anyhow::Result<()> {
    let (count, lines) = fairways_exec_policy::faults();
    match lines.first() {
        None => Ok(()),
        Some(first) if count == 1 => Err(anyhow::anyhow!("{first}")),
        Some(first) => Err(anyhow::anyhow!("{first} (the first of {count} failures)")),
    }
}

/// Runs the hidden commands, which emulators and policies start; `None` for other commands.
fn hidden(command: &Command) -> Option<io::Result<()>> {
    match command {
        Command::Placeholder { name } => Some(fairways_emulator::hold_place(name)),
        Command::Guardian { dir, socket, device } => {
            Some(fairways_emulator::guard(dir, socket, device))
        }
        Command::PolicyKeeper { command } => Some(fairways_exec_policy::keep(command)),
        Command::PolicyConfined { command } => {
            Some(fairways_exec_policy::confine(command).map(|_| ()))
        }
        _ => None,
    }
}
