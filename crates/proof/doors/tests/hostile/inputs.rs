//! Files of others that claim more than they have.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// What a command may take that refuses its input.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a command that must refuse its input: exit code 2, one line, and no file.
fn refuses(folder: &Path, words: &[&str], expected: &str) {
    let mut command = Command::new(fairways_doors::fairways_lab());
    command.current_dir(folder).args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{words:?}: no end after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    assert!(said.contains(expected) && said.lines().count() == 1, "{words:?}: {said}");
    assert!(!folder.join("out.csv").exists(), "{words:?}");
}

/// A trace of ChampSim: 60 instructions, of which each loads.
fn trace() -> Vec<u8> {
    fn record(number: u64) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..8].copy_from_slice(&(0x401000 + 4 * number).to_le_bytes());
        bytes[32..40].copy_from_slice(&(0x7fff_0000_0000 + 4096 * number).to_le_bytes());
        bytes
    }
    (1..=60).flat_map(record).collect()
}

/// The stream with this change to its manifest, signed again.
fn altered(stream: &[u8], from: &str, to: &str) -> Vec<u8> {
    let ends: Vec<usize> = (0..stream.len()).filter(|&at| stream[at] == b'\n').take(2).collect();
    let manifest = std::str::from_utf8(&stream[ends[0] + 1..ends[1]]).unwrap();
    let changed = manifest.replacen(from, to, 1);
    assert_ne!(changed, manifest, "{from}");
    let rest = [changed.as_bytes(), &stream[ends[1]..]].concat();
    let hash: String = Sha256::digest(&rest).iter().map(|byte| format!("{byte:02x}")).collect();
    [format!("fairways-stream 1 {hash}\n").as_bytes(), &rest].concat()
}

#[test]
fn a_stream_that_claims_what_it_does_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.champsimtrace"), trace()).unwrap();
    let record = ["record", "-q", "-o", "s.stream", "trace:t.champsimtrace"];
    let recorded = Command::new(fairways_doors::fairways_lab())
        .current_dir(folder.path())
        .args(record)
        .status()
        .unwrap();
    assert!(recorded.success());
    let good = fs::read(folder.path().join("s.stream")).unwrap();
    let totals = "\"totals\":{\"instructions\":";
    for (from, to, expected) in [
        (format!("{totals}60"), format!("{totals}43000000000000"), "found 43000000000000 and 60"),
        (format!("{totals}60"), format!("{totals}59"), "found 59 and 60"),
        ("\"references\":60".to_owned(), "\"references\":61".to_owned(), "in all blocks, found 60"),
        (
            "\"references\":60".to_owned(),
            "\"references\":9000000000000000000".to_owned(),
            "loads and stores, found",
        ),
        ("\"loads\":60".to_owned(), "\"loads\":7".to_owned(), "loads that missed in all blocks"),
        ("\"events\":".to_owned(), "\"events\":1".to_owned(), ""),
        ("\"cpi\":0.5".to_owned(), "\"cpi\":1e200".to_owned(), "expected cpi from 0.05 to 1000"),
    ] {
        fs::write(folder.path().join("bad.stream"), altered(&good, &from, &to)).unwrap();
        let profile = ["profile", "-q", "-o", "out.csv", "stream:bad.stream"];
        refuses(folder.path(), &profile, expected);
        let simulate = ["simulate", "--machine", "chip:skylake", "--programs", "stream:bad.stream"];
        refuses(folder.path(), &simulate, expected);
    }
}

#[test]
fn a_source_of_zeros_is_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("zeros"), vec![0; 1 << 24]).unwrap();
    fs::write(folder.path().join("ended"), [trace(), vec![0; 1 << 20]].concat()).unwrap();
    let expected = "have the instruction pointer 0: expected a trace of ChampSim";
    for source in ["/dev/zero", "/dev/zero:format=champsim", "zeros", "ended"] {
        let trace = format!("trace:{source}");
        refuses(folder.path(), &["profile", "-q", "-o", "out.csv", &trace], expected);
        refuses(folder.path(), &["record", "-q", "-o", "out.csv", &trace], expected);
        let simulate = ["simulate", "--machine", "chip:skylake", "--programs", &trace];
        refuses(folder.path(), &simulate, expected);
    }
}
