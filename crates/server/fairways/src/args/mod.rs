//! The commands and flags, the values that each accepts, and what the verbs take for them.

/// Converts a flag's word to the same word of another type.
macro_rules! same {
    ($name:ident => $other:ty: $($word:ident),+) => {
        impl From<$name> for $other {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => Self::$word),+
                }
            }
        }
    };
}

mod blame;
mod daemon;
mod host;
mod report;
mod run;
mod scan;
mod top;
mod trial;

use std::io::{self, Write};

use clap::{CommandFactory as _, Parser, Subcommand};
use fairways_attribution::MemoryLatency;
use fairways_daemon::config;
use fairways_verbs::args::CommonCommand;
use fairways_verbs::{DoorArgs, reworded};

use blame::HostBlame;
use daemon::{Restore, Status};
use host::{AskedOfConfig, Collect, Config, Doctor, Export};
use report::JournalReport;
use run::DaemonRun;
use scan::Scan;
use top::HostTop;
use trial::HostTrial;

/// The command line. Flags that both doors have say here what holds for a host.
pub(crate) fn command() -> clap::Command {
    const POLICY: &str = "The policy; `fairways policies` lists them [default: the configuration's, \
                          or fairways]";
    const PROGRAMS: &str = "exec:COMMAND is a program of your own (docs/exec.md).";
    const PARTS: &str = "Keeps this many finished parts of the journal, and deletes older ones.";
    ServerArgs::command()
        .mut_subcommand("run", |run| {
            run.mut_arg("policy", |flag| reworded(flag, POLICY, PROGRAMS))
                .mut_arg("duration", |flag| {
                    let line = "How long to run: 500ms, 60s, 2m [default: until interrupted]";
                    reworded(flag, line, "")
                })
                .mut_arg("journal_parts", |flag| {
                    reworded(flag, "Finished parts of the journal to keep [default: 16]", PARTS)
                })
        })
        .mut_subcommand("trial", |trial| {
            trial
                .mut_arg("policy", |flag| reworded(flag, POLICY, PROGRAMS))
                .mut_arg("duration", |flag| {
                    reworded(flag, "How long all blocks take together [default: 10m]", "")
                })
                // A trial refuses them: it has to change something.
                .mut_arg("dry_run", |flag| flag.hide(true))
                .mut_arg("observe", |flag| flag.hide(true))
        })
        .mut_subcommand("report", |report| {
            report.mut_arg("files", |flag| reworded(flag, "Journals; each must be a file", ""))
        })
}

/// Fair shares of the last-level cache.
///
/// Programs that run side by side on a multicore chip compete for its last-level cache. Fairways
/// decides which program may fill which ways of it, under the policy that you choose. fairways-lab
/// does the same with simulated machines.
#[derive(Debug, Parser)]
#[command(
    version = env!("FAIRWAYS_VERSION"),
    arg_required_else_help = true,
    after_help = format!("{}\n\n{}", crate::EXAMPLES, fairways_command_kit::exit::HELP)
)]
pub(crate) struct ServerArgs {
    #[command(subcommand)]
    command: ServerCommand,
}

#[derive(Debug, Subcommand)]
enum ServerCommand {
    Doctor(Doctor),
    Scan(Scan),
    Run(Box<DaemonRun>),
    Trial(Box<HostTrial>),
    Status(Status),
    Top(Box<HostTop>),
    Blame(HostBlame),
    Restore(Restore),
    Report(JournalReport),
    Config(Config),
    Collect(Collect),
    Export(Export),
    #[command(flatten)]
    Common(CommonCommand),
}

impl DoorArgs for ServerArgs {
    fn hidden(&self) -> Option<io::Result<()>> {
        match &self.command {
            ServerCommand::Common(common) => common.hidden(),
            _ => None,
        }
    }

    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.command {
            ServerCommand::Doctor(doctor) => doctor.run(out),
            ServerCommand::Scan(scan) => scan.run(out),
            ServerCommand::Run(run) => run.run(out),
            ServerCommand::Trial(trial) => trial.run(out),
            ServerCommand::Status(status) => {
                fairways_daemon::status(status.control.as_deref(), status.json, out)
            }
            ServerCommand::Top(top) => top.run(out),
            ServerCommand::Blame(blame) => blame.run(out),
            ServerCommand::Restore(restore) => fairways_daemon::restore(&restore.into(), out),
            ServerCommand::Report(report) => report.run(out),
            ServerCommand::Config(config) => match config.asked {
                AskedOfConfig::Check { file } => config::check(file.as_deref(), out),
                AskedOfConfig::Show { file, json } => config::show(file.as_deref(), json, out),
                AskedOfConfig::Import(import) => config::import(&import.into(), out),
            },
            ServerCommand::Collect(collect) => collect.run(out),
            ServerCommand::Export(export) => crate::export::run(&export.into(), out),
            ServerCommand::Common(common) => common.run(&crate::DOOR, out),
        }
    }
}

/// The latencies of an idle machine in a journal: a host's journal does not name them, and those of
/// simulated machines are known to fairways-lab.
const fn no_latency(_: &str) -> Option<MemoryLatency> {
    None
}
