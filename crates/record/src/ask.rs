//! Asking a daemon, by its control socket. Who listens there may be anybody, and say anything.

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

use crate::status::{Decision, Status};

/// Where the daemon listens unless it was told otherwise.
pub const SOCKET: &str = "/run/fairways/fairways.sock";

/// No answer is longer, and none takes longer: 256 decisions about 8,000 programs have 40 MB.
const LONGEST: u64 = 1 << 26;
const PATIENCE: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(30);

/// What a client asks: `{"do": "status"}`, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How the daemon and its programs are.
    Status {},
    /// What was decided last, and why.
    Explain {},
}

/// What the daemon answers: `{"status": {...}}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Response {
    /// To status.
    Status(Box<Status>),
    /// To explain: the oldest first.
    Decisions(Vec<Decision>),
    /// It could not be done: why, in a line.
    Error(String),
}

/// How the daemon is that listens there, or where daemons listen unless told otherwise.
///
/// # Errors
/// If nobody answers there, or somebody else than a daemon, or a daemon of another version.
pub fn status_of(control: Option<&Path>) -> anyhow::Result<Status> {
    match asked(control, Request::Status {})? {
        Response::Status(status) => Ok(*status),
        other => Err(unexpected(control, other)),
    }
}

/// What it decided last, the oldest first.
///
/// # Errors
/// As of [`status_of`].
pub fn decisions(control: Option<&Path>) -> anyhow::Result<Vec<Decision>> {
    match asked(control, Request::Explain {})? {
        Response::Decisions(decisions) => Ok(decisions),
        other => Err(unexpected(control, other)),
    }
}

fn asked(control: Option<&Path>, request: Request) -> anyhow::Result<Response> {
    ask(control.unwrap_or(Path::new(SOCKET)), request)
}

fn unexpected(control: Option<&Path>, response: Response) -> anyhow::Error {
    let path = shown(control.unwrap_or(Path::new(SOCKET)));
    match response {
        Response::Error(why) => anyhow::anyhow!("{path}: {why}"),
        _ => anyhow::anyhow!("{path}: expected another answer: is the daemon of this version?"),
    }
}

/// Asks the daemon that listens there.
///
/// # Errors
/// If nobody listens there, or neither root nor this user; if what answers breaks off, or does not answer
/// in these words.
fn ask(path: &Path, request: Request) -> anyhow::Result<Response> {
    let at = shown(path);
    let stream = connected(path, PATIENCE)
        .map_err(|why| anyhow!("{at}: no daemon answers there: {why} (fairways run starts one)"))?;
    let owner = socket_peercred(&stream)?.uid;
    if !owner.is_root() && owner != geteuid() {
        let user = owner.as_raw();
        anyhow::bail!("{at}: expected a daemon of root or of this user, found user {user}'s");
    }
    let broke_off =
        |why: &dyn std::fmt::Display| anyhow!("{at}: the daemon there broke off: {why}");
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    // One that turns clients away says why, and may not have listened.
    let asked = (&stream).write_all(&line);
    let answer = answer(&stream).map_err(|why| broke_off(asked.as_ref().err().unwrap_or(&why)))?;
    let Some(line) = answer.strip_suffix(b"\n") else {
        if answer.len() as u64 > LONGEST {
            anyhow::bail!("{at}: expected an answer of at most {LONGEST} bytes");
        }
        return Err(match asked {
            Err(why) => broke_off(&why),
            Ok(()) => broke_off(&"the end of its answer is missing"),
        });
    };
    let unlike = |why: serde_json::Error| anyhow!("{at}: expected a daemon's answer: {why}");
    let mut value = serde_json::from_slice(line).map_err(unlike)?;
    clean(&mut value);
    serde_json::from_value(value).map_err(unlike)
}

/// Connects to who listens there, and waits no longer for it, nor for what it reads and writes.
///
/// # Errors
/// If nobody listens there, or nobody is let in.
fn connected(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
    connect(&socket, &SocketAddrUnix::new(path)?).map_err(|why| match why {
        Errno::AGAIN => io::Error::new(io::ErrorKind::TimedOut, "nobody is let in"),
        why => why.into(),
    })?;
    Ok(UnixStream::from(socket))
}

/// A line, or what there is of it: no more than one byte too much.
fn answer(mut stream: &UnixStream) -> io::Result<Vec<u8>> {
    let began = Instant::now();
    let (mut line, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while line.last() != Some(&b'\n') && line.len() as u64 <= LONGEST {
        if began.elapsed() > WHOLE {
            let said = format!("its answer takes longer than {} s", WHOLE.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, said));
        }
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&piece[..count]),
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                let said = format!("it has not answered for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, said));
            }
            Err(why) => return Err(why),
        }
    }
    Ok(line)
}

/// Makes all texts plain: they are about programs of others.
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
