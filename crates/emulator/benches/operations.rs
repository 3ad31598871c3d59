//! Operations a second through the emulator, from one thread: with the kernel lab's machine and nothing behind it (`idle`), and with
//! a chip that executes two programs, at real time's pace as far as it comes along (`chip`).
//!
//! Beside each, the same on a plain file of the file system that holds the temporary folder: what the calls cost without FUSE.
//! Where there is no resctrl to write to, plain files take the same bytes. Each is an open, one read or write, and a close, as
//! clients do it; `mkdir` is a mkdir and a rmdir; `status` is a request on the control socket, which has no plain counterpart.
//!
//! Prints CSV: the operation, the round, and operations a second by each. Needs /dev/fuse and root.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_chip::program::parse;
use fairways_chip::{Job, Phase, preset};
use fairways_emulator::hardware::platform_of;
use fairways_emulator::{ChipMachine, Client, Emulator, Idle, Settings, Starter};
use fairways_resctrl::platform::Platform;

const ROUNDS: usize = 5;

/// Each round takes about as long.
const SECONDS: f64 = 0.5;

/// How often a second something is done.
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

/// Ids of groups that are gone can be given out again a second later; nobody is to run out of them.
const RMIDS: u32 = 60_000;

fn idle() -> Settings {
    Settings::new(Platform::lab().with_rmids(RMIDS), Box::new(Idle::default()))
}

fn chip() -> Settings {
    let geometry = preset::parse("xeon-e5").unwrap();
    let jobs = ["mlr:8M", "mload:60M"].map(|text| {
        let phases = parse(text, |_| None).unwrap().into_iter();
        let phases =
            phases.map(|(program, length)| Phase { program: program.map(Into::into), length });
        (text.to_owned(), Job { phases: phases.collect(), ..Job::default() })
    });
    let machine = ChipMachine::new(fairways_chip::Settings::new(geometry), jobs).unwrap();
    let platform = platform_of(&geometry, Platform::skylake()).with_rmids(RMIDS);
    let arguments = vec!["-c".into(), "echo; read nothing".into()];
    let placeholders = Some(Starter { program: "/bin/sh".into(), arguments });
    Settings { placeholders, ..Settings::new(platform, Box::new(machine)) }
}

/// The rounds of one emulator.
fn measure(mount: &Path, settings: Settings) -> Vec<Vec<(&'static str, f64)>> {
    fs::create_dir(mount).unwrap();
    let emulator = Emulator::start(mount, settings).unwrap();
    fs::create_dir(mount.join("a")).unwrap();
    let mut client = Client::connect(emulator.socket()).unwrap();
    let round = |_| {
        std::thread::sleep(Duration::from_millis(1200));
        let mut rates = rates(mount);
        rates.push(("status", rate(|| assert!(client.status().unwrap().pid > 0))));
        rates
    };
    (0..ROUNDS).map(round).collect()
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    tree(&plain);
    let idle = measure(&folder.path().join("idle"), idle());
    let chip = measure(&folder.path().join("chip"), chip());
    println!("operation,round,idle,chip,plain");
    for (round, (idle, chip)) in idle.iter().zip(&chip).enumerate() {
        let plain = rates(&plain).into_iter().map(|(_, rate)| format!("{rate:.0}"));
        let plain = plain.chain([String::new()]);
        for (((name, idle), (_, chip)), plain) in idle.iter().zip(chip).zip(plain) {
            println!("{name},{round},{idle:.0},{chip:.0},{plain}");
        }
    }
}
