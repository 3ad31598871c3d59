//! The scheduler in a real kernel: this program boots one, with itself in it.

#![allow(clippy::unwrap_used)]

mod beside;
mod guest;
mod judge;
mod loader;
mod masks;
mod shares;
mod threads;
mod watch;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_kernel_lab::{Guest, Kernel, required};

use crate::threads::BY_INSTRUCTIONS;

/// The task of a program that the guest's side starts.
const ROLE: &str = "FAIRWAYS_ROLE";

/// Where time passes by instructions, neither shares nor what happens within a time depend on this
/// machine's load.
#[test]
fn cpu_time_is_shared_as_ordered_in_a_real_kernel() {
    run(
        "cpu_time_is_shared",
        "loads,shares,weights,apart,watch,orders,raised,not-raised,crowds,stopped,killed",
        true,
    );
}

#[test]
fn the_scheduler_keeps_its_word_in_a_real_kernel() {
    run("the_scheduler_keeps_its_word", "beside,forks,room,hotplug,running,masks,few-sets", false);
}

/// Boots, and runs these checks.
fn run(test: &str, checks: &str, by_instructions: bool) {
    let Some(lab) = required(test, Kernel::Sid) else { return };
    let folder = tempfile::tempdir().unwrap();
    // Only some of them, to look for a mistake; not where all are required.
    let only = std::env::var("FAIRWAYS_ONLY").ok();
    let only = only.filter(|_| std::env::var_os("FAIRWAYS_REQUIRE_SYSTEM").is_none());
    let only = only.unwrap_or_else(|| checks.to_owned());
    let side = "guest::side --exact --ignored --nocapture --test-threads 1";
    let time = if by_instructions { format!("{BY_INSTRUCTIONS}=1") } else { String::new() };
    let job = format!("{time} FAIRWAYS_ONLY='{only}' RUST_BACKTRACE=1 /in_linux {side} 2>&1");
    let mut guest = Guest::new()
        .file(stripped(folder.path()), "/in_linux")
        .job(job)
        .seconds(1800)
        .echo(|line| drop(writeln!(std::io::stderr(), "{line}")), false);
    if by_instructions {
        guest = guest.time_by_instructions(3);
    }
    let outcome = guest.run(&lab).unwrap();
    let _ = writeln!(std::io::stderr(), "{test}: the guest took {} s", outcome.duration.as_secs());
    assert_eq!(outcome.code, 0, "{}", outcome.console.join("\n"));
    // Every check printed that it succeeded.
    let mut held = only.split(',').map(|check| format!("held {check} "));
    assert!(held.all(|held| outcome.console.iter().any(|line| line.contains(&held))));
}

/// This program without debug information: the guest unpacks it into memory.
fn stripped(folder: &Path) -> PathBuf {
    let whole = std::env::current_exe().unwrap();
    let stripped = folder.join("in_linux");
    let mut strip = Command::new("strip");
    match strip.arg("--strip-debug").arg(&whole).arg("-o").arg(&stripped).status() {
        Ok(status) if status.success() => stripped,
        _ => whole,
    }
}
