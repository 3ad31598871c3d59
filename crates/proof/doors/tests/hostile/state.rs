//! A state directory that others can write, or that leads elsewhere.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fairways_testing::needs::{Need, has};
use rustix::process::Signal;
use tempfile::TempDir;

use super::common::{Machine, can, end, eventually, this};
use super::running::{Daemon, command, configure};

/// Another user.
const STRANGER: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder that every user may enter, with a state directory of this mode in it.
fn folder(mode: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    set_mode(folder.path(), 0o755);
    let state = folder.path().join("state");
    fs::create_dir(&state).unwrap();
    set_mode(&state, mode);
    (folder, state)
}

/// Runs `fairways restore` with a state directory: its exit code and its message.
fn restore(state: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(this());
    command.arg("restore").args(["--resctrl-root", "/nonexistent", "--state"]).arg(state);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    end(&mut child);
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// Checks that it is refused in one line, and that nothing is created in it.
fn refused(state: &Path, because: &str) {
    let (code, said) = restore(state);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(because), "{because}: {said}");
    assert_eq!(fs::read_dir(state).into_iter().flatten().count(), 0);
}

#[test]
fn one_that_others_can_write_is_refused() {
    if !has("state directories", &[Need::Root]) {
        return;
    }
    let (_folder, state) = folder(0o777);
    refused(&state, "expected one that only its owner may write, found one that anybody may");
    // No other user can replace files in it, but every user can add some.
    set_mode(&state, 0o1777);
    refused(&state, "expected one that only its owner may write");
    set_mode(&state, 0o770);
    chown(&state, None, Some(STRANGER)).unwrap();
    refused(&state, "found one that a group may");
    set_mode(&state, 0o755);
    chown(&state, Some(STRANGER), None).unwrap();
    refused(&state, "expected one of root or of the user who runs, found user 65534's");
    chown(&state, Some(0), Some(0)).unwrap();
    assert_eq!(restore(&state), (Some(0), String::new()));

    // A folder above it has these permissions.
    let (above, state) = folder(0o755);
    let place = state.join("a/b");
    set_mode(&state, 0o777);
    refused(&place, "a folder above the state directory: expected one that only its owner may");
    assert!(!state.join("a").exists(), "nothing is made in it");
    set_mode(&state, 0o1777);
    assert_eq!(restore(&place).0, Some(0), "in a sticky folder no other user replaces it");
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
    // Where no other user gets in, the permissions below do not matter.
    set_mode(&place, 0o777);
    set_mode(above.path(), 0o700);
    assert_eq!(restore(&place).0, Some(0));
}

#[test]
fn links_on_the_way_to_it_are_not_followed() {
    if !has("state directories", &[Need::Root]) {
        return;
    }
    let (folder, state) = folder(0o700);
    let link = folder.path().join("link");
    symlink(&state, &link).unwrap();
    for path in [link.clone(), link.join("below")] {
        let (code, said) = restore(&path);
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains("without links on the way"), "{said}");
    }
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
}

/// Links that a user put into it before it was protected lead to no file that is written.
#[test]
fn links_in_it_lead_to_nothing_that_is_written() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,mload:60M");
    let select = |program: &str| format!("select = \"pid:{}\"", machine.pids[program]);
    let (reads, streams) = (select("mlr:500K"), select("mload:60M"));
    configure(&machine, "policy = \"equal\"", &[("reads", &reads), ("streams", &streams)]);
    let (state, victim) = (machine.at("state"), machine.at("victim"));
    fs::create_dir(&state).unwrap();
    fs::write(&victim, "theirs").unwrap();
    for name in ["resctrl.json.new", "resctrl.json.before"] {
        symlink(&victim, state.join(name)).unwrap();
    }
    let refused = |why: &str| {
        let output = command(&machine).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{said}");
    };
    refused("resctrl.json.before: expected a file, found a link");
    fs::remove_file(state.join("resctrl.json.before")).unwrap();
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("the ledger is written", || state.join("resctrl.json").exists());
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    symlink(&victim, state.join("resctrl.lock.link")).unwrap();
    fs::rename(state.join("resctrl.lock.link"), state.join("resctrl.lock")).unwrap();
    refused("resctrl.lock: expected a file, found a link");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs");
}
