//! Redis, from version 7 on: the growth of `LATENCY HISTOGRAM`.
//!
//! It reports how long commands took to *execute*. Their wait in connections before, which is what
//! grows first when a server is overloaded, is not included: an objective on it limits the server's
//! work, not its clients' wait.
//!
//! The bounds are given in whole microseconds, rounded down (`latency.c`: `highest_equivalent_value
//! / 1000`), and are read as the next microsecond. Each is twice the one before
//! (`hdr_iter_log_init` with 1024 ns and 2); empty buckets are left out. The commands that this
//! source sends itself are left out; commands of a transaction count themselves, and `exec` once
//! more.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, BufReader};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::bounded::{Bounded, TIMEOUT, Trouble};
use super::histogram::Histogram;
use super::poll::{HistogramServer, Poller};
use super::resp::{self, Value};
use super::{Bounds, Source};

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `host:port`.
    Tcp(String),
    /// A socket's path.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(authority) => f.write_str(authority),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Names a server and its commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redis {
    /// Where it listens.
    pub address: Address,
    /// Its commands, as `LATENCY HISTOGRAM` names them (`get`, `config|get`); all if none is named.
    pub commands: Vec<String>,
    /// The user to log in as; the default one if there is only a password.
    pub user: Option<String>,
    /// A file that contains only the password, and perhaps a newline.
    pub password_file: Option<PathBuf>,
}

/// The most bytes of an answer, and letters of an error in the log. The histograms of 400 commands
/// are some 160 KB.
const MOST_BYTES: u64 = 1 << 20;
const LONGEST_ERROR: usize = 80;

/// Commands that this source sends.
const OURS: [&str; 2] = ["auth", "latency|histogram"];

impl Redis {
    /// Begins to poll the server; a call waits at most `patience` for an answer.
    ///
    /// # Errors
    /// If no thread can be made.
    pub fn open(self, patience: Duration) -> io::Result<Box<dyn Source>> {
        let name = format!("redis {}", self.address);
        Ok(Box::new(Poller::new(name, patience, Connection { redis: self, open: None })?))
    }

    fn connect(&self) -> Result<BufReader<Bounded>, Trouble> {
        let stream = self.stream().map_err(|error| format!("redis {}: {error}", self.address))?;
        let mut stream = BufReader::new(stream);
        let Some(file) = &self.password_file else { return Ok(stream) };
        let password =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let password = password.trim_end_matches(['\r', '\n']);
        let mut words = vec!["AUTH"];
        words.extend(self.user.as_deref());
        words.push(password);
        self.send(&mut stream, &words)?;
        Ok(stream)
    }

    fn stream(&self) -> io::Result<Bounded> {
        match &self.address {
            Address::Unix(path) => {
                Ok(Bounded::new(Box::new(UnixStream::connect(path)?), MOST_BYTES))
            }
            Address::Tcp(authority) => {
                let mut failed = io::Error::other("the name has no address");
                for address in authority.to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, TIMEOUT) {
                        Ok(stream) => return Ok(Bounded::new(Box::new(stream), MOST_BYTES)),
                        Err(error) => failed = error,
                    }
                }
                Err(failed)
            }
        }
    }

    fn send(&self, stream: &mut BufReader<Bounded>, words: &[&str]) -> Result<Value, Trouble> {
        stream.get_mut().renew();
        let place = format!("redis {}", self.address);
        let answer = resp::write(stream.get_mut(), words).and_then(|()| resp::read(stream));
        match answer {
            Ok(Value::Error(error)) => {
                let error: String = error.chars().take(LONGEST_ERROR).collect();
                Err(format!("{place}: {}", error.escape_debug()).into())
            }
            Ok(value) => Ok(value),
            Err(error) => Err(Trouble::at(&place, &error)),
        }
    }
}

/// A bound of Redis' histograms: the highest value that the histogram, of two digits, does not
/// distinguish from 1024 ns, doubled `power` times.
const fn bound(power: u32) -> Duration {
    Duration::from_micros(((1032_u64 << power) - 1) / 1000 + 1)
}

/// The bucket of Redis' histograms that a latency is in: its two bounds.
pub(super) fn around(latency: Duration) -> Bounds {
    let power = (0..32).find(|&power| latency <= bound(power)).unwrap_or(32);
    (power.checked_sub(1).map_or(Duration::ZERO, bound), bound(power))
}

struct Connection {
    redis: Redis,
    open: Option<BufReader<Bounded>>,
}

impl HistogramServer for Connection {
    fn fetch(&mut self) -> Result<Histogram, Trouble> {
        // After any failure, the next question goes over a new connection.
        let mut stream = match self.open.take() {
            Some(stream) => stream,
            None => self.redis.connect()?,
        };
        let mut words = vec!["LATENCY", "HISTOGRAM"];
        words.extend(self.redis.commands.iter().map(String::as_str));
        let value = self.redis.send(&mut stream, &words)?;
        let address = &self.redis.address;
        let histogram = histogram(&value).ok_or_else(|| {
            format!("redis {address}: no answer to LATENCY HISTOGRAM, which version 7 has")
        })?;
        self.open = Some(stream);
        Ok(histogram)
    }
}

/// `[command, ["calls", n, "histogram_usec", [bound, count, ...]], ...]` (redis.io, "LATENCY
/// HISTOGRAM").
pub(super) fn histogram(value: &Value) -> Option<Histogram> {
    let Value::List(commands) = value else { return None };
    let mut sum = Histogram::default();
    for command in commands.chunks(2) {
        let [Value::Text(name), Value::List(fields)] = command else { return None };
        if OURS.contains(&name.as_str()) {
            continue;
        }
        let found = fields.chunks(2).find_map(|pair| match pair {
            [Value::Text(key), Value::List(buckets)] if key == "histogram_usec" => Some(buckets),
            _ => None,
        });
        let mut buckets = BTreeMap::new();
        for bucket in found?.chunks(2) {
            let [Value::Number(bound), Value::Number(count)] = bucket else { return None };
            let bound = Duration::from_micros(u64::try_from(*bound).ok()?.checked_add(1)?);
            buckets.insert(bound, u64::try_from(*count).ok()?);
        }
        sum.add_cumulative(name.clone(), &buckets, |bound| bound / 2)?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, buckets: &str) -> String {
        format!(
            "${}\r\n{name}\r\n*4\r\n$5\r\ncalls\r\n:9\r\n$14\r\nhistogram_usec\r\n{buckets}",
            name.len()
        )
    }

    #[test]
    fn commands_are_summed_except_our_own() {
        let mut bytes = Vec::new();
        bytes.extend(b"*6\r\n");
        bytes.extend(command("get", "*4\r\n:1\r\n:5\r\n:4\r\n:7\r\n").bytes());
        bytes.extend(command("latency|histogram", "*2\r\n:66\r\n:9\r\n").bytes());
        bytes.extend(command("set", "*2\r\n:4\r\n:2\r\n").bytes());
        let histogram = histogram(&resp::read(&mut bytes.as_slice()).unwrap()).unwrap();
        let grown = histogram.since(&Histogram::default()).unwrap();
        let grown: Vec<_> = grown.iter().map(|a| (a.latency.as_micros(), a.requests)).collect();
        assert_eq!(grown.iter().map(|of| of.1).sum::<u64>(), 9);
        assert!(grown.iter().all(|&(latency, _)| latency < 5), "{grown:?}");
    }

    #[test]
    fn a_bucket_is_known_without_asking() {
        let micros = Duration::from_micros;
        for (latency, above, bound) in
            [(1, 0, 2), (2, 0, 2), (3, 2, 3), (50, 34, 67), (16_909, 8455, 16_909)]
        {
            assert_eq!(around(micros(latency)), (micros(above), micros(bound)), "{latency}");
        }
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        for wrong in [
            Value::Null,
            Value::List(vec![text("get")]),
            Value::List(vec![text("get"), Value::List(vec![])]),
            Value::List(vec![text("get"), text("calls")]),
        ] {
            assert_eq!(histogram(&wrong), None, "{wrong:?}");
        }
        assert_eq!(histogram(&Value::List(vec![])), Some(Histogram::default()));
    }
}
