//! `cargo xtask pages`: writes every page, table and file that follows from the code, in order. A
//! test compares each of them, and writes it under `TRYCMD=overwrite`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

/// What is written, and the tests that write it. The examples print pages that have the tables, so
/// the tables come first. None needs root.
const STEPS: [(&str, &str); 6] = [
    ("tables of parameters", "test -p fairways-lab --test policy_pages"),
    ("examples of README.md and docs", "test -p fairways-doors --test documentation"),
    ("answers to mistakes", "test -p fairways-doors --test mistakes"),
    ("schema of the journal", "test -p fairways-record --lib journal"),
    ("fields of status", "test -p fairways-record --lib fields"),
    ("tables of metrics", "test -p fairways-daemon --lib metrics::families"),
];

/// Where the written files are.
const PLACES: [&str; 3] = ["README.md", "docs", "crates/proof/doors/tests/data/mistakes.txt"];

/// Writes everything, and prints a line for each step; whether all tests passed.
///
/// # Errors
/// If cargo can't be started, or a page can't be read.
pub(crate) fn pages() -> anyhow::Result<bool> {
    let mut to = std::io::stdout().lock();
    let mut have_passed = true;
    let mut before = files()?;
    for (what, command) in STEPS {
        let mut cargo = Command::new("cargo");
        let run = cargo.args(command.split(' ')).env("TRYCMD", "overwrite").output();
        let run = run.with_context(|| format!("cargo {command}"))?;
        let after = files()?;
        let changed = changed(&before, &after);
        let changed =
            if changed.is_empty() { "nothing changed".into() } else { changed.join(", ") };
        writeln!(to, "{what}: {changed}")?;
        if !run.status.success() {
            have_passed = false;
            to.write_all(&[run.stdout, run.stderr].concat())?;
            writeln!(to, "{what}: cargo {command} failed")?;
        }
        before = after;
    }
    Ok(have_passed)
}

/// The paths of the files that are new or have another text.
fn changed(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let changed = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    changed.map(|(path, _)| path.display().to_string()).collect()
}

/// The texts of all files that may be written.
fn files() -> anyhow::Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    let mut places: Vec<PathBuf> = PLACES.map(PathBuf::from).into();
    while let Some(place) = places.pop() {
        if place.is_dir() {
            for entry in fs::read_dir(&place).with_context(|| place.display().to_string())? {
                places.push(entry?.path());
            }
        } else if place
            .extension()
            .is_some_and(|of| ["md", "json", "txt"].iter().any(|known| of == *known))
        {
            let text = fs::read_to_string(&place).with_context(|| place.display().to_string())?;
            files.insert(place, text);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::wall::crates;

    /// The word after a flag.
    fn after<'a>(flag: &str, words: &[&'a str]) -> Option<&'a str> {
        words.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1])
    }

    #[test]
    fn a_new_text_is_found() {
        let before = BTreeMap::from([("a.md".into(), "1".into()), ("b.md".into(), "1".into())]);
        let mut after = before.clone();
        assert!(changed(&before, &after).is_empty());
        after.insert("b.md".into(), "2".into());
        after.insert("c.md".into(), "1".into());
        assert_eq!(changed(&before, &after), ["b.md", "c.md"]);
    }

    /// Each suite that writes exists, and every file that it writes is looked at.
    #[test]
    fn the_steps_and_places_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for place in PLACES {
            assert!(root.join(place).exists(), "{place}");
        }
        for (_, command) in STEPS {
            let words: Vec<&str> = command.split(' ').collect();
            if let (Some(package), Some(suite)) = (after("-p", &words), after("--test", &words)) {
                let all = crates().into_iter();
                let mut named =
                    all.filter(|of| of.manifest["package"]["name"].as_str() == Some(package));
                let folder = named.next().unwrap();
                let file = folder.path.join("tests").join(suite).with_extension("rs");
                assert!(file.exists(), "{command}");
            }
        }
    }
}
