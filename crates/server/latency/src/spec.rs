//! A source of latencies in a line of text.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::openmetrics::OpenMetrics;
use super::redis::{self, Address, Redis};
use super::samples::{FileSource, OpenError, SocketSource};
use super::{Bounds, PATIENCE, Source, text};

/// Names where a service's latencies come from. As text:
///
/// - `openmetrics:http://127.0.0.1:9090/metrics#http_request_duration_seconds{handler="/"}`; where
///   the histogram's bounds are in milliseconds, `@milliseconds` stands behind it. The port is 80
///   if there is none, and the labels may be left out.
/// - `redis:127.0.0.1:6379` or `redis:/run/redis.sock`; `#get,set` behind it names commands, and
///   before that `?user=NAME&password-file=PATH` a user.
/// - `file:/path` and `socket:/path`: [samples](super::samples).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A histogram over HTTP.
    OpenMetrics(OpenMetrics),
    /// Redis.
    Redis(Redis),
    /// A file that grows.
    File(PathBuf),
    /// A socket that is made, and that programs send to.
    Socket(PathBuf),
}

/// A text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("latency source `{found}`: expected {expected}")]
pub struct SpecError {
    found: String,
    expected: &'static str,
}

impl Spec {
    /// Opens the source. A server that does not answer, or a missing file, is no error: its
    /// latencies are unknown until it answers or exists.
    ///
    /// # Errors
    /// If a socket can't be made, or no thread.
    pub fn open(&self) -> Result<Box<dyn Source>, OpenError> {
        self.open_with(PATIENCE)
    }

    /// The same, with another patience for a server's answers.
    ///
    /// # Errors
    /// Likewise.
    pub fn open_with(&self, patience: Duration) -> Result<Box<dyn Source>, OpenError> {
        Ok(match self {
            Self::OpenMetrics(page) => page.clone().open(patience).map_err(OpenError::Thread)?,
            Self::Redis(redis) => redis.clone().open(patience).map_err(OpenError::Thread)?,
            Self::File(path) => Box::new(FileSource::new(path.clone())),
            Self::Socket(path) => Box::new(SocketSource::bind(path.clone())?),
        })
    }
}

impl Spec {
    /// The bucket that a latency is in, where the source is a histogram; a page over HTTP is
    /// requested once. The upper bound is [`UNBOUNDED`](super::UNBOUNDED) if the latency is longer
    /// than the last one.
    ///
    /// # Errors
    /// Why the page can't be read, in one line; that takes up to 10 s.
    pub fn bucket_around(&self, latency: Duration) -> Result<Option<Bounds>, String> {
        match self {
            Self::OpenMetrics(page) => page.around(latency),
            Self::Redis(_) => Ok(Some(redis::around(latency))),
            Self::File(_) | Self::Socket(_) => Ok(None),
        }
    }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let spec = match text.split_once(':') {
            Some(("file", rest)) => path(rest).map(Self::File),
            Some(("socket", rest)) => path(rest).map(Self::Socket),
            Some(("redis", rest)) => server(rest).map(Self::Redis),
            Some(("openmetrics", rest)) => page(rest).map(Self::OpenMetrics),
            _ => Err("`openmetrics:`, `redis:`, `file:` or `socket:`"),
        };
        spec.map_err(|expected| SpecError { found: text.escape_debug().to_string(), expected })
    }
}

fn path(text: &str) -> Result<PathBuf, &'static str> {
    match text.starts_with('/') {
        true => Ok(PathBuf::from(text)),
        false => Err("a path from the root, as in `file:/run/latencies`"),
    }
}

fn page(text: &str) -> Result<OpenMetrics, &'static str> {
    let (url, histogram) =
        text.split_once('#').ok_or("`#` and the histogram's name behind the URL")?;
    let rest = url
        .strip_prefix("http://")
        .ok_or("a URL of plain HTTP, as in `openmetrics:http://127.0.0.1:9090/metrics#NAME`")?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_plain = rest.bytes().all(|byte| byte.is_ascii_graphic());
    if authority.is_empty() || authority.contains('@') || !is_plain {
        return Err("a host, with or without a port, and a path without blanks");
    }
    let after_brackets = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    let authority =
        if after_brackets.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let (histogram, unit) = match histogram.rsplit_once('@') {
        Some((histogram, "seconds")) => (histogram, Duration::from_secs(1)),
        Some((histogram, "milliseconds")) => (histogram, Duration::from_millis(1)),
        Some((_, unit)) if !unit.contains('}') => return Err("`@seconds` or `@milliseconds`"),
        _ => (histogram, Duration::from_secs(1)),
    };
    let (name, labels) = match histogram.split_once('{') {
        None => (histogram, Vec::new()),
        Some((name, rest)) => match text::labels(rest) {
            Some((labels, "")) => (name, labels),
            _ => return Err("labels as in `{handler=\"/\"}`"),
        },
    };
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':')
    {
        return Err("a histogram's name, of letters, digits, `_` and `:`");
    }
    let path = if path.is_empty() { "/" } else { path };
    Ok(OpenMetrics { authority, path: path.to_owned(), name: name.to_owned(), labels, unit })
}

fn server(text: &str) -> Result<Redis, &'static str> {
    let (rest, commands) = text.split_once('#').unwrap_or((text, ""));
    let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (mut user, mut password_file) = (None, None);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("user", name)) if !name.is_empty() => user = Some(name.to_owned()),
            Some(("password-file", path)) if path.starts_with('/') => {
                password_file = Some(PathBuf::from(path));
            }
            _ => return Err("`user=NAME` and `password-file=/PATH`, joined by `&`"),
        }
    }
    if user.is_some() && password_file.is_none() {
        return Err("a password-file of the user");
    }
    let address = match address.rsplit_once(':') {
        _ if address.starts_with('/') => Address::Unix(address.into()),
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Address::Tcp(address.to_owned())
        }
        _ => return Err("`host:port` or a socket's path from the root"),
    };
    let commands = commands.split(',').map(str::trim).filter(|name| !name.is_empty());
    let commands = commands.map(str::to_lowercase).collect();
    Ok(Redis { address, commands, user, password_file })
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Socket(path) => write!(f, "socket:{}", path.display()),
            Self::OpenMetrics(page) => {
                write!(f, "openmetrics:http://{}{}#{}", page.authority, page.path, page.name)?;
                for (index, (name, value)) in page.labels.iter().enumerate() {
                    let value =
                        value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                    write!(f, "{}{name}=\"{value}\"", if index == 0 { "{" } else { "," })?;
                }
                f.write_str(if page.labels.is_empty() { "" } else { "}" })?;
                f.write_str(if page.unit == Duration::from_millis(1) {
                    "@milliseconds"
                } else {
                    ""
                })
            }
            Self::Redis(redis) => {
                write!(f, "redis:{}", redis.address)?;
                let user = redis.user.as_ref().map(|user| format!("user={user}"));
                let file = redis.password_file.as_ref();
                let file = file.map(|file| format!("password-file={}", file.display()));
                let options: Vec<String> = user.into_iter().chain(file).collect();
                if !options.is_empty() {
                    write!(f, "?{}", options.join("&"))?;
                }
                if !redis.commands.is_empty() {
                    write!(f, "#{}", redis.commands.join(","))?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_reads_as_it_is_written() {
        for text in [
            "file:/run/a b",
            "socket:/run/s",
            "redis:127.0.0.1:6379",
            "redis:[::1]:6379#get,config|set",
            "redis:/run/redis.sock?user=app&password-file=/etc/p#set",
            "openmetrics:http://127.0.0.1:9090/metrics#http_request_duration_seconds{handler=\"/\"}",
            "openmetrics:http://[::1]:9090/m?x=1#rpc{a=\"x,\\\"}@\",b=\"\\\\\"}@milliseconds",
            "openmetrics:http://a:1/#rpc",
        ] {
            let spec: Spec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text, "{spec:?}");
        }
        let short: Spec = "openmetrics:http://host#rpc@seconds".parse().unwrap();
        assert_eq!(short.to_string(), "openmetrics:http://host:80/#rpc");
    }

    #[test]
    fn a_text_that_names_no_source_is_refused_in_a_line() {
        for text in [
            "",
            "file:",
            "file:relative",
            "http://a",
            "redis:",
            "redis:host",
            "redis:host:port",
            "redis:a:1?user=x",
            "redis:a:1?secret=x",
            "openmetrics:http://a",
            "openmetrics:https://a#b",
            "openmetrics:http://#b",
            "openmetrics:http://u@a#b",
            "openmetrics:http://a/ b#c",
            "openmetrics:http://a#",
            "openmetrics:http://a#b c",
            "openmetrics:http://a#b{c}",
            "openmetrics:http://a#b{c=\"d\"}e",
            "openmetrics:http://a#b@hours",
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains("expected") && !error.contains('\n'), "{error}");
        }
    }
}
