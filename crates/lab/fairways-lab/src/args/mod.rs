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

mod belongs;
mod blame;
mod caches;
mod chip;
mod emulate;
mod emulated;
mod lists;
mod optimum;
mod paper;
mod policies;
mod profile;
mod programs;
mod record;
mod report;
mod run;
mod simulate;
mod suits;
mod sweep;
mod top;
mod traced;
mod trial;
mod world;

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser, Subcommand};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{shown, whole};
use fairways_command_kit::whole::try_out;
use fairways_core::Ways;
use fairways_results::ResultFormat;
use fairways_verbs::args::CommonCommand;
use fairways_verbs::{DoorArgs, reworded};

use blame::Blame;
use caches::CacheFlags;
use chip::{ChipFlags, ChipPreset, How, Machine, TimeScale};
use emulate::Emulate;
use emulated::Emulated;
use lists::Pairs;
use optimum::Optimum;
use paper::Paper;
use policies::PolicyNames;
use profile::Profile;
use programs::ProgramList;
use record::Recording;
use report::Report;
use run::{Run, SimulatedFlags};
use simulate::Simulate;
use sweep::Sweep;
use top::Top;
use traced::Traced;
use trial::Trial;
use world::{Observation, World};

pub(crate) use belongs::misplaced;

/// How results are printed.
const fn format(is_json: bool, is_csv: bool) -> ResultFormat {
    match (is_json, is_csv) {
        (true, _) => ResultFormat::Json,
        (false, true) => ResultFormat::Csv,
        (false, false) => ResultFormat::Table,
    }
}

/// The file of a plot: other kinds of images than SVG are refused by their names.
fn svg_file(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.extension().is_some_and(|end| !end.eq_ignore_ascii_case("svg")) {
        return Err("expected a name that ends in .svg".to_owned());
    }
    Ok(path)
}

/// Checks that the file of a plot can be written, before anything is computed.
fn plot_file(path: Option<&Path>) -> Result<Option<&Path>, BadInput> {
    if let Some(path) = path {
        try_out(path)
            .map_err(|why| BadInput(format!("--plot: {}: can't write it: {why}", shown(path))))?;
        if path.metadata().is_ok_and(|there| there.is_file() && there.len() > 0)
            && !begins_with(path, b"<svg")
        {
            let what = "expected a new file or an earlier drawing, found another file";
            return Err(BadInput(format!("--plot: {}: {what}", shown(path))));
        }
    }
    Ok(path)
}

/// Whether a file begins so, and can be read.
fn begins_with(path: &Path, expected: &[u8]) -> bool {
    let mut start = vec![0; expected.len()];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == expected)
}

/// The most ways that a mask has room for: one per bit.
const MOST_WAYS: u32 = 32;

/// Reads a number of ways of the profiles' cache, which bounds it.
fn ways_of_profiles(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| format!("expected a whole number above 0, found {text:?}"))
}

/// Lets parallel work use this many threads, if a flag says how many.
fn use_threads(threads: Option<usize>) -> anyhow::Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?)
}

/// Reads a number of ways.
fn ways(text: &str) -> Result<Ways, String> {
    let ways = whole(1, MOST_WAYS)(text)?;
    Ways::new(ways).ok_or_else(|| format!("expected up to {MOST_WAYS} ways, found {text:?}"))
}

/// Refuses the socket of a daemon.
fn refuse_daemon(_: &str) -> Result<PathBuf, String> {
    Err("a daemon is asked by `fairways explain`".to_owned())
}

/// The help of `explain`, which shows a journal here.
const EXPLAIN: &str = "\
Show the latest decisions of a journal, with their reasons

Examples:
  fairways-lab explain --journal run.journal
  fairways-lab explain --journal run.journal -n 3
  fairways-lab explain --journal run.journal hash-join --json

It shows what happened, what the policy measured, how it classified the programs,
and what it did.";

/// The command line. Flags that both doors have say here what holds for simulated machines.
pub(crate) fn command() -> clap::Command {
    const POLICY: &str = "The policy; `fairways-lab policies` lists them [default: fairways]";
    const PROGRAMS: &str = "locpart, parties, casc and cache-fair need a chip. exec:COMMAND is a \
                            program of your own (docs/exec.md).";
    const SET: &str = "Set a parameter of the policy; `fairways-lab policies NAME` lists them";
    const DURATION: &str = "How long to run: 500ms, 60s, 2m [default: 60s]";
    const JOURNAL: &str = "The journal that `run --journal FILE` wrote";
    const KEPT: &str = "Keeps this many finished parts of the journal, and deletes older ones.";
    let runs = ["run", "trial", "top", "blame"].into_iter();
    let command = runs.fold(Args::command(), |command, verb| {
        command.mut_subcommand(verb, |verb| {
            verb.mut_arg("policy", |flag| reworded(flag, POLICY, PROGRAMS))
                .mut_arg("set", |flag| reworded(flag, SET, "May be given more than once."))
                .mut_arg("duration", |flag| reworded(flag, DURATION, "The machine's clock counts."))
        })
    });
    command
        .mut_subcommand("run", |run| {
            run.mut_arg("journal_parts", |flag| {
                reworded(flag, "Finished parts to keep [default: all]", KEPT)
            })
        })
        .mut_subcommand("trial", |trial| {
            trial.mut_arg("duration", |flag| {
                reworded(flag, "How long all blocks take together [default: 10m]", "")
            })
        })
        // There is no daemon to ask.
        .mut_subcommand("explain", |explain| {
            explain
                .long_about(EXPLAIN)
                .mut_arg("control", |flag| flag.hide(true).value_parser(refuse_daemon))
                .mut_arg("journal", |flag| {
                    let parts = "Its finished parts (FILE.0, ...) are read first.";
                    reworded(flag.required(true), JOURNAL, parts)
                })
        })
}

/// Policies for the last-level cache, on simulated machines.
///
/// Programs that run side by side on a multicore chip compete for its last-level cache. Fairways
/// decides which program may fill which ways of it. This program compares policies on an analytic
/// model and on chips that execute programs, finds the best plans, repeats papers, and emulates
/// resctrl. On a server, fairways does the same.
#[derive(Debug, Parser)]
#[command(
    version = env!("FAIRWAYS_VERSION"),
    arg_required_else_help = true,
    after_help = format!("{}\n\n{}", crate::EXAMPLES, crate::EXIT_CODES)
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(Box<Simulate>),
    Run(Box<Run>),
    Trial(Box<Trial>),
    Optimum(Box<Optimum>),
    Programs(ProgramList),
    Profile(Box<Profile>),
    Record(Box<Recording>),
    Paper(Paper),
    Sweep(Sweep),
    Report(Report),
    Top(Box<Top>),
    Blame(Box<Blame>),
    Emulate(Box<Emulate>),
    Emulated(Emulated),
    /// Stand for a simulated program in the table of processes
    #[command(hide = true)]
    Placeholder {
        /// The program's name
        #[arg(allow_hyphen_values = true)]
        name: String,
    },
    /// Unmount after an emulator that was killed
    #[command(hide = true)]
    Guardian {
        /// Where it was mounted
        dir: PathBuf,
        /// Its socket
        socket: PathBuf,
        /// The device of its mount
        device: String,
    },
    #[command(flatten)]
    Common(CommonCommand),
}

impl DoorArgs for Args {
    fn hidden(&self) -> Option<io::Result<()>> {
        match &self.command {
            Command::Placeholder { name } => Some(fairways_emulator::hold_place(name)),
            Command::Guardian { dir, socket, device } => {
                Some(fairways_emulator::guard(dir, socket, device))
            }
            Command::Common(common) => common.hidden(),
            _ => None,
        }
    }

    fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.command {
            Command::Simulate(simulate) => simulate.run(out),
            Command::Run(run) => run.run(out),
            Command::Trial(trial) => trial.run(out),
            Command::Optimum(optimum) => optimum.run(out),
            Command::Programs(programs) => programs.run(out),
            Command::Profile(profile) => profile.run(out),
            Command::Record(record) => record.run(out),
            Command::Paper(paper) => paper.run(out),
            Command::Sweep(sweep) => sweep.run(out),
            Command::Report(report) => report.run(out),
            Command::Top(top) => top.run(out),
            Command::Blame(blame) => blame.run(out),
            Command::Emulate(emulate) => emulate.run(out),
            Command::Emulated(emulated) => emulated.run(out),
            // They have run already.
            Command::Placeholder { .. } | Command::Guardian { .. } => Ok(()),
            Command::Common(common) => common.run(&crate::DOOR, out),
        }
    }
}
