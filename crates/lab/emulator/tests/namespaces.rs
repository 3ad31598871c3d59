//! Clients in PID namespaces of their own, as in a container: numbers are theirs, as the kernel's
//! resctrl has it (`find_task_by_vpid`, `task_pid_vnr`).

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use common::{Mounted, mounted};
use fairways_emulator::{Idle, Settings};
use fairways_resctrl_rules::platform::Platform;
use fairways_testing::needs::{Need, has};

/// The kernel lab's machine with a group `g`; `None` where this system lets nobody mount or be
/// apart.
fn lab() -> Option<Mounted> {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    if !has(&test, &[Need::Fuse, Need::Root, Need::Program("unshare")]) {
        return None;
    }
    let of = mounted(Settings::new(Platform::lab(), Box::new(Idle::default())));
    fs::create_dir(of.path("g")).unwrap();
    Some(of)
}

/// Runs commands in a PID namespace of its own; with its /proc, which only `ps` and its like need.
const APART: &str = "exec unshare --pid --fork --kill-child --mount-proc";

/// A shell that runs a script, and then waits for the end of its standard input. What it started
/// ends with its namespace.
struct ShellApart {
    process: Child,
    out: BufReader<std::process::ChildStdout>,
}

impl ShellApart {
    /// In a namespace of its own, `$R` being the emulator's folder.
    fn apart(of: &Mounted, script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{APART} sh -c '{script}\necho done; read nothing'")]);
        let mut process =
            command.env("R", &of.dir).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(process.stdout.take().unwrap());
        Self { process, out }
    }

    /// The lines of the script.
    fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.out.read_line(&mut line).unwrap(), 0, "it ended: {lines:?}");
            match line.trim_end() {
                "done" => return lines,
                line => lines.push(line.to_owned()),
            }
        }
    }
}

impl Drop for ShellApart {
    fn drop(&mut self) {
        let _ = self.process.stdin.take().unwrap().write_all(b"\n");
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The numbers that a thread has in the namespaces it is in, from this one downwards.
fn numbers(thread: &str) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
    line.split_whitespace().map(str::to_owned).collect()
}

/// The threads in `g`, by the numbers of this namespace.
fn in_group(of: &Mounted) -> Vec<String> {
    of.read("g/tasks").lines().map(str::to_owned).collect()
}

#[test]
fn a_client_names_threads_by_the_numbers_of_its_namespace() {
    let Some(of) = lab() else { return };
    let script = "sleep 300 & echo $! > $R/g/tasks; echo $!; cat $R/g/tasks";
    let mut shell = ShellApart::apart(&of, script);
    let lines = shell.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], lines[1], "what was written is read");
    let moved = in_group(&of);
    assert_eq!(moved.len(), 1);
    let known = numbers(&moved[0]);
    assert_eq!((known.len(), known.last()), (2, Some(&lines[0])), "{known:?}");
}

/// The writer itself is 0 in every namespace, and its init is 1 in its own.
#[test]
fn zero_and_one_are_the_client_and_its_init() {
    let Some(of) = lab() else { return };
    let mut shell = ShellApart::apart(&of, "echo 1 > $R/g/tasks; cat $R/g/tasks");
    assert_eq!(shell.lines()[0], "1");
    let moved = in_group(&of);
    // What the shell forked since inherits its group.
    let first = moved.iter().find(|thread| numbers(thread).last().unwrap() == "1").unwrap();
    assert_ne!(first, "1", "the host's init stays where it was");
    let Some(other) = lab() else { return };
    let mut shell = ShellApart::apart(&other, "echo 0 > $R/g/tasks; echo $$");
    assert_eq!(shell.lines(), ["1"]);
    let moved = in_group(&other);
    assert_eq!((moved.len(), numbers(&moved[0]).last().unwrap().as_str()), (1, "1"));
}

#[test]
fn what_is_outside_has_no_number_inside() {
    let Some(of) = lab() else { return };
    let outside = Command::new("sleep").arg("300").spawn().unwrap();
    let number = outside.id();
    of.write("g/tasks", &number.to_string()).unwrap();
    let script = format!(
        "cat $R/g/tasks; echo end; cat $R/tasks; echo end; echo {number} > $R/tasks || echo refused"
    );
    let mut shell = ShellApart::apart(&of, &script);
    let lines = shell.lines();
    let mut parts = lines.split(|line| line == "end");
    assert!(parts.next().unwrap().is_empty(), "{lines:?}");
    let seen = parts.next().unwrap();
    assert!(seen.contains(&"1".to_owned()) && seen.len() <= 4, "its own alone: {lines:?}");
    assert_eq!(parts.next().unwrap(), ["refused"]);
    assert!(of.read("info/last_cmd_status").contains(&format!("No task {number}")));
    assert_eq!(in_group(&of), [number.to_string()]);
    let mut outside = outside;
    outside.kill().unwrap();
    outside.wait().unwrap();
}

/// A namespace sees those below it, and not those beside it.
#[test]
fn namespaces_below_are_seen_and_those_beside_are_not() {
    let Some(of) = lab() else { return };
    // The inner shell is known in the middle by the number that the middle sees.
    let inner = "exec sleep 300";
    let script = format!(
        "unshare --pid --fork --kill-child sh -c \"{inner}\" & inner=; \
         until [ \"$inner\" ]; do inner=$(cat /proc/$!/task/$!/children); sleep 0.05; done; \
         echo $inner > $R/g/tasks; \
         echo $inner; cat $R/g/tasks"
    );
    let mut middle = ShellApart::apart(&of, &script);
    let lines = middle.lines();
    let [named, read] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(named.trim(), read);
    let moved = in_group(&of);
    assert_eq!(moved.len(), 1);
    let known = numbers(&moved[0]);
    assert_eq!((known.len(), &known[1], &known[2][..]), (3, read, "1"), "{known:?}");
    let mut beside = ShellApart::apart(&of, &format!("cat $R/g/tasks; echo {read} > $R/tasks"));
    assert!(beside.lines().is_empty());
    assert_eq!(in_group(&of), moved, "another thread of that number, or none, was moved");
}
