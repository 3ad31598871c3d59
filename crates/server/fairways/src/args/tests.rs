use clap::CommandFactory as _;

use super::belongs::misplaced;
use super::{Args, EXAMPLES};

/// Verbs show their examples first, right after the summary.
#[test]
fn every_verb_opens_with_examples() {
    for command in Args::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        let help = command.get_long_about().map(ToString::to_string).unwrap_or_default();
        let mut lines = help.lines().skip(1);
        assert_eq!(lines.next(), Some(""), "{}: {help}", command.get_name());
        assert_eq!(lines.next(), Some("Examples:"), "{}: {help}", command.get_name());
        let verb = format!("fairways {}", command.get_name());
        let examples = lines.take_while(|line| !line.is_empty()).inspect(|line| {
            assert!(line.starts_with("  fairways ") && line.contains(&verb), "{line}");
        });
        assert_eq!(examples.count(), 3, "{}: {help}", command.get_name());
    }
}

#[test]
fn examples_are_understood() {
    let mut texts = vec![EXAMPLES.to_owned()];
    let verbs = Args::command();
    let helps = verbs.get_subcommands().filter_map(clap::Command::get_long_about);
    texts.extend(helps.map(ToString::to_string));
    let mut seen = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        // Two blanks separate a command from its description.
        let Some(line) = line.strip_prefix("  ") else { continue };
        let line = line.split("  ").next().unwrap_or_default();
        let words = shell_words::split(line).unwrap();
        for words in words.split(|word| word == "|") {
            if words.first().is_none_or(|word| word != "fairways") {
                continue;
            }
            let emulates = words.get(1).is_some_and(|word| word == "emulate");
            let has_programs = words.iter().any(|word| word == "--programs");
            assert!(!emulates || has_programs, "{line}: an emulator needs programs");
            let words = words.iter().take_while(|word| *word != ">");
            let command = Args::command();
            match command.clone().try_get_matches_from(words) {
                Ok(matches) => assert_eq!(misplaced(&command, &matches), None, "{line}"),
                Err(error) => panic!("{line}: {error}"),
            }
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}
