//! `cargo xtask ci` runs what CI runs. `cargo xtask test` runs the suites that `cargo test
//! --workspace` leaves out, or those that are named. `suites.toml` lists them.

mod binaries;
mod ci;
mod corpus;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod import_cycles;
mod inputs;
mod language;
#[cfg(test)]
mod made;
mod opened;
mod pages;
mod plan;
mod pool;
mod prepare;
mod record;
mod run_folder;
mod site;
mod suites;
#[cfg(test)]
mod wall;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use suites::Tier;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Run suites of tests by tier, or everything that CI runs")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the suites, lints and checks whose inputs changed since they last passed
    ///
    /// `ci/passed.toml` has the passes, each with hashes of what the suite is built from, reads and
    /// runs; it is committed. One suite that is unchanged is drawn by the commit and runs, too.
    Ci {
        /// Run everything, and compare what each suite opens with its inputs; as root
        #[arg(long)]
        all: bool,
        /// Only print what would run, what would not, and why
        #[arg(long)]
        plan: bool,
        /// Count only passes that were committed 12 hours before the commit under test: a change
        /// does not vouch for itself
        #[arg(long)]
        submitted: bool,
    },
    /// Profile and record the programs of corpus/programs.toml again, or compare them
    Corpus(corpus::CorpusFlags),
    /// Write every page and table that follows from the code, such as defaults of parameters
    Pages,
    /// Build the documentation as a site in target/site/book
    Site,
    /// Run suites side by side: all, those of a tier, or those that are named
    Test {
        /// Suites of this tier only
        #[arg(long)]
        tier: Option<Tier>,
        /// Compare the files that each suite opens with its inputs; as root
        #[arg(long)]
        opened: bool,
        /// Names of suites, as `cargo test --test` takes them; with a filter in one argument
        suites: Vec<String>,
    },
    /// Count what makes the sources and the documentation hard to read
    Language {
        /// Say where
        #[arg(long)]
        list: bool,
    },
    /// List the suites, with their tiers and what each needs
    List,
    /// Run a command, and list the files that it opens below some folders; as root
    #[command(hide = true)]
    Opened {
        #[arg(long)]
        folder: Vec<PathBuf>,
        /// Where the list is written
        #[arg(long)]
        to: PathBuf,
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
    /// Install what the suites need and is missing, with apt-get and pip
    Prepare,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Verb::Opened { folder, to, command } = &args.verb {
        return opened::opened(folder, to, command).unwrap_or_else(|error| {
            eprintln!("cargo xtask opened: {error:#}");
            ExitCode::from(2)
        });
    }
    // It may be called anywhere in the project.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    if let Err(error) = std::env::set_current_dir(root) {
        eprintln!("cargo xtask: {root}: {error}");
        return ExitCode::from(2);
    }
    let done = match args.verb {
        Verb::Ci { all, plan, submitted } => ci::ci(ci::CiRequest { all, plan, is_ci: submitted }),
        Verb::Test { tier, opened, suites } => ci::test(tier, &suites, opened),
        Verb::Corpus(asked) => corpus::corpus(&asked),
        Verb::Pages => pages::pages(),
        Verb::Site => site::site(),
        Verb::Language { list } => language::language(list),
        Verb::Opened { .. } => unreachable!("it has returned"),
        Verb::List => suites::list().map(|()| true),
        Verb::Prepare => prepare::prepare().map(|_| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}
