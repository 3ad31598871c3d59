//! Numbers in as few bytes as they need.

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Takes a number off the front; `None` if there is none, or it has more than 64 bits.
pub(super) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let seven = u64::from(byte & 0x7f);
        if seven << shift >> shift != seven {
            return None;
        }
        number |= seven << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// The difference between two lines as a number that is small if they are near.
pub(super) fn difference(line: u32, before: u32) -> u64 {
    let difference = i64::from(line) - i64::from(before);
    (difference << 1 ^ difference >> 63).cast_unsigned()
}

/// The line with a difference from another one.
pub(super) fn line_after(before: u32, difference: u64) -> Option<u32> {
    let difference = (difference >> 1).cast_signed() ^ -(difference & 1).cast_signed();
    u32::try_from(i64::from(before).checked_add(difference)?).ok()
}
