//! A real server, and its latencies.

use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

/// The number of requests of each kind that are sent.
const SENT: u64 = 5000;

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_journal_has_as_many_requests_as_were_sent_to_redis() {
    if !can(&["redis-server", "redis-benchmark"]) {
        return;
    }
    // On a busy machine even Redis may answer after the daemon's time limit: such windows have no
    // latencies.
    let windows = (0..5).find_map(|_| latencies()).expect("Redis answered in time");
    assert!(windows.len() >= 6, "{} windows", windows.len());
    let is_answered = windows.iter().all(|window| window["answered"].is_array());
    assert!(is_answered, "it never fell silent: {windows:?}");
    let answered = windows.iter().flat_map(|of| of["answered"].as_array().unwrap());
    let requests: u64 = answered.map(|of| of["requests"].as_u64().unwrap()).sum();
    assert_eq!(requests, 2 * 2 * SENT);
    // The requests came in two bursts, with nothing before, between and after.
    assert_eq!(windows[0]["answered"], Value::Array(Vec::new()));
    assert_eq!(windows.last().unwrap()["answered"], Value::Array(Vec::new()));
}

/// A server's latencies in the journal; `None` where the daemon logged that an answer was late.
fn latencies() -> Option<Vec<Value>> {
    let machine = Machine::start("lookbusy");
    let socket = machine.at("redis.sock");
    let server = Command::new("redis-server")
        .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
        .arg(&socket)
        .current_dir(machine.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let server = Ends(server.unwrap());
    eventually("redis listens", || UnixStream::connect(&socket).is_ok());
    let service = format!(
        "select = \"pid:{}\"\nobjective = \"p99:2ms\"\nlatency = \"redis:{}#get,set\"",
        server.0.id(),
        socket.display()
    );
    let batch = format!("select = \"pid:{}\"\nbest_effort = true", machine.pids["lookbusy"]);
    let keys = "policy = \"locpart\"\nobserve = true";
    configure(&machine, keys, &[("redis", &service), ("batch", &batch)]);
    let mut command = command(&machine);
    let daemon = Daemon::start(&machine, {
        command.arg("--journal").arg(machine.at("journal"));
        command
    });
    eventually("redis is watched", || daemon.programs() == ["batch", "redis"]);
    let now = |daemon: &Daemon<'_>| daemon.status()["now_ns"].as_u64().unwrap();
    let pass = |daemon: &Daemon<'_>| {
        // A few periods of Locpart, each of 500 ms.
        let until = now(daemon) + 1_500_000_000;
        eventually("windows go by", || now(daemon) > until);
    };
    pass(&daemon);
    for _ in 0..2 {
        let mut benchmark = Command::new("redis-benchmark");
        benchmark.arg("-s").arg(&socket).args(["-t", "get,set", "-q", "-n", &SENT.to_string()]);
        let done = benchmark.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(done.success());
        pass(&daemon);
    }
    let said = daemon.said();
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    if said.contains("no answer within") {
        eprintln!("once more: {said}");
        return None;
    }
    let journal = fs::read_to_string(machine.at("journal")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(lines.filter_map(|line| line["event"].get("latency").cloned()).collect())
}
