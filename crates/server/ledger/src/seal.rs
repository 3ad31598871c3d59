//! A ledger's text with a checksum, so that a damaged one is not believed.

use flate2::Crc;
use serde::{Deserialize, Serialize};

use super::Book;

/// The text, as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed<B> {
    /// CRC-32 (ISO-HDLC) of the ledger as it is written here: JSON, indented by two spaces from the
    /// margin.
    crc32: u32,
    ledger: B,
}

pub(super) fn write<B: Book>(ledger: &B) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec_pretty(&Sealed { crc32: sum(ledger)?, ledger: ledger.clone() })
}

/// The ledger, or the reason not to believe it.
pub(super) fn read<B: Book>(text: &[u8]) -> Result<B, String> {
    // The text is not repeated: it may be anything.
    let Sealed { crc32, ledger } = serde_json::from_slice::<Sealed<B>>(text).map_err(|why| {
        format!("not a ledger, from line {}, column {} on", why.line(), why.column())
    })?;
    let found = sum(&ledger).map_err(|why| why.to_string())?;
    if found != crc32 {
        return Err(format!("expected the checksum {crc32}, found {found}"));
    }
    let (version, expected) = (ledger.version(), B::VERSION);
    if version != expected {
        return Err(format!("version {version}: expected {expected}"));
    }
    ledger.check().map(|()| ledger)
}

fn sum(ledger: &impl Book) -> serde_json::Result<u32> {
    let mut crc = Crc::new();
    crc.update(&serde_json::to_vec_pretty(ledger)?);
    Ok(crc.sum())
}
