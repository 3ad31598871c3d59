//! Asking a daemon, by its control socket. Who listens there may be anybody, and say anything.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use fairways_command_kit::input::shown;
use fairways_command_kit::plain::plain;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use serde_json::Value;

use super::control::{Request, Response};
use super::socket;

/// No answer is longer, and none takes longer: 256 decisions about 8,000 programs have 40 MB.
const LONGEST: u64 = 1 << 26;
const PATIENCE: Duration = Duration::from_secs(5);
const WHOLE: Duration = Duration::from_secs(30);

/// Asks the daemon that listens there.
///
/// # Errors
/// If nobody listens there, or neither root nor this user; if what answers breaks off, or does not answer
/// in these words.
pub(super) fn ask(path: &Path, request: Request) -> anyhow::Result<Response> {
    let at = shown(path);
    let stream = socket::connected(path, PATIENCE)
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
