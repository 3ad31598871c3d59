//! Which characters from outside may reach a terminal or a page, and how the others are shown.

use alloc::string::String;
use core::fmt::Write as _;

/// The most marks that a letter may carry; more would cover the lines above and below.
const MOST_MARKS: u32 = 3;

/// Whether a character is safe to show wherever it stands. Unsafe are
///
/// - control characters (C0, DEL, C1), which a terminal obeys;
/// - marks, embeddings, overrides and isolates of direction, which reorder other characters
///   (Unicode UAX #9), and separators of lines or paragraphs;
/// - what has no width or cannot be seen: two names that differ in it look alike;
/// - marks that belong to the letter before them, which [`plain`] shows after a letter;
/// - what Unicode has not assigned.
#[must_use]
pub fn is_plain(letter: char) -> bool {
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let is_break = matches!(letter, '\u{85}' | '\u{2028}' | '\u{2029}');
    if letter.is_whitespace() {
        return !is_break;
    }
    // A printable character that needs none before it is its own escape.
    !is_invisible(letter) && !is_joining_vowel(letter) && letter.escape_debug().count() == 1
}

/// Characters that count as printable and cannot be seen: joiners and selectors of variants
/// (`Default_Ignorable_Code_Point` in Unicode's `DerivedCoreProperties.txt`), and Braille's blank.
const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{34f}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Vowels and endings of Hangul, which have no width after the consonant that they join.
const fn is_joining_vowel(letter: char) -> bool {
    matches!(letter, '\u{1161}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Whether a character that is not plain belongs to the letter before it, as an accent does.
fn is_mark(letter: char) -> bool {
    let mut text = [b'a', 0, 0, 0, 0];
    let length = letter.encode_utf8(&mut text[1..]).len();
    let text = core::str::from_utf8(&text[..=length]).unwrap_or_default();
    // After a letter, a mark is its own escape.
    !letter.is_ascii() && !is_invisible(letter) && text.escape_debug().count() == 2
}

/// Makes texts from outside safe to show, piece by piece: every character that is not plain becomes
/// its escape in JSON, such as `\u200b`. So JSON that is written through here means the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainEscapes {
    /// How many marks may follow.
    marks: u32,
}

impl PlainEscapes {
    /// Appends the next character.
    pub fn push(&mut self, letter: char, to: &mut String) {
        if is_plain(letter) {
            self.marks = if letter.is_alphanumeric() { MOST_MARKS } else { 0 };
            to.push(letter);
        } else if self.marks > 0 && is_mark(letter) {
            self.marks -= 1;
            to.push(letter);
        } else {
            self.marks = 0;
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // A text takes everything.
                let _ = write!(to, "\\u{unit:04x}");
            }
        }
    }

    /// Appends an end of a line, or a tab, as it is.
    pub fn push_blank(&mut self, blank: char, to: &mut String) {
        self.marks = 0;
        to.push(blank);
    }
}

/// A text from outside on one line, with an escape such as `\u200b` for each character that is not
/// plain.
#[must_use]
pub fn plain(text: &str) -> String {
    let (mut escapes, mut to) = (PlainEscapes::default(), String::with_capacity(text.len()));
    text.chars().for_each(|letter| escapes.push(letter, &mut to));
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_width_or_bids_is_shown_as_its_escape() {
        for (text, shown) in [
            ("größe 日本 λ → 🙂 a\u{a0}b", "größe 日本 λ → 🙂 a\u{a0}b"),
            ("it's \"a\\b\"", "it's \"a\\b\""),
            ("\u{1b}[2J\u{7f}\r\n\t\0", "\\u001b[2J\\u007f\\u000d\\u000a\\u0009\\u0000"),
            ("\u{85}\u{9b}2J", "\\u0085\\u009b2J"),
            ("a\u{202e}b\u{2066}\u{200f}\u{61c}", "a\\u202eb\\u2066\\u200f\\u061c"),
            ("\u{2028}\u{2029}", "\\u2028\\u2029"),
            ("a\u{200b}b\u{200c}c\u{200d}d", "a\\u200bb\\u200cc\\u200dd"),
            ("a\u{2060}\u{feff}\u{ad}\u{180e}", "a\\u2060\\ufeff\\u00ad\\u180e"),
            ("a\u{34f}\u{fe0f}\u{e0101}", "a\\u034f\\ufe0f\\udb40\\udd01"),
            ("\u{e0061}\u{1d173}", "\\udb40\\udc61\\ud834\\udd73"),
            ("\u{115f}\u{1160}\u{3164}\u{ffa0}", "\\u115f\\u1160\\u3164\\uffa0"),
            ("\u{2800}\u{e000}\u{378}", "\\u2800\\ue000\\u0378"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_mark_is_shown_with_the_letter_that_it_belongs_to_and_nowhere_else() {
        for (text, shown) in [
            ("e\u{301}te\u{301}", "e\u{301}te\u{301}"),
            ("\u{5e9}\u{5c1}\u{5b8}", "\u{5e9}\u{5c1}\u{5b8}"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{1112}\u{1161}\u{11ab}"),
            ("\u{301}a", "\\u0301a"),
            ("\"\u{301}\" \u{20dd}/\u{338}", "\"\\u0301\" \\u20dd/\\u0338"),
            ("\u{1161}", "\\u1161"),
            ("\u{200b}\u{301}", "\\u200b\\u0301"),
            ("a\u{300}\u{301}\u{302}\u{303}", "a\u{300}\u{301}\u{302}\\u0303"),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }
}
