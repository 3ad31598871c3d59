//! The daemon's end while every operation of resctrl is slow.

use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed};
use super::running::{Daemon, command, configure};

/// `TimeoutStopSec` of the unit.
const STOP: Duration = Duration::from_secs(30);

/// When systemd would kill the daemon, by the messages received until now.
fn deadline(socket: &UnixDatagram, asked: Instant) -> (Instant, u32) {
    let (mut deadline, mut extended) = (asked + STOP, 0);
    let mut buffer = [0; 4096];
    socket.set_nonblocking(true).unwrap();
    while let Ok(length) = socket.recv(&mut buffer) {
        let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
        let more = text.lines().find_map(|line| line.strip_prefix("EXTEND_TIMEOUT_USEC="));
        if let Some(more) = more {
            extended += 1;
            deadline = Instant::now() + Duration::from_micros(more.parse().unwrap());
        }
    }
    (deadline, extended)
}

/// The end takes as long as the operations, each of which is slow here; the daemon asks systemd for
/// more time soon enough.
#[test]
fn systemd_waits_until_all_is_put_back() {
    if !can(&[]) {
        return;
    }
    let names = ["mlr:500K", "mload:60M", "lookbusy"];
    let machine = Machine::start(&names.join(","));
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let selects = names.map(|name| format!("select = \"pid:{}\"", machine.pids[name]));
    let programs: Vec<(&str, &str)> =
        ["a", "b", "c"].into_iter().zip(selects.iter().map(String::as_str)).collect();
    configure(&machine, "policy = \"equal\"", &programs);
    let path = machine.at("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = command(&machine);
    command.env("NOTIFY_SOCKET", path).env_remove("WATCHDOG_PID").env_remove("WATCHDOG_USEC");
    let daemon = Daemon::start(&machine, command);
    eventually("each has its class", || {
        let status = daemon.status();
        status["domains"][0]["clusters"].as_array().is_some_and(|of| of.len() == 3)
    });
    let emulated = |asked: &[&str]| {
        let mut command = Command::new(fairways_doors::fairways_lab());
        command.arg("emulated").arg(&machine.root).arg("--json").args(asked);
        serde_json::from_str::<Value>(&printed(&mut command)).unwrap()
    };
    let slow = Duration::from_millis(500);
    emulated(&["fault", "any:*=slow:500ms"]);
    let asked = Instant::now();
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    let took = asked.elapsed();
    let faults = emulated(&["faults"]);
    emulated(&["clear"]);
    let met = faults["faults"][0]["met"].as_u64().unwrap();
    println!("{met} operations of {slow:?}: {took:?}");
    let (deadline, extended) = deadline(&socket, asked);
    assert!(Instant::now() < deadline);
    // It asks every five seconds.
    let at_least = u32::try_from(took.as_secs() / 10).unwrap();
    assert!(took > Duration::from_secs(7), "{met} operations took {took:?}: too few to judge");
    assert!(extended >= at_least.max(1), "{extended} in {took:?}, {met} operations");
    assert_eq!(machine.snapshot(&tasks), before);
}
