//! What flags and files say, checked; what is wrong is told in one line that names the flag or the
//! file.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::BadInput;
use crate::plain::plain;

/// No file of input is larger, in bytes.
pub const LARGEST_FILE: u64 = 1 << 28;

/// A path on one line, whatever is in it.
pub fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// The bytes of a file.
///
/// # Errors
/// It can't be read, or is larger than [`LARGEST_FILE`].
pub fn read(path: &Path) -> Result<Vec<u8>, BadInput> {
    let error = |why: io::Error| BadInput(format!("{}: can't read it: {why}", shown(path)));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(error)?;
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(error)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(BadInput(format!(
            "{}: expected a file of at most {LARGEST_FILE} bytes",
            shown(path)
        )));
    }
    Ok(bytes)
}

/// The first item that was there before.
pub fn repeated<T: Copy + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = HashSet::new();
    items.into_iter().find(|&item| !seen.insert(item))
}

/// A whole number from `least` to `most`.
///
/// # Errors
/// It is none, or out of bounds.
pub fn number<N>(text: &str, flag: &str, least: N, most: N) -> Result<N, BadInput>
where
    N: FromStr + PartialOrd + Display,
{
    within(text, flag, "a whole number", least, most)
}

/// A number from `least` to `most`.
///
/// # Errors
/// It is none, or out of bounds.
pub fn real(text: &str, flag: &str, least: f64, most: f64) -> Result<f64, BadInput> {
    within(text, flag, "a number", least, most)
}

fn within<N>(text: &str, flag: &str, what: &str, least: N, most: N) -> Result<N, BadInput>
where
    N: FromStr + PartialOrd + Display,
{
    text.trim().parse().ok().filter(|number| (&least..=&most).contains(&number)).ok_or_else(|| {
        BadInput(format!("{flag}: expected {what} from {least} to {most}, found {text:?}"))
    })
}

/// A span of time, as in `500ms`.
///
/// # Errors
/// It is none, or nothing.
pub fn span(text: &str, flag: &str) -> Result<Duration, BadInput> {
    let span = humantime::parse_duration(text.trim()).ok();
    span.filter(|span| !span.is_zero()).ok_or_else(|| {
        BadInput(format!("{flag}: expected a time such as 500ms, 60s or 2m, found {text:?}"))
    })
}

/// `500K`, `64M`, `2G`, or so many bytes; at least one.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, shift) = match text.trim().char_indices().last() {
        Some((end, 'K')) => (&text.trim()[..end], 10),
        Some((end, 'M')) => (&text.trim()[..end], 20),
        Some((end, 'G')) => (&text.trim()[..end], 30),
        _ => (text.trim(), 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes.filter(|&bytes| bytes > 0)
}
