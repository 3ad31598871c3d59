//! How the kernel reads text.
//!
//! Source: lib/kstrtox.c, lib/string.c (`strsep`), lib/string_helpers.c (`strim`),
//! include/linux/ctype.h.

use super::Errno;

/// The part of a buffer that the kernel reads as a string: up to the first NUL.
pub(super) fn string(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The string before the line's end that must close the buffer.
pub(super) fn line(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_suffix(b"\n").map(string)
}

/// `strsep`: the text before the first `at`, and the text after it, if there is one.
pub(super) fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == at) {
        Some(position) => (&text[..position], Some(&text[position + 1..])),
        None => (text, None),
    }
}

/// `isspace`, which counts the no-break space of Latin-1 in.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0xa0)
}

/// `strim`.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|&byte| !is_space(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// The number at the beginning of `text`, and the rest (`_parse_integer`).
fn digits(text: &[u8], base: u32) -> Result<(u64, &[u8]), Errno> {
    let mut value: Option<u64> = Some(0);
    let mut read = 0;
    for &byte in text {
        let Some(digit) = char::from(byte).to_digit(base) else { break };
        value = value
            .and_then(|value| value.checked_mul(u64::from(base)))
            .and_then(|value| value.checked_add(u64::from(digit)));
        read += 1;
    }
    match value {
        None => Err(Errno::Erange),
        Some(_) if read == 0 => Err(Errno::Einval),
        Some(value) => Ok((value, &text[read..])),
    }
}

fn unsigned(text: &[u8], base: u32) -> Result<u64, Errno> {
    let hexadecimal = text.len() > 1 && text[0] == b'0' && text[1].eq_ignore_ascii_case(&b'x');
    let base = match base {
        0 if hexadecimal && text.get(2).is_some_and(u8::is_ascii_hexdigit) => 16,
        0 if text.first() == Some(&b'0') => 8,
        0 => 10,
        base => base,
    };
    let text = if base == 16 && hexadecimal { &text[2..] } else { text };
    let (value, rest) = digits(text, base)?;
    if rest.is_empty() || rest == b"\n" { Ok(value) } else { Err(Errno::Einval) }
}

/// `kstrtoul` and its like: one number, a plus sign before it and a line's end after it allowed;
/// base 0 means by prefix.
pub(super) fn number(text: &[u8], base: u32) -> Result<u64, Errno> {
    unsigned(text.strip_prefix(b"+").unwrap_or(text), base)
}

/// `kstrtouint`.
pub(super) fn number_u32(text: &[u8], base: u32) -> Result<u32, Errno> {
    u32::try_from(number(text, base)?).map_err(|_| Errno::Erange)
}

/// `kstrtoint`.
pub(super) fn number_i32(text: &[u8], base: u32) -> Result<i32, Errno> {
    let value = match text.strip_prefix(b"-") {
        Some(text) => 0 - i128::from(unsigned(text, base)?),
        None => i128::from(number(text, base)?),
    };
    i32::try_from(value).map_err(|_| Errno::Erange)
}

/// `kstrtobool`: by the first letter, or by the second one of `on` and `off`.
pub(super) fn switch(text: &[u8]) -> Option<bool> {
    let first = text.first()?.to_ascii_lowercase();
    let second = text.get(1).map(u8::to_ascii_lowercase);
    match (first, second) {
        (b'y' | b't' | b'1' | b'e', _) | (b'o', Some(b'n')) => Some(true),
        (b'n' | b'f' | b'0' | b'd', _) | (b'o', Some(b'f')) => Some(false),
        _ => None,
    }
}

/// The same text with bytes that are not ASCII replaced by equivalent ones for the parsers of CPU
/// sets.
pub(super) fn ascii(text: &[u8]) -> String {
    text.iter()
        .map(|&byte| match byte {
            0xa0 => '\x0b',
            0x80.. => '\x01',
            byte => char::from(byte),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_kstrtox_reads_them() {
        for (text, base, value) in [
            (&b"12"[..], 10, Ok(12)),
            (b"+12\n", 10, Ok(12)),
            (b"0xF", 16, Ok(15)),
            (b"f", 16, Ok(15)),
            (b"010", 0, Ok(8)),
            (b"0x10", 0, Ok(16)),
            (b"0x", 0, Err(Errno::Einval)),
            (b"0x", 16, Err(Errno::Einval)),
            (b"", 10, Err(Errno::Einval)),
            (b" 1", 10, Err(Errno::Einval)),
            (b"1 ", 10, Err(Errno::Einval)),
            (b"1\n\n", 10, Err(Errno::Einval)),
            (b"++1", 10, Err(Errno::Einval)),
            (b"-1", 10, Err(Errno::Einval)),
            (b"18446744073709551615", 10, Ok(u64::MAX)),
            (b"18446744073709551616", 10, Err(Errno::Erange)),
            (b"99999999999999999999x", 10, Err(Errno::Erange)),
        ] {
            assert_eq!(number(text, base), value, "{:?} base {base}", text.escape_ascii());
        }
        assert_eq!(number_i32(b"-1", 0), Ok(-1));
        assert_eq!(number_i32(b"-+1", 0), Err(Errno::Einval));
        assert_eq!(number_i32(b"2147483648", 0), Err(Errno::Erange));
        assert_eq!(number_u32(b"4294967296", 0), Err(Errno::Erange));
    }

    #[test]
    fn strings_are_cut_as_strsep_and_strim_cut_them() {
        assert_eq!(cut(b"a:b:c", b':'), (&b"a"[..], Some(&b"b:c"[..])));
        assert_eq!(cut(b"a", b':'), (&b"a"[..], None));
        assert_eq!(cut(b"a:", b':'), (&b"a"[..], Some(&b""[..])));
        assert_eq!(trim(b" \t\x0ba b\n\xa0"), b"a b");
        assert_eq!(trim(b" "), b"");
        assert_eq!(string(b"a\0b"), b"a");
        assert_eq!(line(b"a\0b\n"), Some(&b"a"[..]));
        assert_eq!(line(b"a"), None);
    }
}
