//! Latencies that programs write themselves, one per line: into a [file](FileSource) that grows, or
//! to a [socket](SocketSource).
//!
//! A line is a decimal number and its unit, `1.5ms`, `200us`, `0.2s` or `15000ns`; without a unit
//! it is milliseconds. Other lines are counted, logged once, and otherwise ignored. A time without
//! lines is unknown: perhaps no request came, perhaps the writer has stopped.
//!
//! Latencies are kept to a thousandth of themselves, rounded up, so that what is kept between two
//! calls has a limit.

mod file;
mod line;
mod open;
mod socket;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use fairways_core::LatencyBin;

pub use file::FileSource;
pub use socket::SocketSource;

/// A source that can't be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A socket can't be made at its path.
    #[error("{}: {error}", path.display())]
    Socket {
        /// The path.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
    /// Another program listens there already.
    #[error("{}: a socket on which another program listens is there already", .0.display())]
    InUse(PathBuf),
    /// The thread that polls or listens can't be made.
    #[error("a thread for latencies: {0}")]
    Thread(#[source] io::Error),
    /// Another file is there already.
    #[error("{}: a file that is no socket is there already", .0.display())]
    NoSocket(PathBuf),
}

/// The most bytes of a line.
const LONGEST: usize = 4096;

/// Lines, as they come in pieces, and their latencies.
#[derive(Debug, Default)]
struct Lines {
    name: String,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    counts: BTreeMap<u64, u64>,
    bad: u64,
}

impl Lines {
    fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds the next bytes.
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.begin(line);
            self.end();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.begin(bytes);
    }

    fn begin(&mut self, bytes: &[u8]) {
        let room = (LONGEST + 1).saturating_sub(self.begun.len());
        self.begun.extend(bytes.iter().take(room));
    }

    /// Ends a line, if one was begun.
    fn end(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let latency = Some(text).filter(|text| text.len() <= LONGEST).and_then(line::latency);
        if let Some(latency) = latency {
            let requests = self.counts.entry(line::rounded(latency)).or_default();
            *requests = requests.saturating_add(1);
            return;
        }
        self.bad += 1;
        if self.bad == 1 {
            // Its text may be secret: it is not repeated.
            tracing::warn!(
                source = self.name,
                "a line is no latency such as 1.5ms; such lines are passed over"
            );
        }
    }

    /// The latencies since the last call; `None` if there are none.
    fn take_answered(&mut self) -> Option<Vec<LatencyBin>> {
        let counts = std::mem::take(&mut self.counts);
        let answered = counts.into_iter().map(|(nanos, requests)| LatencyBin {
            latency: std::time::Duration::from_nanos(nanos),
            requests,
        });
        Some(answered.collect()).filter(|answered: &Vec<LatencyBin>| !answered.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_counts(lines: &mut Lines) -> Option<Vec<(u128, u64)>> {
        Some(lines.take_answered()?.iter().map(|a| (a.latency.as_micros(), a.requests)).collect())
    }

    #[test]
    fn lines_are_read_across_pieces() {
        let mut lines = Lines::new("test".to_owned());
        lines.push(b"1ms\n2m");
        lines.push(b"s\r\n\n1\n  200us  \n5");
        assert_eq!(take_counts(&mut lines), Some(vec![(200, 1), (1000, 2), (2000, 1)]));
        assert_eq!(take_counts(&mut lines), None);
        lines.push(b"s\n");
        let [(latency, 1)] = take_counts(&mut lines).unwrap()[..] else { panic!("one line") };
        assert!((5_000_000..=5_005_000).contains(&latency), "{latency}");
    }

    #[test]
    fn lines_that_are_no_latency_are_counted_and_ignored() {
        let mut lines = Lines::new("test".to_owned());
        lines.push(b"fast\n-1ms\nNaN\ninf\n1.5 parsecs\n\xff\n");
        lines.push(&[b'1'; 3 * LONGEST]);
        lines.push(b"\n");
        assert_eq!((take_counts(&mut lines), lines.bad), (None, 7));
        assert!(lines.begun.capacity() < 3 * LONGEST);
    }
}
