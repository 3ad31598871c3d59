//! A request of HTTP/1.1 (RFC 9112), as small as possible. The answer is read as it comes, and
//! never kept as a whole.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};

use super::bounded::{Bounded, TIMEOUT, Trouble, broken};

/// The most bytes of an answer: pages of services with thousands of series have some.
const MOST_BYTES: u64 = 16 << 20;

/// The most bytes of an answer's head, and of the line before a chunk.
const LONGEST_HEAD: u64 = 64 << 10;
const LONGEST_LENGTH: u64 = 1 << 10;

/// Gets `http://authority/path`; the authority has a port.
///
/// # Errors
/// If there is no connection, no answer within 2 s for a part of it and 10 s for the whole, an
/// answer of more than 16 MiB, or a status other than 200. Reading the body fails likewise.
pub(super) fn get(authority: &str, path: &str) -> Result<impl BufRead + use<>, Trouble> {
    let answer = send_request(authority, path).map_err(|why| trouble(authority, &why))?;
    body(BufReader::new(answer), authority, path)
}

fn no_http(authority: &str) -> Trouble {
    Trouble::Passing(format!("http://{authority}: no answer of HTTP"))
}

fn trouble(authority: &str, why: &io::Error) -> Trouble {
    Trouble::at(&format!("http://{authority}"), why)
}

/// The body of an answer.
pub(super) fn body<R: BufRead>(
    mut answer: R,
    authority: &str,
    path: &str,
) -> Result<impl BufRead + use<R>, Trouble> {
    let mut head = (&mut answer).take(LONGEST_HEAD);
    let status = line(&mut head)
        .map_err(|why| trouble(authority, &why))?
        .ok_or_else(|| no_http(authority))?;
    let code = status.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1));
    let code = code.and_then(|code| code.parse::<u16>().ok()).ok_or_else(|| no_http(authority))?;
    if code != 200 {
        return Err(Trouble::Passing(format!("http://{authority}{path}: status {code}")));
    }
    let mut length = Length::ToTheEnd;
    loop {
        let field = line(&mut head).map_err(|why| trouble(authority, &why))?;
        let field = field.ok_or_else(|| match head.limit() {
            0 => {
                let limit = format!("expected a head of at most {LONGEST_HEAD} bytes");
                trouble(authority, &broken(limit))
            }
            _ => no_http(authority),
        })?;
        if field.is_empty() {
            break;
        }
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("transfer-encoding") && value.eq_ignore_ascii_case("chunked") {
            length = Length::Chunks { left: 0, first: true };
        } else if name.eq_ignore_ascii_case("content-length")
            && let (Length::ToTheEnd, Ok(bytes)) = (&length, value.parse())
        {
            length = Length::Bytes(bytes);
        }
    }
    Ok(BufReader::new(Body { answer, length }))
}

/// A line without its end; `None` if it has none.
fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    from.read_until(b'\n', &mut bytes)?;
    let whole = bytes.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(whole.map(|line| String::from_utf8_lossy(line).into_owned()))
}

fn send_request(authority: &str, path: &str) -> io::Result<Bounded> {
    let mut failed = io::Error::other("the name has no address");
    for address in authority.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                let mut stream = Bounded::new(Box::new(stream), MOST_BYTES);
                write!(
                    stream,
                    "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nAccept: application/openmetrics-text; version=1.0.0, \
                     text/plain; version=0.0.4; q=0.5\r\n\r\n"
                )?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// How long a body is.
enum Length {
    ToTheEnd,
    Bytes(u64),
    /// RFC 9112, 7.1: a length in hexadecimal digits, that many bytes, and so on to a length of 0.
    Chunks {
        left: u64,
        first: bool,
    },
    Over,
}

struct Body<R> {
    answer: R,
    length: Length,
}

impl<R: BufRead> Body<R> {
    /// The length of the next chunk.
    fn chunk(&mut self, first: bool) -> io::Result<u64> {
        let mut from = (&mut self.answer).take(LONGEST_LENGTH);
        if !first && !line(&mut from)?.ok_or_else(broken_chunks)?.is_empty() {
            return Err(broken_chunks());
        }
        let text = line(&mut from)?.ok_or_else(broken_chunks)?;
        let digits = text.split(';').next().unwrap_or_default().trim();
        u64::from_str_radix(digits, 16).map_err(|_| broken_chunks())
    }
}

fn broken_chunks() -> io::Error {
    io::Error::other("broken chunks")
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Length::Chunks { left: 0, first } = self.length {
            self.length = match self.chunk(first)? {
                0 => Length::Over,
                left => Length::Chunks { left, first: false },
            };
        }
        let left = match &mut self.length {
            Length::Over => return Ok(0),
            Length::ToTheEnd => return self.answer.read(buffer),
            Length::Bytes(left) | Length::Chunks { left, .. } => left,
        };
        let room = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 {
            return Ok(0);
        }
        let read = self.answer.read(&mut buffer[..room])?;
        if read == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the answer ends early"));
        }
        *left -= u64::try_from(read).unwrap_or(*left);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], length: Length) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Body { answer: text, length }.read_to_end(&mut bytes).map(|_| bytes)
    }

    fn chunks() -> Length {
        Length::Chunks { left: 0, first: true }
    }

    #[test]
    fn chunks_are_joined_and_broken_ones_refused() {
        // A chunk may end within a character.
        let chunked = b"4\r\nabc\xc3\r\nA;x=y\r\n\xa9123456789\r\n0\r\n\r\n";
        assert_eq!(read(chunked, chunks()).unwrap(), "abc\u{e9}123456789".as_bytes());
        for broken in ["", "4\r\nabc", "4\r\nabcde\r\n0\r\n", "g\r\n", "4\r\nabcd\r\n"] {
            assert!(read(broken.as_bytes(), chunks()).is_err(), "{broken:?}");
        }
        let endless = [b'0'; 5000];
        assert!(read(&endless, chunks()).is_err());
    }

    #[test]
    fn a_body_is_as_long_as_its_head_states() {
        assert_eq!(read(b"abcdef", Length::Bytes(3)).unwrap(), b"abc");
        assert_eq!(read(b"abcdef", Length::ToTheEnd).unwrap(), b"abcdef");
        assert_eq!(read(b"ab", Length::Bytes(3)).unwrap_err().to_string(), "the answer ends early");
    }
}
