//! Reads the arguments of this process, and explains errors in them.

use std::error::Error as _;
use std::ffi::OsString;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Args;
use super::belongs::misplaced;
use super::help::command_for;

/// Reads the arguments of this process, or of another one.
pub(crate) fn parsed(words: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut command = command_for(&words);
    let matches = command.try_get_matches_from_mut(words)?;
    if let Some(why) = misplaced(&command, &matches) {
        return Err(command.error(ErrorKind::ArgumentConflict, why));
    }
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// A usage error in one line: clap's message without its usage, and clap's suggestion.
pub(crate) fn one_line(error: &clap::Error) -> String {
    // The value's parser says what it expected.
    if let (Some(why), Some(ContextValue::String(flag))) =
        (error.source(), error.get(ContextKind::InvalidArg))
    {
        let name = flag.split(' ').next().unwrap_or_default();
        // An argument without a flag has no name that was typed.
        return if name.starts_with('-') { format!("{name}: {why}") } else { why.to_string() };
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    let hint = |line: &&str| line.starts_with("tip:") || line.starts_with("For more information");
    let message = lines.filter(|line| !hint(line)).collect::<Vec<_>>().join(" ");
    format!("{message}{}", suggestion(error))
}

/// Clap's suggestion, as the end of a message.
fn suggestion(error: &clap::Error) -> String {
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
