//! The policies' pages: each is listed, and names every parameter with its default, its source and
//! a file that uses it. The tables of docs/run.md are the table of policies; `TRYCMD=overwrite`
//! writes them.

use std::fmt::Write as _;
use std::fs;

use fairways_policy::{Descriptor, POLICIES};

use super::page::{Page, pages, project};

/// The page that the index gives a policy.
fn page<'a>(pages: &'a [Page], policy: &str) -> &'a Page {
    let of = |name: &str| pages.iter().find(|page| page.name == format!("docs/policies/{name}"));
    let index = &of("README.md").unwrap().text;
    let row = index.split_once(&format!("| [`{policy}`](")).map(|(_, rest)| rest);
    let name = row.unwrap_or_else(|| panic!("{policy} is not listed")).split(')').next().unwrap();
    of(name).unwrap()
}

/// Where a policy's code is.
fn folder(policy: &str) -> &str {
    match policy {
        "lfoc-plus" => "lfoc",
        "cache-fair" => "cache_fair",
        "mba-feedback" => "mba_feedback",
        other => other,
    }
}

#[test]
fn every_policy_has_a_page_with_its_parameters() {
    let pages = pages();
    for policy in POLICIES {
        let page = page(&pages, policy.name);
        assert!(page.text.contains(&format!("`{}`", policy.name)), "{}", page.name);
        for section in ["promise", "a host"] {
            assert!(page.text.contains(section), "{}: {section}", page.name);
        }
        let defaults = policy.make(&[]).parameters;
        for (parameter, (name, default)) in policy.parameters.iter().zip(defaults) {
            let row = page.text.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
            let row = row.unwrap_or_else(|| panic!("{}: no {name}", page.name));
            let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches(' ')).collect();
            assert_eq!(cells[1], default.to_string(), "{}: {name}", page.name);
            assert_eq!(cells[2], parameter.source, "{}: {name}", page.name);
            let file = cells[3].trim_matches(['`', '|', ' ']);
            let file = project().join("crates/policy/src").join(folder(policy.name)).join(file);
            let code = fs::read_to_string(&file).unwrap();
            assert!(code.contains(name), "{}: {name} is not in {}", page.name, file.display());
        }
    }
}

/// The rows of a policy's parameters.
fn rows(policy: &Descriptor) -> String {
    let mut rows = String::new();
    let defaults = policy.make(&[]).parameters;
    for (parameter, (name, default)) in policy.parameters.iter().zip(defaults) {
        let (help, source) = (parameter.help(), parameter.source);
        let help = help.trim_end_matches('.');
        writeln!(rows, "| `{name}` | {default} | {help} ({source}) |").unwrap();
    }
    rows
}

#[test]
fn the_tables_of_parameters_are_those_of_the_code() {
    const HEAD: &str = "| name | default | meaning |\n|---|---|---|\n";
    let path = project().join("docs/run.md");
    let written = fs::read_to_string(&path).unwrap();
    let mut text = written.clone();
    let headings = [
        ("lfoc", "LFOC"),
        ("fairways", "Fairways"),
        ("dcat", "dCat"),
        ("locpart", "Locpart"),
        ("parties", "PARTIES"),
        ("dunn", "Dunn"),
        ("kpart", "KPart"),
        ("mba-feedback", "mba-feedback"),
        ("casc", "CASC"),
        ("cache-fair", "cache-fair"),
    ];
    for policy in POLICIES.iter().filter(|policy| !policy.parameters.is_empty()) {
        let Some((_, heading)) = headings.iter().find(|(name, _)| *name == policy.name) else {
            assert_eq!(policy.name, "lfoc-plus", "it has no section");
            continue;
        };
        let section = text.find(&format!("\n## Parameters of {heading}\n")).unwrap();
        let start = section + text[section..].find(HEAD).unwrap() + HEAD.len();
        let end = start + text[start..].find("\n\n").map_or(text.len() - start, |end| end + 1);
        text.replace_range(start..end, &rows(policy));
    }
    if std::env::var("TRYCMD").is_ok_and(|how| how == "overwrite") {
        fs::write(&path, &text).unwrap();
    } else {
        assert!(text == written, "docs/run.md: TRYCMD=overwrite writes the tables");
    }
}
