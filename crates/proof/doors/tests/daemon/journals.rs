//! Journals across starts and kills, and where they cannot be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::Signal;

use super::common::{Machine, can, end, eventually, printed, this};
use super::running::{Daemon, command, configure};

const PROGRAMS: [&str; 2] = ["mlr:500K", "lookbusy"];

/// Writes the configuration, with these keys of `[journal]`.
fn configured(machine: &Machine, programs: usize, journal: &str) {
    let selects = PROGRAMS.map(|program| format!("select = \"pid:{}\"", machine.pids[program]));
    let programs: Vec<(&str, &str)> =
        [("reads", &*selects[0]), ("works", &*selects[1])].into_iter().take(programs).collect();
    configure(machine, "policy = \"equal\"", &programs);
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let config = config.replace("[control]\n", &format!("[journal]\n{journal}\n[control]\n"));
    fs::write(machine.at("fairways.toml"), config).unwrap();
}

fn planned(daemon: &Daemon<'_>) -> Option<u64> {
    daemon.status()["domains"][0]["plan"].as_u64()
}

fn part(path: &Path, number: usize) -> PathBuf {
    path.with_extension(number.to_string())
}

/// The output of `fairways replay`.
fn replay(path: &Path) -> String {
    printed(Command::new(this()).arg("replay").arg(path))
}

/// Every start continues after the previous parts, also after those of a killed daemon, which end
/// with its last decision.
#[test]
fn a_start_goes_on_behind_the_journals_before() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(&PROGRAMS.join(","));
    let path = machine.at("journal");
    let journal = format!("file = \"{}\"\nparts = 5", path.display());
    for start in 0..6 {
        configured(&machine, 1, &journal);
        let mut command = command(&machine);
        command.args(["--journal", path.to_str().unwrap(), "--journal-parts", "3"]);
        let daemon = Daemon::start(&machine, command);
        eventually("it has planned", || planned(&daemon).is_some());
        let before = planned(&daemon);
        configured(&machine, 2, &journal);
        daemon.signal(Signal::HUP);
        eventually("it has planned again", || planned(&daemon) > before);
        let last = planned(&daemon).unwrap();
        daemon.end(if start % 2 == 0 { Signal::KILL } else { Signal::TERM });
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(&format!("\"partition\":{{\"plan\":{last},")), "{last}: {text}");
        assert!(replay(&path).contains("all the same"));
        printed(Command::new(this()).args(["explain", "--journal"]).arg(&path));
    }
    let kept: Vec<bool> = (0..6).map(|number| part(&path, number).exists()).collect();
    assert_eq!(kept, [false, false, true, true, true, false]);
    for number in 2..5 {
        assert!(replay(&part(&path, number)).contains("all the same"), "part {number}");
    }
    // Deleted parts do not change the numbers of later ones.
    (2..5).for_each(|number| fs::remove_file(part(&path, number)).unwrap());
    let daemon = Daemon::start(&machine, command(&machine));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert!(replay(&part(&path, 5)).contains("all the same"));
}

/// A file system of one page, which is unmounted on drop.
struct Page(PathBuf);

impl Page {
    fn mount(path: PathBuf) -> Self {
        fs::create_dir(&path).unwrap();
        mount("tmpfs", &path, "tmpfs", MountFlags::empty(), Some(c"size=4096,mode=700")).unwrap();
        Self(path)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// If a journal cannot be written, the log and `status` give the reason at once, and the exit code
/// shows it; programs are managed all the same.
#[test]
fn a_journal_that_cannot_be_written_is_logged_and_shown() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start(&PROGRAMS.join(","));
    let page = Page::mount(machine.at("page"));
    let other = machine.at("other");
    fs::write(&other, "somebody's words\n").unwrap();
    for (file, why) in [
        (page.0.join("journal"), "the journal is given up: "),
        (page.0.join("full"), "no journal is written: "),
        (machine.at("nowhere/journal"), "No such file or directory"),
        (other.clone(), "expected a journal, found another file"),
    ] {
        let journal = format!("file = \"{}\"", file.display());
        configured(&machine, 1, &journal);
        let daemon = Daemon::start(&machine, command(&machine));
        let mut programs = 1;
        eventually("it is logged", || {
            programs = 3 - programs;
            configured(&machine, programs, &journal);
            let before = planned(&daemon);
            daemon.signal(Signal::HUP);
            eventually("it goes on", || planned(&daemon) > before);
            daemon.said().contains(why)
        });
        let shown = || daemon.status()["degraded"].to_string().contains(why);
        eventually("it is shown", shown);
        assert_eq!(daemon.end(Signal::TERM), Some(1), "{why}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "somebody's words\n");
    assert!(replay(&page.0.join("journal")).contains("all the same"));
}

/// A simulated run does not continue another's journal.
#[test]
fn only_a_daemon_goes_on_behind_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    fs::write(&path, "{\"schema\":1").unwrap();
    let mut command = Command::new(fairways_doors::fairways_lab());
    command.args(["run", "--machine", "model", "--duration", "1s", "--journal"]).arg(&path);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    end(&mut child);
    let Output { status, .. } = child.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(2));
}
