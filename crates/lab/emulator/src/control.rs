//! The emulator's end of the control socket.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use fairways_core::Time;
use fairways_emulated::{
    ArmedFault, Fault, ProgramCounters, ProgramLatencies, ProgramState, Request, Response, Retired,
    SCHEMA, Status,
};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock::Pace;
use crate::hardware::Until;
use crate::outside::Outside;
use crate::shared::{Files, Shared};
use crate::state::State;

/// The longest request.
const LONGEST: u64 = 1 << 16;

/// The connections, by number.
type Streams = Arc<Mutex<HashMap<u64, Arc<UnixStream>>>>;

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
        let mut number = 0;
        while !shared.is_over() {
            match accepting.accept() {
                Ok((stream, _)) => {
                    number += 1;
                    welcome(stream, number, &shared, &to);
                }
                // Out of file descriptors, say. Clients wait meanwhile.
                Err(_) => std::thread::sleep(RETRY),
            }
        }
    })?;
    Ok(Serving { listener, streams, thread: Some(thread) })
}

/// The most clients at a time: each takes a thread and two file descriptors.
const MOST: usize = 64;

/// How long to wait where no client can be let in.
const RETRY: Duration = Duration::from_millis(20);

/// Serves a client on a thread of its own, or answers why not.
fn welcome(stream: UnixStream, number: u64, shared: &Arc<Shared>, streams: &Streams) {
    if streams.lock().len() >= MOST {
        return turn_away(&stream, format!("connect: expected at most {MOST} clients at a time"));
    }
    let stream = Arc::new(stream);
    streams.lock().insert(number, Arc::clone(&stream));
    let (shared, to, kept) = (Arc::clone(shared), Arc::clone(streams), Arc::clone(&stream));
    let attending = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
        // A client that breaks off needs no more answers.
        let _ = attend(&stream, number, &shared);
        to.lock().remove(&number);
        let mut files = shared.files();
        if files.state.clock.holder == Some(number) {
            files.state.clock.holder = None;
            shared.wake();
        }
    });
    if let Err(why) = attending {
        streams.lock().remove(&number);
        turn_away(&kept, format!("connect: thread: {why}"));
    }
}

fn turn_away(mut stream: &UnixStream, why: String) {
    // A client that does not read this sees the connection end.
    let _ = send(&mut stream, &Response::Error(why));
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A client that waits for a connection waits no longer.
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
        let mut line = Vec::new();
        if reader.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let response = if line.last() == Some(&b'\n') {
            match parse_request(&line) {
                Ok(request) => answer(&request, (stream, number), shared),
                Err(why) => Response::Error(format!("request: {why}")),
            }
        } else {
            // The rest of it is none of a client's requests.
            skip_line(&mut reader)?;
            Response::Error(format!("request: expected a line of less than {LONGEST} bytes"))
        };
        send(&mut writer, &response)?;
    }
}

fn parse_request(line: &[u8]) -> Result<Request, String> {
    let text = std::str::from_utf8(line).map_err(|_| "expected UTF-8".to_owned())?;
    let object: serde_json::Value =
        serde_json::from_str(text).map_err(|_| "expected a JSON object in a line".to_owned())?;
    let verb = object.get("do").and_then(serde_json::Value::as_str).map(str::to_owned);
    let Some(verb) = verb else {
        return Err("expected an object with do, such as {\"do\":\"status\"}".to_owned());
    };
    let Some((_, fields)) = REQUESTS.iter().find(|(name, _)| *name == verb) else {
        let names: Vec<&str> = REQUESTS.iter().map(|(name, _)| *name).collect();
        return Err(format!("expected do to be one of {}, found {verb:?}", names.join(", ")));
    };
    let of_fault = object.get("fault").and_then(serde_json::Value::as_str);
    if let Some(why) = of_fault.and_then(|text| text.parse::<Fault>().err()) {
        return Err(why.to_string());
    }
    serde_json::from_value(object).map_err(|_| match *fields {
        "" => format!("{verb}: expected no other field"),
        fields => format!("{verb}: expected {fields}"),
    })
}

/// The requests, with their fields in words.
const REQUESTS: [(&str, &str); 11] = [
    ("status", ""),
    ("hold", ""),
    ("release", ""),
    (
        "advance",
        "by_ns, to_ns and about_ns, numbers from 0, until_exit, true or false, and until, a list of programs and instructions",
    ),
    ("programs", ""),
    ("counters", "programs, a list of names or process ids"),
    ("latencies", "programs, a list of names or process ids"),
    ("faults", ""),
    ("arm", "fault, such as write:*/schemata=EBUSY"),
    ("clear", "id, a number"),
    ("cpu", "cpu, a number, and online, true or false"),
];

fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let there = reader.fill_buf()?;
        let end = there.iter().position(|&byte| byte == b'\n');
        let (ends, length) =
            (end.is_some() || there.is_empty(), end.map_or(there.len(), |at| at + 1));
        reader.consume(length);
        if ends {
            return Ok(());
        }
    }
}

fn send(writer: &mut impl Write, response: &Response) -> std::io::Result<()> {
    let mut line = serde_json::to_string(response)?;
    line.push('\n');
    writer.write_all(line.as_bytes())
}

/// Whether a client is still connected. One that has sent all its requests, and only shut down its
/// own direction, is; bytes that it has sent in advance prove nothing.
fn is_there(stream: &UnixStream) -> bool {
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let ready = poll(&mut polled, Some(&now));
    !(ready.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

fn answer(request: &Request, (stream, number): (&UnixStream, u64), shared: &Shared) -> Response {
    shared.end_stopped();
    let mut files = shared.files_for_client();
    let State { clock, outside, .. } = &mut files.state;
    match request {
        Request::Status {} => {}
        Request::Hold {} => {
            // It stops after the step that is being simulated.
            drop(files);
            let machine = shared.machine();
            files = shared.files();
            if let Err(why) = files.state.clock.hold(number) {
                return Response::Error(format!("hold: {why}"));
            }
            drop(machine);
        }
        Request::Release {} => {
            if clock.holder != Some(number) {
                return refused("release: this connection does not hold the clock");
            }
            clock.holder = None;
            shared.wake();
        }
        Request::Advance { by_ns, to_ns, about_ns, until_exit, until } => {
            if !clock.obeys(number) {
                return refused("advance: hold the clock first, or start with --clock lockstep");
            }
            let now = outside.readings.now;
            let by = by_ns.map(|by| now.after(Duration::from_nanos(by)));
            let to = to_ns.map(Time::from_nanos);
            let about = about_ns.map_or(FOREVER, Time::from_nanos);
            let to = by.into_iter().chain(to).min().unwrap_or(FOREVER);
            let is_forever = to.min(about) == FOREVER;
            if is_forever && !until_exit && until.is_empty() {
                return refused("advance: expected by_ns, to_ns, about_ns, until_exit or until");
            }
            if is_forever && outside.running() == 0 {
                return refused("advance: no program runs that could exit");
            }
            let mut instructions = Vec::new();
            for Retired { programs, instructions: count } in until {
                match select(outside, Some(programs)) {
                    Ok(of) => instructions.push((of, *count)),
                    Err(why) => return Response::Error(format!("advance: until: {why}")),
                }
            }
            if to.min(about) > now {
                let until = Until { to, about, exit: *until_exit, instructions };
                clock.set_advancing(number, true);
                drop(files);
                let came_there = shared.advance(&until, || is_there(stream));
                files = shared.files();
                files.state.clock.set_advancing(number, false);
                if !came_there {
                    let now = files.state.outside.readings.now;
                    return Response::Error(format!("advance: broken off after {now}"));
                }
            }
        }
        Request::Programs {} => return Response::Programs(programs(&files.state)),
        Request::Counters { programs } => {
            return match select(outside, programs.as_deref()) {
                Ok(chosen) => Response::Counters(counters(outside, &chosen)),
                Err(why) => Response::Error(format!("counters: {why}")),
            };
        }
        Request::Latencies { programs } => {
            drop(files);
            return match latencies(shared, programs.as_deref()) {
                Ok(all) => Response::Latencies(all),
                Err(why) => Response::Error(format!("latencies: {why}")),
            };
        }
        Request::Faults {} => return faults(&files.state),
        Request::Arm { fault } => {
            files.state.faults.arm(fault.clone());
            return faults(&files.state);
        }
        Request::Clear { id } => {
            if !files.state.faults.clear(*id) {
                return Response::Error(format!("clear: there is no fault {}", id.unwrap_or(0)));
            }
            return faults(&files.state);
        }
        Request::Cpu { cpu, online } => {
            if let Err(why) = files.state.cpu(*cpu, *online) {
                return Response::Error(why);
            }
            shared.invalidate();
        }
    }
    Response::Status(status(&files, shared))
}

fn refused(why: &str) -> Response {
    Response::Error(why.to_owned())
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
        now_ns: outside.readings.now.nanos(),
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
    let each = outside.names.iter().zip(&outside.placeholders).zip(&outside.readings.programs);
    let of = each.map(|((name, placeholder), reading)| {
        let (pid, cpu) = (placeholder.thread(), reading.cpu);
        let class = cpu.map(|cpu| rules.class_of(pid, cpu));
        ProgramState {
            name: name.clone(),
            pid,
            cpu,
            running: reading.runs,
            closid: class.map(|class| class.closid),
            rmid: class.map(|class| class.rmid),
        }
    });
    of.collect()
}

/// The requested programs, by name or process id; all, if none is requested.
fn select(outside: &Outside, requested: Option<&[String]>) -> Result<Vec<usize>, String> {
    let names = &outside.names;
    let Some(requested) = requested else { return Ok((0..names.len()).collect()) };
    let mut found = Vec::new();
    for text in requested {
        let before = found.len();
        for (program, (name, placeholder)) in names.iter().zip(&outside.placeholders).enumerate() {
            if name == text || placeholder.thread().to_string() == *text {
                found.push(program);
            }
        }
        if found.len() == before {
            let names = names.join(", ");
            return Err(format!(
                "expected one of the programs {names}, or its process id, found {text:?}"
            ));
        }
    }
    Ok(found)
}

fn counters(outside: &Outside, chosen: &[usize]) -> Vec<ProgramCounters> {
    let Outside { readings, names, placeholders, .. } = outside;
    chosen
        .iter()
        .map(|&program| ProgramCounters {
            name: names[program].clone(),
            pid: placeholders[program].thread(),
            now_ns: readings.now.nanos(),
            counters: readings.programs[program].counters,
        })
        .collect()
}

/// Those of services alone, unless programs are requested; after the step that is being simulated.
fn latencies(
    shared: &Shared,
    requested: Option<&[String]>,
) -> Result<Vec<ProgramLatencies>, String> {
    let mut machine = shared.machine();
    let files = shared.files();
    let Outside { names, placeholders, readings, .. } = &files.state.outside;
    let chosen = select(&files.state.outside, requested)?;
    let each = chosen.into_iter().map(|program| ProgramLatencies {
        name: names[program].clone(),
        pid: placeholders[program].thread(),
        now_ns: readings.now.nanos(),
        answered: machine.hardware.latencies(program),
    });
    Ok(each.filter(|of| requested.is_some() || of.answered.is_some()).collect())
}

fn faults(state: &State) -> Response {
    let each = state.faults.list().iter();
    Response::Faults(
        each.map(|armed| ArmedFault { id: armed.id, fault: armed.fault.clone(), met: armed.met })
            .collect(),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_named() {
        let fault = "write:*=EBUSY".parse().unwrap();
        let requests = [
            Request::Status {},
            Request::Hold {},
            Request::Release {},
            Request::Advance {
                by_ns: Some(1),
                to_ns: None,
                about_ns: Some(2),
                until_exit: true,
                until: vec![Retired { programs: vec!["web".to_owned()], instructions: 3 }],
            },
            Request::Programs {},
            Request::Counters { programs: None },
            Request::Latencies { programs: Some(vec!["web".to_owned()]) },
            Request::Faults {},
            Request::Arm { fault },
            Request::Clear { id: None },
            Request::Cpu { cpu: 1, online: false },
        ];
        assert_eq!(requests.len(), REQUESTS.len());
        for request in requests {
            let line = serde_json::to_vec(&request).unwrap();
            assert_eq!(parse_request(&line), Ok(request));
        }
    }

    #[test]
    fn an_invalid_request_is_answered_in_our_words() {
        for (line, part) in [
            (&b"\xff\n"[..], "expected UTF-8"),
            (b"{\n", "expected a JSON object"),
            (b"[]\n", "with do"),
            (b"{\"do\":\"dance\"}\n", "one of status, hold,"),
            (b"{\"do\":\"status\",\"x\":1}\n", "status: expected no other field"),
            (b"{\"do\":\"advance\",\"by_ns\":-1}\n", "advance: expected by_ns"),
            (b"{\"do\":\"cpu\"}\n", "cpu: expected cpu, a number"),
            (b"{\"do\":\"arm\",\"fault\":\"x\"}\n", "fault \"x\": expected OPERATION"),
        ] {
            let why = parse_request(line).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_client_is_there_until_it_is_gone() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"more\n").unwrap();
        assert!(is_there(&ours));
        theirs.shutdown(Shutdown::Write).unwrap();
        assert!(is_there(&ours));
        drop(theirs);
        assert!(!is_there(&ours));
    }
}
