//! The arguments of this process, and what is wrong with them.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};

use super::Args;

/// What only a simulated machine heeds, and has a value even where it was not given.
const OF_MACHINES: [&str; 10] = [
    "clos",
    "min_bits",
    "llc_mb",
    "bandwidth_model",
    "seed",
    "instructions",
    "profile_time",
    "set_sampling",
    "pages",
    "placement",
];

/// The arguments of this process.
pub(crate) fn parsed() -> Result<Args, clap::Error> {
    let mut command = Args::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    if let Some(("top" | "run", of)) = matches.subcommand()
        && !of.contains_id("machine")
        && let Some(id) = OF_MACHINES
            .into_iter()
            .find(|id| of.value_source(id).is_some_and(|source| source == ValueSource::CommandLine))
    {
        let said = format!("--{}: expected --machine with it", id.replace('_', "-"));
        return Err(command.error(ErrorKind::MissingRequiredArgument, said));
    }
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A usage error in one line: what clap says, without its usage and its hints.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let said = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let said = said.map(str::trim).filter(|line| !line.is_empty());
    let hint = |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
    let said = said.filter(|line| !hint(line));
    said.collect::<Vec<_>>().join(" ")
}
