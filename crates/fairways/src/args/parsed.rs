//! Reads the arguments of this process, and explains errors in them.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, FromArgMatches};

use super::belongs::misplaced;
use super::{Args, command};

/// Reads the arguments of this process.
pub(crate) fn parsed() -> Result<Args, clap::Error> {
    let mut command = briefly(command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    if let Some(why) = misplaced(&command, &matches) {
        return Err(command.error(ErrorKind::ArgumentConflict, why));
    }
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Flags under a heading that `-h` shows; `--help` shows all.
const EVERYDAY: [&str; 9] =
    ["config", "program", "dry_run", "observe", "mix", "programs", "profiles", "seed", "dynamic"];

/// Other flags that `-h` leaves out.
const RARE: [&str; 5] = ["allow_other", "fault", "host_files", "kernel", "replace"];

/// Lets `-h` fit a screen: it leaves out rare flags, and those under a heading that are not
/// everyday ones.
fn briefly(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|flag| {
            let id = flag.get_id().as_str();
            let has_heading = flag.get_help_heading().is_some();
            let is_rare = RARE.contains(&id) || has_heading && !EVERYDAY.contains(&id);
            if is_rare { flag.hide_short_help(true) } else { flag }
        })
    })
}

/// A usage error in one line: clap's message without its usage, and clap's suggestion.
pub(crate) fn one_line(error: &clap::Error) -> String {
    // The value's parser says what it expected.
    if let (Some(why), Some(ContextValue::String(flag))) =
        (error.source(), error.get(ContextKind::InvalidArg))
    {
        let flag = flag.split(' ').next().unwrap_or_default().trim_matches(['[', ']', '<', '>']);
        return format!("{flag}: {why}");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a flag that was renamed would vanish from the short help, or come back.
    #[test]
    fn everyday_and_rare_flags_exist() {
        let command = command();
        for id in EVERYDAY.iter().chain(&RARE) {
            let mut flags = command.get_subcommands().flat_map(Command::get_arguments);
            assert!(flags.any(|flag| flag.get_id() == *id), "{id}");
        }
    }

    #[test]
    fn the_short_help_of_each_verb_fits_a_screen() {
        let mut command = briefly(command()).term_width(100);
        command.build();
        for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
            let help = verb.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 50, "{}: {lines} lines", verb.get_name());
        }
    }
}
