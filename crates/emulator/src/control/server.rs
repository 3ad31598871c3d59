//! The emulator's end of the control socket.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fairways_core::Time;
use parking_lot::Mutex;
use rustix::net::{RecvFlags, recv};

use super::{ArmedFault, ProgramCounters, ProgramState, Request, Response, SCHEMA, Status};
use crate::clock::Pace;
use crate::shared::{Files, Shared};
use crate::state::State;

/// No request is longer.
const LONGEST: u64 = 1 << 16;

/// Who is connected, by number.
type Streams = Arc<Mutex<HashMap<u64, UnixStream>>>;

/// Serves clients until it is dropped.
pub(crate) struct Serving {
    listener: UnixListener,
    streams: Streams,
    thread: Option<JoinHandle<()>>,
}

/// Begins to serve.
pub(crate) fn serve(listener: UnixListener, shared: &Arc<Shared>) -> std::io::Result<Serving> {
    let streams = Streams::default();
    let accepting = listener.try_clone()?;
    let (shared, to) = (Arc::clone(shared), Arc::clone(&streams));
    let thread = std::thread::Builder::new().name("control".to_owned()).spawn(move || {
        for (number, stream) in (1..).zip(accepting.incoming()) {
            let Ok(stream) = stream else { return };
            let Ok(kept) = stream.try_clone() else { continue };
            to.lock().insert(number, kept);
            let (shared, streams) = (Arc::clone(&shared), Arc::clone(&to));
            std::thread::spawn(move || {
                // A client that breaks off has asked enough.
                let _ = attend(&stream, number, &shared);
                streams.lock().remove(&number);
                let mut files = shared.files();
                if files.state.clock.holder == Some(number) {
                    files.state.clock.holder = None;
                    shared.wake();
                }
            });
        }
    })?;
    Ok(Serving { listener, streams, thread: Some(thread) })
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Whoever waits for a connection waits no longer.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        for stream in self.streams.lock().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers a client, until it is gone.
fn attend(stream: &UnixStream, number: u64, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut line = String::new();
        if reader.by_ref().take(LONGEST).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let response = if line.ends_with('\n') {
            match serde_json::from_str(&line) {
                Ok(request) => answer(&request, (stream, number), shared),
                Err(why) => Response::Error(format!("request: {why}")),
            }
        } else {
            Response::Error(format!("request: expected a line of less than {LONGEST} bytes"))
        };
        let mut line = serde_json::to_string(&response)?;
        line.push('\n');
        writer.write_all(line.as_bytes())?;
    }
}

/// Whether a client is still there: it has not closed its end.
fn is_there(stream: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    !matches!(recv(stream.as_fd(), &mut [0_u8; 1][..], flags), Ok((0, _)))
}

fn answer(request: &Request, (stream, number): (&UnixStream, u64), shared: &Shared) -> Response {
    let refused = |why: &str| Response::Error(why.to_owned());
    let mut files = shared.files();
    files.state.notice();
    let clock = &mut files.state.clock;
    match request {
        Request::Status {} => {}
        Request::Hold {} => {
            if clock.holder.is_some_and(|holder| holder != number) {
                return refused("hold: another client holds the clock");
            }
            clock.holder = Some(number);
            clock.stopped();
        }
        Request::Release {} => {
            if clock.holder != Some(number) {
                return refused("release: this connection does not hold the clock");
            }
            clock.holder = None;
            shared.wake();
        }
        Request::Advance { by_ns, to_ns, until_exit } => {
            if !clock.obeys(number) {
                return refused("advance: hold the clock first, or start with --clock lockstep");
            }
            let now = files.state.outside.hardware.now();
            let by = by_ns.map(|by| now.after(Duration::from_nanos(by)));
            let to = to_ns.map(Time::from_nanos);
            let Some(to) = by.into_iter().chain(to).min().or(until_exit.then_some(FOREVER)) else {
                return refused("advance: expected by_ns, to_ns or until_exit");
            };
            if to == FOREVER && files.state.outside.running() == 0 {
                return refused("advance: no program runs that could exit");
            }
            if to > now {
                drop(files);
                shared.advance(to, *until_exit, || is_there(stream));
                files = shared.files();
            }
        }
        Request::Programs {} => return Response::Programs(programs(&files.state)),
        Request::Counters { programs } => return counters(&files.state, programs.as_deref()),
        Request::Faults {} => return faults(&files.state),
        Request::Arm { fault } => {
            files.state.faults.arm(fault.clone());
            return faults(&files.state);
        }
        Request::Clear { id } => {
            if !files.state.faults.clear(*id) {
                return refused(&format!("clear: there is no fault {}", id.unwrap_or(0)));
            }
            return faults(&files.state);
        }
        Request::Cpu { cpu, online } => {
            if let Err(why) = files.state.cpu(*cpu, *online) {
                return Response::Error(why);
            }
        }
    }
    Response::Status(status(&files, shared))
}

/// The end of time.
const FOREVER: Time = Time::from_nanos(u64::MAX);

fn status(files: &Files, shared: &Shared) -> Status {
    let State { rules, outside, clock, faults, .. } = &files.state;
    Status {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id().cast_signed(),
        mount: shared.dir.display().to_string(),
        options: rules.show_options(),
        now_ns: outside.hardware.now().nanos(),
        clock: clock.state(),
        pace: match clock.pace {
            Pace::Real(pace) => pace,
            Pace::Lockstep => 0.0,
        },
        factor: clock.factor(),
        running: outside.running(),
        programs: outside.placeholders.len(),
        faults: faults.list().len(),
    }
}

fn programs(state: &State) -> Vec<ProgramState> {
    let State { rules, outside, .. } = state;
    let each = outside.hardware.names().iter().zip(&outside.placeholders).enumerate();
    let of = each.map(|(program, (name, placeholder))| {
        let (pid, cpu) = (placeholder.thread(), outside.hardware.cpu(program));
        let class = cpu.map(|cpu| rules.class_of(pid, cpu));
        ProgramState {
            name: name.clone(),
            pid,
            cpu,
            running: outside.hardware.runs(program),
            closid: class.map(|class| class.closid),
            rmid: class.map(|class| class.rmid),
        }
    });
    of.collect()
}

fn counters(state: &State, asked: Option<&[String]>) -> Response {
    let hardware = &state.outside.hardware;
    let now_ns = hardware.now().nanos();
    let each = hardware.names().iter().zip(&state.outside.placeholders).enumerate();
    let all = each.map(|(program, (name, placeholder))| ProgramCounters {
        name: name.clone(),
        pid: placeholder.thread(),
        now_ns,
        counters: hardware.counters(program),
    });
    let all: Vec<ProgramCounters> = all.collect();
    let Some(asked) = asked else { return Response::Counters(all) };
    let mut found = Vec::new();
    for text in asked {
        let is_it = |of: &&ProgramCounters| of.name == *text || of.pid.to_string() == *text;
        let before = found.len();
        found.extend(all.iter().filter(is_it).cloned());
        if found.len() == before {
            let names: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
            return Response::Error(format!(
                "counters: expected one of the programs {}, or its process id, found {text:?}",
                names.join(", ")
            ));
        }
    }
    Response::Counters(found)
}

fn faults(state: &State) -> Response {
    let each = state.faults.list().iter();
    let of = |armed: &crate::fault::Armed| ArmedFault {
        id: armed.id,
        fault: armed.fault.clone(),
        met: armed.met,
    };
    Response::Faults(each.map(of).collect())
}
