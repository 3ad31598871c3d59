//! A program without rights. This test is the keeper, too, and becomes the program: hence its own
//! `main`.

#![allow(clippy::unwrap_used)]

use std::io::{self, Write as _};
use std::process::Command;

use fairways_exec_policy::{CONFINED, KEEPER, confine, described, keep};

/// The argument with which this test prints how the program of the next one describes itself.
const DESCRIBE: &str = "print-description";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [KEEPER, "--", ..] => keep(&arguments[2..]).unwrap(),
        [CONFINED, "--", ..] => {
            let Err(why) = confine(&arguments[2..]);
            panic!("{why}");
        }
        [DESCRIBE, name] => {
            let summary = described(name, true).unwrap().summary;
            io::stdout().write_all(summary.as_bytes()).unwrap();
        }
        _ => checked(&arguments),
    }
}

const CHECKS: [(&str, fn()); 2] = [
    ("its_standard_error_is_a_pipe_to_its_keeper", its_standard_error_is_a_pipe_to_its_keeper),
    ("the_kernel_ends_it_first_for_memory", the_kernel_ends_it_first_for_memory),
];

/// Lists or runs the checks whose name contains one of the words, if there are any, as other tests
/// do.
fn checked(arguments: &[String]) {
    let [is_listed, is_ignored] =
        ["--list", "--ignored"].map(|flag| arguments.iter().any(|argument| argument == flag));
    let words: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let mut out = io::stdout();
    for (name, check) in CHECKS {
        if !words.is_empty() && !words.iter().any(|word| name.contains(*word)) {
            continue;
        }
        if is_listed {
            writeln!(out, "{name}: test").unwrap();
        } else if !is_ignored {
            check();
            writeln!(out, "test {name} ... ok").unwrap();
        }
    }
}

/// What a policy in the shell says in its description, and what is shown on standard error.
fn asked(summary: &str, before: &str) -> [String; 2] {
    let script =
        format!(r#"read -r line; {before}; echo "{{\"describe\":{{\"summary\":\"{summary}\"}}}}""#);
    let name = format!("exec:{}", shell_words::join(["sh", "-c", &script]));
    let this = std::env::current_exe().unwrap();
    let done = Command::new(this).args([DESCRIBE, &name]).output().unwrap();
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success(), "{error}");
    [String::from_utf8(done.stdout).unwrap(), error]
}

/// It could read from a terminal, and write lines that pass for the daemon's.
fn its_standard_error_is_a_pipe_to_its_keeper() {
    let before = r"printf 'INFO \033[2J all is well\n' >&2; [ -p /proc/self/fd/2 ] && of=pipe";
    let [summary, error] = asked("$of", before);
    assert_eq!(summary, "pipe");
    let start = "exec:sh -c ";
    assert!(
        error.starts_with(start) && error.ends_with("stderr: INFO \\u001b[2J all is well\n"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Not the daemon, which is in the same cgroup.
fn the_kernel_ends_it_first_for_memory() {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let own: i32 = own.trim().parse().unwrap();
    let [summary, _] = asked("$score", "read -r score < /proc/self/oom_score_adj");
    assert_eq!(summary, (own + 200).min(1000).to_string());
}
