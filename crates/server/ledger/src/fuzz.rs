//! Any bytes as a ledger (fuzz/README.md): as they are, and with the checksum that they would have.

use super::{Book, seal};

/// A ledger that is believed can be written and read again. For any other, a line gives the reason,
/// and repeats nothing that could move a terminal.
pub fn any<B: Book>(bytes: &[u8]) {
    let one = |text: &[u8]| match seal::read::<B>(text) {
        Ok(ledger) => {
            assert!(ledger.check().is_ok());
            let again = seal::write(&ledger).map(|text| seal::read::<B>(&text));
            assert!(again.is_ok_and(|again| again.is_ok_and(|again| again == ledger)));
        }
        Err(why) => assert!(!why.is_empty() && !why.contains(char::is_control), "{why:?}"),
    };
    one(bytes);
    if let Ok(ledger) = serde_json::from_slice::<B>(bytes) {
        one(&seal::write(&ledger).unwrap_or_default());
    }
}
