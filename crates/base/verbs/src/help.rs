//! What `-h` and `--help` show: `-h` the flags of every day, on a screen; `--help` the command's
//! examples, its description and all of its flags, on two. Manual pages have the long texts.

use clap::Command;

use super::command;

/// Flags under a heading that `-h` shows.
const EVERYDAY: [&str; 9] =
    ["config", "program", "dry_run", "observe", "mix", "programs", "profiles", "seed", "dynamic"];

/// Other flags that `-h` leaves out.
const RARE: [&str; 5] = ["allow_other", "fault", "host_files", "kernel", "replace"];

/// The command line for these words. `--help` and `help` come before errors in other words, so
/// that the words alone say which help is asked for.
pub(super) fn command_for(words: &[std::ffi::OsString]) -> Command {
    let is_full = words.iter().take_while(|word| *word != "--").any(|word| word == "--help");
    if is_full || words.get(1).is_some_and(|word| word == "help") {
        return full(command());
    }
    brief(command())
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
    command.mut_subcommands(|verb| full_verb(verb, &[]))
}

/// Sets the help of a verb and of those below it.
fn full_verb(verb: Command, above: &[&str]) -> Command {
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
    let text = shown.after_help(in_full(&verb, &path)).render_help();
    verb.override_help(text).mut_subcommands(|below| full_verb(below, &path))
}

/// The last lines of a help: the command's own, and where the long texts of its flags are.
fn in_full(verb: &Command, path: &[&str]) -> String {
    let own = verb.get_after_help().map(|own| format!("{own}\n\n")).unwrap_or_default();
    let page = path.join("-");
    format!("{own}More about each flag: man fairways-{page} (`fairways man DIR` writes the pages)")
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
        every_help_has_at_most(50, brief(command()), &[]);
    }

    #[test]
    fn the_long_help_of_each_verb_fits_two_screens() {
        every_help_has_at_most(120, full(command().term_width(100)), &[]);
    }

    fn every_help_has_at_most(lines: usize, command: Command, above: &[&str]) {
        let mut command = command.term_width(100);
        command.build();
        for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
            let help = verb.render_help().to_string();
            let count = help.lines().count();
            let path = [above, &[verb.get_name()]].concat();
            assert!(count <= lines, "{path:?}: {count} lines");
            assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
            every_help_has_at_most(lines, verb.clone(), &path);
        }
    }

    /// A flag's help here is short, so it is easily forgotten.
    #[test]
    fn the_long_help_has_every_flag_and_value() {
        let mut seen = 0;
        for verb in full(command()).get_subcommands_mut().filter(|verb| !verb.is_hide_set()) {
            let help = verb.render_help().to_string();
            for flag in verb.get_arguments().filter(|flag| !flag.is_hide_set()) {
                let Some(name) = flag.get_long() else { continue };
                assert!(help.contains(&format!("--{name}")), "{name}: {help}");
                for value in flag.get_possible_values() {
                    let is_listed = flag.is_hide_possible_values_set();
                    assert!(is_listed || help.contains(value.get_name()), "{name}: {help}");
                }
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
