//! The manual of both doors.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use fairways_testing::needs::{Need, has};
use fairways_verbs::Door;
use fairways_verbs::manual::Page;

const DOORS: [Door; 2] = [fairways::DOOR, fairways_lab::DOOR];

fn pages(door: &Door) -> Vec<Page> {
    door.manual().pages().unwrap()
}

fn built(door: &Door) -> clap::Command {
    let mut command = door.command().disable_help_subcommand(true);
    command.build();
    command
}

#[test]
fn every_command_and_the_configuration_have_a_page() {
    let expected: [&[&str]; 2] = [
        &[
            "fairways.1",
            "fairways-run.1",
            "fairways-config-check.1",
            "fairways-config-import.1",
            "fairways-man.1",
            "fairways.toml.5",
        ],
        &["fairways-lab.1", "fairways-lab-run.1", "fairways-lab-sweep-run.1", "fairways-lab-man.1"],
    ];
    for (door, expected) in DOORS.iter().zip(expected) {
        let pages = pages(door);
        let names: BTreeSet<&str> = pages.iter().map(|page| page.name.as_str()).collect();
        for name in expected {
            assert!(names.contains(name), "{name} is missing of {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("placeholder") || name.contains("help")));
        assert_eq!(names.len(), pages.len());
        let first = format!("{}.1", door.name);
        for Page { name, text } in &pages {
            let wanted: &[&str] = match name.as_str() {
                "fairways.toml.5" => {
                    &["NAME", "DESCRIPTION", "KEYS", "EXAMPLE", "FILES", "SEE ALSO"]
                }
                name if name == first => &["SYNOPSIS", "OPTIONS", "SUBCOMMANDS", "EXIT STATUS"],
                _ => &["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"],
            };
            for section in wanted {
                let is = |line: &str| {
                    line == format!(".SH {section}") || line == format!(".SH \"{section}\"")
                };
                assert!(text.lines().any(is), "{name} has no {section}:\n{text}");
            }
        }
    }
}

/// The daemon's files are of its own door.
#[test]
fn the_lab_knows_no_file_of_the_daemon() {
    for Page { name, text } in pages(&fairways_lab::DOOR) {
        assert!(!text.contains("/etc/fairways") && !text.contains("fairways.toml"), "{name}");
    }
}

#[test]
fn every_key_of_the_configuration_is_listed_with_its_default() {
    let pages = pages(&fairways::DOOR);
    let page = pages.iter().find(|page| page.name == "fairways.toml.5").unwrap();
    let text = page.text.replace("\\-", "-").replace("\\&", "");
    let (_, keys) = text.split_once("\n.SH KEYS\n").unwrap();
    let (keys, _) = keys.split_once("\n.SH EXAMPLE\n").unwrap();
    let mut count = 0;
    for key in fairways_daemon::config::keys() {
        let entry = format!(".TP\n\\fB{key}\\fR\n");
        assert_eq!(keys.matches(&entry).count(), 1, "{key}");
        count += 1;
    }
    assert_eq!(keys.matches(".TP\n\\fB").count(), count);
    assert!(keys.contains("(default: \\fB\"fairways\"\\fR)"), "{keys}");
    assert!(keys.contains("its name, which no other program has (needed)\n"), "{keys}");
    assert!(keys.contains(" (default: none)\n") && !keys.contains("(default: needed)"), "{keys}");
}

/// A flag with a value is followed by the value's name, one without by the closing bracket.
#[test]
fn every_flag_is_in_the_synopsis_with_its_value() {
    fn look(command: &clap::Command, pages: &[Page], seen: &mut usize) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let Page { text, .. } = pages.iter().find(|page| page.name == format!("{name}.1")).unwrap();
        let (_, rest) = text.split_once("\n.SH SYNOPSIS\n").unwrap();
        let synopsis = rest.split("\n.SH ").next().unwrap().replace("\\-", "-") + " ";
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let flag = arg.get_long().map(|long| format!("\\fB--{long}\\fR"));
            let names = arg.get_value_names().unwrap_or_default().join(" ");
            // Positional arguments come after all flags.
            let behind = synopsis.rsplit("\\fB--").next().unwrap();
            let (place, wanted) = match (flag, arg.get_action().takes_values()) {
                (Some(flag), true) => (&synopsis[..], format!("{flag} \\fI{names}\\fR")),
                (Some(flag), false) => (&synopsis[..], format!("{flag}]")),
                (None, _) => (behind, format!("\\fI{names}\\fR")),
            };
            assert_eq!(place.matches(&wanted).count(), 1, "{name}: {wanted}: {synopsis}");
            *seen += 1;
        }
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        below.for_each(|below| look(below, pages, seen));
    }
    let mut seen = 0;
    for door in &DOORS {
        look(&built(door), &pages(door), &mut seen);
    }
    assert!(seen > 200, "{seen}");
    let pages = pages(&fairways::DOOR);
    let export = pages.iter().find(|page| page.name == "fairways-export.1").unwrap();
    let text = export.text.replace("\\-", "-");
    assert!(text.contains(" \\fB--format\\fR \\fI"), "needed, and so without brackets: {text}");
}

/// The reference has each command, with each of its flags and its examples.
#[test]
fn the_reference_has_every_command_and_flag() {
    fn look(command: &clap::Command, page: &str, seen: &mut usize) {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        let (_, rest) = page.split_once(&format!("\n## {name}\n")).unwrap();
        let section = rest.split("\n## ").next().unwrap();
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let flag = argument.get_long().map_or("- `".to_owned(), |long| format!("`--{long}"));
            assert!(section.contains(&flag), "{name}: {flag}: {section}");
            *seen += 1;
        }
        let below = command.get_subcommands().filter(|below| !below.is_hide_set());
        below.for_each(|below| look(below, page, seen));
    }
    let mut seen = 0;
    for door in &DOORS {
        look(&built(door), &door.manual().markdown(), &mut seen);
    }
    assert!(seen > 200, "{seen}");
    let page = fairways::DOOR.manual().markdown();
    assert!(page.contains(" [default: `"), "{page}");
    let examples = "\n\nExamples:\n\n```sh\nfairways status\nfairways status --json\nfairways status --control /tmp/fairways.sock\n```\n";
    assert!(page.contains(examples), "{page}");
}

/// Every page of section 1 or 5 that a page refers to exists.
#[test]
fn pages_refer_to_pages_that_are_there() {
    let all: Vec<Page> = DOORS.iter().flat_map(pages).collect();
    let mut seen = 0;
    for page in &all {
        let text = page.text.replace("\\-", "-");
        for word in text.split([' ', ',', '\n']).filter(|word| word.starts_with("fairways")) {
            let Some((name, rest)) = word.split_once('(') else { continue };
            let Some(section) = rest.chars().next().filter(char::is_ascii_digit) else { continue };
            let file = format!("{name}.{section}");
            assert!(all.iter().any(|page| page.name == file), "{}: {word}", page.name);
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn pages_are_written_where_man_looks_for_them() {
    for (door, expected) in DOORS.iter().zip([&["man1", "man5"][..], &["man1"]]) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("man");
        door.manual().print(Some(&place), &mut Vec::new()).unwrap();
        for Page { name, text } in pages(door) {
            let section = name.rsplit('.').next().unwrap();
            let file = place.join(format!("man{section}/{name}"));
            assert_eq!(fs::read_to_string(file).unwrap(), text);
        }
        let written = fs::read_dir(&place).unwrap();
        let mut sections: Vec<_> = written.map(|one| one.unwrap().file_name()).collect();
        sections.sort_unstable();
        assert_eq!(sections, expected);
    }
}

#[test]
fn mandoc_has_nothing_against_any_page() {
    if !has("the manual pages", &[Need::Program("mandoc")]) {
        return;
    }
    for (door, Page { name, text }) in
        DOORS.iter().flat_map(|door| pages(door).into_iter().map(move |page| (door, page)))
    {
        // A build without git has no date.
        let date = door.date;
        let text =
            text.replacen(&format!("{date:?}"), "\"2000-01-01\"", usize::from(date.is_empty()));
        let mut command = Command::new("mandoc");
        command.args(["-Tlint", "-Wwarning"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    }
}
