//! The language of resctrl's files.
//!
//! Everything here is text to values and back; nothing opens a file.

mod bit_usage;
mod info;
mod lever;
mod mode;
mod reading;
mod schemata;
mod status;
mod traffic;
mod transactions;

pub use bit_usage::{BitUsage, Use};
pub use info::{Bandwidth, Cache, Info, Monitoring};
pub use lever::{IN_MBPS_FILE, IN_MBPS_OPTION};
pub use mode::Mode;
pub use reading::Reading;
pub use schemata::{Line, Schemata, UnknownLine, Value};
pub use status::Status;
pub use traffic::{Assignments, CountedTraffic, FilteredEvent, TrafficCounters};
pub use transactions::{LOCAL_TRANSACTIONS, TRANSACTIONS};

/// The content of a file that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{found}`: expected {expected}")]
pub struct LanguageError {
    /// The part of the file.
    pub what: &'static str,
    /// The text.
    pub found: String,
    /// The expected text.
    pub expected: &'static str,
}

impl LanguageError {
    fn new(what: &'static str, found: &str, expected: &'static str) -> Self {
        // Whatever the file contains, the message is one line.
        Self { what, found: found.trim_end().escape_debug().to_string(), expected }
    }
}

/// A number in decimal digits, without a sign.
fn plain(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `0=value;1=value`: the value of each domain, by the domain's id, which may skip numbers.
///
/// The kernel prints ids in ascending order and accepts blanks around both sides.
fn by_domain<T>(
    what: &'static str,
    text: &str,
    mut value: impl FnMut(&str) -> Result<T, LanguageError>,
) -> Result<Vec<(u32, T)>, LanguageError> {
    let expected = "domain=value, separated by `;`";
    let mut domains: Vec<(u32, T)> = Vec::new();
    for pair in text.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (id, of) =
            pair.split_once('=').ok_or_else(|| LanguageError::new(what, pair, expected))?;
        let id = plain(id.trim()).ok_or_else(|| LanguageError::new(what, pair, expected))?;
        if domains.iter().any(|&(known, _)| known == id) {
            return Err(LanguageError::new(what, pair, "each domain once"));
        }
        domains.push((id, value(of.trim())?));
    }
    Ok(domains)
}
