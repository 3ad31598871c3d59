//! What `-h` and `--help` show: `-h` the flags of every day, on a screen; `--help` the command's
//! examples, its description and all of its flags, on two. Manual pages have the long texts.

use clap::Command;

/// Flags under a heading that `-h` shows.
const EVERYDAY: [&str; 9] =
    ["config", "program", "dry_run", "observe", "mix", "programs", "profiles", "seed", "dynamic"];

/// Other flags that `-h` leaves out.
const RARE: [&str; 5] = ["allow_other", "fault", "host_files", "kernel", "replace"];

/// The command line of a door for these words. `--help` and `help` come before errors in other
/// words, so that the words alone say which help is asked for.
pub(super) fn command_for(command: Command, words: &[std::ffi::OsString]) -> Command {
    let is_full = words.iter().take_while(|word| *word != "--").any(|word| word == "--help");
    if is_full || words.get(1).is_some_and(|word| word == "help") {
        return full(command);
    }
    brief(command)
}

/// Lets `-h` fit a screen: it leaves out rare flags, and those under a heading that are not
/// everyday ones.
fn brief(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|flag| {
            let id = flag.get_id().as_str();
            let has_heading = flag.get_help_heading().is_some();
            let is_rare = RARE.contains(&id) || has_heading && !EVERYDAY.contains(&id);
            if is_rare { flag.hide_short_help(true) } else { flag }
        })
    })
}

/// Lets `--help` fit two screens: clap gives each flag a paragraph there, with its values as a
/// list.
fn full(mut command: Command) -> Command {
    command.build();
    let door = command.get_name().to_owned();
    command.mut_subcommands(|verb| full_verb(&door, verb, &[]))
}

/// Sets the help of a verb and of those below it.
fn full_verb(door: &str, verb: Command, above: &[&str]) -> Command {
    let name = verb.get_name().to_owned();
    let path = [above, &[name.as_str()]].concat();
    let mut shown = verb.clone();
    if let Some(about) = verb.get_long_about() {
        shown = shown.about(about.clone());
    }
    let shown = shown.mut_args(|flag| match flag.get_id().as_str() {
        "help" => flag.help("Print help; -h prints a summary"),
        _ => flag,
    });
    let text = shown.after_help(in_full(door, &verb, &path)).render_help();
    verb.override_help(text).mut_subcommands(|below| full_verb(door, below, &path))
}

/// The last lines of a help: the command's own, and where the long texts of its flags are.
fn in_full(door: &str, verb: &Command, path: &[&str]) -> String {
    let own = verb.get_after_help().map(|own| format!("{own}\n\n")).unwrap_or_default();
    let page = path.join("-");
    format!("{own}More about each flag: man {door}-{page} (`{door} man DIR` writes the pages)")
}
