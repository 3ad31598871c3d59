//! How much of a journal is kept.

use fairways_command_kit::BadInput;
use fairways_command_kit::input::{bytes, number};

/// How many bytes a part of the journal may have, and how many are kept, as `--journal-size` and
/// `--journal-parts` say; `None` where it is not said.
///
/// # Errors
/// If a text is no size, or no number.
pub fn limits(
    size: Option<&str>,
    parts: Option<&str>,
) -> Result<(Option<u64>, Option<u32>), BadInput> {
    let size = size.map(self::size).transpose()?;
    let parts = parts.map(|text| number(text, "--journal-parts", 0, u32::MAX)).transpose()?;
    Ok((size, parts))
}

/// So many bytes: a number, and K, M or G behind it.
fn size(text: &str) -> Result<u64, BadInput> {
    bytes(text).ok_or_else(|| {
        BadInput(format!("--journal-size: expected a size such as 500K, 64M or 2G, found {text:?}"))
    })
}
