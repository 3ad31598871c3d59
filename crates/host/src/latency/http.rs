//! A request of HTTP/1.1 (RFC 9112), as small as it can be.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};

use super::poll::{MOST_BYTES, TIMEOUT};

/// Gets `http://authority/path`; the authority has a port.
///
/// # Errors
/// In a line: there is no connection, no answer within 2 s for a part of it, an answer of more than 16 MiB, or a status other than 200.
pub(super) fn get(authority: &str, path: &str) -> Result<String, String> {
    let answer =
        exchange(authority, path).map_err(|error| format!("http://{authority}: {error}"))?;
    const END: &[u8] = b"\r\n\r\n";
    let end = answer.windows(END.len()).position(|window| window == END);
    let (head, body) = end
        .and_then(|end| answer.split_at_checked(end))
        .ok_or_else(|| format!("http://{authority}: no answer of HTTP"))?;
    let (head, body) = (String::from_utf8_lossy(head), body.get(END.len()..).unwrap_or_default());
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("http://{authority}{path}: {}", status.escape_debug()));
    }
    let mut length = None;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            let body = chunks(body);
            return body.ok_or_else(|| format!("http://{authority}{path}: broken chunks"));
        }
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse::<usize>().ok();
        }
    }
    if length.is_some_and(|length| body.len() < length) {
        return Err(format!("http://{authority}{path}: the answer ends early"));
    }
    Ok(String::from_utf8_lossy(body).into_owned())
}

fn exchange(authority: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let mut failed = std::io::Error::other("the name has no address");
    for address in authority.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => stream,
            Err(error) => {
                failed = error;
                continue;
            }
        };
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nAccept: application/openmetrics-text; version=1.0.0, \
             text/plain; version=0.0.4; q=0.5\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        let read = stream.take(MOST_BYTES + 1).read_to_end(&mut answer)?;
        if u64::try_from(read).is_ok_and(|read| read > MOST_BYTES) {
            return Err(std::io::Error::other("the answer is longer than 16 MiB"));
        }
        return Ok(answer);
    }
    Err(failed)
}

/// RFC 9112, 7.1: a length in hexadecimal digits, so many bytes, and so on to a length of 0.
fn chunks(mut body: &[u8]) -> Option<String> {
    let mut joined = Vec::with_capacity(body.len());
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let (length, rest) = (body.get(..end)?, body.get(end + 2..)?);
        let length = std::str::from_utf8(length).ok()?.split(';').next()?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(String::from_utf8_lossy(&joined).into_owned());
        }
        joined.extend(rest.get(..length)?);
        body = rest.get(length..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::chunks;

    #[test]
    fn chunks_are_joined_and_broken_ones_refused() {
        // A chunk may end within a character.
        let told = b"4\r\nabc\xc3\r\nA;x=y\r\n\xa9123456789\r\n0\r\n\r\n";
        assert_eq!(chunks(told).as_deref(), Some("abc\u{e9}123456789"));
        for broken in ["", "4\r\nabc", "4\r\nabcde\r\n0\r\n", "g\r\n", "4\r\nabcd\r\n"] {
            assert_eq!(chunks(broken.as_bytes()), None, "{broken:?}");
        }
    }
}
