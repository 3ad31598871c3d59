//! What a tick costs.

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_rules::platform::Platform;
use fairways_testing::needs::{Need, has};
use std::process::{Command, Stdio};

use crate::common::{Host, can_mount};

const FOLDER: &str = "FAIRWAYS_COST_FOLDER";
const TICKS: &str = "FAIRWAYS_COST_TICKS";
const PROGRAMS: u32 = 4;

/// What is counted: ticks of four programs, in a process of its own, which gets the folder in its
/// environment. It tests nothing by itself.
#[test]
#[ignore = "the test that counts its system calls runs it"]
fn ticks() {
    let (Ok(folder), Ok(ticks)) = (std::env::var(FOLDER), std::env::var(TICKS)) else { return };
    let at = |name: &str| std::path::Path::new(&folder).join(name);
    let mut client = fairways_resctrl_client::Actuator::open(fairways_resctrl_client::Settings {
        root: at("resctrl"),
        state: at("state"),
        boot_id: at("boot_id"),
        sysfs: at("sys"),
        ..Default::default()
    })
    .unwrap();
    for app in 0..PROGRAMS {
        client.add(AppId(app), "x", &[]).unwrap();
    }
    for _ in 0..ticks.parse::<u32>().unwrap() {
        for app in (0..PROGRAMS).map(AppId) {
            assert_eq!(client.occupancy(app, 0), Reading::Value(0));
            assert_eq!(client.memory_bytes(app, 0), Reading::Value(0));
        }
    }
    assert_eq!(client.close().left, []);
}

/// A program's readings are two system calls, whichever they are.
#[test]
fn a_program_and_tick_is_two_system_calls() {
    if !can_mount() || !has("system calls of a tick", &[Need::Program("strace")]) {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let calls = |ticks: u32| -> usize {
        let log = host.at("calls");
        let done = Command::new("strace")
            .args(["-f", "-qq", "-o", log.to_str().unwrap()])
            .args(["-e", "trace=%file,%desc"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "cost::ticks", "--ignored", "--test-threads", "1"])
            .env(FOLDER, host.at(""))
            .env(TICKS, ticks.to_string())
            .stdout(Stdio::null())
            .status();
        assert!(done.unwrap().success());
        std::fs::read_to_string(log).unwrap().lines().count()
    };
    let (few, many) = (calls(1), calls(101));
    let each = 100 * PROGRAMS as usize * 2;
    // The runtime does a few of its own, not always the same.
    assert!((many - few).abs_diff(each) < 10, "{} calls instead of {each}", many - few);
}
