//! Health is answered while the metrics port is held by others.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

/// Connections that are held, and probes that come meanwhile.
const HELD: usize = 1000;
const PROBES: usize = 100;

/// What the daemon may hold of them, in descriptors: those that wait, and its own.
const DESCRIPTORS: usize = 200;

fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The first line of the answer; nothing where the connection was closed.
fn asked(at: SocketAddr, path: &str) -> String {
    let mut stream = connect(at);
    let mut text = String::new();
    let sent = stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
    let _ = sent.and_then(|()| stream.read_to_string(&mut text));
    text.lines().next().unwrap_or_default().to_owned()
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
    eventually("it tells where it listens", || daemon.said().contains("metrics listen="));
    let said = daemon.said();
    let at = said.split("metrics listen=").nth(1).unwrap().split_whitespace().next().unwrap();
    let at: SocketAddr = at.parse().unwrap();
    eventually("it is ready", || asked(at, "/readyz").contains("200"));
    let pid = daemon.status()["pid"].as_u64().unwrap();

    // Half of them say nothing, and half begin a request that has no end.
    let begun: [&[u8]; 2] = [b"", b"GET /metrics HTTP/1.1\r\nX: "];
    let hold = |number: usize| {
        let mut stream = connect(at);
        // It may have given way already.
        let _ = stream.write_all(begun[number % 2]);
        stream
    };
    let mut held: Vec<TcpStream> = (0..HELD).map(hold).collect();
    for probe in 0..PROBES {
        let path = ["/healthz", "/readyz"][probe % 2];
        assert_eq!(asked(at, path), "HTTP/1.1 200 OK", "probe {probe}");
        // Those that were closed come again at once.
        held[probe] = hold(probe);
    }
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    assert!(descriptors < DESCRIPTORS, "{descriptors}");
    drop(held);
    eventually("pages are answered again", || asked(at, "/metrics").contains("200"));
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
