//! The arguments of this process, and what is wrong with them.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command, CommandFactory, FromArgMatches};

use super::{Args, HostFlags};

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
    if let Some(("run", of)) = matches.subcommand()
        && of.contains_id("machine")
        && let Some(flag) = of_hosts(of)
    {
        let said = format!("{flag}: a simulated machine does not take it: expected no --machine");
        return Err(command.error(ErrorKind::ArgumentConflict, said));
    }
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The first flag that was given and is for a host alone.
fn of_hosts(given: &ArgMatches) -> Option<String> {
    let flags = HostFlags::augment_args(Command::new("run"));
    let flag = flags.get_arguments().find(|flag| {
        let source = given.value_source(flag.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    })?;
    Some(format!("--{}", flag.get_long()?))
}

/// A usage error in one line: what clap says, without its usage, and what may have been meant.
pub(crate) fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let said = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let said = said.map(str::trim).filter(|line| !line.is_empty());
    let hint = |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
    let said = said.filter(|line| !hint(line)).collect::<Vec<_>>().join(" ");
    format!("{said}{}", meant(error))
}

/// What clap suggests, as the end of a message.
fn meant(error: &clap::Error) -> String {
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let suggested = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name.clone()),
        // The one that is most alike comes last.
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    });
    suggested.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}
