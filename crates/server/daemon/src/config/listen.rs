//! Where a service listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At a port of an address of this host.
    Tcp(SocketAddr),
    /// At a socket, by an absolute path.
    Unix(PathBuf),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let expected =
                "an address and a port such as 127.0.0.1:19750 or [::1]:19750, or unix:/PATH";
            format!("expected {expected}, found {text:?}")
        };
        match text.strip_prefix("unix:").map(PathBuf::from) {
            Some(path) if path.is_absolute() => Ok(Self::Unix(path)),
            Some(_) => Err(wrong()),
            None => text.parse().map(Self::Tcp).map_err(|_| wrong()),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Serialize for Listen {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_it_was_read_and_names_are_none() {
        for text in ["127.0.0.1:19750", "[::1]:9", "0.0.0.0:0", "unix:/run/fairways/metrics.sock"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
        for text in
            ["", "19750", ":19750", "localhost:19750", "127.0.0.1", "unix:", "unix:here", "::1:9x"]
        {
            let why = text.parse::<Listen>().unwrap_err();
            assert!(why.ends_with(&format!("found {text:?}")), "{why}");
        }
    }
}
