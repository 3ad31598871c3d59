//! Programs that take another program's name.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;

use super::common::{Machine, can, end, this};
use super::running::{Daemon, command, configure};

/// Another user.
const STRANGER: u32 = 65534;

/// A process with this name, which waits.
struct Named(Child);

impl Named {
    fn start(name: &str, user: u32) -> Self {
        let mut command = Command::new("/bin/sleep");
        command.arg0(name).arg("3600").uid(user).current_dir("/");
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until exactly these programs are there.
fn await_programs(daemon: &Daemon<'_>, names: &[&str]) {
    let began = std::time::Instant::now();
    while daemon.programs() != names {
        let late = began.elapsed().as_secs() >= 60;
        assert!(!late, "expected {names:?}, found {:?}", daemon.programs());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_name_of_another_user_is_not_taken_for_the_program() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let (real, stranger) = ("select = \"process:spoofed-cache,user=root\"\neach = true", STRANGER);
    let by_number = format!("select = \"process:spoofed-cache,user={stranger}\"\neach = true");
    configure(&machine, "policy = \"equal\"", &[("cache", real), ("other", &by_number)]);
    let fake = Named::start("spoofed-cache", STRANGER);
    let daemon = Daemon::start(&machine, command(&machine));
    await_programs(&daemon, &["other.1"]);
    let genuine = Named::start("spoofed-cache", 0);
    await_programs(&daemon, &["cache.1", "other.1"]);
    drop(fake);
    await_programs(&daemon, &["cache.1"]);
    drop(genuine);
    await_programs(&daemon, &[]);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

#[test]
fn an_unknown_user_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    let select = "process:redis-server,user=no-such-user-here";
    let text = format!("[[program]]\nname = \"cache\"\nselect = \"{select}\"\n");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(this());
    command.args(["config", "check"]).arg(&file).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    end(&mut child);
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let why = "expected after `user=` a name in /etc/passwd or a number of a user";
    assert!(said.contains(select) && said.contains(why), "{said}");
}
