//! Keys, sizes, colours, ends, and what `top` can watch.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::common::{Machine, can, printed, this};
use super::running::{Daemon, command, configure};
use super::terminal::Terminal;

const JOURNAL: [&str; 2] = ["--journal", "../../base/record/tests/data/run.journal"];

#[test]
fn keys_are_handled_and_the_terminal_is_given_back() {
    let mut terminal = Terminal::start(&JOURNAL, false);
    terminal.shows("lfoc  journal");
    terminal.until("it has the terminal", |_| terminal.taken() == [true; 3]);
    terminal.press("\u{1b}[F");
    terminal.shows("at its end");
    terminal.shows("B speech-decode sensitive");
    terminal.press("?");
    terminal.shows("keys and words");
    terminal.press("\u{1b}");
    terminal.until("the page is left", |lines| !lines.join("").contains("keys and words"));
    terminal.press("j");
    terminal.shows("> A triad");
    terminal.press("\r");
    terminal.shows("decisions about triad");
    terminal.shows("  occupancy ");
    terminal.press("?");
    terminal.shows("keys and words");
    terminal.press("?s");
    terminal.shows("s sort: program");
    // To the last decision, the one before, and that again.
    terminal.press("\u{1b}[D");
    terminal.shows("paused  0.284 s");
    terminal.press("\u{1b}[D");
    terminal.shows("paused  0.268 s");
    terminal.press("\u{1b}[C");
    terminal.shows("paused  0.284 s");
    terminal.press("\u{1b}[H");
    terminal.shows("nothing was decided yet");

    for (width, height) in [(120, 40), (50, 15), (30, 5), (80, 24)] {
        terminal.resize(width, height);
        terminal.until("it is drawn again", |lines| match (width, height) {
            (30, 5) => lines[0] == "30x5: at least 40x10; q quits",
            _ => lines.last().unwrap().starts_with(" q quit") && lines[0].ends_with(" s"),
        });
    }
    assert!(terminal.is_coloured());
    terminal.press("q");
    assert_eq!(terminal.end(), (Some(0), String::new()));
}

#[test]
fn no_colours_are_none() {
    for (flags, no_color) in [(&[][..], true), (&["--no-color"], false)] {
        let flags: Vec<&str> = JOURNAL.iter().chain(flags).copied().collect();
        let mut terminal = Terminal::start(&flags, no_color);
        terminal.press("\u{1b}[Fj");
        terminal.shows("> A triad");
        terminal.press("?");
        terminal.shows("keys and words");
        assert!(!terminal.is_coloured());
        // Ctrl-C is a key here.
        terminal.press("\u{3}");
        assert_eq!(terminal.end().0, Some(0));
    }
}

#[test]
fn signals_end_it_and_the_terminal_is_given_back() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let terminal = Terminal::start(&JOURNAL, false);
        terminal.shows("lfoc  journal");
        terminal.signal(signal);
        assert_eq!(terminal.end(), (Some(130), "fairways: interrupted".to_owned()));
    }
}

#[test]
fn a_machine_is_run_and_a_mistake_is_reported_first() {
    let flags = ["--machine", "model", "--profiles", "synthetic", "--mix", "triad,hash-join"];
    let flags = [&flags[..], &["--duration", "2s", "--speed"]].concat();
    let mut terminal = Terminal::start(&[&flags[..], &["1000"]].concat(), false);
    terminal.shows("over  2.000 s");
    terminal.shows("hash-join sensitive");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
    // Keys are handled while it runs.
    let mut terminal = Terminal::start(&[&flags[..], &["0.001"]].concat(), false);
    terminal.shows("0.001x");
    terminal.press("+");
    terminal.shows("0.002x");
    terminal.press("p");
    terminal.shows("paused");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
    let wrong = Terminal::start(&["--machine", "model", "--mix", "nobody"], false);
    let (code, said) = wrong.end();
    assert!(code == Some(2) && said.starts_with("fairways-lab: --mix: expected one of"), "{said}");
}

#[test]
fn a_daemon_that_goes_and_comes_back_is_watched_on() {
    if !can(&["setsid"]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    let select = |program: &str| format!("select = \"pid:{}\"", machine.pids[program]);
    let (reads, streams) = (select("mlr:500K"), select("mload:60M"));
    configure(&machine, "policy = \"equal\"", &[("reads", &reads), ("streams", &streams)]);
    let daemon = Daemon::start(&machine, command(&machine));
    let control = machine.at("control");
    let flags = ["--control", control.to_str().unwrap(), "--interval", "100ms"];
    let mut terminal = Terminal::start(&flags, true);
    terminal.shows("equal  manage");
    terminal.shows("A reads");
    terminal.shows("B streams");
    terminal.shows("2 of ");
    // A program that counts nothing shows no number.
    terminal.until("dashes", |lines| {
        let row = lines.iter().find(|line| line.contains("reads"));
        row.is_some_and(|row| row.split_whitespace().filter(|word| *word == "-").count() >= 3)
    });
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    terminal.shows("last known state");
    terminal.shows("no daemon answers");
    terminal.shows("A reads");
    configure(&machine, "policy = \"stock\"", &[("reads", &reads)]);
    let daemon = Daemon::start(&machine, command(&machine));
    terminal.shows("stock  manage");
    terminal.until("it is there again", |lines| {
        let screen = lines.join("");
        !screen.contains("last known state") && !screen.contains("streams")
    });
    // Without a daemon, the emulator's own state shows which program has which ways, and what it
    // does.
    let root = machine.root.to_str().unwrap();
    let once = printed(Command::new(fairways_doors::fairways_lab()).args([
        "top",
        "--once",
        "--emulated",
        root,
    ]));
    assert!(once.contains("mlr:500K") && once.contains("mload:60M"), "{once}");
    assert!(once.contains("12 ways") && once.contains("nothing was decided yet"), "{once}");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

#[test]
fn a_screen_is_printed_of_a_journal_at_a_time() {
    let once = |flags: &[&str]| {
        let mut command = Command::new(this());
        printed(command.args(["top", "--once"]).args(JOURNAL).args(flags))
    };
    assert!(once(&[]).contains("plan 7") && once(&["--at", "1h"]) == once(&[]));
    let small = once(&["--at", "260ms", "--width", "50", "--height", "15"]);
    assert!(small.contains("plan 5"), "{small}");
    assert_eq!(small.lines().count(), 15);
    assert!(small.lines().all(|line| line.chars().count() <= 50), "{small}");
}

/// The line in which `top` of a door refuses these flags.
fn said_by(door: PathBuf, flags: &[&str]) -> String {
    let mut command = Command::new(door);
    let output = command.arg("top").args(flags).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn a_missing_terminal_and_wrong_flags_are_reported_in_one_line() {
    fn said(flags: &[&str]) -> String {
        said_by(this(), flags)
    }
    fn said_by_lab(flags: &[&str]) -> String {
        said_by(fairways_doors::fairways_lab(), flags)
    }
    let [journal, path] = JOURNAL;
    assert!(said(&[journal, path]).contains("expected a terminal; --once prints"));
    assert!(said_by_lab(&[]).contains("expected --machine MACHINE, --emulated DIR or --journal"));
    assert!(said_by_lab(&["--policy", "dcat"]).contains("--policy needs --machine"));
    for flag in [
        ["--clos", "4"],
        ["--min-bits", "1"],
        ["--llc-mb", "20"],
        ["--seed", "1"],
        ["--instructions", "1000"],
        ["--profile-time", "200ms"],
        ["--set-sampling", "2"],
        ["--pages", "4K"],
        ["--placement", "random"],
    ] {
        let expected = format!("fairways-lab: {} needs --machine\n", flag[0]);
        assert_eq!(said_by_lab(&[&flag[..], &["--once", journal, path]].concat()), expected);
    }
    let both = ["--bandwidth-mbps", "9000", "--bandwidth-model", "stalls", "--once", journal, path];
    assert!(said_by_lab(&both).contains("--bandwidth-mbps needs --machine"));
    assert!(said(&["--machine", "model"]).contains("fairways-lab top --machine"));
    assert!(said(&["--interval", "1ms"]).contains("--interval: expected 100ms to 60s"));
    assert!(said(&["--once", "--width", "0", journal, path]).contains("--width: expected"));
    assert!(said(&["--speed", "0", journal, path]).contains("--speed: expected a number"));
    assert!(said(&["--once", journal, "/nowhere"]).contains("/nowhere: can't read it"));
    assert!(
        said_by_lab(&["--once", "--emulated", "/nowhere"]).contains("no emulator listens there")
    );
}
