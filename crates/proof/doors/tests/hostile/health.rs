//! Health is answered while attackers occupy the metrics port.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

/// Connections that are kept open, and probes that come meanwhile.
const HELD: usize = 1000;
const PROBES: usize = 100;

/// The most descriptors that the daemon may have: its own, and those of waiting connections.
const DESCRIPTORS: usize = 200;

/// The most memory, in kB, that they may take: a request's head of 8 KiB each, and as much for each
/// thread that makes a page; measured: 0.5 MB.
const MEMORY: u64 = 8 << 10;

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The answer to a request with this field; empty where the connection was closed.
fn asked_with(at: SocketAddr, path: &str, field: &str) -> String {
    let mut stream = connect(at);
    let mut text = String::new();
    let sent = stream.write_all(format!("GET {path} HTTP/1.1\r\n{field}\r\n").as_bytes());
    let _ = sent.and_then(|()| stream.read_to_string(&mut text));
    text
}

/// The first line of the answer; empty where the connection was closed.
fn asked(at: SocketAddr, path: &str) -> String {
    asked_with(at, path, "").lines().next().unwrap_or_default().to_owned()
}

/// A connection that stays after the answer to a wrong request.
fn answered_as_wrong(at: SocketAddr, number: usize) -> TcpStream {
    let mut stream = connect(at);
    let asked = ["GET /nope HTTP/1.1\r\n\r\n", "PUT / HTTP/1.1\r\n\r\n", "?\r\n\r\n"];
    stream.write_all(asked[number % 3].as_bytes()).unwrap();
    let mut said = [0; 9];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 ");
    stream
}

/// The address on which a daemon says that it listens.
fn place(daemon: &Daemon<'_>) -> SocketAddr {
    let said = daemon.said();
    let at = said.split("metrics listen=").nth(1).unwrap().split_whitespace().next().unwrap();
    at.parse().unwrap()
}

/// The peak memory of a process, in kilobytes.
fn most_memory(pid: u64) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn probes_are_answered_beside_a_thousand_connections_that_are_held() {
    if !can(&[]) {
        return;
    }
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let machine = Machine::start("mlr:500K");
    let reads = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    let keys = "policy = \"equal\"\nmetrics.listen = \"127.0.0.1:0\"";
    configure(&machine, keys, &[("reads", &reads)]);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it logs where it listens", || daemon.said().contains("metrics listen="));
    let at = place(&daemon);
    eventually("it is ready", || asked(at, "/readyz").contains("200"));
    let pid = daemon.status()["pid"].as_u64().unwrap();
    assert!(asked(at, "/metrics").contains(" 200 "));
    let memory = most_memory(pid);

    // Half of them send nothing, and half begin a request that has no end.
    let begun: [&[u8]; 2] = [b"", b"GET /metrics HTTP/1.1\r\nX: "];
    let hold = |number: usize| {
        let mut stream = connect(at);
        // The daemon may have closed it already.
        let _ = stream.write_all(begun[number % 2]);
        stream
    };
    let mut held: Vec<TcpStream> = (0..HELD).map(hold).collect();
    for probe in 0..PROBES {
        let path = ["/healthz", "/readyz"][probe % 2];
        assert_eq!(asked(at, path), "HTTP/1.1 200 OK", "probe {probe}");
        // Closed connections are opened again at once.
        held[probe] = hold(probe);
    }
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    assert!(descriptors < DESCRIPTORS, "{descriptors}");
    let grown = most_memory(pid) - memory;
    println!("{descriptors} descriptors, {grown} kB more");
    assert!(grown < MEMORY, "{grown} kB");
    drop(held);
    // Wrong requests take no place from pages, however long their clients stay.
    let held: Vec<TcpStream> = (0..64).map(|number| answered_as_wrong(at, number)).collect();
    assert!(asked(at, "/metrics").contains(" 200 "));
    drop(held);
    eventually("pages are answered again", || asked(at, "/metrics").contains("200"));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// A file that only its owner may read.
fn private(machine: &Machine, text: &str, mode: u32) {
    fs::write(machine.at("token"), text).unwrap();
    fs::set_permissions(machine.at("token"), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn metrics_are_served_only_to_clients_that_show_the_token() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let select = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    configure(&machine, "policy = \"equal\"", &[("cache", &select)]);
    let mut config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let token = machine.at("token");
    let keys = format!("[metrics]\nlisten = \"127.0.0.1:0\"\ntoken_file = {token:?}\n");
    config.push_str(&keys);
    fs::write(machine.at("fairways.toml"), config).unwrap();
    private(&machine, "s3cret\n", 0o644);
    let refused = command(&machine).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.lines().count() == 1 && said.contains("metrics.token_file: "), "{said}");

    private(&machine, "s3cret\n", 0o600);
    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it logs where it listens", || daemon.said().contains("metrics listen="));
    let at = place(&daemon);
    eventually("it is ready", || asked_with(at, "/readyz", "").contains(" 200 "));
    assert_eq!(asked(at, "/healthz"), "HTTP/1.1 200 OK");
    for (field, expected) in [
        ("", 401),
        ("Authorization: Bearer s3cre\r\n", 401),
        ("Authorization: Basic s3cret\r\n", 401),
        ("Authorization: Bearer s3cret\r\n", 200),
    ] {
        let text = asked_with(at, "/metrics", field);
        assert!(text.starts_with(&format!("HTTP/1.1 {expected} ")), "{field:?}: {text}");
        let challenge = text.contains("WWW-Authenticate: Bearer\r\n");
        let has_metrics = text.contains("fairways_build_info");
        assert_eq!(challenge, expected == 401, "{field:?}: {text}");
        assert_eq!(has_metrics, expected == 200, "{field:?}: {text}");
    }
    assert!(!daemon.said().contains("s3cret"));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
