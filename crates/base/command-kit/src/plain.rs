//! Texts from outside, made safe for a terminal or a page: all that this program writes there
//! passes through here.

use std::io::{self, Write};

use fairways_core::PlainEscapes;
pub use fairways_core::plain;

/// A text from outside of several lines, which it keeps, with an escape such as `\u200b` for each
/// character that is not plain.
pub fn lines(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    push_lines(&mut PlainEscapes::default(), text, &mut to);
    to
}

fn push_lines(escapes: &mut PlainEscapes, text: &str, to: &mut String) {
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => escapes.push_blank(letter, to),
            _ => escapes.push(letter, to),
        }
    }
}

/// A writer that passes on plain text in lines, with escapes for all other characters.
pub struct Plain<W: Write> {
    to: W,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
    escapes: PlainEscapes,
}

impl<W: Write> Plain<W> {
    /// Writes to this.
    pub fn new(to: W) -> Self {
        Self { to, begun: Vec::new(), escapes: PlainEscapes::default() }
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let begun = std::mem::take(&mut self.begun);
        let mut text = String::with_capacity(begun.len());
        let mut chunks = begun.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            push_lines(&mut self.escapes, chunk.valid(), &mut text);
            let wrong = chunk.invalid();
            let is_last = chunks.peek().is_none();
            let may_go_on = |why: std::str::Utf8Error| why.error_len().is_none();
            if is_last && std::str::from_utf8(wrong).is_err_and(may_go_on) {
                self.begun = wrong.to_vec();
            } else if !wrong.is_empty() {
                self.escapes.push_blank('?', &mut text);
            }
        }
        self.to.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes each event of the log, which arrives in one piece, as one line.
pub struct LogLine<W: Write>(
    /// The writer that gets the line.
    pub W,
);

impl<W: Write> Write for LogLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let line = plain(text.strip_suffix('\n').unwrap_or(&text));
        self.0.write_all(format!("{line}\n").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_come_in_pieces_stay_and_those_that_bid_do_not() {
        let text =
            "größe\u{1b}[2J \u{9b}2J\u{7f}\r e\u{301}a\u{202e}b\u{200b}c\u{2028}\tz\n\u{301}日本";
        let expected = "größe\\u001b[2J \\u009b2J\\u007f\\u000d \
                        e\u{301}a\\u202eb\\u200bc\\u2028\tz\n\\u0301日本";
        assert_eq!(lines(text), expected);
        for size in 1..8 {
            let mut to = Plain::new(Vec::new());
            for piece in text.as_bytes().chunks(size) {
                to.write_all(piece).unwrap();
            }
            assert_eq!(String::from_utf8(to.to).unwrap(), expected);
        }
        let mut to = Plain::new(Vec::new());
        to.write_all(b"a\x9bb\xff\xfec").unwrap();
        assert_eq!(to.to, b"a?b??c");
    }

    #[test]
    fn an_event_is_one_line() {
        let mut to = LogLine(Vec::new());
        to.write_all("INFO a\nERROR \u{1b}]0;x\u{7}\n".as_bytes()).unwrap();
        assert_eq!(to.0, b"INFO a\\u000aERROR \\u001b]0;x\\u0007\n");
    }
}
