//! The mistakes of newcomers: each is answered in one line that names the remedy.
//!
//! `tests/data/mistakes.txt` has the commands with their exit codes and answers. `cargo xtask
//! pages` writes the present answers. Read the difference before you commit it.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command's exit code and standard error, in a folder with one wrong configuration.
fn answer(door: &str, words: &str, folder: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(fairways_doors::bin().join(door));
    // The answer must not depend on the folder of the test.
    command.args(words.split(' ')).current_dir(folder).env("COLUMNS", "100");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.stdout.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), said)
}

#[test]
fn each_is_answered_in_one_line_that_says_what_to_do() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mistakes.txt");
    let text = fs::read_to_string(&golden).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("wrong.toml"), "polcy = \"lfoc\"\n").unwrap();
    let mut now = String::new();
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let (door, words) = line.split_once(' ').unwrap();
        let (code, said) = answer(door, words, folder.path());
        let begins = said.starts_with(&format!("{door}: "));
        assert!(begins && said.ends_with('\n'), "{words}: {said:?}");
        assert_eq!(said.lines().count(), 1, "{words}: {said}");
        assert_ne!(code, Some(0), "{words}: {said}");
        writeln!(now, "$ {line}\n? {}\n{said}", code.unwrap()).unwrap();
        count += 1;
    }
    assert!(count >= 45, "{count} mistakes");
    if std::env::var_os("TRYCMD").is_some_and(|how| how == "overwrite") {
        fs::write(&golden, &now).unwrap();
    } else {
        assert_eq!(now, text, "`cargo xtask pages` writes it");
    }
}
