//! A container runtime that does not answer.

use std::fs;
use std::os::unix::net::UnixListener;

use rustix::process::Signal;

use super::common::{Machine, can, eventually};
use super::running::{Daemon, command, configure};

/// There is none, one that never takes a connection, one that takes each and says nothing, and one
/// that ends each: the daemon says so as long as it lasts.
#[test]
fn a_silent_container_runtime_is_degraded() {
    if !can(&[]) {
        return;
    }
    for (runtime, why) in [
        ("absent", "No such file or directory"),
        ("deaf", "it does not answer the registration"),
        ("mute", "it does not answer the registration"),
        ("rude", "(NRI) does not announce containers"),
    ] {
        let machine = Machine::start("lookbusy");
        let socket = machine.at("nri.sock");
        if runtime != "absent" {
            let listener = UnixListener::bind(&socket).unwrap();
            std::thread::spawn(move || match runtime {
                "deaf" => loop {
                    std::thread::park();
                },
                "rude" => listener.incoming().for_each(drop),
                _ => {
                    let mut kept = Vec::new();
                    for stream in listener.incoming() {
                        kept.push(stream);
                    }
                }
            });
        }
        let select = format!("select = \"pid:{}\"", machine.pids["lookbusy"]);
        configure(&machine, "policy = \"equal\"", &[("works", &select)]);
        let file = machine.at("fairways.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}[kubernetes]\nnri = true\nsocket = {socket:?}\n")).unwrap();
        let daemon = Daemon::start(&machine, command(&machine));
        eventually("it is said", || {
            let degraded = daemon.status()["degraded"].to_string();
            degraded.contains("does not announce containers") && degraded.contains(why)
        });
        assert_eq!(daemon.programs(), ["works"], "{runtime}");
        assert_eq!(daemon.end(Signal::TERM), Some(0), "{runtime}");
    }
}
