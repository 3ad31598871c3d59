//! Which characters from outside may reach a terminal or a page.

/// Whether a character is safe to show. Unsafe are control characters (C0, DEL, C1), which a
/// terminal obeys; marks, embeddings, overrides and isolates of direction, which reorder other
/// characters (Unicode UAX #9); and separators of lines or paragraphs.
#[must_use]
pub fn is_plain(letter: char) -> bool {
    let is_direction = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    !(letter.is_control() || is_direction || matches!(letter, '\u{2028}' | '\u{2029}'))
}
