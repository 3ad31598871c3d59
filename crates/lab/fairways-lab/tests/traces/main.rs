//! Traces that other tools wrote. valgrind's lackey writes one here; those of the other tools are
//! written from it, by a script that follows their published formats. Needs qemu-user, valgrind, a
//! C compiler and Python; without them a test prints that and does nothing, unless
//! `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use fairways_testing::needs::Need;
use fairways_tracer::QEMU;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/convert.py");
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/program.c");

/// A small chip, so that a short trace fills it.
const CHIP: [&str; 2] = ["--machine", "chip:skylake:cores=1:sets=512:ways=8:l1=8/8:l2=32/8"];

/// The traces as programs; gem5's does not count instructions.
const TRACES: [&str; 4] = [
    "trace:program.lackey",
    "trace:program.champsim.xz",
    "trace:program.gem5.gz:instructions_per_access=4",
    "trace:program.drmemtrace.zip",
];

fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(cargo_bin("fairways-lab"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn succeeds(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", errors(&output));
}

/// A folder with a program and its traces, if there is what they need.
fn folder() -> Option<tempfile::TempDir> {
    let needs = [QEMU, "valgrind", "c++", "python3"].map(Need::Program);
    if !fairways_testing::needs::has("traces of other tools", &needs) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let static_program = ["-x", "c", "-O2", "-static", "-no-pie", "-o", "program", PROGRAM];
    let at = folder.path();
    succeeds(Command::new("c++").args(static_program).current_dir(at));
    let log = ["--tool=lackey", "--trace-mem=yes", "--log-file=program.lackey", "./program"];
    succeeds(Command::new("valgrind").args(log).current_dir(at));
    succeeds(Command::new("python3").args([SCRIPT, "program.lackey"]).current_dir(at));
    Some(folder)
}

/// The misses of a profile with 1, 2, ... ways, and its instructions.
fn misses(folder: &Path, more: &[&str], program: &str) -> (Vec<f64>, f64) {
    let words = [&["profile", "--json", "-o", "p.csv"][..], &CHIP, more, &["--", program]].concat();
    let out = run(folder, &words);
    assert!(out.status.success(), "{program}: {}", errors(&out));
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let by_ways = found["by_ways"].as_array().unwrap();
    let misses = by_ways.iter().map(|row| row["llc_misses"].as_f64().unwrap()).collect();
    (misses, found["instructions"].as_f64().unwrap())
}

/// The largest difference, as a share.
fn apart(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    pairs.map(|(found, expected)| (found - expected).abs() / expected).fold(0.0, f64::max)
}

/// One test, because valgrind takes longer than all the rest.
#[test]
fn traces_of_other_tools_are_read() {
    let Some(folder) = folder() else { return };
    traces_have_the_misses_of_the_program_that_runs(folder.path());
    a_trace_becomes_a_stream_and_runs_on_a_chip(folder.path());
    a_trace_is_read_from_a_pipe(folder.path());
    a_trace_that_was_cut_off_leaves_nothing_behind(folder.path());
}

/// With every number of ways, by addresses and by the order in which pages are touched.
fn traces_have_the_misses_of_the_program_that_runs(folder: &Path) {
    for more in [&["--by-address"][..], &[]] {
        let (live, instructions) = misses(folder, more, "./program");
        assert!(live[0] > 1.5 * live[7] && live[7] > 10_000.0, "{live:?}");
        for trace in TRACES {
            let (traced, counted) = misses(folder, more, trace);
            let apart = apart(&traced, &live);
            eprintln!(
                "{more:?} {trace}: misses {apart:.5} apart of {live:?}, {counted} instructions of {instructions}"
            );
            assert!(apart <= 0.02, "{trace}: {traced:?}, not {live:?}");
            if !trace.contains("gem5") {
                assert!((counted / instructions - 1.0).abs() < 0.02, "{trace}: {counted}");
            }
        }
    }
}

/// A trace is recorded as a stream, and runs on a chip.
fn a_trace_becomes_a_stream_and_runs_on_a_chip(folder: &Path) {
    for trace in TRACES {
        let (expected, _) = misses(folder, &[], trace);
        let words = [&["record", "-q", "-o", "s.stream"][..], &CHIP, &["--", trace]].concat();
        let out = run(folder, &words);
        assert!(out.status.success(), "{trace}: {}", errors(&out));
        let (fed, _) = misses(folder, &[], "stream:s.stream");
        assert_eq!(fed, expected, "{trace}");
        let programs = format!("{trace},stream:s.stream");
        let chip = CHIP[1].replace("cores=1", "cores=2");
        let words = ["simulate", "--machine", &chip, "--programs", &programs, "--json"];
        let more = ["--policies", "stock", "--duration", "2ms", "--warm-up", "1ms"];
        let out = run(folder, &[&words[..], &more].concat());
        assert!(out.status.success(), "{trace}: {}", errors(&out));
        let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let slowdowns = found["policies"][0]["slowdowns"].as_array().unwrap();
        assert!(slowdowns.iter().all(|slowdown| slowdown.as_f64().unwrap() > 1.0), "{found}");
    }
}

/// Read from a pipe while valgrind runs, a trace need not fit on a disk.
fn a_trace_is_read_from_a_pipe(folder: &Path) {
    let (expected, _) = misses(folder, &[], TRACES[0]);
    succeeds(Command::new("mkfifo").arg(folder.join("pipe")));
    let script = "cat program.lackey > pipe";
    let mut writer = Command::new("sh").args(["-c", script]).current_dir(folder).spawn().unwrap();
    let words = [&["profile", "--json", "-o", "q.csv"][..], &CHIP, &["--", "trace:pipe"]].concat();
    let out = run(folder, &words);
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(out.status.success(), "{}", errors(&out));
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let by_ways = found["by_ways"].as_array().unwrap();
    let found: Vec<f64> = by_ways.iter().map(|row| row["llc_misses"].as_f64().unwrap()).collect();
    assert_eq!(found, expected);
}

/// It cuts off the files in the folder.
fn a_trace_that_was_cut_off_leaves_nothing_behind(folder: &Path) {
    for trace in TRACES {
        let name = trace.strip_prefix("trace:").unwrap().split(':').next().unwrap();
        let good = fs::read(folder.join(name)).unwrap();
        fs::write(folder.join(name), &good[..good.len() - 7]).unwrap();
        let on_chip = ["simulate", "--machine", "chip:skylake", "--programs", trace];
        for words in [
            &["profile", "-q", "-o", "out", trace][..],
            &["record", "-q", "-o", "out", trace],
            &on_chip,
        ] {
            let out = run(folder, words);
            assert_eq!(out.status.code(), Some(2), "{words:?}: {}", errors(&out));
            assert_eq!(errors(&out).lines().count(), 1, "{words:?}: {}", errors(&out));
            assert!(errors(&out).contains(name), "{words:?}: {}", errors(&out));
            assert!(!folder.join("out").exists(), "{words:?}");
        }
    }
    for (more, said) in [
        (&["trace:program.lackey:format=pin"][..], "expected format=champsim, lackey, gem5 or"),
        (&["trace:program.lackey:cpi=2"], "expected format=NAME or instructions_per_access=X"),
        (&["--children", "trace:program.lackey"], "--children: a trace does not take it"),
        (&["--qemu", "q", "trace:program.lackey"], "--qemu: a trace does not take it"),
        (&["trace:program.gem5.gz"], "does not say how many instructions ran"),
        (&["trace:program"], "expected a trace of ChampSim, valgrind's lackey, gem5"),
    ] {
        let out = run(folder, &[&["profile", "-q", "-o", "out"], more].concat());
        assert_eq!(out.status.code(), Some(2), "{more:?}: {}", errors(&out));
        assert!(errors(&out).contains(said), "{more:?}: {}", errors(&out));
    }
}
