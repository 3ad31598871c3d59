//! Which letters of others may reach a terminal or a page.

/// Whether a letter does no more than stand where it is written. What it must not be: a control
/// character (C0, DEL, C1), which a terminal obeys; a mark, embedding, override or isolate of
/// direction, which shows other letters in an order in which they are not (Unicode UAX #9); or a
/// separator of lines or paragraphs.
#[must_use]
pub fn is_plain(letter: char) -> bool {
    let is_direction = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !(letter.is_control() || is_direction || matches!(letter, '\u{2028}' | '\u{2029}'))
}
