//! `fairways blame` of a journal and of a simulated run.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

fn blame(words: &str) -> std::process::Output {
    let mut command = Command::cargo_bin("fairways-lab").unwrap();
    command.arg("blame").args(words.split(' ')).env_remove("COLUMNS").output().unwrap()
}

fn json(words: &str) -> Value {
    let output = blame(&format!("{words} --json"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const CHIP: &str = "--machine chip:xeon-d --programs mlr:8M,mload:60M,mload:60M --time-scale 0.01 \
                    --duration 10s";

fn chip(policy: &str) -> Value {
    let words = format!("{CHIP} --policy {policy}");
    json(&words.split_whitespace().collect::<Vec<&str>>().join(" "))
}

fn number(victim: &Value, field: &str) -> f64 {
    victim[field].as_f64().unwrap()
}

fn victim(found: &Value) -> &Value {
    let programs = found["programs"].as_array().unwrap();
    programs.iter().find(|one| one["program"] == "mlr:8M").unwrap()
}

/// A program that reads at random, beside two that stream: whatever policy runs, with windows that
/// none requests.
#[test]
fn a_stream_is_blamed_for_what_it_takes() {
    let found = chip("stock");
    let programs = found["programs"].as_array().unwrap();
    let victim = &programs[0];
    assert_eq!((&victim["program"], &victim["worst"]), (&"mlr:8M".into(), &"mload:60M".into()));
    // In truth it takes 3.1 times as long. It was never seen with more than a few ways.
    let at_least = number(victim, "slowdown_at_least");
    assert!(victim["slowdown"].is_null() && number(victim, "most") > 2.5, "{found}");
    assert!(at_least > 1.1 && at_least == number(victim, "least"), "{found}");
    let parts = ["lines", "ways", "bus", "unexplained"].map(|field| number(victim, field));
    assert!((parts.iter().sum::<f64>() + 1.0 - at_least).abs() < 1e-3, "{found}");
    let by = victim["by"].as_array().unwrap();
    let caused = by.iter().map(|by| by["cache"].as_f64().unwrap() + by["bus"].as_f64().unwrap());
    assert!((caused.sum::<f64>() - parts[..3].iter().sum::<f64>()).abs() < 1e-3, "{found}");
    assert!(victim["unknown"]["more_ways_than"].as_f64().unwrap() < 12.0, "{found}");
    // The streams lose nothing, and blame none.
    assert_eq!(programs[2]["program"].as_str().unwrap().replace("#2", ""), "mload:60M");
    assert!(programs[1..].iter().all(|one| one.get("worst").is_none()), "{found}");
    let culprits = found["culprits"].as_array().unwrap();
    let names: Vec<&str> = culprits.iter().map(|one| one["program"].as_str().unwrap()).collect();
    assert!(names.contains(&"mload:60M") && names.contains(&"mload:60M#2"), "{found}");
}

fn a_stream_beside_a_reader(policy: &str) -> String {
    format!(
        "--machine chip:xeon-d --programs mlr:8M,mload:60M,gzip --time-scale 0.01 --duration 10s \
         --policy {policy}"
    )
}

/// The slowdown of the first program, as it really is.
fn true_slowdown(policy: &str) -> f64 {
    let run = format!("run --json {}", a_stream_beside_a_reader(policy));
    let output = Command::cargo_bin("fairways-lab").unwrap().args(run.split(' ')).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    number(&run["programs"][0], "slowdown")
}

/// What is advised is done, and helps by as much as the interval has.
#[test]
fn ways_of_its_own_help_a_victim_as_estimated() {
    let stock = a_stream_beside_a_reader("stock");
    let found = json(&stock);
    let advised = &found["programs"][0]["remedy"];
    let [ways, least, most, costs] =
        ["ways", "saves_least", "saves_most", "costs_most"].map(|field| number(advised, field));
    assert!(advised["is_guess"] == true && costs < 0.05, "{found}");
    let table = String::from_utf8(blame(&stock).stdout).unwrap();
    assert!(
        table.contains(&format!("give mlr:8M {ways} ways of its own: its slowdown falls by ")),
        "{table}"
    );
    // Of twelve ways one is left for two others: `static` gives each its own, so that ten are left.
    assert_eq!(ways, 11.0, "{found}");
    let baselines = "static --baselines mlr:8M=10,mload:60M=1,gzip=1";
    let saves = true_slowdown("stock") - true_slowdown(baselines);
    assert!((least..=most).contains(&saves), "{saves}: {found}");
}

#[test]
fn a_policy_that_confines_the_streams_leaves_little_to_blame() {
    let (stock, ours) = (chip("stock"), chip("fairways"));
    assert!(number(victim(&stock), "most") > 2.5, "{stock}");
    // With more ways it is known what it does with them.
    assert!(number(victim(&ours), "slowdown") < 1.25, "{ours}");
}

#[test]
fn a_journal_names_its_programs_and_a_span_is_counted() {
    let whole = json("--journal ../../base/record/tests/data/run.journal");
    assert_eq!((&whole["schema"], &whole["policy"]), (&2.into(), &"lfoc".into()));
    let mut names: Vec<&str> = whole["programs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["program"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["speech-decode", "triad"]);
    let part =
        json("--journal ../../base/record/tests/data/run.journal --since 200ms --until 280ms");
    assert_eq!((&part["from_seconds"], &part["to_seconds"]), (&0.2.into(), &0.28.into()));
    assert_ne!(part["programs"], whole["programs"]);
}

/// `top` shows of a journal and of a machine what `blame` does, and beside it what the policy
/// expects.
#[test]
fn top_shows_the_same_slowdowns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let on = format!("{CHIP} --policy lfoc");
    let on = on.split_whitespace().collect::<Vec<&str>>().join(" ");
    let run = format!("run {on} --quiet --journal {}", path.display());
    Command::cargo_bin("fairways-lab").unwrap().args(run.split(' ')).assert().success();
    let of_journal = format!("--journal {}", path.display());
    let blamed = json(&of_journal);
    for source in [of_journal, on] {
        let top = format!("top --once --width 200 {source}");
        let top =
            Command::cargo_bin("fairways-lab").unwrap().args(top.split(' ')).output().unwrap();
        let screen = String::from_utf8(top.stdout).unwrap();
        let header = screen.lines().find(|line| line.contains("GB/s slowdown")).unwrap();
        let end = header.find("slowdown").unwrap() + "slowdown".len();
        for one in blamed["programs"].as_array().unwrap() {
            let name = one["program"].as_str().unwrap();
            let [slowdown, least] =
                ["slowdown", "slowdown_at_least"].map(|field| one[field].as_f64());
            let expected = match (slowdown, least) {
                (Some(slowdown), _) => format!("{slowdown:.2}"),
                (None, Some(least)) => format!("≥{least:.2}"),
                (None, None) => "unknown".to_owned(),
            };
            let mut lines = screen.lines();
            let line = lines.find(|line| line.split_whitespace().nth(1) == Some(name)).unwrap();
            let before: String = line.chars().take(end).collect();
            assert_eq!(before.split_whitespace().last(), Some(&*expected), "{screen}{blamed}");
        }
    }
}

#[test]
fn bad_input_is_answered_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = path.display();
    let run = format!(
        "run --machine model --mix gzip,lbm --policy stock --duration 1s --quiet --journal {journal}"
    );
    Command::cargo_bin("fairways-lab").unwrap().args(run.split(' ')).assert().success();
    let missing = "no window there has cycles, LLC references and misses, and stalls";
    for (words, code, said) in [
        (format!("--journal {journal}"), 1, missing),
        (
            "--journal ../../base/record/tests/data/run.journal --until 1s --since 2s".to_owned(),
            2,
            "--until: expected",
        ),
        (
            "--journal ../../base/record/tests/data/run.journal --since 50s".to_owned(),
            2,
            "--since: expected a time before the journal's end at",
        ),
        (
            "--journal ../../base/record/tests/data/run.journal --policy lfoc".to_owned(),
            2,
            "--policy needs --machine",
        ),
        (
            "--machine model --duration 1s --since 2s".to_owned(),
            2,
            "--since: expected a time before",
        ),
        ("--machine model --until 2s".to_owned(), 2, "--until needs --journal"),
        (
            "--machine model --instructions 5".to_owned(),
            2,
            "--instructions: blame does not take it",
        ),
        (
            "--since 5s".to_owned(),
            2,
            "expected --machine MACHINE or --journal FILE (`fairways-lab run --journal FILE` writes one)",
        ),
        ("--control /nowhere/socket".to_owned(), 2, "fairways blame --control"),
        ("--machine model --journal x".to_owned(), 2, "cannot be used with"),
    ] {
        let output = blame(&words);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words}: {text}");
        assert!(text.contains(said) && text.lines().count() == 1, "{words}: {text}");
    }
}
