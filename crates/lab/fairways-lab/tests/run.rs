//! `fairways run` and `fairways replay` as a user runs them.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

fn fairways(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("fairways-lab").unwrap().args(args).assert()
}

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    fairways(&[&["run", "--machine", "model"], args].concat())
}

fn stdout(assert: assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Bad input: exit code 2, nothing on standard output, one line on standard error.
fn refused(assert: assert_cmd::assert::Assert) -> String {
    let assert = assert.code(2).stdout("");
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said.trim_end().to_owned()
}

/// A program that counts as ten gets all ways but one.
#[test]
fn an_important_program_gets_the_ways() {
    let words = "--profiles synthetic --mix hash-join,btree-lookup,graph-walk --ways 6 --policy \
                 fairways --known-profiles --set objective=weighted --duration 1s";
    let words: Vec<&str> = words.split(' ').collect();
    let [even, important] = [&[][..], &["--importance", "hash-join=10"]]
        .map(|more| stdout(run(&[&words, more].concat()).success()));
    assert!(even.contains("plan 2 AABBBC  A 0  B 1  C 2"), "{even}");
    assert!(important.contains("plan 2 AAAAAB  A 0  B 1 2"), "{important}");
}

/// A folder with a journal of a short run in parts of this size.
fn journal(size: &str, args: &[&str]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let file = path.to_str().unwrap();
    let flags = ["-q", "--duration", "2s", "--journal", file, "--journal-size", size];
    run(&[&flags, args].concat()).success();
    (folder, path)
}

fn replay(path: &Path) -> assert_cmd::assert::Assert {
    fairways(&["replay", path.to_str().unwrap()])
}

fn part(path: &Path, number: u32) -> PathBuf {
    path.with_extension(number.to_string())
}

#[test]
fn what_the_policy_learns_is_printed_as_it_happens() {
    let mix = "triad,hash-join,btree-lookup,chess,field-solver";
    let flags = ["--policy", "lfoc", "--profiles", "synthetic", "--mix", mix, "--duration", "5s"];
    let output = stdout(run(&flags).success());
    for line in [
        "1 hash-join is sampled",
        "0 triad is streaming",
        "1 hash-join is sensitive",
        "3 chess is light",
        // Figure 4 of LFOC: light at first.
        "4 field-solver is light",
        "4 field-solver is changing: a light program in a memory-intensive phase",
        "4 field-solver is streaming",
    ] {
        assert!(output.contains(line), "{line}:\n{output}");
    }
    let place = |line: &str| output.find(line).unwrap();
    assert!(place("4 field-solver is light") < place("4 field-solver is streaming"));
}

#[test]
fn the_json_says_how_the_programs_fared() {
    let flags = [
        "--profiles",
        "synthetic",
        "--mix",
        "triad,hash-join,btree-lookup,chess",
        "--duration",
        "20s",
        "--json",
    ];
    let report: Value = serde_json::from_str(&stdout(run(&flags).success())).unwrap();
    assert_eq!((&report["schema"], &report["policy"]), (&1.into(), &"fairways".into()));
    assert_eq!(report["seconds"], 20.0);
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&report["unfairness"]) < number(&report["stock"]["unfairness"]));
    let programs = report["programs"].as_array().unwrap();
    assert_eq!(programs[1]["program"], "hash-join");
    let slowdowns: Vec<f64> = programs.iter().map(|p| number(&p["slowdown"])).collect();
    let [least, most] = [f64::min, f64::max].map(|f| slowdowns.iter().copied().reduce(f).unwrap());
    assert!((number(&report["unfairness"]) - most / least).abs() < 1e-9);
}

#[test]
fn the_same_flags_give_the_same_bytes() {
    let flags = ["--noise", "2", "--lost", "5", "--overshoot", "3", "--duration", "5s"];
    let again = |seed: &str| stdout(run(&[&flags[..], &["--seed", seed]].concat()).success());
    assert_eq!(again("3"), again("3"));
    assert_ne!(again("3"), again("4"));
}

#[test]
fn a_replay_takes_the_same_actions_under_every_policy() {
    for policy in
        ["stock", "equal", "static", "ucp", "ucp-slowdown", "yu-petrov", "lfoc", "fairways"]
    {
        let noise = ["--policy", policy, "--noise", "2", "--lost", "10"];
        let (_folder, path) = journal("40K", &noise);
        let output = stdout(replay(&path).success());
        assert!(output.ends_with("all the same\n") && output.starts_with(policy), "{output}");
    }
}

#[test]
fn parts_follow_each_other_and_each_names_the_run() {
    let (_folder, path) = journal("40K", &["--set", "decision_period=250ms"]);
    assert!(part(&path, 0).is_file() && part(&path, 1).is_file());
    let header = |path: &Path| -> Value {
        let text = std::fs::read_to_string(path).unwrap();
        serde_json::from_str(text.lines().next().unwrap()).unwrap()
    };
    for number in 0..2 {
        let header = header(&part(&path, number));
        assert_eq!((&header["schema"], &header["part"]), (&2.into(), &number.into()));
        assert_eq!(header["policy"], "fairways");
        assert_eq!(header["parameters"]["decision_period"], 250_000_000);
        assert_eq!(header["machine"]["kind"], "model");
    }
    // One journal of the same run in one part has the same lines.
    let (_other, whole) = journal("1G", &["--set", "decision_period=250ms"]);
    let lines = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let finished = (0..).map(|number| part(&path, number)).take_while(|path| path.is_file());
    let parts: Vec<_> = finished.chain([path.clone()]).flat_map(|path| lines(&path)).collect();
    assert_eq!(parts, lines(&whole));
}

#[test]
fn old_parts_are_deleted_where_asked_and_then_missed() {
    let (_folder, path) = journal("40K", &["--journal-parts", "1"]);
    assert!(!part(&path, 0).exists());
    let said = refused(replay(&path));
    assert!(said.contains("expected part 0 of a journal"), "{said}");
}

#[test]
fn an_action_that_differs_is_shown_with_its_place() {
    let (_folder, path) = journal("1G", &[]);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let line = lines.iter().position(|line| line.contains("\"class\":\"streaming\"")).unwrap();
    let changed = lines[line].replace("streaming", "light");
    let all: Vec<&str> =
        lines.iter().enumerate().map(|(i, &l)| if i == line { &changed } else { l }).collect();
    std::fs::write(&path, all.join("\n") + "\n").unwrap();
    let assert = replay(&path).code(1);
    let output = stdout(assert);
    assert!(output.contains(&format!("{}:{}", path.display(), line + 1)), "{output}");
    assert!(output.contains("light") && output.contains("streaming"), "{output}");

    // A missing action is a difference.
    let without: Vec<&str> = lines[..line].iter().chain(&lines[line + 1..]).copied().collect();
    std::fs::write(&path, without.join("\n") + "\n").unwrap();
    assert!(stdout(replay(&path).code(1)).contains("the same up to"));
}

#[test]
fn a_journal_that_was_cut_short_is_replayed_up_to_there() {
    let (_folder, path) = journal("1G", &[]);
    let text = std::fs::read(&path).unwrap();
    for cut in [1, 20, 300, 5000] {
        std::fs::write(&path, &text[..text.len() - cut]).unwrap();
        let output = stdout(replay(&path).success());
        assert!(output.contains("all the same"), "{output}");
    }
}

#[test]
fn a_journal_is_never_overwritten() {
    let (_folder, path) = journal("40K", &[]);
    let before = std::fs::read(&path).unwrap();
    let said = refused(run(&["--journal", path.to_str().unwrap()]));
    assert!(said.contains("expected a new file"), "{said}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// Policies that limit bandwidth do so on a model whose memory has a limit: the journal has the
/// lever, each plan's levels, and what came into force.
#[test]
fn a_model_with_a_memory_limit_takes_levels() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("j");
    let path = path.to_str().unwrap();
    let mix = ["--profiles", "synthetic", "--mix", "triad,copy-large,column-scan,hash-join"];
    let memory = ["--bandwidth-mbps", "9000", "--policy", "mba-feedback", "--duration", "20s"];
    let ran = run(&[&mix[..], &memory, &["--journal", path]].concat()).success();
    let said = String::from_utf8(ran.get_output().stdout.clone()).unwrap();
    assert!(said.contains("  at most "), "{said}");
    let journal = std::fs::read_to_string(path).unwrap();
    let lever = r#""bandwidth":{"unit":"percent","least":1,"step":1,"most":100,"scope":"class","capacity_mbps":9000}"#;
    assert!(journal.contains(lever), "{journal}");
    assert!(journal.contains("\"bandwidth\":8"), "{journal}");
    assert!(!journal.contains("refused"), "{journal}");
}

#[test]
fn bad_flags_are_reported_in_one_line() {
    for (flags, said) in [
        (&["--mix", "nonesuch"][..], "--mix: expected one of the"),
        (&["--policy", "best"], "--policy: expected one of stock"),
        (&["--set", "threshold=1"], "found \"threshold\""),
        (&["--policy", "ucp", "--set", "a=1"], "parameters of ucp: expected none"),
        (&["--duration", "long"], "--duration: expected a time"),
        (&["--duration", "0s"], "--duration: expected a time"),
        (&["--instructions", "0"], "--instructions: expected a whole number"),
        (&["--noise", "-1"], "--noise: expected a number from 0"),
        (&["--lost", "101"], "--lost: expected a number from 0 to 100"),
        (&["--overshoot", "0.5"], "--overshoot: expected a number from 1"),
        (&["--overshoot", "NaN"], "--overshoot: expected a number from 1"),
        (&["--journal", "/nonesuch/j"], "can't write it"),
        (&["--journal", "/tmp"], "expected a new file"),
        (&["--journal", "j", "--journal-size", "0"], "--journal-size: expected a size"),
        (&["--journal-size", "1M"], "--journal"),
        (&["--bandwidth-mbps", "10"], "expected demands"),
    ] {
        let stderr = refused(run(&[flags, &["-q"]].concat()));
        assert!(stderr.contains(said), "{flags:?}: {stderr}");
    }
    let of_a_host = refused(fairways(&["run", "--dry-run"]));
    assert!(of_a_host.contains("fairways run --dry-run"), "{of_a_host}");
}

#[test]
fn what_is_no_journal_is_reported_with_its_line() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("j");
    let header = |schema: u32, policy: &str| {
        format!(
            r#"{{"schema":{schema},"fairways":"0","part":0,"policy":"{policy}","parameters":{{}},"machine":{{}}}}"#
        ) + "\n"
    };
    assert!(refused(replay(&path)).contains("can't read it"));
    for (text, said) in [
        (String::new(), "j:1: expected the header"),
        ("{}\n".into(), "it has no schema"),
        (
            header(1, "lfoc"),
            "schema 2 is known here, found 1: a fairways that was built before 2026-11-25 reads it",
        ),
        (header(3, "lfoc"), "found 3: a later fairways reads it"),
        (header(2, "best"), "expected one of stock"),
        (header(2, "lfoc") + "nonsense\n", "j:2"),
        (header(2, "lfoc") + "{\"at\":0}\n", "j:2: expected an event or an action"),
        (
            header(2, "lfoc") + "{\"at\":0,\"event\":{\"machine\":{\"llc\":{\"ways\":33}}}}\n",
            "1 to 32 ways",
        ),
        (header(2, "lfoc") + &"x".repeat(2 << 20) + "\n", "expected a line of at most"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let stderr = refused(replay(&path));
        assert!(stderr.contains(said), "{text:.80}: {stderr}");
    }
}

#[test]
fn ctrl_c_ends_a_run_in_good_order() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin("fairways-lab"))
        .args(["run", "--machine", "model", "-q", "--duration", "100000000s", "--journal"])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = || path.metadata().is_ok_and(|file| file.len() > 100_000);
    while !begun() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("unfairness"), "{output}");
    assert!(stdout(replay(&path).success()).contains("all the same"));
}

#[test]
fn no_journal_however_damaged_makes_a_replay_panic() {
    let (_folder, path) = journal("1G", &[]);
    let text = std::fs::read(&path).unwrap();
    // A multiplicative generator is enough to choose places and bytes.
    let mut state = 1u64;
    let mut pick = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % limit
    };
    for _ in 0..60 {
        let mut damaged = text.clone();
        for _ in 0..1 + pick(3) {
            let place = pick(damaged.len());
            damaged[place] = b"0123456789\"{}[],:-"[pick(18)];
        }
        std::fs::write(&path, &damaged).unwrap();
        let output = replay(&path).get_output().clone();
        assert!(matches!(output.status.code(), Some(0..=2)), "{:?}", output.status);
        assert!(output.stderr.iter().filter(|&&byte| byte == b'\n').count() <= 1);
    }
}

#[test]
fn dcat_keeps_promises_and_warns_of_those_that_do_not_fit() {
    let run = |baselines: &str| {
        let mut command = Command::cargo_bin("fairways-lab").unwrap();
        command.args(["run", "--machine", "model", "--policy", "dcat", "--duration", "2s"]);
        command.args(["--profiles", "synthetic", "--mix", "triad,hash-join"]);
        command.args(["--baselines", baselines]);
        let output = command.assert().success().get_output().clone();
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [output, warned] = run("triad=7,hash-join=9");
    assert!(output.contains("BBBBBBBBB") && output.contains("AAAAAAA"), "{output}");
    assert_eq!(warned, "");
    let [output, warned] = run("triad=12,hash-join=9");
    assert!(warned.contains("--baselines: 21 ways are promised, and there are 20"), "{warned}");
    assert!(output.contains("more ways are promised than exist"), "{output}");
}
