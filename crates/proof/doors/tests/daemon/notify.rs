//! The messages to systemd: sd_notify(3).

use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has};
use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

/// The socket on which systemd listens.
struct Systemd {
    socket: UnixDatagram,
    came: VecDeque<(Instant, String)>,
}

impl Systemd {
    /// The next message with this line, and the time when it arrived.
    fn wait_for(&mut self, line: &str) -> (Instant, String) {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < Duration::from_secs(300), "{line} never came");
            self.hear(Duration::from_millis(50));
            while let Some((at, text)) = self.came.pop_front() {
                if text.lines().any(|of| of.starts_with(line)) {
                    return (at, text);
                }
                // Only the watchdog's messages come in between.
                assert_eq!(text, "WATCHDOG=1\n", "while {line} was waited for");
            }
        }
    }

    /// Receives messages for this duration.
    fn hear(&mut self, time: Duration) {
        let until = Instant::now() + time;
        let mut buffer = [0; 4096];
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1)))).unwrap();
            match self.socket.recv(&mut buffer) {
                Ok(length) => {
                    let text = String::from_utf8(buffer[..length].to_vec()).unwrap();
                    self.came.push_back((Instant::now(), text));
                }
                Err(why)
                    if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(why) => panic!("{why}"),
            }
        }
    }
}

fn of(machine: &Machine, watchdog: Option<Duration>) -> (Systemd, Command) {
    let path = machine.at("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut command = command(machine);
    command.env("NOTIFY_SOCKET", path).env_remove("WATCHDOG_PID").env_remove("WATCHDOG_USEC");
    if let Some(interval) = watchdog {
        command.env("WATCHDOG_USEC", interval.as_micros().to_string());
    }
    (Systemd { socket, came: VecDeque::new() }, command)
}

#[test]
fn systemd_is_notified_of_each_step() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("reads", &select)]);
    let (mut systemd, command) = of(&machine, None);
    let daemon = Daemon::start(&machine, command);
    let (_, ready) = systemd.wait_for("READY=1");
    assert!(ready.contains("STATUS=equal looks after this host"), "{ready}");
    daemon.signal(Signal::HUP);
    let (_, reloading) = systemd.wait_for("RELOADING=1");
    assert!(reloading.lines().any(|line| line.starts_with("MONOTONIC_USEC=")), "{reloading}");
    systemd.wait_for("READY=1");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    systemd.wait_for("STOPPING=1");
    systemd.hear(Duration::from_millis(100));
    assert!(systemd.came.is_empty(), "{:?}", systemd.came);
}

/// A read that takes longer than the watchdog waits is the kernel's fault, whether the daemon looks
/// or carries out a plan.
#[test]
fn slow_reads_of_resctrl_do_not_trip_the_watchdog() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K,lookbusy");
    let [reads, works] =
        ["mlr:500K", "lookbusy"].map(|name| format!("select = \"pid:{}\"", machine.pids[name]));
    let equal = "policy = \"equal\"";
    configure(&machine, equal, &[("reads", &reads)]);
    let watchdog = Duration::from_secs(8);
    let (mut systemd, command) = of(&machine, Some(watchdog));
    let daemon = Daemon::start(&machine, command);
    systemd.wait_for("READY=1");
    eventually("it has its ways", || daemon.status()["programs"][0]["mask"].is_string());
    let emulated = |asked: &[&str]| {
        let mut command = Command::new(fairways_doors::fairways_lab());
        command.arg("emulated").arg(&machine.root).arg("--json").args(asked);
        serde_json::from_str::<Value>(&printed(&mut command)).unwrap()
    };
    emulated(&["fault", "read:*fairways.1/schemata=slow:10s"]);
    // Another program makes another plan.
    configure(&machine, equal, &[("reads", &reads), ("works", &works)]);
    daemon.signal(Signal::HUP);
    systemd.came.clear();
    let began = Instant::now();
    while daemon.said().matches("program moved").count() < 2 {
        assert!(began.elapsed() < Duration::from_secs(240), "{}", daemon.said());
        systemd.hear(Duration::from_millis(100));
    }
    let took = began.elapsed();
    let met = emulated(&["faults"])["faults"][0]["met"].as_u64().unwrap();
    assert!(met > 0 && took > watchdog, "{met} reads were slow, and it took {took:?}");
    let count = |line: &str| systemd.came.iter().filter(|(_, text)| text.contains(line)).count();
    assert_eq!((count("RELOADING=1"), count("READY=1")), (1, 1));
    let mut before = began;
    for (at, text) in systemd.came.drain(..).filter(|(_, text)| text == "WATCHDOG=1\n") {
        assert!(at - before < watchdog, "{text}: only after {:?}", at - before);
        before = at;
    }
    assert!(began + took - before < watchdog, "nothing more after {:?}", before - began);
    emulated(&["clear"]);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    systemd.wait_for("STOPPING=1");
}

/// systemd understands every word of the unit, and finds that it exposes little (systemd.exec(5)).
#[test]
fn the_unit_is_understood_and_gives_little_away() {
    if !has("the unit", &[Need::Program("systemd-analyze")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/systemd");
    let unit = fs::read_to_string(packaging.join("fairways.service")).unwrap();
    let here = unit.replace("/usr/bin/fairways", this().to_str().unwrap());
    assert_eq!(unit.matches("/usr/bin/fairways").count(), 2);
    fs::write(folder.path().join("fairways.service"), here).unwrap();
    let mount = "sys-fs-resctrl.mount";
    fs::copy(packaging.join(mount), folder.path().join(mount)).unwrap();
    let analyze = |args: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        let output = command.args(args).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    };
    let verified = analyze(&["verify", "--man=no", "./fairways.service", "./sys-fs-resctrl.mount"]);
    assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
    // Of 100; the exposure was 20 with systemd 252.
    analyze(&["security", "--no-pager", "--offline=true", "--threshold=20", "./fairways.service"]);
    // It understands the drop-ins, too.
    let drop_ins = folder.path().join("fairways.service.d");
    fs::create_dir(&drop_ins).unwrap();
    for name in ["scheduling.conf", "sched-ext.conf", "exec.conf", "counting.conf"] {
        fs::copy(packaging.join(name), drop_ins.join(name)).unwrap();
    }
    let verified = analyze(&["verify", "--man=no", "./fairways.service", "./sys-fs-resctrl.mount"]);
    assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
}
