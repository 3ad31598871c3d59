//! Journals whose writers were killed or failed, and files that only look like journals.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use tempfile::TempDir;

/// Runs the model for two seconds with a journal in parts of this size.
fn run(path: &Path, size: &str) -> Assert {
    Command::cargo_bin("fairways-lab")
        .unwrap()
        .args(["run", "--machine", "model", "-q", "--duration", "2s", "--journal-size", size])
        .arg("--journal")
        .arg(path)
        .assert()
}

fn journal(size: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    run(&path, size).success();
    (folder, path)
}

fn replay(path: &Path) -> Assert {
    Command::cargo_bin("fairways-lab").unwrap().arg("replay").arg(path).assert()
}

fn printed(assert: &Assert) -> String {
    let output = assert.get_output();
    let streams = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    streams.concat()
}

fn part(path: &Path, number: usize) -> PathBuf {
    path.with_extension(number.to_string())
}

fn parts(path: &Path) -> Vec<PathBuf> {
    let finished = (0..).map(|number| part(path, number)).take_while(|part| part.is_file());
    finished.chain([path.to_owned()]).collect()
}

#[test]
fn a_journal_whose_writer_was_killed_is_replayed_up_to_there() {
    for size in ["1G", "100K", "1"] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("journal");
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("fairways-lab"))
            .args(["run", "--machine", "model", "-q", "--duration", "100000000s"])
            .args(["--journal-size", size, "--journal"])
            .arg(&path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Enough for the buffer to have been written out between lines.
        let written = || fs::read_dir(folder.path()).unwrap().flatten();
        while written().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum::<u64>()
            < 300_000
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(printed(&replay(&path).success()).contains("all the same"));
    }
}

#[test]
fn a_full_disk_ends_the_run_and_what_was_written_stays() {
    let (_folder, path) = journal("1G");
    let whole = fs::read(&path).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    // The file may not grow beyond this number of blocks, of 512 or of 1024 bytes.
    for blocks in [20, 30, 40, 50, 60] {
        let _ = fs::remove_file(&path);
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let fairways = assert_cmd::cargo::cargo_bin("fairways-lab");
        let assert = Command::new("sh")
            .args(["-c", &script, "sh", fairways.to_str().unwrap()])
            .args(["run", "--machine", "model", "-q", "--duration", "2s", "--journal"])
            .arg(&path)
            .assert();
        let said = printed(&assert.code(1).stdout(""));
        assert!(said.contains("journal: can't write it") && said.lines().count() == 1, "{said}");
        let written = fs::read(&path).unwrap();
        assert!(written.len() >= blocks * 512 && whole.starts_with(&written));
        assert!(printed(&replay(&path).success()).contains("all the same"));
    }
}

#[test]
fn a_part_that_was_only_begun_is_passed_over() {
    let (_folder, path) = journal("40K");
    let last = fs::read(&path).unwrap();
    for begun in [0, 1, 100] {
        fs::write(&path, &last[..begun]).unwrap();
        let said = printed(&replay(&path).success());
        assert!(
            said.ends_with("all the same\nthe end is cut short, and was passed over\n"),
            "{said}"
        );
    }
    fs::remove_file(&path).unwrap();
    assert!(printed(&replay(&path).success()).contains("cut short"));
    // Only the last part may be cut short.
    fs::write(part(&path, 1), "").unwrap();
    fs::write(&path, &last).unwrap();
    assert!(printed(&replay(&path).code(2)).contains("journal.1:1: expected the header"));
}

#[test]
fn parts_keep_to_their_size_and_begin_with_an_event() {
    let (_folder, path) = journal("40K");
    let parts = parts(&path);
    assert!(parts.len() > 2);
    for part in parts {
        let text = fs::read_to_string(&part).unwrap();
        assert!(text.len() <= 40 << 10, "{}: {} bytes", part.display(), text.len());
        assert!(text.lines().nth(1).unwrap().contains(r#","event":"#), "{}", part.display());
    }
    // An event that is larger than a part has a part of its own.
    let (_folder, path) = journal("1");
    assert!(printed(&replay(&path).success()).ends_with("all the same\n"));
}

#[test]
fn a_part_that_is_missing_or_of_another_run_is_reported() {
    let (_folder, path) = journal("20K");
    assert!(parts(&path).len() > 3);
    let kept = fs::read_to_string(part(&path, 1)).unwrap();
    fs::write(part(&path, 1), kept.replacen(r#""stake_percent":1"#, r#""stake_percent":2"#, 1))
        .unwrap();
    let said = printed(&replay(&path).code(2));
    assert!(said.contains("journal.1:1: expected part 1 of the same run, found that of another"));
    fs::remove_file(part(&path, 1)).unwrap();
    let said = printed(&replay(&path).code(2));
    assert!(said.contains("journal.2:1: expected part 1 of the same run, found part 2"), "{said}");
}

#[test]
fn parts_of_another_journal_and_devices_are_not_touched() {
    let (folder, path) = journal("40K");
    let parts = parts(&path);
    // Its owner has moved all parts but one away.
    let left = part(&path, parts.len() - 2);
    for part in parts.iter().filter(|part| **part != left) {
        fs::remove_file(part).unwrap();
    }
    let before = fs::read(&left).unwrap();
    let said = printed(&run(&path, "40K").code(2).stdout(""));
    assert!(
        said.contains(&format!("expected a new file, and {} exists", left.display())),
        "{said}"
    );
    assert_eq!(
        (fs::read(&left).unwrap(), fs::read_dir(folder.path()).unwrap().count()),
        (before, 1)
    );
    // Files with names that only look alike do not matter.
    fs::remove_file(&left).unwrap();
    for name in ["journal.csv", "journal.", "journal.1.gz", "journal0"] {
        fs::write(folder.path().join(name), "kept").unwrap();
    }
    run(&path, "40K").success();
    let device = folder.path().join("device");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    assert!(printed(&run(&device, "1").code(2)).contains("device exists"));
}

#[test]
fn an_action_at_another_time_than_its_event_is_reported() {
    let (_folder, path) = journal("1G");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen(r#"{"at":0,"action""#, r#"{"at":7,"action""#, 1)).unwrap();
    let said = printed(&replay(&path).code(2).stdout(""));
    assert!(said.contains("journal:4: expected the time of its event, 0, found 7"), "{said}");
}
