//! The operator's first week (docs/operators.md) from top to bottom, on the emulator.

use std::fs;
use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed, this};
use super::running::Daemon;

/// A command of the week, with this machine's paths.
fn fairways(words: &[&str]) -> Command {
    let mut command = Command::new(this());
    command.args(words);
    command
}

fn run(machine: &Machine) -> Command {
    let mut command = fairways(&["run", "--config"]);
    command.arg(machine.at("fairways.toml")).arg("--control").arg(machine.at("control"));
    command
}

#[test]
fn the_first_week_goes_as_the_guide_says() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::by_clock("paced", "mlr:500K,mload:60M,lookbusy", &[]);
    let pids: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&pids);
    let config = machine.at("fairways.toml");
    let (root, state) = (machine.at("resctrl"), machine.at("state"));

    // What can this host do?
    let Output { stdout, .. } =
        fairways(&["doctor", "--resctrl-root"]).arg(&root).output().unwrap();
    let doctor = String::from_utf8(stdout).unwrap();
    assert!(doctor.contains("can partition: yes"), "{doctor}");

    // Which programs use the cache?
    let mut scan = fairways(&["scan", "--emulator", "--duration", "1s", "--toml"]);
    scan.arg("--resctrl-root").arg(&root).arg("--state").arg(&state);
    let scanned = printed(&mut scan);
    assert_eq!(scanned.matches("[[program]]").count(), 2, "{scanned}");
    assert_eq!(machine.snapshot(&pids), before, "a scan leaves nothing");

    // The configuration, with a typing mistake on the way.
    let slip = "\n[[program]]\nname = \"web\"\nselect = \"unit:ngnix.service\"\n";
    fs::write(&config, format!("{scanned}{slip}")).unwrap();
    let check = |expected: i32| {
        let output = fairways(&["config", "check"]).arg(&config).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(check(0).contains("web: no process matches unit:ngnix.service"));
    fs::write(&config, format!("{scanned}{slip}baseline_wyas = 3\n")).unwrap();
    let said = check(2);
    assert!(said.contains("baseline_wyas") && said.contains("baseline_ways"), "{said}");
    let mut refused = run(&machine);
    let Output { status, stderr, .. } = refused.output().unwrap();
    assert_eq!((status.code(), String::from_utf8(stderr).unwrap().lines().count()), (Some(2), 1));
    assert_eq!(machine.snapshot(&pids), before, "nothing is half done");
    let journal = machine.at("journal");
    // A journal, and the misspelt unit, which a person may overlook.
    let keys = format!("journal.file = \"{}\"\n", journal.display());
    let config_text = scanned.replacen("\n[[program]]", &format!("{keys}\n[[program]]"), 1) + slip;
    fs::write(&config, config_text).unwrap();

    // A dry run changes nothing.
    printed(run(&machine).args(["--dry-run", "--duration", "2s"]));
    assert_eq!(machine.snapshot(&pids), before, "a dry run leaves nothing");
    fs::remove_file(&journal).unwrap();

    // Observe: no program's ways change, and unknown values are not guessed.
    let mut observe = run(&machine);
    observe.arg("--observe");
    let daemon = Daemon::start(&machine, observe);
    let classes = |status: &Value| -> Vec<String> {
        let programs = status["programs"].as_array().unwrap();
        programs.iter().map(|of| of["class"].as_str().unwrap_or("none").to_owned()).collect()
    };
    eventually("programs are watched", || {
        classes(&daemon.status()) == ["not measurable", "not measurable"]
    });
    let mistake = "web is not there: no process matches unit:ngnix.service";
    eventually("status shows the mistake", || printed(&mut daemon.ask(&[])).contains(mistake));
    assert_eq!(machine.snapshot(&pids)["/schemata"], before["/schemata"]);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&pids), before, "who watched leaves nothing");

    // A trial says whether it helps, and puts everything back.
    let mut trial = fairways(&["trial", "--learn", "3s", "--block", "500ms", "--duration", "6s"]);
    trial.args(["--json", "--config"]).arg(&config).arg("--control").arg(machine.at("control"));
    let found: Value = serde_json::from_str(&printed(&mut trial)).unwrap();
    let verdict = found["verdict"].as_str().unwrap_or_else(|| panic!("{found}"));
    assert!(["helped", "did_not", "inconclusive", "did_harm"].contains(&verdict), "{found}");
    assert_eq!(machine.snapshot(&pids), before, "a trial leaves nothing");

    // Manage the host, and look up the reason.
    let daemon = Daemon::start(&machine, run(&machine));
    eventually("it has a plan", || daemon.status()["domains"][0]["plan"].is_number());
    let explained = printed(fairways(&["explain", "--control"]).arg(machine.at("control")));
    assert!(explained.contains("plan "), "{explained}");
    // The mistake is corrected while the daemon runs.
    let mended = fs::read_to_string(&config).unwrap().replace(slip, "");
    fs::write(&config, mended).unwrap();
    daemon.signal(Signal::HUP);
    eventually("it is read again", || {
        daemon.status()["unmatched"].as_array().is_some_and(Vec::is_empty)
    });

    // A restart, which is also an upgrade's stop and start: in between everything is as before, and
    // the journal continues.
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert_eq!(machine.snapshot(&pids), before);
    let parts = || {
        let names = fs::read_dir(journal.parent().unwrap()).unwrap().flatten();
        let is_part = |name: &str| name.starts_with("journal");
        names.filter(|of| is_part(&of.file_name().to_string_lossy())).count()
    };
    let had = parts();
    let daemon = Daemon::start(&machine, run(&machine));
    eventually("it has a plan again", || daemon.status()["domains"][0]["plan"].is_number());
    assert_eq!(parts(), had + 1, "a start begins a new part");

    // Killed: programs keep their ways until they are put back.
    assert_eq!(daemon.end(Signal::KILL), None);
    assert_ne!(machine.snapshot(&pids), before);
    let mut restore = fairways(&["restore", "--resctrl-root"]);
    printed(restore.arg(&root).arg("--state").arg(&state));
    assert_eq!(machine.snapshot(&pids), before, "back to before");
    let mut report = fairways(&["report"]);
    printed(report.arg(&journal).arg("--out").arg(machine.at("week.html")));
}
