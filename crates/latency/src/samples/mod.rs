//! Latencies that programs write themselves, one a line: into a [file](FileSource) that grows, or to a [socket](SocketSource).
//!
//! A line is a decimal number and its unit, `1.5ms`, `200us`, `0.2s` or `15000ns`; without a unit it is milliseconds. A line that is none of
//! this is counted and said in the log, once, and tells nothing. A time in which no line comes is unknown: nobody knows then whether
//! nothing was asked of the service, or whoever writes has stopped.
//!
//! Latencies are held to a thousandth of themselves, rounded up, so that what is kept between two calls has a limit.

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
    /// A socket can't be made where it should be.
    #[error("{}: {error}", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// Somebody listens there already.
    #[error("{}: a socket on which somebody listens is there already", .0.display())]
    Taken(PathBuf),
    /// No thread can be made that asks or listens.
    #[error("a thread for latencies: {0}")]
    Thread(#[source] io::Error),
    /// Something else is there already.
    #[error("{}: a file that is no socket is there already", .0.display())]
    NoSocket(PathBuf),
}

/// Bytes of a line at most.
const LONGEST: usize = 4096;

/// Lines, as they come in pieces, and the latencies that they tell.
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

    /// Takes in the next bytes.
    fn take(&mut self, mut bytes: &[u8]) {
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

    /// A line ended, if one was begun.
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
            // What it says may be anybody's secret: it is not repeated.
            tracing::warn!(
                source = self.name,
                "a line is no latency such as 1.5ms; such lines are passed over"
            );
        }
    }

    /// What came since the last call; `None` if nothing did.
    fn told(&mut self) -> Option<Vec<LatencyBin>> {
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

    fn told(lines: &mut Lines) -> Option<Vec<(u128, u64)>> {
        Some(lines.told()?.iter().map(|a| (a.latency.as_micros(), a.requests)).collect())
    }

    #[test]
    fn lines_are_read_across_pieces() {
        let mut lines = Lines::new("test".to_owned());
        lines.take(b"1ms\n2m");
        lines.take(b"s\r\n\n1\n  200us  \n5");
        assert_eq!(told(&mut lines), Some(vec![(200, 1), (1000, 2), (2000, 1)]));
        assert_eq!(told(&mut lines), None);
        lines.take(b"s\n");
        let [(latency, 1)] = told(&mut lines).unwrap()[..] else { panic!("one line") };
        assert!((5_000_000..=5_005_000).contains(&latency), "{latency}");
    }

    #[test]
    fn lines_that_are_no_latency_are_counted_and_told_as_nothing() {
        let mut lines = Lines::new("test".to_owned());
        lines.take(b"fast\n-1ms\nNaN\ninf\n1.5 parsecs\n\xff\n");
        lines.take(&[b'1'; 3 * LONGEST]);
        lines.take(b"\n");
        assert_eq!((told(&mut lines), lines.bad), (None, 7));
        assert!(lines.begun.capacity() < 3 * LONGEST);
    }
}
