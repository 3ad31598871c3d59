//! How single values are written, and what they mean. The error for a wrong value says what was
//! expected.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use fairways_command_kit::{input, objective};
use fairways_core::Objective;
use fairways_exec_policy::policies;
use fairways_latency::Spec;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::invented::inventor_of;

/// Where counters come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CounterSource {
    /// The kernel's perf.
    #[default]
    Perf,
    /// Nothing is counted.
    None,
    /// An emulator, by its control socket; by default that of the emulator at `resctrl.root`.
    Emulator(Option<PathBuf>),
    /// Counters that a test invents, as it says.
    Invented(String),
}

impl FromStr for CounterSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.split_once(':')) {
            ("perf", _) => Ok(Self::Perf),
            ("none", _) => Ok(Self::None),
            ("emulator", _) => Ok(Self::Emulator(None)),
            (_, Some(("emulator", socket))) if !socket.is_empty() => {
                Ok(Self::Emulator(Some(socket.into())))
            }
            _ if inventor_of(text).is_some() => Ok(Self::Invented(text.to_owned())),
            _ => Err(format!("expected perf, none, emulator or emulator:SOCKET, found {text:?}")),
        }
    }
}

impl fmt::Display for CounterSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Perf => f.write_str("perf"),
            Self::None => f.write_str("none"),
            Self::Emulator(None) => f.write_str("emulator"),
            Self::Emulator(Some(socket)) => write!(f, "emulator:{}", socket.display()),
            Self::Invented(text) => f.write_str(text),
        }
    }
}

/// Where time comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// The host.
    #[default]
    Real,
    /// An emulator, by its control socket; by default that of the emulator at `resctrl.root`.
    Emulator(Option<PathBuf>),
}

impl FromStr for ClockSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("emulator:")) {
            ("real", _) => Ok(Self::Real),
            ("emulator", _) => Ok(Self::Emulator(None)),
            (_, Some(socket)) if !socket.is_empty() => Ok(Self::Emulator(Some(socket.into()))),
            _ => Err(format!("expected real, emulator or emulator:SOCKET, found {text:?}")),
        }
    }
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real => f.write_str("real"),
            Self::Emulator(None) => f.write_str("emulator"),
            Self::Emulator(Some(socket)) => write!(f, "emulator:{}", socket.display()),
        }
    }
}

/// A value, with the text as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked<T> {
    pub(crate) text: String,
    pub(crate) value: T,
}

impl<T> Serialize for Asked<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

/// Reads and writes any type that has a text form.
pub(super) mod text {
    use super::*;

    pub(crate) fn serialize<T: fmt::Display, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T: FromStr<Err: fmt::Display>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        read(from, str::parse)
    }
}

/// A length of time: `100ms`, `2s`.
pub(super) mod span {
    use super::*;

    /// A shorter time keeps a CPU busy; a longer one is a mistake.
    const BOUNDS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_secs(3600);

    pub(crate) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_duration(*span))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        read(from, input::time_within(BOUNDS, "a time from 10ms to 1h, such as 100ms"))
    }
}

/// The length of a turn: `10ms`.
pub(super) mod turn {
    use super::*;

    /// The kernel's clock ticks up to a thousand times a second; with turns of more than a second,
    /// threads hardly take turns.
    const BOUNDS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);

    pub(crate) use super::span::serialize;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        read(from, input::time_within(BOUNDS, "a time from 1ms to 1s, such as 10ms"))
    }
}

/// Reads a text with the reader that flags use.
fn read<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    from: D,
    reader: impl Fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    reader(&String::deserialize(from)?).map_err(D::Error::custom)
}

/// A number of bytes: `256M`.
pub(super) mod size {
    use super::*;

    const UNITS: [(u32, &str); 4] = [(30, "G"), (20, "M"), (10, "K"), (0, "")];

    pub(crate) fn serialize<S: Serializer>(bytes: &u64, to: S) -> Result<S::Ok, S::Error> {
        let whole = UNITS.into_iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
        let (shift, unit) = whole.unwrap_or((0, ""));
        to.collect_str(&format_args!("{}{unit}", bytes >> shift))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        read(from, input::size)
    }
}

/// Reads the name of a policy. A program is asked about itself once all files are read.
pub(super) fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    read(from, |name| match policies::is_program(name) {
        true => Ok(name.to_owned()),
        false => policies::known(name).map(|policy| policy.name.to_owned()),
    })
}

/// Reads a number from 1 on.
pub(super) fn at_least_one<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let number = i64::deserialize(from)?;
    let fitting = u32::try_from(number).ok().filter(|number| *number > 0);
    let error = || D::Error::custom(format!("expected a number from 1 on, found {number}"));
    fitting.map(Some).ok_or_else(error)
}

/// Reads an absolute path, which does not depend on where the daemon was started.
pub(super) fn path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let path = PathBuf::deserialize(from)?;
    if path.is_absolute() {
        return Ok(path);
    }
    let wrong = format!("expected an absolute path, found {:?}", path.display().to_string());
    Err(D::Error::custom(wrong))
}

pub(super) fn optional_path<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<PathBuf>, D::Error> {
    path(from).map(Some)
}

/// Reads a name, which must fit in a line of the log.
pub(super) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    if name.trim().is_empty() || name.contains(char::is_control) {
        return Err(D::Error::custom(format!("expected a name in one line, found {name:?}")));
    }
    Ok(name)
}

/// Reads an objective of one stage, as `--objectives` takes it.
pub(super) fn objective<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Asked<Objective>>, D::Error> {
    let text = String::deserialize(from)?;
    let value = objective::objective(text.trim()).map_err(D::Error::custom)?;
    Ok(Some(Asked { text, value }))
}

/// Reads a source of latencies: `redis:127.0.0.1:6379`. `emulator`, the one whose clock or counters
/// are used, gives `None`.
pub(super) fn latency<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Asked<Option<Spec>>>, D::Error> {
    let text = String::deserialize(from)?;
    let is_emulators = text == "emulator";
    let spec = (!is_emulators).then(|| text.parse()).transpose();
    let value = spec.map_err(D::Error::custom)?;
    Ok(Some(Asked { text, value }))
}
