//! Requests a page, and parses it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer: its code, its head, and its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Requests a path, in these formats.
pub(crate) fn get(at: SocketAddr, path: &str, accept: &str) -> Answer {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {at}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
    );
    let answer = send(TcpStream::connect(at).unwrap(), request.as_bytes()).unwrap();
    assert_eq!(answer.length(), Some(answer.body.len()));
    answer
}

impl Answer {
    /// The length of the body by the head.
    pub(crate) fn length(&self) -> Option<usize> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix("Content-Length: "))?.parse().ok()
    }
}

/// Sends a request and reads the answer.
pub(crate) fn send<S: Read + Write>(mut stream: S, request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request)?;
    answered(stream)
}

/// Reads an answer to its end.
pub(crate) fn answered(mut stream: impl Read) -> io::Result<Answer> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let code = code.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Answer { code, head: head.to_owned(), body: body.to_owned() })
}

/// A connection with a time limit of a quarter of a minute.
pub(crate) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    stream
}

/// The samples of a page, by metric and labels; the labels are in the page's order.
pub(crate) struct Page(BTreeMap<String, f64>);

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let one = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        let samples: Vec<(String, f64)> = lines.map(one).collect();
        let count = samples.len();
        let page = Self(samples.into_iter().collect());
        assert_eq!(page.0.len(), count, "a series stands twice on the page");
        page
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// A program's sample in domain 0.
    pub(crate) fn of(&self, metric: &str, program: &str) -> Option<f64> {
        self.get(&format!("{metric}{{program=\"{program}\",domain=\"0\"}}"))
    }

    /// The samples of a metric.
    pub(crate) fn all<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let is_of = move |name: &str| name.split('{').next() == Some(metric);
        self.0.iter().filter(move |(name, _)| is_of(name)).map(|(name, value)| (&name[..], *value))
    }
}

/// The metrics that a page of the older text format declares, by their samples' names, with their
/// types.
pub(crate) fn declared(text: &str) -> BTreeSet<(String, String)> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let one = |line: &str| {
        let (name, kind) = line.split_once(' ').unwrap();
        (name.to_owned(), kind.to_owned())
    };
    types.map(one).collect()
}
