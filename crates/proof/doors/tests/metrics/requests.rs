//! Requests, and which of them are turned away.

use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{can, eventually};
use super::managed::{configure, daemon, machine};
use super::page::{Page, answered, connect, get, send};
use super::running::command;

/// The code of the answer to a health check, if it answers.
fn healthz(at: SocketAddr) -> Option<u16> {
    send(connect(at), b"GET /healthz HTTP/1.1\r\n\r\n").ok().map(|of| of.code)
}

#[test]
fn slow_huge_and_malformed_requests_are_turned_away_and_the_daemon_goes_on() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let (daemon, at) = daemon(&machine, &[]);
    eventually("it is ready", || get(at, "/readyz", "").code == 200);
    let pages = get(at, "/", "");
    assert!(pages.code == 200 && pages.body.contains("/metrics"), "{pages:?}");
    for (request, code) in [
        ("GET /other HTTP/1.1\r\n\r\n", 404),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405),
        ("\u{0}\u{1}\u{2}\r\n\r\n", 400),
        ("GET /metrics HTTP/9.9\r\n\r\n", 400),
    ] {
        assert_eq!(send(connect(at), request.as_bytes()).unwrap().code, code, "{request:?}");
    }
    let head = send(connect(at), b"HEAD /metrics HTTP/1.1\r\n\r\n").unwrap();
    assert!(head.code == 200 && head.length() > Some(1000) && head.body.is_empty(), "{head:?}");
    // A head without an end: the client gets an answer if it still reads.
    let huge = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20));
    match send(connect(at), huge.as_bytes()) {
        Ok(answer) => assert_eq!(answer.code, 431),
        Err(why) => assert!(
            [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe].contains(&why.kind()),
            "{why}"
        ),
    }

    // Some connections send nothing, and some little at a time; the daemon's loop goes on, and
    // health is answered.
    let now = || daemon.status()["now_ns"].as_u64().unwrap();
    let crowded = || {
        let began = Instant::now();
        let silent = || {
            let (since, stream) = (Instant::now(), connect(at));
            std::thread::spawn(move || (answered(stream).unwrap().code, since.elapsed()))
        };
        let slow: Vec<_> = (0..15).map(|_| silent()).collect();
        let (since, last) = (Instant::now(), connect(at));
        let before = now();
        eventually("the loop goes on", || now() > before);
        assert_eq!(healthz(at), Some(200));
        if began.elapsed() < Duration::from_secs(5) {
            return Some((slow, since, last));
        }
        // The first connection was closed before the last one came: this machine is busy.
        None
    };
    let (slow, since, mut last) =
        (0..5).find_map(|_| crowded()).expect("five seconds that are enough");
    for byte in b"GET /metrics HT" {
        if last.write_all(&[*byte]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    let dripping = (answered(last).unwrap().code, since.elapsed());
    let all = slow.into_iter().map(|of| of.join().unwrap()).chain([dripping]);
    for (code, took) in all {
        // Five seconds each, and nine more on a busy machine.
        let is_soon = took > Duration::from_millis(4900) && took < Duration::from_secs(14);
        assert!(code == 408 && is_soon, "{code} after {took:?}");
    }
    assert_eq!(get(at, "/metrics", "").code, 200);
    assert_eq!(get(at, "/healthz", "").body, "ok\n");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert!(std::net::TcpStream::connect(at).is_err(), "no server answers any more");
}

#[test]
fn a_bad_port_is_reported_in_one_line_before_anything_is_changed() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let tasks: Vec<i32> = machine.pids.values().copied().collect();
    let before = machine.snapshot(&tasks);
    let taken = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let taken_at = taken.local_addr().unwrap().to_string();
    for (flag, code, expected) in [
        (taken_at.as_str(), 4, format!("fairways: metrics: {taken_at}: Address already in use")),
        ("localhost:1", 2, "fairways: --metrics: expected an address and a port".to_owned()),
        ("192.0.2.1:1", 1, "fairways: metrics: 192.0.2.1:1: Cannot assign".to_owned()),
    ] {
        let mut command = command(&machine);
        let output = command.args(["--metrics", flag]).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with(&expected) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(machine.snapshot(&tasks), before);
    assert!(!machine.at("control").exists(), "its control socket is gone again");
}

/// A program that is no longer managed takes its series along, and one that returns under its name
/// begins at 0.
#[test]
fn series_come_and_go_with_their_programs() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let (daemon, at) = daemon(&machine, &[]);
    let page = || Page::parse(&get(at, "/metrics", "").body);
    let windows = |name: &str| page().of("fairways_windows_total", name);
    eventually("windows end", || windows("reads") >= Some(3.0));
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let reads = config.find("[[program]]\nname = \"reads\"").unwrap();
    fs::write(machine.at("fairways.toml"), &config[..reads]).unwrap();
    daemon.signal(Signal::HUP);
    eventually("it is gone", || windows("reads").is_none());
    assert!(!get(at, "/metrics", "").body.contains("=\"reads\""), "in no metric");
    assert!(windows("web \\\"1\\\"").is_some());
    // Another process under the same name, whose windows cannot end: it does not run on the
    // machine.
    let other = super::common::Sleeper::start();
    let again = format!("[[program]]\nname = \"reads\"\nselect = \"pid:{}\"\n", other.id());
    fs::write(machine.at("fairways.toml"), config[..reads].to_owned() + &again).unwrap();
    daemon.signal(Signal::HUP);
    eventually("it is there again", || windows("reads").is_some());
    assert_eq!(windows("reads"), Some(0.0));
    assert_eq!(page().of("fairways_instructions_total", "reads"), None);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// Under `equal` nothing happens while the same programs run; changes by others are noticed all the
/// same.
#[test]
fn metrics_are_current_even_if_nothing_happens() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "none", "");
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let of = ["policy = \"lfoc\"", "policy = \"equal\""];
    fs::write(machine.at("fairways.toml"), config.replace(of[0], of[1])).unwrap();
    let (daemon, at) = daemon(&machine, &[]);
    let page = || Page::parse(&get(at, "/metrics", "").body);
    eventually("all have their ways", || page().all("fairways_program_ways").count() == 3);
    let others = || page().get("fairways_rmids{state=\"others\"}").unwrap();
    let (clock, before) = (page().get("fairways_clock_seconds"), others());
    fs::create_dir(machine.root.join("mon_groups/theirs")).unwrap();
    eventually("it is seen", || others() > before);
    assert_eq!((page().get("fairways_clock_seconds"), others()), (clock, before + 1.0));
    assert_eq!(get(at, "/healthz", "").body, "ok\n");
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

#[test]
fn a_socket_answers_too_and_another_address_waits_for_a_new_start() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let path = machine.at("metrics.sock");
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let there = format!("listen = \"unix:{}\"", path.display());
    fs::write(machine.at("fairways.toml"), config.replace("listen = \"127.0.0.1:0\"", &there))
        .unwrap();
    let daemon = super::running::Daemon::start(&machine, command(&machine));
    let ask = || send(UnixStream::connect(&path)?, b"GET /readyz HTTP/1.1\r\n\r\n");
    eventually("it is ready", || ask().is_ok_and(|answer| answer.code == 200));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);

    fs::write(machine.at("fairways.toml"), config).unwrap();
    daemon.signal(Signal::HUP);
    eventually("it is logged", || daemon.said().contains("restart required"));
    assert_eq!(ask().unwrap().code, 200);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    assert!(!path.exists());
}

/// Against what systemd.exec(5) and systemd.resource-control(5) would forbid.
#[test]
fn the_unit_lets_it_listen() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../packaging/systemd/fairways.service");
    let unit = fs::read_to_string(unit).unwrap();
    let value = |key: &str| {
        let mut lines = unit.lines();
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
    };
    let families = value("RestrictAddressFamilies").unwrap();
    for family in ["AF_INET", "AF_INET6", "AF_UNIX"] {
        assert!(families.split(' ').any(|of| of == family), "{family}");
    }
    for key in ["IPAddressDeny", "PrivateNetwork", "SocketBindDeny"] {
        assert_eq!(value(key), None, "{key}");
    }
}
