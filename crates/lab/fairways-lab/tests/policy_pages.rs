//! The policies' pages: each is listed, and has a table of all parameters with their defaults and
//! sources, and a file that uses each. docs/run.md has a table of them with their meaning.
//! `cargo xtask pages` writes the tables.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fairways_policy::table::Descriptor;
use fairways_policy::{POLICIES, descriptor};

/// How the tables begin: on the policies' pages, and in docs/run.md.
const PAGE_TABLE: &str = "| `--set` | default | ";
const RUN_TABLE: &str = "| name | default | meaning |";

/// The project's folder.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(project().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The page that the index gives a policy.
fn page_of(policy: &str) -> String {
    let index = read("docs/policies/README.md");
    let row = index.split_once(&format!("| [`{policy}`](")).map(|(_, rest)| rest);
    let name = row.unwrap_or_else(|| panic!("{policy} is not listed")).split(')').next().unwrap();
    format!("docs/policies/{name}")
}

#[test]
fn every_policy_has_a_page() {
    for policy in POLICIES {
        let page = page_of(policy.name);
        let text = read(&page);
        assert!(text.contains(&format!("`{}`", policy.name)), "{page}");
        for section in ["promise", "a host"] {
            assert!(text.contains(section), "{page}: {section}");
        }
    }
}

/// The folder with a policy's code.
fn folder_of(policy: &str) -> PathBuf {
    let name = if policy == "lfoc-plus" { "lfoc".to_owned() } else { policy.replace('-', "_") };
    project().join("crates/base/policy/src").join(name)
}

/// The code of a policy by its files.
fn code_of(policy: &str) -> BTreeMap<String, String> {
    let mut code = BTreeMap::new();
    for entry in fs::read_dir(folder_of(policy)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name != "tests.rs" && name.ends_with(".rs") {
            code.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    code
}

/// The file that reads a parameter most often, for a parameter that is new on its page.
fn likely_file<'a>(code: &'a BTreeMap<String, String>, parameter: &str) -> &'a str {
    let field = format!(".{parameter}");
    let likely = code.iter().max_by_key(|(name, text)| {
        // It defines all of them.
        (text.matches(&field).count(), *name != "parameters.rs")
    });
    likely.unwrap().0
}

/// The cell at this place of a row.
fn cell(row: &str, place: usize) -> Option<&str> {
    row.trim_matches('|').split(" | ").nth(place).map(str::trim)
}

/// The rows of a policy on its page. A person chooses the file that shows a parameter best, so it
/// stays as it is while it has the parameter.
fn page_rows(policy: &Descriptor, old: &str) -> String {
    let code = code_of(policy.name);
    let mut rows = String::new();
    for (parameter, (name, default)) in policy.parameters.iter().zip(policy.make(&[]).parameters) {
        let old_row = old.lines().find(|row| row.starts_with(&format!("| `{name}` | ")));
        let chosen = old_row.and_then(|row| cell(row, 3)).map(|file| file.trim_matches('`'));
        let chosen = chosen.filter(|file| code.get(*file).is_some_and(|code| code.contains(name)));
        let file = chosen.unwrap_or_else(|| likely_file(&code, name));
        writeln!(rows, "| `{name}` | {default} | {} | `{file}` |", parameter.source).unwrap();
    }
    rows
}

/// The rows of a policy in docs/run.md.
fn run_rows(policy: &Descriptor) -> String {
    let mut rows = String::new();
    for (parameter, (name, default)) in policy.parameters.iter().zip(policy.make(&[]).parameters) {
        let (help, source) = (parameter.help(), parameter.source);
        let help = help.trim_end_matches('.');
        writeln!(rows, "| `{name}` | {default} | {help} ({source}) |").unwrap();
    }
    rows
}

/// Replaces the rows of the first table behind `from` that begins with `head`.
fn replace_rows(text: &mut String, from: usize, head: &str, rows: impl FnOnce(&str) -> String) {
    let table = from + text[from..].find(head).unwrap_or_else(|| panic!("no table {head}"));
    let body = text[table..].match_indices('\n').nth(1).map(|(end, _)| table + end + 1).unwrap();
    let end = body + text[body..].find("\n\n").map_or(text.len() - body, |end| end + 1);
    let rows = rows(&text[body..end]);
    text.replace_range(body..end, &rows);
}

/// The policy whose parameters a heading of docs/run.md announces.
fn announced(heading: &str) -> Option<&'static Descriptor> {
    let name = heading.strip_prefix("## Parameters of ")?.to_lowercase();
    Some(descriptor(&name).unwrap_or_else(|| panic!("docs/run.md: {heading}: no policy {name}")))
}

/// docs/run.md with the tables of the code.
fn run_page(written: &str) -> String {
    let mut text = written.to_owned();
    let headings = written.lines().filter_map(|line| Some((line, announced(line)?)));
    let headings: Vec<_> = headings.collect();
    for (heading, policy) in &headings {
        let section = text.find(&format!("\n{heading}\n")).unwrap();
        replace_rows(&mut text, section, RUN_TABLE, |_| run_rows(policy));
    }
    for policy in POLICIES.iter().filter(|policy| !policy.parameters.is_empty()) {
        // It has LFOC's parameters.
        let has_section = policy.name == "lfoc-plus"
            || headings.iter().any(|(_, announced)| announced.name == policy.name);
        assert!(has_section, "docs/run.md: no parameters of {}", policy.name);
    }
    text
}

#[test]
fn the_tables_of_parameters_are_those_of_the_code() {
    let mut pages = vec![("docs/run.md".to_owned(), run_page(&read("docs/run.md")))];
    for policy in POLICIES.iter().filter(|policy| !policy.parameters.is_empty()) {
        let page = page_of(policy.name);
        let mut text = read(&page);
        replace_rows(&mut text, 0, PAGE_TABLE, |old| page_rows(policy, old));
        pages.push((page, text));
    }
    let overwrites = std::env::var("TRYCMD").is_ok_and(|how| how == "overwrite");
    for (page, text) in pages {
        let is_as_written = read(&page) == text;
        if !is_as_written && overwrites {
            fs::write(project().join(&page), text).unwrap();
        } else {
            assert!(is_as_written, "{page}: `cargo xtask pages` writes its table of parameters");
        }
    }
}
