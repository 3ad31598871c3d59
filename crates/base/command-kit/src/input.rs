//! Values of flags and files, and files of input.
//!
//! A reader of a value says what it expected and what it found. Its caller says where the value
//! was: in a flag, or in a line of a file.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use crate::BadInput;
use crate::plain::plain;

/// The largest input file, in bytes.
pub const LARGEST_FILE: u64 = 1 << 28;

/// A path as text on one line, whatever it contains.
pub fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// Reads a file's bytes.
///
/// # Errors
/// If it can't be read, or is larger than [`LARGEST_FILE`].
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

/// The first item that repeats an earlier one.
pub fn repeated<T: Copy + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = HashSet::new();
    items.into_iter().find(|&item| !seen.insert(item))
}

/// A parser of whole numbers from `least` to `most`.
pub fn whole<N>(
    least: N,
    most: N,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| within(text, "a whole number", least, most)
}

/// A parser of numbers from `least` to `most`.
pub fn real(
    least: f64,
    most: f64,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| within(text, "a number", least, most)
}

fn within<N>(text: &str, what: &str, least: N, most: N) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display,
{
    let number = text.trim().parse().ok().filter(|number| (&least..=&most).contains(&number));
    number.ok_or_else(|| format!("expected {what} from {least} to {most}, found {text:?}"))
}

/// Parses a number above 0.
///
/// # Errors
/// A description of the expected value.
pub fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number
        .filter(|number| *number > 0.0)
        .ok_or_else(|| format!("expected a number above 0, found {text:?}"))
}

/// Checks that a number is at most `most`, a bound from a file or another flag.
///
/// # Errors
/// If it is larger: `flag` and the expected bound.
pub fn at_most<N: Copy + Display + PartialOrd>(
    number: N,
    flag: &str,
    most: N,
) -> Result<N, BadInput> {
    if number <= most {
        return Ok(number);
    }
    Err(BadInput(format!("{flag}: expected a whole number from 1 to {most}, found \"{number}\"")))
}

/// Parses a time above zero, as in `500ms`.
///
/// # Errors
/// A description of the expected value.
pub fn time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text.trim()).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("expected a time such as 500ms, 60s or 2m, found {text:?}"))
}

/// A parser of times within bounds, which `expected` describes.
pub fn time_within(
    bounds: RangeInclusive<Duration>,
    expected: &'static str,
) -> impl Fn(&str) -> Result<Duration, String> + Clone + Send + Sync + 'static {
    move |text| {
        let time = humantime::parse_duration(text.trim()).ok();
        let time = time.filter(|time| bounds.contains(time));
        time.ok_or_else(|| format!("expected {expected}, found {text:?}"))
    }
}

/// Parses a size of at least a byte: `500K`, `64M`, `2G`, or a number of bytes.
///
/// # Errors
/// A description of the expected value.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim().char_indices().last() {
        Some((end, 'K')) => (&text.trim()[..end], 10),
        Some((end, 'M')) => (&text.trim()[..end], 20),
        Some((end, 'G')) => (&text.trim()[..end], 30),
        _ => (text.trim(), 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    bytes
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("expected a size such as 500K, 64M or 2G, found {text:?}"))
}
