//! `fairways explain` of a journal; tests/daemon covers a daemon's.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;
use serde_json::Value;

fn explain(args: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("fairways-lab").unwrap();
    command
        .args(["explain", "--journal", "../../base/record/tests/data/run.journal"])
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn programs_are_named_as_the_journal_has_them() {
    let output = explain(&["speech-decode"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("speech-decode: "), "{text}");
    assert!(!text.contains("program 1"), "{text}");
    let output = explain(&["speech"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = "fairways-lab: speech: expected a program of the last decisions, which are about speech-decode, triad\n";
    assert_eq!(said, expected);
}

#[test]
fn json_has_the_decisions_that_the_sentences_describe() {
    let all: Value = serde_json::from_slice(&explain(&["--json", "-n", "300"]).stdout).unwrap();
    let last: Value = serde_json::from_slice(&explain(&["--json", "-n", "2"]).stdout).unwrap();
    let of = |value: &Value| value["decisions"].as_array().unwrap().clone();
    assert_eq!(all["schema"], 1);
    assert!(of(&all).len() > 2);
    assert_eq!(of(&last)[..], of(&all)[of(&all).len() - 2..]);
    let text = String::from_utf8(explain(&["-n", "300"]).stdout).unwrap();
    let heads = text.lines().filter(|line| line.contains(" s  ")).count();
    assert_eq!(heads, of(&all).len());
}

#[test]
fn a_file_that_is_no_journal_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let header = std::fs::read_to_string("../../base/record/tests/data/run.journal").unwrap();
    let header = header.lines().next().unwrap().to_owned();
    let action =
        r#"{"at":0,"action":{"partition":{"plan":0,"partition":[{"mask":"0xf"}],"reason":"x"}}}"#;
    let event = r#"{"at":0,"event":"woke"}"#;
    for (lines, said) in [
        (vec![r#"{"at":0,"action":{"wake":{"at":0}}}"#], ":2: expected an event"),
        (vec![event, action], ": expected a line of a journal: missing field `apps`"),
        (
            vec![event, r#"{"at":0,"action":{"dance":{}}}"#],
            ": expected a line of a journal: unknown variant `dance`",
        ),
        (vec![event, r#"{"at":0}"#], ":3: expected an event or an action"),
    ] {
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        let mut command = Command::cargo_bin("fairways-lab").unwrap();
        let output = command.arg("explain").arg("--journal").arg(&path).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && text.lines().count() == 1, "{text}");
    }
}

#[test]
fn a_hostile_journal_does_nothing_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let text = std::fs::read_to_string("../../base/record/tests/data/run.journal").unwrap();
    let evil = r"\u001b[31mevil\u0007\u009b2J";
    let named = text.replace("\"speech-decode\"", &format!("\"{evil}\""));
    let reason = format!("\"reason\":\"{evil}");
    let text = named
        .replace("\"reason\":\"", &reason)
        .replace("\"policy\":\"", &format!("\"policy\":\"{evil}"))
        .replace("\"class\":\"", &format!("\"class\":\"{evil}"))
        .replace("\"what\":\"", &format!("\"what\":\"{evil}"));
    assert!(text.matches(evil).count() > 20);
    // A program of a host is named where it starts.
    let host = text.replace("\"kind\":\"model\"", "\"kind\":\"host\"");
    let run = |args: &[&str]| {
        let mut command = Command::cargo_bin("fairways-lab").unwrap();
        command.args(args).arg("--journal").arg(&path).output().unwrap()
    };
    for text in [text, host] {
        std::fs::write(&path, &text).unwrap();
        for args in
            [&["explain", "-n", "256"][..], &["explain", evil], &["top", "--once", "--no-color"]]
        {
            let output = run(args);
            let stdout = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{args:?}: {}", output.status);
            let odd = |of: char| of.is_control() && of != '\n';
            let is_escaped = !stdout.contains(odd) && stdout.contains(r"\u001b[31mevil");
            assert!(is_escaped, "{args:?}: {stdout:?}");
        }
    }
    // The error quotes it.
    let header = std::fs::read_to_string("../../base/record/tests/data/run.journal").unwrap();
    let header = header.lines().next().unwrap().to_owned();
    let lines = format!("{header}\n{{\"at\":0,\"event\":\"{evil}\"}}\n");
    std::fs::write(&path, lines).unwrap();
    let output = run(&["explain"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(evil) && said.matches(char::is_control).count() == 1);
}

#[test]
fn as_many_decisions_as_none_are_refused() {
    for few in ["0", "-1", "many", ""] {
        let output = explain(&["-n", few]);
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = "fairways-lab: --last: expected a whole number from 1 to 1000000, found";
        assert!(said.starts_with(expected) && said.lines().count() == 1, "{said}");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
}

#[test]
fn each_of_two_of_a_name_has_its_own_ways_and_decisions() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let run = |args: &[&str]| {
        let mut command = Command::cargo_bin("fairways-lab").unwrap();
        let output = command.args(args).arg("--journal").arg(&journal).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let chip = ["run", "--quiet", "--machine", "chip:xeon-d", "--set-sampling", "64"];
    let programs = ["--programs", "mload:60M,mlr:8M,mload:60M", "--policy", "dcat"];
    let time = ["--duration", "2s", "--time-scale", "0.1"];
    run(&[&chip[..], &programs, &time].concat());
    // The written form is unchanged.
    let written = std::fs::read_to_string(&journal).unwrap();
    let header: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
    let named = ["mload:60M", "mlr:8M", "mload:60M"];
    assert_eq!(header["machine"]["programs"], serde_json::json!(named));
    assert!(!written.contains("#2"));

    let explained: Value = serde_json::from_str(&run(&["explain", "--json", "-n", "256"])).unwrap();
    let decisions = explained["decisions"].as_array().unwrap().iter();
    let actions = decisions.flat_map(|decision| decision["actions"].as_array());
    let planned = actions.flatten().filter_map(|said| said.get("planned"));
    let mut different = 0;
    for plan in planned {
        let shares = plan["clusters"].as_array().unwrap();
        let ways = |name: &str| {
            let has = |share: &&Value| {
                share["members"].as_array().unwrap().iter().any(|of| of["program"] == name)
            };
            let mut own = shares.iter().filter(has).map(|share| share["mask"].clone());
            (own.next(), own.next())
        };
        let [first, second] = ["mload:60M", "mload:60M#2"].map(ways);
        assert!(first.1.is_none() && second.1.is_none(), "one place each: {plan}");
        different += usize::from(first.0.is_some() && first.0 != second.0);
    }
    assert!(different > 0, "never had they ways of their own: {explained}");

    // Each has its own chain, whose lines are about it.
    let [first, second] =
        ["mload:60M", "mload:60M#2"].map(|name| run(&["explain", "-n", "256", name]));
    assert_ne!(first, second);
    for (chain, name) in [(&first, "mload:60M"), (&second, "mload:60M#2")] {
        let own = format!("             {name}: ");
        let about = chain.lines().filter(|line| line.starts_with("      "));
        assert!(about.clone().count() > 0 && about.clone().all(|line| line.starts_with(&own)));
    }
    let screen = run(&["top", "--once", "--width", "120"]);
    let rows = screen.lines().filter(|line| line.contains("mload:60M")).count();
    assert!(rows >= 2 && screen.contains(" mload:60M#2 "), "{screen}");
}
