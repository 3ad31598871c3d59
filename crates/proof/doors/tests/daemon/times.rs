//! The time of day: in the log, in a daemon's `status`, `explain` and `top`, and later in its
//! journal.

use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

/// Whether a time is in RFC 3339 and UTC, and within a minute of now.
fn is_now(text: &str) -> bool {
    let time = humantime::parse_rfc3339(text);
    let since = |time| SystemTime::now().duration_since(time).unwrap_or_default();
    text.ends_with('Z') && time.is_ok_and(|time| since(time) < Duration::from_secs(60))
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[test]
fn a_daemon_says_when_it_was() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    let pids = machine.pids.values().map(|pid| format!("select = \"pid:{pid}\""));
    let [one, other] = &pids.collect::<Vec<_>>()[..] else { panic!() };
    let journal = machine.at("journal");
    let keys = format!("policy = \"equal\"\njournal.file = \"{}\"", journal.display());
    configure(&machine, &keys, &[("reads", one), ("streams", other)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it has decided", || daemon.status()["domains"][0]["plan"].is_number());

    let status = daemon.status();
    assert!(is_now(status["now"].as_str().unwrap()), "{status}");
    let text = printed(&mut daemon.ask(&[]));
    let at = text.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert!(text.starts_with("equal after ") && is_now(at), "{text}");
    for columns in ["90", "80", "60"] {
        let text = printed(daemon.ask(&[]).env("COLUMNS", columns));
        let rows = text.lines().skip_while(|line| !line.starts_with('─'));
        let fits = rows.clone().filter(|line| !line.starts_with("no room"));
        let widest = fits.map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.parse().unwrap(), "{text}");
        assert!(rows.clone().any(|line| line.starts_with("no room for mask")), "{text}");
        assert!(rows.clone().any(|line| line.trim_start().starts_with("streams")), "{text}");
    }
    let mut explain = Command::new(this());
    explain.args(["explain", "--control"]).arg(machine.at("control"));
    let explained = printed(&mut explain);
    assert!(is_now(first_word(&explained)), "{explained}");
    let latest: Value = serde_json::from_str(&printed(explain.arg("--json"))).unwrap();
    assert!(is_now(latest["decisions"][0]["at"].as_str().unwrap()), "{latest}");
    let mut top = Command::new(this());
    top.args(["top", "--once", "--width", "80", "--control"]).arg(machine.at("control"));
    let top = printed(&mut top);
    let head = top.lines().next().unwrap().split_whitespace();
    assert!(head.clone().any(is_now), "{top}");

    assert_eq!(daemon.said().lines().filter(|line| !is_now(first_word(line))).count(), 0);
    assert_eq!(daemon.end(Signal::TERM), Some(0));

    // Later, from the journal.
    let mut explain = Command::new(this());
    let explained = printed(explain.args(["explain", "--journal"]).arg(&journal));
    assert!(is_now(first_word(&explained)), "{explained}");
    let page = machine.at("report.html");
    let mut report = Command::new(this());
    printed(report.arg("report").arg(&journal).arg("--out").arg(&page));
    let page = std::fs::read_to_string(page).unwrap();
    let date = &humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10];
    assert!(page.contains(date), "the report says from when to when");
}

#[test]
fn the_log_is_json_on_request() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("reads", &select)]);
    let mut flags = command(&machine);
    flags.args(["--log-format", "json"]);
    let daemon = Daemon::start(&machine, flags);
    eventually("it has begun", || daemon.said().contains("\"starts\""));
    let said = daemon.said();
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(is_now(line["timestamp"].as_str().unwrap()), "{line}");
        assert!(line["level"].is_string() && line["message"].is_string(), "{line}");
    }
    let starts = said.lines().find(|line| line.contains("\"starts\"")).unwrap();
    let starts: Value = serde_json::from_str(starts).unwrap();
    assert_eq!((&starts["program"], &starts["level"]), (&"reads".into(), &"INFO".into()));
    drop(daemon);

    // journald records the time itself.
    let mut flags = command(&machine);
    let Output { status, stderr, .. } =
        flags.args(["--log", "journald", "--log-format", "json"]).output().unwrap();
    assert_eq!(status.code(), Some(2));
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(
        said,
        "fairways: log.format: expected text with journald, which keeps fields of its own; json is for standard error\n"
    );
}
