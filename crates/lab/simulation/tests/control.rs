//! The control socket, also used by clients that die, hurry, or babble.

#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use common::{can_mount, chip, lockstep, mounted};
use fairways_emulated::Client;
use fairways_emulated::ClockState;
use fairways_emulator::Settings;

const MS: Duration = Duration::from_millis(1);

/// Sends requests, and does not wait for the answers.
fn asks(stream: &mut UnixStream, lines: &[&str]) {
    for line in lines {
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

const LONG: &str = r#"{"do":"advance","by_ns":3600000000000}"#;

#[test]
fn a_client_that_dies_with_more_to_ask_gives_the_clock_back() {
    if !can_mount() {
        return;
    }
    let (platform, hardware) = chip(&["lookbusy"]);
    let of = mounted(Settings::new(platform, hardware));
    let mut dead = UnixStream::connect(of.socket()).unwrap();
    asks(&mut dead, &[r#"{"do":"hold"}"#, LONG, r#"{"do":"status"}"#]);
    let patience = Instant::now();
    let mut client = of.client();
    while client.status().unwrap().clock != ClockState::Held {
        assert!(patience.elapsed() < Duration::from_secs(300), "it is not held");
    }
    drop(dead);
    while client.status().unwrap().clock != ClockState::Paced {
        assert!(patience.elapsed() < Duration::from_secs(300), "it stays held");
    }
}

#[test]
fn a_client_that_has_sent_everything_still_gets_every_answer() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["lookbusy"]);
    let mut stream = UnixStream::connect(of.socket()).unwrap();
    asks(&mut stream, &[r#"{"do":"advance","by_ns":20000000}"#]);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert!(answers.contains(r#""now_ns":20000000"#), "{answers}");
}

#[test]
fn no_client_takes_the_clock_while_another_lets_time_pass() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["lookbusy"]);
    let mut other = UnixStream::connect(of.socket()).unwrap();
    asks(&mut other, &[LONG]);
    let mut client = of.client();
    let patience = Instant::now();
    while client.status().unwrap().now_ns == 0 {
        assert!(patience.elapsed() < Duration::from_secs(300), "it stands still");
    }
    let why = client.hold().unwrap_err().to_string();
    assert_eq!(why, "hold: another client lets time pass");
    drop(other);
    while client.hold().is_err() {
        assert!(patience.elapsed() < Duration::from_secs(300), "it is never free");
    }
    let now = client.status().unwrap().now_ns;
    std::thread::sleep(20 * MS);
    assert_eq!(client.status().unwrap().now_ns, now);
}

#[test]
fn each_line_has_one_answer_whatever_is_in_it() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["lookbusy"]);
    let mut stream = UnixStream::connect(of.socket()).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        writer.write_all(b"\xff\xfe\n{\"do\":\"dance\"}\n").unwrap();
        writer.write_all(&vec![b'x'; 200_000]).unwrap();
        writer.write_all(b"\n{\"do\":\"status\"}\n").unwrap();
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    sender.join().unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
    for (line, part) in answers.iter().zip(["UTF-8", "expected do to be one of", "65536", "now_ns"])
    {
        assert!(line.contains(part), "{line}");
    }
}

/// Clients beyond the most that it serves at a time are turned away; later ones are served.
#[test]
fn a_burst_of_clients_is_survived() {
    if !can_mount() {
        return;
    }
    let of = lockstep(&["lookbusy"]);
    let mut burst: Vec<Client> = (0..200).map(|_| of.client()).collect();
    let answers: Vec<_> = burst.iter_mut().map(Client::status).collect();
    let (heard, turned_away): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((heard.len(), turned_away.len()), (64, 136));
    for why in turned_away {
        assert_eq!(why.unwrap_err().to_string(), "connect: expected at most 64 clients at a time");
    }
    drop(burst);
    let patience = Instant::now();
    while of.client().status().is_err() {
        assert!(patience.elapsed() < Duration::from_secs(300), "no client is served");
    }
}
