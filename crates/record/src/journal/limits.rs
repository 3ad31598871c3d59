//! The limits on what is kept of a journal.

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{bytes, number};

/// The bytes that a part may have and the number of parts to keep, from the texts of
/// `--journal-size` and `--journal-parts`; `None` for a flag that is missing.
///
/// # Errors
/// If a text is not a size, or not a number.
pub fn limits(
    size: Option<&str>,
    parts: Option<&str>,
) -> Result<(Option<u64>, Option<u32>), BadInput> {
    let size = size.map(self::size).transpose()?;
    let parts = parts.map(|text| number(text, "--journal-parts", 0, u32::MAX)).transpose()?;
    Ok((size, parts))
}

/// Parses a number of bytes: digits with an optional K, M or G.
fn size(text: &str) -> Result<u64, BadInput> {
    bytes(text).ok_or_else(|| {
        BadInput(format!("--journal-size: expected a size such as 500K, 64M or 2G, found {text:?}"))
    })
}
