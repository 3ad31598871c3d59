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
mod chip;
mod daemon;
mod emulate;
mod emulated;
mod help;
mod host;
mod lists;
pub(crate) mod man;
mod optimum;
mod paper;
mod parsed;
mod policies;
mod profile;
mod programs;
mod record;
mod report;
mod run;
mod scan;
mod simulate;
mod suits;
mod sweep;
#[cfg(test)]
mod tests;
mod top;
mod traced;
mod trial;
mod world;

use std::fs::File;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{shown, whole};
use fairways_command_kit::whole::try_out;
use fairways_core::Ways;
use fairways_exec_policy::policies::{Setting, parameters};
use fairways_output::ResultFormat;
use fairways_record::replay;

use chip::{ChipFlags, ChipPreset, How, Machine, TimeScale};
use daemon::{HostFlags, set};
use lists::Pairs;
use policies::{PolicyName, PolicyNames};
use run::RunFlags;
use traced::Traced;
use world::{Observation, World};

pub(crate) use blame::Blame;
pub(crate) use daemon::{Explain, Restore, Status};
pub(crate) use emulate::Emulate;
pub(crate) use emulated::Emulated;
pub(crate) use host::{AskedOfConfig, Collect, Config, Doctor, Export};
pub(crate) use optimum::Optimum;
pub(crate) use paper::Paper;
pub(crate) use parsed::{one_line, parsed};
pub(crate) use policies::Policies;
pub(crate) use profile::Profile;
pub(crate) use programs::ProgramList;
pub(crate) use record::Recording;
pub(crate) use report::Report;
pub(crate) use run::Run;
pub(crate) use scan::Scan;
pub(crate) use simulate::Simulate;
pub(crate) use sweep::Sweep;
pub(crate) use top::Top;
pub(crate) use trial::Trial;

/// How results are printed.
const fn format(is_json: bool, is_csv: bool) -> ResultFormat {
    match (is_json, is_csv) {
        (true, _) => ResultFormat::Json,
        (false, true) => ResultFormat::Csv,
        (false, false) => ResultFormat::Table,
    }
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

/// The command line. What clap derives of `trial` says what holds for `run`, whose flags it takes.
pub(crate) fn command() -> clap::Command {
    Args::command().mut_subcommand("trial", |trial| {
        belongs::TRIAL_REFUSES
            .iter()
            .fold(trial, |trial, flag| trial.mut_arg(flag, |flag| flag.hide(true)))
            .mut_arg("duration", |flag| {
                let help = "How long all blocks take together [default: 10m]";
                flag.help(help).long_help(help)
            })
            .mut_arg("json", |flag| {
                let help = "Print one JSON object at the end (docs/trial.md)";
                flag.help(help).long_help(help)
            })
    })
}

/// What to begin with, by purpose.
pub(crate) const EXAMPLES: &str = "\
See what happens, on any computer:
  fairways simulate                        compare policies on real programs
  fairways profile -- gzip -k big.tar      measure a program by number of ways
  fairways optimum --mix lbm,svm-train     find the fairest plan there can be

On this server:
  fairways doctor                          check what this host supports
  fairways scan                            list the programs that use the cache
  fairways run --config fairways.toml      share the cache, until Ctrl-C
  fairways trial --config fairways.toml    measure whether that helps
  fairways top                             watch programs and their ways
  fairways blame --journal run.journal     see which program slows which

Research:
  fairways paper lfoc --quick              repeat a paper's experiments
  fairways policies dcat                   show a policy and its parameters
  fairways sweep write plan.toml           run many simulations, on a cluster too
  fairways report results.json             show results as a page of HTML";

/// Fair shares of the last-level cache.
///
/// Programs that run side by side on a multicore chip compete for its last-level cache. Fairways
/// decides which program may fill which ways of it, under the policy that you choose.
#[derive(Debug, Parser)]
#[command(
    version = env!("FAIRWAYS_VERSION"),
    arg_required_else_help = true,
    after_help = format!("{EXAMPLES}\n\n{}", fairways_command_kit::exit::HELP)
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Simulate(Box<Simulate>),
    Scan(Scan),
    Run(Box<Run>),
    Trial(Box<Trial>),
    Status(Status),
    Top(Box<Top>),
    Explain(Explain),
    Blame(Box<Blame>),
    Restore(Restore),
    Replay(Replay),
    Optimum(Box<Optimum>),
    Policies(Policies),
    Programs(ProgramList),
    Profile(Box<Profile>),
    Record(Box<Recording>),
    Paper(Paper),
    Sweep(Sweep),
    Report(Report),
    Emulate(Box<Emulate>),
    Emulated(Emulated),
    Doctor(Doctor),
    Collect(Collect),
    Config(Config),
    Export(Export),
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
    /// Start and end the programs of a policy, as standard input asks
    #[command(hide = true, name = fairways_exec_policy::KEEPER)]
    PolicyKeeper {
        /// The program and its arguments
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Give up every right, and become the program of a policy
    #[command(hide = true, name = fairways_exec_policy::CONFINED)]
    PolicyConfined {
        /// The program and its arguments
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// Print a completion script for a shell
    ///
    /// Examples:
    ///   fairways completions bash > /usr/share/bash-completion/completions/fairways
    ///   fairways completions zsh > ~/.zfunc/_fairways
    ///   fairways completions fish > ~/.config/fish/completions/fairways.fish
    #[command(verbatim_doc_comment)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages to a folder, or print fairways(1)
    ///
    /// Examples:
    ///   fairways man | man -l -
    ///   fairways man ~/.local/share/man
    ///   fairways man /usr/local/share/man
    #[command(verbatim_doc_comment)]
    Man {
        /// The folder, in which the pages go to man1 and man5; created if missing [default: print
        /// fairways(1)]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Print all commands and flags as one page of Markdown instead
        #[arg(long, hide = true, conflicts_with = "dir")]
        markdown: bool,
    },
}

/// Feed a journal's events to its policy again, and compare its actions
///
/// Examples:
///   fairways replay run.journal
///   fairways replay /var/log/fairways/run.journal --json
///   fairways replay run.journal --policy dcat --set ipc_imp_thr=3
///
/// If an action differs from the journal, the first difference is printed, and the
/// exit code is 1.
///
/// With --policy, shows what that policy would have decided about the same events, as
/// `fairways explain` does. The events stay those that followed from the journal's own
/// plans.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Replay {
    /// A journal that `fairways run --journal` wrote; its finished parts (FILE.0, ...) are read
    /// first
    #[arg(value_name = "FILE")]
    pub(crate) journal: PathBuf,

    /// Show what this policy would have decided
    #[arg(long, value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub(crate) policy: Option<String>,

    /// Run the program that the journal names as its policy, with your rights
    #[arg(long, conflicts_with = "policy")]
    pub(crate) run_program: bool,

    /// Set a parameter of that policy
    #[arg(long, value_name = "NAME=VALUE", requires = "policy")]
    pub(crate) set: Vec<Setting>,

    /// Print one JSON object instead of text (docs/journal.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl Replay {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.policy {
            None => replay::run(&self.journal, self.run_program, self.json, out),
            Some(policy) => {
                let set = parameters(&self.set)?;
                replay::run_under(policy, set, &self.journal, self.json, out)
            }
        }
    }
}
