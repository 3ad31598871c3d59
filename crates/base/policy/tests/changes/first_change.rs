//! "Your first change" of CONTRIBUTING.md does what the page says.

use std::fs;

use super::copied::{CopiedWorkspace, project};

/// A section of CONTRIBUTING.md.
fn section(title: &str) -> String {
    let page = fs::read_to_string(project().join("CONTRIBUTING.md")).unwrap();
    let (_, rest) = page.split_once(&format!("\n## {title}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_owned()
}

/// The only text in backquotes that begins so.
fn quoted<'a>(prose: &'a str, begin: &str) -> &'a str {
    let mut quoted = prose.split('`').skip(1).step_by(2).filter(|text| text.starts_with(begin));
    let text = quoted.next().unwrap_or_else(|| panic!("CONTRIBUTING.md: no {begin}"));
    assert!(quoted.next().is_none(), "CONTRIBUTING.md: two texts begin with {begin}");
    text
}

#[test]
fn the_first_change_of_contributing_fails_a_test_that_names_the_section() {
    let section = section("Your first change");
    let [prose, shown, rest] = section.split("```").collect::<Vec<_>>().try_into().unwrap();
    let prose = format!("{prose}{rest}");
    let file = quoted(&prose, "crates/base/policy/src/");
    let old = quoted(&prose, "streaming_llcmpkc: Q32 = Q32::from_int(10)");
    let new = quoted(&prose, "streaming_llcmpkc: Q32 = Q32::from_int(12)");
    let command = quoted(&prose, "cargo test -p fairways-policy");

    let copied = CopiedWorkspace::new();
    let (definition, _) = old.split_once("10").unwrap();
    let code = fs::read_to_string(copied.path(file)).unwrap();
    let (_, rest) = code.split_once(definition).unwrap_or_else(|| panic!("{file}: no {old}"));
    // The project has another value already while somebody follows the page.
    let (current, _) = rest.split_once(')').unwrap();
    copied.replace(file, &format!("{definition}{current})"), new);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let run = copied.cargo(&words);
    let output = [run.stdout, run.stderr].concat();
    let output = String::from_utf8(output).unwrap();

    assert!(!run.status.success(), "{command} passes");
    let message = shown.strip_prefix("text\n").unwrap().trim();
    assert!(output.contains(message), "CONTRIBUTING.md shows\n{message}\nand not\n{output}");
    for named in ["lfoc", "streaming_llcmpkc", "12", "10", "Table 1"] {
        assert!(message.contains(named), "{named}");
    }
}
