//! The cache answers: programs feel the effects of writes to the files.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::time::{Duration, Instant};

use common::{Mounted, can_mount, chip, lockstep, mounted};
use fairways_core::Counters;
use fairways_emulated::Client;
use fairways_emulator::{Pace, Settings};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::{ChipMachine, platform_of, throttle_of};

const MS: Duration = Duration::from_millis(1);

fn counted(names: [&str; 2], client: &mut Client) -> [(u64, u64); 2] {
    names.map(|name| {
        let counters = client.counters(Some(vec![name.to_owned()])).unwrap().remove(0).counters;
        (counters.llc_references.unwrap(), counters.llc_misses.unwrap())
    })
}

/// Misses of a program per 1000 references, while that many milliseconds pass.
fn missed(client: &mut Client, of: &Mounted, names: [&str; 2], millis: u32) -> [u64; 2] {
    let before = counted(names, client);
    client.advance(millis * MS).unwrap();
    let after = counted(names, client);
    assert!(of.now().nanos() > 0);
    [0, 1].map(|n| 1000 * (after[n].1 - before[n].1) / (after[n].0 - before[n].0))
}

fn occupancy(of: &Mounted, group: &str) -> u64 {
    of.number(&format!("{group}mon_data/mon_L3_00/llc_occupancy"))
}

#[test]
fn a_program_misses_more_as_its_mask_shrinks_and_its_neighbour_less() {
    if !can_mount() {
        return;
    }
    let names = ["mlr:500K", "mlr:600K"];
    let of = lockstep(&names);
    let mut client = of.client();
    missed(&mut client, &of, names, 50);
    let before = missed(&mut client, &of, names, 50);
    fs::create_dir(of.path("a")).unwrap();
    of.write("a/tasks", &of.pid(names[0]).to_string()).unwrap();
    of.write("a/schemata", "L3:0=3\n").unwrap();
    of.write("schemata", "L3:0=ffc\n").unwrap();
    missed(&mut client, &of, names, 50);
    let after = missed(&mut client, &of, names, 50);
    assert!(after[0] > before[0] + 300 && after[1] + 100 < before[1], "{before:?} {after:?}");
    // Two ways of 64 KB, and the ten others.
    assert!((90_000..=131_072).contains(&occupancy(&of, "a/")), "{}", occupancy(&of, "a/"));
    assert!((550_000..=655_360).contains(&occupancy(&of, "")), "{}", occupancy(&of, ""));
}

fn moved(of: &Mounted, group: &str) -> u64 {
    of.number(&format!("{group}/mon_data/mon_L3_00/mbm_total_bytes"))
}

#[test]
fn bytes_stay_with_the_group_they_were_moved_in() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["mload:8M"]);
    let mut client = of.client();
    for group in ["a", "b"] {
        fs::create_dir(of.path(group)).unwrap();
    }
    let pid = of.pid("mload:8M").to_string();
    of.write("a/tasks", &pid).unwrap();
    client.advance(5 * MS).unwrap();
    let first = moved(&of, "a");
    assert!(first > 1_000_000 && moved(&of, "b") == 0, "{first}");
    of.write("b/tasks", &pid).unwrap();
    client.advance(5 * MS).unwrap();
    assert_eq!(moved(&of, "a"), first);
    let second = moved(&of, "b");
    assert!(second > first / 2, "{first} {second}");
    // Its lines are counted where they were brought in.
    let held = of.number("b/mon_data/mon_L3_00/llc_occupancy");
    assert!(held > 0 && held <= 12 * 65_536);
    // No hardware event falls, and no counter of a program does.
    client.advance(MS).unwrap();
    assert!(moved(&of, "b") > second && moved(&of, "a") == first);
}

#[test]
fn a_program_on_a_cpu_of_a_group_is_of_its_class() {
    if !can_mount() {
        return;
    }
    // Lines outside of a mask stay until another program fills their ways.
    let of = lockstep(&["mlr:400K", "mlr:700K"]);
    let mut client = of.client();
    let before = missed_alone(&mut client);
    fs::create_dir(of.path("a")).unwrap();
    of.write("a/schemata", "L3:0=1\n").unwrap();
    of.write("a/cpus_list", "0\n").unwrap();
    let programs = client.programs().unwrap();
    assert_eq!((programs[0].closid, programs[1].closid), (Some(1), Some(0)));
    let after = missed_alone(&mut client);
    assert!(after > before + 100, "{before} {after}");
}

fn counters(client: &mut Client) -> Counters {
    client.counters(None).unwrap()[0].counters
}

fn missed_alone(client: &mut Client) -> u64 {
    client.advance(50 * MS).unwrap();
    let before = counters(client);
    client.advance(20 * MS).unwrap();
    let after = counters(client);
    1000 * (after.llc_misses.unwrap() - before.llc_misses.unwrap())
        / (after.llc_references.unwrap() - before.llc_references.unwrap())
}

/// The files and counters after some requests, always the same.
fn story() -> String {
    let of = lockstep(&["mlr:500K", "mload:2M", "lookbusy"]);
    let mut client = of.client();
    let mut story = String::new();
    for step in 0..6 {
        client.advance(7 * MS).unwrap();
        if step == 2 {
            fs::create_dir(of.path("a")).unwrap();
            of.write("a/tasks", &of.pid("mload:2M").to_string()).unwrap();
            of.write("a/schemata", "L3:0=1\n").unwrap();
        }
        for group in ["", "a/"].iter().take(if step < 2 { 1 } else { 2 }) {
            for file in ["mon_data/mon_L3_00/llc_occupancy", "mon_data/mon_L3_00/mbm_total_bytes"] {
                story += &of.read(&format!("{group}{file}"));
            }
        }
        let counters = client.counters(None).unwrap();
        for one in counters {
            story += &serde_json::to_string(&one.counters).unwrap();
        }
    }
    story
}

#[test]
fn the_same_requests_give_the_same_bytes() {
    if !can_mount() {
        return;
    }
    let first = story();
    assert!(first.len() > 1000);
    assert_eq!(first, story());
}

#[test]
fn a_paced_clock_is_never_ahead_and_gives_way_to_its_holder() {
    if !can_mount() {
        return;
    }
    let (platform, hardware) = chip(&["lookbusy"]);
    let started = Instant::now();
    let of = mounted(Settings::new(platform, hardware));
    // Time that this machine was stopped is not made up.
    while of.now().nanos() <= 30_000_000 {
        assert!(started.elapsed() < 60_000 * MS, "{:?}", of.now());
        std::thread::sleep(10 * MS);
    }
    let (now, real) = (of.now().nanos(), started.elapsed().as_nanos());
    assert!(u128::from(now) <= real, "{now} {real}");
    let mut client = of.client();
    let held = client.hold().unwrap().now_ns;
    assert!(of.client().hold().is_err() && of.client().advance(MS).is_err());
    std::thread::sleep(50 * MS);
    assert_eq!(of.now().nanos(), held);
    let then = client.advance(3 * MS).unwrap();
    assert_eq!((then.now_ns, then.factor), (held + 3_000_000, None));
    // Its holder dies.
    drop(client);
    let patience = Instant::now();
    while of.now().nanos() <= then.now_ns {
        assert!(patience.elapsed() < Duration::from_secs(300), "it stands still");
        std::thread::sleep(MS);
    }
    let mut client = of.client();
    while client.status().unwrap().factor.is_none() {
        assert!(patience.elapsed() < Duration::from_secs(300), "no factor");
        std::thread::sleep(MS);
    }
    // Over the last second: by then there is one.
    std::thread::sleep(1000 * MS);
    let factor = client.status().unwrap().factor.unwrap();
    assert!(factor > 0.0 && factor <= 1.05, "{factor}");
}

#[test]
fn killing_a_placeholder_ends_its_program() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["mlr:500K", "mload:2M"]);
    let mut client = of.client();
    client.advance(5 * MS).unwrap();
    let pid = of.pid("mlr:500K");
    fs::create_dir(of.path("a")).unwrap();
    of.write("a/tasks", &pid.to_string()).unwrap();
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(comm, "mlr:500K\n");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let started = Instant::now();
    while client.programs().unwrap()[0].running {
        assert!(started.elapsed() < Duration::from_secs(300), "it runs on");
    }
    assert_eq!(of.read("a/tasks"), "");
    let before = client.counters(None).unwrap();
    client.advance(5 * MS).unwrap();
    let after = client.counters(None).unwrap();
    assert_eq!(before[0].counters, after[0].counters);
    assert!(before[1].counters.cycles < after[1].counters.cycles);
    assert_eq!(client.status().unwrap().running, 1);
}

#[test]
fn a_program_that_ends_takes_its_placeholder_along() {
    if !can_mount() {
        return;
    }
    let (_, hardware) = chip(&["lookbusy"]);
    drop(hardware);
    let geometry = fairways_chip::preset::parse("xeon-d:cores=4:sets=1024").unwrap();
    let program = fairways_chip::program::parse("lookbusy", |_| None).unwrap().remove(0).0;
    let job = fairways_chip::Job {
        instructions: Some(3_000_000),
        ..fairways_chip::Job::new(program.unwrap())
    };
    let settings = fairways_chip::Settings::new(geometry);
    let machine = ChipMachine::new(settings, [("short".to_owned(), job)]).unwrap();
    let platform = platform_of(&geometry, Platform::broadwell());
    let pace = fairways_emulator::Pace::Lockstep;
    let of = mounted(Settings { pace, ..Settings::new(platform, Box::new(machine)) });
    let mut client = of.client();
    let pid = of.pid("short");
    assert!(fs::exists(format!("/proc/{pid}")).unwrap());
    let request = fairways_emulated::Request::Advance {
        by_ns: Some(1_000_000_000),
        to_ns: None,
        about_ns: None,
        until_exit: true,
        until: Vec::new(),
    };
    client.request(&request).unwrap();
    let now = client.status().unwrap();
    assert!(now.running == 0 && now.now_ns < 10_000_000, "{now:?}");
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    let why = client.request(&fairways_emulated::Request::Advance {
        by_ns: None,
        to_ns: None,
        about_ns: None,
        until_exit: true,
        until: Vec::new(),
    });
    assert!(why.unwrap_err().to_string().contains("no program runs"));
}

/// A second of the files' clock is a millisecond of the chip's.
const SCALE: u32 = 1000;

/// One stream in the group `a`, on a machine with this platform's limits of bandwidth.
fn stream_on(platform: Platform, options: &str) -> (Mounted, Client) {
    let mut chip = fairways_chip::preset::parse("skylake:cores=2:sets=1024:l2=none").unwrap();
    let platform = platform_of(&chip, platform);
    chip.throttle = throttle_of(&platform);
    let settings =
        fairways_chip::Settings { time_scale: SCALE, ..fairways_chip::Settings::new(chip) };
    let program = fairways_chip::program::parse("mload:8M", |_| None).unwrap().remove(0).0;
    let job = fairways_chip::Job::new(program.unwrap());
    let machine = ChipMachine::new(settings, [("stream".to_owned(), job)]).unwrap();
    let options = options.to_owned();
    let settings = Settings::new(platform, Box::new(machine));
    let of = mounted(Settings { pace: Pace::Lockstep, options, ..settings });
    let client = of.client();
    fs::create_dir(of.path("a")).unwrap();
    of.write("a/tasks", &of.pid("stream").to_string()).unwrap();
    (of, client)
}

/// GB/s in the next second.
fn gbps(of: &Mounted, client: &mut Client) -> f64 {
    let before = moved(of, "a");
    client.advance(Duration::from_secs(1)).unwrap();
    (moved(of, "a") - before) as f64 / 1e9
}

#[test]
fn a_limit_of_bandwidth_holds_as_on_its_platform() {
    if !can_mount() {
        return;
    }
    // A core's cap at 10 % of Intel's, 1 GB/s of AMD's; there is no slow memory.
    for (platform, line, expected) in [
        (Platform::skylake(), "MB:0=10", 2.0),
        (Platform::zen(), "MB:0=8", 1.0),
        (Platform::zen(), "SMBA:0=8", f64::INFINITY),
    ] {
        let (of, mut client) = stream_on(platform, "");
        let free = gbps(&of, &mut client);
        of.write("a/schemata", &format!("{line}\n")).unwrap();
        gbps(&of, &mut client);
        let limited = gbps(&of, &mut client);
        let expected = f64::min(expected, free);
        assert!((limited / expected - 1.0).abs() < 0.05, "{line}: {free} {limited}");
        assert!(free > 3.0, "{free}");
        let whole = line.replace("=8", "=2048").replace("=10", "=100");
        of.write("a/schemata", &format!("{whole}\n")).unwrap();
        gbps(&of, &mut client);
        let again = gbps(&of, &mut client);
        assert!((again / free - 1.0).abs() < 0.05, "{whole}: {free} {again}");
    }
}

/// The kernel's own loop goes down a step each second, and stays where one more would be too much.
#[test]
fn the_kernel_s_loop_keeps_a_stream_below_its_limit() {
    if !can_mount() {
        return;
    }
    let (of, mut client) = stream_on(Platform::skylake(), "mba_MBps");
    of.write("a/schemata", "MB:0=100\n").unwrap();
    let rates: Vec<f64> = (0..12).map(|_| gbps(&of, &mut client)).collect();
    // Nine steps from 100 % to 10 %, the last one after the ninth second.
    assert!(rates[0] > 3.2 && rates[8] > 3.0, "{rates:?}");
    assert!(rates[10..].iter().all(|rate| (rate / 2.0 - 1.0).abs() < 0.05), "{rates:?}");
    of.write("a/schemata", "MB:0=4000\n").unwrap();
    let rates: Vec<f64> = (0..12).map(|_| gbps(&of, &mut client)).collect();
    // At 20 %; at 30 %, it expects half as much again.
    assert!(rates[10..].iter().all(|rate| (rate / 3.1 - 1.0).abs() < 0.05), "{rates:?}");
}
