//! `cargo xtask language`: the words that docs/glossary.md replaces, and other marks of a text
//! that is hard to read, counted over the sources and the documentation. `language.toml` says how
//! many of each there may be; a test compares.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use regex::{Regex, RegexSet};
use serde::Deserialize;

/// `language.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// Comment lines may be this long, indentation included.
    columns: usize,
    at_most: Counts,
    /// Files with words of others: data, quotations.
    except: Vec<String>,
    /// Regular expressions that no line may match, each with what to write instead.
    instead: BTreeMap<String, String>,
}

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Lines that match one of the patterns.
    banned_lines: usize,
    /// Comments longer than the columns.
    long_comments: usize,
    /// `let name = |…|`.
    named_closures: usize,
    /// Types whose name another type has, too.
    shared_type_names: usize,
}

/// A line that a rule finds fault with.
struct Fault {
    file: PathBuf,
    /// From 1 on.
    line: usize,
    text: String,
    /// The pattern's number, or `None` for a long comment.
    pattern: Option<usize>,
}

/// What was counted, and where.
struct Findings {
    counts: Counts,
    functions: usize,
    faults: Vec<Fault>,
    /// How many types have a name, for those that several have.
    types: BTreeMap<String, usize>,
}

/// Prints the counts, and the lines that the rules find fault with; whether the counts are within
/// what is allowed.
///
/// # Errors
/// If a file can't be read, or the counts can't be printed.
pub(crate) fn language(lists: bool) -> anyhow::Result<bool> {
    let rules = rules()?;
    let found = count(Path::new("."), &rules)?;
    let mut to = std::io::stdout().lock();
    if lists {
        let instead: Vec<&String> = rules.instead.values().collect();
        for Fault { file, line, text, pattern } in &found.faults {
            let advice = pattern.map_or("a long comment", |pattern| instead[pattern]);
            writeln!(to, "{}:{line}: {advice}: {}", file.display(), text.trim())?;
        }
        for (name, count) in &found.types {
            writeln!(to, "{count} types are named {name}")?;
        }
    }
    let Counts { banned_lines, long_comments, named_closures, shared_type_names } = &found.counts;
    let most = &rules.at_most;
    writeln!(to, "  count  at most")?;
    let rows = [
        (banned_lines, most.banned_lines, "lines with words that the glossary replaces"),
        (long_comments, most.long_comments, "comments that are too long"),
        (named_closures, most.named_closures, "named closures"),
        (shared_type_names, most.shared_type_names, "types that share their name"),
    ];
    for (count, most, what) in rows {
        writeln!(to, "{count:>7} {most:>8}  {what}")?;
    }
    writeln!(to, "{:>7}           functions", found.functions)?;
    Ok(rows.iter().all(|(count, most, _)| *count <= most))
}

fn rules() -> anyhow::Result<Rules> {
    toml::from_str(include_str!("../language.toml")).context("crates/proof/xtask/language.toml")
}

/// Counts over the project in a folder.
fn count(root: &Path, rules: &Rules) -> anyhow::Result<Findings> {
    let patterns = RegexSet::new(rules.instead.keys()).context("language.toml: instead")?;
    let closure = Regex::new(r"\blet (mut )?\w+(: [^=]+)? =\s*(move )?\|")?;
    let function = Regex::new(r"^\s*[^/\s].*\bfn \w+|^\s*fn \w+")?;
    let named_type = Regex::new(r"^\s*(pub(\([^)]*\))? )?(struct|enum|trait) (?<name>\w+)")?;
    let (mut counts, mut functions, mut faults) = (Counts::default(), 0, Vec::new());
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for file in files(root, rules)? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_owned();
        let is_code = name.extension().is_some_and(|extension| extension == "rs");
        for (line, text) in (1..).zip(text.lines()) {
            let mut fault = |pattern| {
                faults.push(Fault { file: name.clone(), line, text: text.to_owned(), pattern });
            };
            if let Some(pattern) = patterns.matches(text).iter().next() {
                counts.banned_lines += 1;
                fault(Some(pattern));
            }
            if !is_code {
                continue;
            }
            if text.trim_start().starts_with("//") && text.chars().count() > rules.columns {
                counts.long_comments += 1;
                fault(None);
            }
            counts.named_closures += usize::from(closure.is_match(text));
            functions += usize::from(function.is_match(text));
            if let Some(found) = named_type.captures(text) {
                *types.entry(found["name"].to_owned()).or_default() += 1;
            }
        }
    }
    types.retain(|_, count| *count > 1);
    counts.shared_type_names = types.values().sum();
    Ok(Findings { counts, functions, faults, types })
}

/// The sources and the pages, in order.
fn files(root: &Path, rules: &Rules) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.strip_prefix(root).unwrap_or(&path);
            let is_hidden = name.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
            if is_hidden || rules.except.iter().any(|except| name.starts_with(except)) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "rs" || extension == "md")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_keeps_to_the_rules() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let rules = rules().unwrap();
        let Findings { counts, .. } = count(&root, &rules).unwrap();
        let [now, most] = [&counts, &rules.at_most]
            .map(|of| [of.banned_lines, of.long_comments, of.named_closures, of.shared_type_names]);
        assert!(
            now.iter().zip(most).all(|(now, most)| *now <= most),
            "{counts:?}, at most {:?}: `cargo xtask language --list` says where",
            rules.at_most
        );
        // Where counts have fallen by much, what is allowed falls, too.
        assert!(
            now.iter().zip(most).all(|(now, most)| now + 25 >= most),
            "{counts:?}: lower crates/proof/xtask/language.toml"
        );
    }

    #[test]
    fn each_fault_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(100);
        let text = format!(
            "// {long}\nstruct Told;\nfn f() {{\n    let double = |x: u32| 2 * x;\n}}\nenum Told {{}}\n"
        );
        fs::write(folder.path().join("a.rs"), text).unwrap();
        fs::write(folder.path().join("b.md"), "The policy is told of it.\nIt is retold.\n")
            .unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("data/c.md"), "told\n").unwrap();
        let rules = Rules {
            columns: 100,
            at_most: Counts::default(),
            except: vec!["data".to_owned()],
            instead: [(r"(?i)\btold\b".to_owned(), "reported".to_owned())].into(),
        };
        let found = count(folder.path(), &rules).unwrap();
        let counts =
            Counts { banned_lines: 3, long_comments: 1, named_closures: 1, shared_type_names: 2 };
        assert_eq!((found.counts, found.functions), (counts, 1));
        let lines: Vec<usize> = found.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [1, 2, 6, 1]);
    }
}
