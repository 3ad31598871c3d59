//! The cost of watching, per workload and tick: the daemon, its resctrl part alone, its perf part
//! alone, and pqos.
//!
//! All but perf work on a tree of plain files in memory, copied from an emulator's. So their cost
//! includes neither a file system in user space nor hardware. A thread of this program fills the
//! groups that a client makes with files. A client sees the CPUs of the row, not the host's;
//! workloads are real processes that sleep.
//!
//! `FAIRWAYS_BENCH_BEFORE=PROGRAM` measures another build of `fairways` in turn with this one.
//! `FAIRWAYS_BENCH_CALLS=FILE` gets every system call's count, `FAIRWAYS_BENCH_PERF=FOLDER` a
//! profile of each row, which `perf report` reads. CPU time is the scheduler's
//! (`/proc/PID/task/*/schedstat`). System calls are counted by strace, in spans of their own. Both
//! start once all workloads are watched. Prints CSV, a row for each round. Needs root, /dev/fuse,
//! unshare, strace and pqos.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod calls;
mod clients;
mod counters;
mod plain;
mod sleepers;

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clients::{Client, Row};

/// Classes of service of the machine.
pub(crate) const CLASSES: u32 = 16;
/// The columns that say what is measured.
const CASE: &str = "client,workloads,tick_ms,groups,cpus,threads";
/// How often each row is measured.
const ROUNDS: u32 = 3;

fn rows() -> Vec<Row> {
    let row = Row {
        client: Client::Resctrl,
        workloads: 64,
        tick_ms: 1000,
        groups: 0,
        cpus: 2,
        threads: 1,
    };
    let mut rows = Vec::new();
    for client in [Client::Resctrl, Client::Daemon("dunn"), Client::Daemon("lfoc"), Client::Pqos] {
        for workloads in [16, 64, 256] {
            for tick_ms in [100, 1000] {
                rows.push(Row { client, workloads, tick_ms, ..row });
            }
        }
        if client != Client::Pqos {
            for groups in [4, 12] {
                rows.push(Row { client, groups, ..row });
            }
        }
        for cpus in [64, 256] {
            rows.push(Row { client, cpus, ..row });
        }
        for threads in [8, 64] {
            rows.push(Row { client, threads, ..row });
        }
    }
    // Pqos uses all classes, and makes their groups.
    rows.iter_mut()
        .filter(|row| row.client == Client::Pqos)
        .for_each(|row| row.groups = CLASSES - 1);
    // LFOC's windows are counted in instructions, whatever the tick.
    let other = |row: &Row| row.tick_ms != 1000 || (row.groups, row.cpus, row.threads) != (0, 2, 1);
    rows.retain(|row| row.client != Client::Daemon("lfoc") || !other(row));
    rows.push(Row { client: Client::Unsampled, ..row });
    for client in [Client::Unsampled, Client::Daemon("dunn")] {
        rows.push(Row { client, workloads: 1000, ..row });
    }
    rows.push(Row { client: Client::Daemon("fairways"), ..row });
    for policy in ["lfoc", "fairways"] {
        rows.push(Row { client: Client::Blamed(policy), ..row });
    }
    for threads in [1, 8] {
        for client in [Client::PerfThreads, Client::PerfCgroup] {
            rows.push(Row { client, threads, workloads: 16, ..row });
        }
    }
    rows
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let this = std::env::current_exe().unwrap();
    match words.first().map(String::as_str) {
        Some(sleepers::WORD) => sleepers::sleep(words[1].parse().unwrap()),
        Some("inside") => inside(words.get(1).map_or("", String::as_str)),
        _ => {
            let wanted = words.iter().find(|word| !word.starts_with('-'));
            // A mount namespace of its own, so that no other process sees its /sys.
            let mut command = Command::new("unshare");
            command.args(["-m", "--propagation", "private", "--"]).arg(this).arg("inside");
            panic!("unshare: {}", command.args(wanted).exec());
        }
    }
}

/// Measures the rows whose text contains `wanted`.
fn inside(wanted: &str) {
    let mut host = plain::Host::new();
    let mut builds = vec![("this", fairways_doors::fairways())];
    builds.extend(std::env::var_os("FAIRWAYS_BENCH_BEFORE").map(|of| ("before", of.into())));
    let mut kinds = std::env::var_os("FAIRWAYS_BENCH_CALLS").map(|of| File::create(of).unwrap());
    if let Some(kinds) = &mut kinds {
        writeln!(kinds, "build,{CASE},call,each_workload_and_tick").unwrap();
    }
    println!(
        "build,{CASE},round,us_per_workload_and_tick,calls_per_workload_and_tick,percent_of_a_core,rss_kib"
    );
    for row in rows().into_iter().filter(|row| row.to_string().contains(wanted)) {
        for round in 0..ROUNDS {
            // The older one first.
            for (name, build) in builds.iter().rev() {
                let cost = row.measure(build, &mut host, round == 0);
                println!("{name},{row},{round},{cost}");
                for (call, count) in cost.calls.iter().flatten() {
                    if let Some(kinds) = &mut kinds {
                        writeln!(kinds, "{name},{row},{call},{count:.4}").unwrap();
                    }
                }
            }
        }
    }
}
