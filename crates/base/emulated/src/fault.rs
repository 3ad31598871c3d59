//! Faults on demand.
//!
//! A fault names an operation, a pattern of paths, what goes wrong, and when:
//!
//! | text | effect |
//! |---|---|
//! | `write:*/schemata=EBUSY` | every write of a schemata file fails so |
//! | `mkdir:/batch=ENOSPC@1` | the next time only; `@3`: the third time only |
//! | `read:*/llc_occupancy=Unavailable` | an event's file contains it; also `Error`, `Unassigned` |
//! | `write:web/tasks=vanish` | the group is removed just before, as if by another manager |
//! | `read:*=slow:200ms` | a read takes that much longer, and others do not wait for it |
//!
//! A read is one that makes a file's content: where a client goes on reading, to the end of the
//! file, say, no fault applies. Operations are open, read, write, truncate, mkdir, rmdir, rename,
//! list and any. Paths begin at the mount with `/`, which a pattern may leave out; `*` stands for
//! any text, `/` included, and `?` for one character.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use fairways_linux::errno;
use fairways_resctrl::language::Reading;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Something that goes wrong on demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fault {
    /// The operation.
    pub operation: Operation,
    /// The pattern of paths, as written.
    pub pattern: String,
    /// The effect.
    pub effect: Effect,
    /// Which time after its arming it takes effect, counted from 1; `None`: every time.
    pub nth: Option<u64>,
}

/// A client's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// open(2) of a file.
    Open,
    /// read(2).
    Read,
    /// write(2).
    Write,
    /// truncate(2), as opening with `O_TRUNC` does.
    Truncate,
    /// mkdir(2); the path is that of the new directory.
    Mkdir,
    /// rmdir(2).
    Rmdir,
    /// rename(2); the path is the old one.
    Rename,
    /// Listing a directory.
    List,
    /// All of these.
    Any,
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The operation fails with this errno, and changes nothing.
    Fails(Errno),
    /// The file of an event contains this instead of a number; never [`Reading::Value`].
    Reports(Reading),
    /// The group that the path is in, or names, is removed before the operation.
    Vanishes,
    /// The operation takes that much longer.
    Slow(Duration),
}

/// A text that is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault {text:?}: expected {expected}")]
pub struct FaultError {
    text: String,
    expected: String,
}

const OPERATIONS: [(&str, Operation); 9] = [
    ("open", Operation::Open),
    ("read", Operation::Read),
    ("write", Operation::Write),
    ("truncate", Operation::Truncate),
    ("mkdir", Operation::Mkdir),
    ("rmdir", Operation::Rmdir),
    ("rename", Operation::Rename),
    ("list", Operation::List),
    ("any", Operation::Any),
];

/// The largest errno (the kernel's `MAX_ERRNO`).
const MOST_ERRNO: i32 = 4095;

/// Slower than this is not slow but stuck.
const MOST_SLOW: Duration = Duration::from_secs(600);

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let refused =
            |expected: &str| FaultError { text: text.to_owned(), expected: expected.to_owned() };
        let form = "OPERATION:PATTERN=WHAT, such as write:*/schemata=EBUSY";
        let (operation, rest) = text.split_once(':').ok_or_else(|| refused(form))?;
        let (pattern, effect) = rest.rsplit_once('=').ok_or_else(|| refused(form))?;
        let named = OPERATIONS.iter().find(|(name, _)| *name == operation);
        let operation = named.map(|&(_, operation)| operation).ok_or_else(|| {
            let names: Vec<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
            refused(&format!("an operation among {}", names.join(", ")))
        })?;
        if pattern.is_empty() || pattern.contains(char::is_control) {
            return Err(refused("a pattern of paths, such as */schemata"));
        }
        let (effect, nth) =
            effect.split_once('@').map_or((effect, None), |(effect, nth)| (effect, Some(nth)));
        let nth = nth.map(|nth| nth.parse().ok().filter(|&nth: &u64| nth > 0));
        let nth = match nth {
            Some(None) => return Err(refused("a number from 1 behind the @")),
            Some(Some(nth)) => Some(nth),
            None => None,
        };
        let effect = effect.parse::<Effect>().map_err(|()| {
            refused("EBUSY or another error, Unavailable, Error, Unassigned, vanish, or slow:200ms")
        })?;
        if matches!(effect, Effect::Reports(_)) && operation != Operation::Read {
            return Err(refused("read with a text for the file of an event"));
        }
        Ok(Self { operation, pattern: pattern.to_owned(), effect, nth })
    }
}

impl FromStr for Effect {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "Unavailable" => return Ok(Self::Reports(Reading::Unavailable)),
            "Error" => return Ok(Self::Reports(Reading::Error)),
            "Unassigned" => return Ok(Self::Reports(Reading::Unassigned)),
            "vanish" => return Ok(Self::Vanishes),
            _ => {}
        }
        if let Some(time) = text.strip_prefix("slow:") {
            let (number, unit) = match time.strip_suffix("ms") {
                Some(number) => (number, 1),
                None => (time.strip_suffix('s').ok_or(())?, 1000),
            };
            let millis = number.parse::<u64>().map_err(|_| ())?.checked_mul(unit).ok_or(())?;
            let time = Duration::from_millis(millis);
            return if time > MOST_SLOW { Err(()) } else { Ok(Self::Slow(time)) };
        }
        if let Some(errno) = errno::from_name(text) {
            return Ok(Self::Fails(errno));
        }
        let number = text.parse().ok().filter(|number| (1..=MOST_ERRNO).contains(number));
        number.map(|number| Self::Fails(Errno::from_raw_os_error(number))).ok_or(())
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fails(errno) => match errno::name(*errno) {
                Some(name) => f.write_str(name),
                None => write!(f, "{}", errno.raw_os_error()),
            },
            Self::Reports(reading) => write!(f, "{reading}"),
            Self::Vanishes => f.write_str("vanish"),
            Self::Slow(time) => write!(f, "slow:{}ms", time.as_millis()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = OPERATIONS.iter().find(|(_, operation)| *operation == self.operation);
        let name = named.map_or("any", |(name, _)| *name);
        write!(f, "{name}:{}={}", self.pattern, self.effect)?;
        self.nth.map_or(Ok(()), |nth| write!(f, "@{nth}"))
    }
}

impl TryFrom<String> for Fault {
    type Error = FaultError;

    fn try_from(text: String) -> Result<Self, FaultError> {
        text.parse()
    }
}

impl From<Fault> for String {
    fn from(fault: Fault) -> Self {
        fault.to_string()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_faults_and_back() {
        for text in [
            "write:*/schemata=EBUSY",
            "mkdir:/batch=ENOSPC@1",
            "read:*/llc_occupancy=Unavailable",
            "read:mon_data/*=Error@3",
            "write:web/tasks=vanish",
            "any:*=121",
            "read:*=slow:200ms",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        let slow: Fault = "read:*=slow:2s".parse().unwrap();
        assert_eq!(slow.effect, Effect::Slow(Duration::from_secs(2)));
    }

    #[test]
    fn an_invalid_fault_is_reported_in_a_line() {
        for (text, part) in [
            ("", "OPERATION:PATTERN=WHAT"),
            ("write", "OPERATION:PATTERN=WHAT"),
            ("write:x", "OPERATION:PATTERN=WHAT"),
            ("chew:x=EBUSY", "among open, read,"),
            ("write:=EBUSY", "a pattern of paths"),
            ("write:x=EFUNNY", "EBUSY or another error"),
            ("write:x=0", "EBUSY or another error"),
            ("write:x=5000", "EBUSY or another error"),
            ("write:x=EBUSY@0", "from 1"),
            ("write:x=slow:1", "slow:200ms"),
            ("write:x=slow:99999s", "slow:200ms"),
            ("write:x=Unavailable", "read with"),
        ] {
            let error = text.parse::<Fault>().unwrap_err().to_string();
            assert!(error.contains(part) && error.lines().count() == 1, "{text}: {error}");
        }
    }
}
