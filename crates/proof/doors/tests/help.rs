//! The help of both doors, and what each says of the other.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use clap::Command as Clap;
use fairways_verbs::Door;

fn doors() -> [(Door, PathBuf); 2] {
    [
        (fairways::DOOR, fairways_doors::fairways()),
        (fairways_lab::DOOR, fairways_doors::fairways_lab()),
    ]
}

/// What a door prints, of 100 columns.
fn printed(door: &PathBuf, words: &[String]) -> String {
    let output = Command::new(door).args(words).env("COLUMNS", "100").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Each verb and each below it, with the words that lead there.
fn verbs(command: &Clap) -> Vec<(Vec<String>, Clap)> {
    let mut all = Vec::new();
    for verb in command.get_subcommands() {
        if verb.is_hide_set() || verb.get_name() == "help" {
            continue;
        }
        let name = verb.get_name().to_owned();
        let below = verbs(verb).into_iter();
        all.push((vec![name.clone()], verb.clone()));
        all.extend(below.map(|(path, of)| ([vec![name.clone()], path].concat(), of)));
    }
    all
}

#[test]
fn help_fits_a_screen_and_in_full_two() {
    let mut seen = 0;
    for (door, program) in doors() {
        for (path, _) in verbs(&door.command()) {
            for (flag, lines) in [("-h", 50), ("--help", 120)] {
                let help = printed(&program, &[&path[..], &[flag.to_owned()]].concat());
                let count = help.lines().count();
                assert!(count <= lines, "{} {path:?} {flag}: {count} lines", door.name);
                assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

/// A flag's help there is short, so it is easily forgotten.
#[test]
fn the_long_help_has_every_flag_and_value() {
    let mut seen = 0;
    for (door, program) in doors() {
        for (path, verb) in verbs(&door.command()) {
            let help = printed(&program, &[&path[..], &["--help".to_owned()]].concat());
            for flag in verb.get_arguments().filter(|flag| !flag.is_hide_set()) {
                let Some(name) = flag.get_long() else { continue };
                assert!(help.contains(&format!("--{name}")), "{path:?} {name}: {help}");
                let values = flag.get_possible_values().into_iter();
                for value in values.filter(|_| flag.get_action().takes_values()) {
                    let is_listed = flag.is_hide_possible_values_set();
                    assert!(is_listed || help.contains(value.get_name()), "{name}: {help}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

/// Verbs show their examples first, right after the summary.
#[test]
fn every_verb_opens_with_examples() {
    for (door, _) in doors() {
        for command in door.command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            let mut lines = help.lines().skip(1);
            assert_eq!(lines.next(), Some(""), "{}: {help}", command.get_name());
            assert_eq!(lines.next(), Some("Examples:"), "{}: {help}", command.get_name());
            let verb = format!("{} {}", door.name, command.get_name());
            let examples = lines.take_while(|line| !line.is_empty()).inspect(|line| {
                assert!(line.starts_with("  fairways"), "{line}");
                assert!(line.contains(&verb), "{line}");
            });
            assert_eq!(examples.count(), 3, "{}: {help}", command.get_name());
        }
    }
}

#[test]
fn examples_are_understood() {
    let mut seen = 0;
    for (door, _) in doors() {
        let mut texts = vec![door.examples.to_owned()];
        let verbs = door.command();
        let helps = verbs.get_subcommands().filter_map(Clap::get_long_about);
        texts.extend(helps.map(ToString::to_string));
        for line in texts.iter().flat_map(|text| text.lines()) {
            // Two blanks separate a command from its description.
            let Some(line) = line.strip_prefix("  ") else { continue };
            let line = line.split("  ").next().unwrap_or_default();
            let words = shell_words::split(line).unwrap();
            for words in words.split(|word| word == "|") {
                let other = doors()
                    .into_iter()
                    .find(|(door, _)| Some(door.name) == words.first().map(String::as_str));
                let Some((door, _)) = other else { continue };
                let emulates = words.get(1).is_some_and(|word| word == "emulate");
                let has_programs = words.iter().any(|word| word == "--programs");
                assert!(!emulates || has_programs, "{line}: an emulator needs programs");
                let words = words.iter().take_while(|word| *word != ">");
                let command = door.command();
                match command.clone().try_get_matches_from(words) {
                    Ok(matches) => assert_eq!(door.misplaced(&command, &matches), None, "{line}"),
                    Err(error) => panic!("{line}: {error}"),
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

/// The names of a door's verbs.
fn names(door: &Door) -> Vec<String> {
    let verbs = verbs(&door.command()).into_iter();
    verbs.filter(|(path, _)| path.len() == 1).map(|(path, _)| path[0].clone()).collect()
}

/// Whether a verb of a door has this flag.
fn has(door: &Door, verb: &str, flag: &str) -> bool {
    let command = door.command();
    let verb = command.find_subcommand(verb).unwrap();
    verb.get_arguments().any(|there| there.get_long() == Some(flag))
}

/// What a door knows of the other is so: each verb and flag is there, and not here.
#[test]
fn a_door_knows_what_the_other_has() {
    let [(server, _), (lab, _)] = doors();
    for (here, there) in [(server, lab), (lab, server)] {
        assert_eq!(here.other.name, there.name);
        let (own, others) = (names(&here), names(&there));
        let mut missing: Vec<&str> =
            others.iter().filter(|verb| !own.contains(verb)).map(String::as_str).collect();
        let mut known = here.other.verbs.to_vec();
        missing.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, missing);
        for (verb, flag) in here.other.flags {
            assert!(
                has(&there, verb, flag) && !has(&here, verb, flag),
                "{} {verb} --{flag}",
                there.name
            );
        }
    }
}

/// Otherwise a flag that was renamed would need nothing, or the check would panic.
#[test]
fn every_flag_that_needs_another_has_it_in_its_command() {
    for (door, _) in doors() {
        for (needing, needed) in door.needs {
            let mut seen = 0;
            for (path, verb) in verbs(&door.command()) {
                let flags: Vec<_> =
                    verb.get_arguments().map(|flag| flag.get_id().as_str().to_owned()).collect();
                if flags.iter().any(|flag| flag == needing) {
                    assert!(flags.iter().any(|flag| flag == needed), "{path:?}: {needing}");
                    seen += 1;
                }
            }
            assert!(seen > 0, "{} {needing}", door.name);
        }
    }
}

/// No text of a door speaks of a command that it lacks as if it were its own.
#[test]
fn a_door_speaks_of_its_own_commands() {
    for (door, program) in doors() {
        let name = door.name;
        let page = printed(&program, &["man".to_owned(), "--markdown".to_owned()]);
        for verb in door.other.verbs {
            for (before, after) in
                page.match_indices(&format!("{name} {verb}")).map(|(at, found)| {
                    (page[..at].chars().next_back(), page[at + found.len()..].chars().next())
                })
            {
                let is_word =
                    |of: Option<char>| of.is_some_and(|of| of.is_alphanumeric() || of == '-');
                assert!(is_word(before) || is_word(after), "{name} {verb}");
            }
        }
    }
}

/// A flag of one kind of machine has its heading; a flag of all has none.
#[test]
fn flags_have_the_headings_of_their_machines() {
    let all = ["machine", "policy", "set", "duration", "journal", "json", "mixes", "policies"];
    let headings = [
        ("config", "On this host"),
        ("dry-run", "On this host"),
        ("log-level", "On this host"),
        ("profiles", "On a simulated machine"),
        ("known-profiles", "On a simulated machine"),
        ("programs", "On a chip"),
        ("placement", "On a chip"),
        ("noise", "Over time"),
    ];
    let mut seen = 0;
    for ((door, _), name) in
        doors().iter().flat_map(|door| ["run", "trial", "top", "blame"].map(|name| (door, name)))
    {
        let command = door.command();
        for flag in command.find_subcommand(name).unwrap().get_arguments() {
            let (Some(long), heading) = (flag.get_long(), flag.get_help_heading()) else {
                continue;
            };
            if all.contains(&long) {
                assert_eq!(heading, None, "{name} --{long}");
                seen += 1;
            }
            if let Some((_, expected)) = headings.iter().find(|(flag, _)| *flag == long) {
                assert_eq!(heading, Some(*expected), "{name} --{long}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

/// What is wider is one word: a line of text continues below itself.
#[test]
fn every_line_fits_the_terminal() {
    for words in [&["doctor"][..], &["scan", "--duration", "100ms"]] {
        for columns in [60, 80, 120, 200] {
            let mut command = Command::new(fairways_doors::fairways());
            let output = command.args(words).env("COLUMNS", columns.to_string()).output().unwrap();
            assert!(!output.stdout.is_empty(), "{words:?}: {output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            // A configuration is for a file.
            let text = text.split("\nA configuration").next().unwrap();
            let wide = text.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{words:?}, {columns}: {text}");
        }
    }
}
