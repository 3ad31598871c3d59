//! `cargo xtask ci` runs what CI runs. `cargo xtask test` runs the suites that `cargo test
//! --workspace` leaves out, or those that are named. `suites.toml` lists them.

mod binaries;
mod ci;
mod corpus;
#[cfg(test)]
mod flags;
#[cfg(test)]
mod import_cycles;
mod language;
mod pages;
mod pool;
mod prepare;
mod run_folder;
mod site;
mod suites;

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
    /// Install what is missing, then run every suite, the lints and the documentation
    Ci,
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
        /// Names of suites, as `cargo test --test` takes them
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
    /// Install what the suites need and is missing, with apt-get and pip
    Prepare,
}

fn main() -> ExitCode {
    let args = Args::parse();
    // It may be called anywhere in the project.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    if let Err(error) = std::env::set_current_dir(root) {
        eprintln!("cargo xtask: {root}: {error}");
        return ExitCode::from(2);
    }
    let done = match args.verb {
        Verb::Ci => ci::ci(),
        Verb::Test { tier, suites } => ci::test(tier, &suites),
        Verb::Corpus(asked) => corpus::corpus(&asked),
        Verb::Pages => pages::pages(),
        Verb::Site => site::site(),
        Verb::Language { list } => language::language(list),
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
