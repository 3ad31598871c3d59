//! The client of a daemon's control socket. Any process may listen there, and answer anything.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use fairways_command_kit::input::shown;
use fairways_command_kit::plain::plain;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blame::BlameReport;
use crate::status::{Decision, Status};

/// Where the daemon listens by default.
pub const SOCKET: &str = "/run/fairways/fairways.sock";

/// Limits on an answer's size and duration: 256 decisions about 8,000 programs have 40 MB.
const MAX_ANSWER_BYTES: u64 = 1 << 26;
const PATIENCE: Duration = Duration::from_secs(5);
const MAX_ANSWER_TIME: Duration = Duration::from_secs(30);

/// What a client requests, such as `{"do": "status"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// The state of the daemon and its programs.
    Status {},
    /// The last decisions and their reasons.
    Explain {},
    /// What programs lose to their neighbours. From the first such request on, programs that the
    /// policy does not watch have windows, too.
    Blame {
        /// Leaves out remedies and waits for a CPU, which take longer to find.
        #[serde(default)]
        brief: bool,
    },
}

/// The daemon's answer, such as `{"status": {...}}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Response {
    /// The answer to a status request.
    Status(Box<Status>),
    /// The answer to an explain request: the oldest decision first.
    Decisions(Vec<Decision>),
    /// The answer to a blame request: the losses of late in each domain.
    Blame(Vec<BlameReport>),
    /// Why the request failed, in a line.
    Error(String),
}

/// The status of the daemon that listens at `control`, or at the default socket.
///
/// # Errors
/// If no process answers there, or one that is no daemon, or a daemon of another version.
pub fn status(control: Option<&Path>) -> anyhow::Result<Status> {
    match request_from(control, Request::Status {})? {
        Response::Status(status) => Ok(*status),
        other => Err(unexpected(control, other)),
    }
}

/// The last decisions of the daemon, the oldest first.
///
/// # Errors
/// As for [`status`].
pub fn decisions(control: Option<&Path>) -> anyhow::Result<Vec<Decision>> {
    match request_from(control, Request::Explain {})? {
        Response::Decisions(decisions) => Ok(decisions),
        other => Err(unexpected(control, other)),
    }
}

/// What programs lose, in each domain that has windows to show it. If `brief`, without remedies and
/// waits for a CPU.
///
/// # Errors
/// As for [`status`]; also if no window that shows losses has ended yet.
pub fn losses(control: Option<&Path>, brief: bool) -> anyhow::Result<Vec<BlameReport>> {
    let at = shown(control.unwrap_or(Path::new(SOCKET)));
    match request_from(control, Request::Blame { brief })? {
        Response::Blame(mut reports) => {
            reports.retain(|report| !report.is_empty());
            if reports.is_empty() {
                return Err(anyhow!(
                    "{at}: no window with cycles, LLC references and misses, and stalls has ended \
                     yet: try again in some seconds (fairways doctor shows whether this host \
                     counts them)"
                ));
            }
            Ok(reports)
        }
        Response::Error(why) if why.starts_with("expected {\"do\":") => Err(anyhow!(
            "{at}: the daemon there is of an earlier version, which attributes no losses: restart it"
        )),
        other => Err(unexpected(control, other)),
    }
}

fn request_from(control: Option<&Path>, request: Request) -> anyhow::Result<Response> {
    exchange(control.unwrap_or(Path::new(SOCKET)), request)
}

fn unexpected(control: Option<&Path>, response: Response) -> anyhow::Error {
    let path = shown(control.unwrap_or(Path::new(SOCKET)));
    match response {
        Response::Error(why) => anyhow::anyhow!("{path}: {why}"),
        _ => anyhow::anyhow!("{path}: expected another answer: is the daemon of this version?"),
    }
}

/// Sends a request to the daemon that listens at `path`, and returns its answer.
///
/// # Errors
/// If no process listens there, or one of a user other than root and this process's; if the answer
/// breaks off, or has another format.
fn exchange(path: &Path, request: Request) -> anyhow::Result<Response> {
    let at = shown(path);
    let stream = open_connection(path, PATIENCE)
        .map_err(|why| anyhow!("{at}: no daemon answers there: {why} (fairways run starts one)"))?;
    let owner = socket_peercred(&stream)?.uid;
    if !owner.is_root() && owner != geteuid() {
        let user = owner.as_raw();
        anyhow::bail!("{at}: expected a daemon of root or of this user, found user {user}'s");
    }
    fn broke_off(why: &dyn std::fmt::Display, at: &str) -> anyhow::Error {
        anyhow!("{at}: the daemon there broke off: {why}")
    }
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    // A daemon that rejects a client says why, and may not have read the request.
    let sent = (&stream).write_all(&line);
    let answer =
        read_answer(&stream).map_err(|why| broke_off(sent.as_ref().err().unwrap_or(&why), &at))?;
    let Some(line) = answer.strip_suffix(b"\n") else {
        if answer.len() as u64 > MAX_ANSWER_BYTES {
            anyhow::bail!("{at}: expected an answer of at most {MAX_ANSWER_BYTES} bytes");
        }
        return Err(match sent {
            Err(why) => broke_off(&why, &at),
            Ok(()) => broke_off(&"the end of its answer is missing", &at),
        });
    };
    let unlike = |why: serde_json::Error| anyhow!("{at}: expected a daemon's answer: {why}");
    let mut value = serde_json::from_slice(line).map_err(unlike)?;
    clean(&mut value);
    serde_json::from_value(value).map_err(unlike)
}

/// Connects to the socket; connecting, reading and writing each wait for `patience` at most.
///
/// # Errors
/// If no process listens there, or no connection is accepted.
fn open_connection(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?).map_err(|why| match why {
        Errno::AGAIN => io::Error::new(io::ErrorKind::TimedOut, "no connection is accepted"),
        why => why.into(),
    })?;
    Ok(UnixStream::from(socket))
}

/// Reads a line, or as much of it as arrives: at most one byte more than the limit.
fn read_answer(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let began = Instant::now();
    let (mut line, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while line.last() != Some(&b'\n') && line.len() as u64 <= MAX_ANSWER_BYTES {
        if began.elapsed() > MAX_ANSWER_TIME {
            let text = format!("its answer takes longer than {} s", MAX_ANSWER_TIME.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&piece[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                let text = format!("it has not answered for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            Err(why) => return Err(why),
        }
    }
    Ok(line)
}

/// Makes all texts safe to print: the names of programs come from their owners.
fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(clean),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    clean(&mut value);
                    (plain(&name), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
