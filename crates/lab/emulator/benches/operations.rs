//! Operations per second through the emulator, with the kernel lab's machine and nothing behind it,
//! from one thread.
//!
//! Beside each, the same on a plain file of the file system with the temporary folder: the cost of
//! the calls without FUSE. Where there is no resctrl to write to, plain files take the same bytes.
//! Each is an open, one read or write, and a close, as clients do it; `mkdir` is a mkdir and a
//! rmdir; `status` is a request on the control socket, which has no plain counterpart.
//!
//! Prints CSV: the operation, the round, and operations a second by the emulator and by a plain
//! file. Needs /dev/fuse and root.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_emulated::Client;
use fairways_emulator::{Emulator, Idle, Settings};
use fairways_resctrl_rules::platform::Platform;

const ROUNDS: u32 = 5;

/// The approximate length of each round.
const SECONDS: f64 = 0.5;

/// How often per second an operation is done.
fn rate(mut what: impl FnMut()) -> f64 {
    let (started, mut count) = (Instant::now(), 0_u32);
    loop {
        for _ in 0..16 {
            what();
        }
        count += 16;
        let seconds = started.elapsed().as_secs_f64();
        if seconds > SECONDS {
            return f64::from(count) / seconds;
        }
    }
}

fn tree(dir: &Path) {
    for path in ["a", "mon_data/mon_L3_00"] {
        fs::create_dir_all(dir.join(path)).unwrap();
    }
    for (path, text) in [
        ("schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n"),
        ("a/schemata", "    MB:0=100;1=100\n    L3:0=fff;1=fff\n"),
        ("a/tasks", ""),
        ("mon_data/mon_L3_00/llc_occupancy", "0\n"),
    ] {
        fs::write(dir.join(path), text).unwrap();
    }
}

fn rates(dir: &Path) -> Vec<(&'static str, f64)> {
    let own = std::process::id().to_string();
    let (schemata, group) = (dir.join("schemata"), dir.join("a/schemata"));
    let (tasks, event) = (dir.join("a/tasks"), dir.join("mon_data/mon_L3_00/llc_occupancy"));
    let new = dir.join("new");
    vec![
        ("read schemata", rate(|| assert!(!fs::read(&schemata).unwrap().is_empty()))),
        ("write schemata", rate(|| fs::write(&group, "L3:0=ff\n").unwrap())),
        ("read an event", rate(|| assert!(!fs::read(&event).unwrap().is_empty()))),
        ("stat", rate(|| assert!(fs::metadata(&schemata).unwrap().is_file()))),
        ("write tasks", rate(|| fs::write(&tasks, &own).unwrap())),
        (
            "mkdir",
            rate(|| {
                fs::create_dir(&new).unwrap();
                fs::remove_dir(&new).unwrap();
            }),
        ),
    ]
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (mount, plain) = (folder.path().join("resctrl"), folder.path().join("plain"));
    fs::create_dir(&mount).unwrap();
    tree(&plain);
    // Ids of groups that are gone can be given out again a second later; none may be missing.
    let platform = Platform::lab().with_rmids(60_000);
    let settings = Settings::new(platform, Box::new(Idle::default()));
    let emulator = Emulator::start(&mount, settings).unwrap();
    fs::create_dir(mount.join("a")).unwrap();
    let mut client = Client::connect(emulator.socket()).unwrap();
    println!("operation,round,emulator,plain");
    for round in 0..ROUNDS {
        std::thread::sleep(Duration::from_millis(1200));
        let emulated = rates(&mount);
        for ((name, emulated), (_, plain)) in emulated.into_iter().zip(rates(&plain)) {
            println!("{name},{round},{emulated:.0},{plain:.0}");
        }
        let status = rate(|| assert_eq!(client.status().unwrap().programs, 0));
        println!("status,{round},{status:.0},");
    }
}
