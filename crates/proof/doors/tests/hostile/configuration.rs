//! Configurations that others can write, or that never end.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use fairways_testing::needs::{Need, has};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use tempfile::TempDir;

use super::common::{Machine, can, end, eventually, this};
use super::running::{Daemon, command, configure};

/// Another user.
const STRANGER: u32 = 65534;

/// Runs a command, which ends within a minute.
fn output(words: &[&str], path: &Path) -> Output {
    let mut command = Command::new(this());
    command.args(words).arg(path).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    end(&mut child);
    child.wait_with_output().unwrap()
}

/// The message for a path that `config check` and `run` refuse alike.
fn refused(path: &Path) -> String {
    let mut all = [&["config", "check"][..], &["run", "--config"]].map(|words| {
        let Output { status, stderr, .. } = output(words, path);
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(2), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        said
    });
    assert_eq!(all[0], all[1]);
    std::mem::take(&mut all[0])
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A folder that every user may enter, with a configuration.
fn open_folder() -> TempDir {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    set_mode(folder.path(), 0o755);
    let file = folder.path().join("fairways.toml");
    fs::write(&file, "policy = \"lfoc\"\n").unwrap();
    set_mode(&file, 0o644);
    folder
}

#[test]
fn what_is_no_file_or_never_ends_is_refused_at_once() {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let _listener = UnixListener::bind(at("socket")).unwrap();
    fs::File::create(at("large")).unwrap().set_len(1 << 40).unwrap();
    for (path, found) in [
        (at("pipe"), "found a pipe"),
        (at("folder"), "found a folder"),
        (at("socket"), "can't read it"),
        ("/dev/zero".into(), "found a device"),
        (at("large"), "expected at most 1048576 bytes"),
    ] {
        let said = refused(&path);
        assert!(said.contains(found), "{said}");
    }
    // The same for the drop-ins.
    fs::write(at("fairways.toml"), "").unwrap();
    fs::create_dir(at("fairways.toml.d")).unwrap();
    mkfifoat(CWD, at("fairways.toml.d/pipe.toml"), Mode::RWXU).unwrap();
    let said = refused(&at("fairways.toml"));
    assert!(said.contains("pipe.toml: expected a file, found a pipe"), "{said}");
}

#[test]
fn what_others_may_write_is_refused() {
    if !has("what_others_may_write_is_refused", &[Need::Root]) {
        return;
    }
    let folder = open_folder();
    let file = folder.path().join("fairways.toml");
    let drop_ins = folder.path().join("fairways.toml.d");
    let drop_in = drop_ins.join("10.toml");
    fs::create_dir(&drop_ins).unwrap();
    fs::write(&drop_in, "interval = \"1s\"\n").unwrap();
    let is_fine = || {
        let Output { status, stderr, .. } = output(&["config", "check"], &file);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    };
    set_mode(&drop_ins, 0o755);
    set_mode(&drop_in, 0o644);
    is_fine();
    let places = [
        (&file, 0o644, 0o666),
        (&drop_in, 0o644, 0o666),
        (&drop_ins, 0o755, 0o777),
        (&folder.path().to_owned(), 0o755, 0o777),
    ];
    for (path, mode, worse) in places {
        let shown = path.display();
        set_mode(path, worse);
        let said = refused(&file);
        let why = "expected one that only its owner may write, found one that anybody may";
        assert_eq!(said, format!("fairways: {shown}: {why} (mode {worse:o})\n"));
        // A group of other users counts as others; root's does not.
        set_mode(path, worse & 0o775);
        is_fine();
        chown(path, None, Some(STRANGER)).unwrap();
        assert!(refused(&file).contains("found one that a group may"));
        chown(path, Some(STRANGER), Some(0)).unwrap();
        set_mode(path, mode);
        let why = "expected one of root or of the user who runs, found user 65534's";
        assert_eq!(refused(&file), format!("fairways: {shown}: {why}\n"));
        chown(path, Some(0), Some(0)).unwrap();
        is_fine();
    }
    // In a sticky folder like /tmp, or one without access, no other user can replace a file.
    set_mode(folder.path(), 0o1777);
    is_fine();
    set_mode(folder.path(), 0o700);
    set_mode(&file, 0o666);
    is_fine();
}

#[test]
fn a_pipe_in_its_place_is_no_configuration_to_a_daemon_and_holds_up_nothing() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let reads = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("reads", &reads)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("its program has started", || daemon.programs() == ["reads"]);
    let file = machine.at("fairways.toml");
    fs::remove_file(&file).unwrap();
    mkfifoat(CWD, &file, Mode::RWXU).unwrap();
    daemon.signal(Signal::HUP);
    eventually("the configuration is refused", || {
        let said = daemon.said();
        let parts =
            ["the previous configuration stays in force: ", "expected a file, found a pipe"];
        parts.iter().all(|part| said.contains(part))
    });
    assert_eq!(daemon.programs(), ["reads"]);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
