//! `cargo xtask ci`: what CI runs. `cargo xtask test`: the suites that `cargo test --workspace`
//! leaves out, or those that are named. `suites.toml` lists them.

mod binaries;
mod ci;
mod pool;
mod prepare;
mod suites;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use suites::Tier;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tests by tiers, and all that CI runs")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything: what the tests need, every suite, the lints and the documentation
    Ci,
    /// Suites of tests, side by side: all, those of a tier, or those that are named
    Test {
        /// Suites of this tier only
        #[arg(long)]
        tier: Option<Tier>,
        /// Names of suites, as `cargo test --test` takes them
        suites: Vec<String>,
    },
    /// The suites, with their tiers and what each needs
    List,
    /// Install what the suites need and is missing, with apt-get and pip
    Prepare,
}

fn main() -> ExitCode {
    let done = match Args::parse().verb {
        Verb::Ci => ci::ci(),
        Verb::Test { tier, suites } => ci::test(tier, &suites),
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
