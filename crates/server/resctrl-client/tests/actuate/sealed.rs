//! Ledgers as an attacker would write them, with the right checksum.

/// A ledger's text, changed, with a new checksum: CRC-32 of the ledger from the margin.
pub(crate) fn sealed(ledger: &str) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(ledger.as_bytes());
    format!("{{\n  \"crc32\": {},\n  \"ledger\": {}\n}}", crc.sum(), ledger.replace('\n', "\n  "))
}

/// The ledger in a sealed text, from the margin.
pub(crate) fn opened(text: &str) -> String {
    let (_, ledger) = text.split_once("\"ledger\": ").unwrap();
    ledger.strip_suffix("\n}").unwrap().replace("\n  ", "\n")
}
