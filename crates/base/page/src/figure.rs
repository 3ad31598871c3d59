//! The common parts of figures: a title, a key, and the colours.

use super::svg::Svg;

/// A drawing with its title and its key.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// How to read the figure; may be empty.
    pub caption: String,
    /// The meaning of each colour and letter.
    pub key: Vec<Key>,
    /// The SVG: one drawing, or one for narrow and one for wide windows.
    pub(super) drawing: String,
    /// The figure's size: `small`, `medium` or `large`.
    pub(super) room: &'static str,
}

/// An entry of a key.
#[derive(Clone, Debug)]
pub struct Key {
    /// The colour's class; may be empty.
    pub(super) class: String,
    /// The letter, or another sign before the words.
    pub(super) sign: String,
    /// The meaning.
    pub(super) words: String,
}

/// Colours that colour-blind people can distinguish (Okabe and Ito), as in the style sheet.
const COLOURS: usize = 8;

/// The class of the colour with this number; beyond the eighth, colours are hatched.
pub(super) fn colour(index: usize) -> String {
    let hatched = if index / COLOURS % 2 == 1 { "h" } else { "" };
    format!("c{}{hatched}", index % COLOURS)
}

/// The letter of a cluster, as in `simulate`: A for the first.
#[must_use]
pub fn letter(cluster: usize) -> char {
    ('A'..='Z').chain('a'..='z').nth(cluster).unwrap_or('?')
}

/// Draws a value's position relative to its band, as large as a word.
pub(super) fn beside_band(place: f64, class: &str) -> String {
    const WIDTH: f64 = 84.0;
    let (left, band) = (WIDTH / 4.0, WIDTH / 2.0);
    let x = (left + place.clamp(-2.0, 3.0) * band).clamp(4.0, WIDTH - 4.0);
    let mut svg = Svg::new(WIDTH, 14.0);
    svg.line([0.0, 7.0, WIDTH, 7.0], "axis");
    svg.rect([left, 3.0, band, 8.0], "band", "");
    svg.circle(x, 7.0, 3.5, if class.is_empty() { "in" } else { class }, "");
    let label = if class.is_empty() { "within the band" } else { "outside of the band" };
    svg.finish("beside", label)
}

/// The round step that divides `most` into about `ticks` parts.
pub(super) fn step(most: f64, ticks: f64) -> f64 {
    let rough = most / ticks;
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough * 0.999);
    digit.unwrap_or(10.0) * power
}

/// The multiples of a step from one value to another, with their texts.
pub(super) fn ticks(from: f64, to: f64, step: f64) -> impl Iterator<Item = (f64, String)> {
    let first = (from / step - 1e-6).ceil();
    (0..64)
        .map(move |n| (first + f64::from(n)) * step)
        .take_while(move |at| *at <= to + step * 1e-6)
        .map(|at| {
            let rounded = (at * 1e6).round() / 1e6;
            (at, (rounded + 0.0).to_string())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!([step(5.0, 5.0), step(0.7, 4.0), step(61.0, 5.0)], [1.0, 0.2, 20.0]);
        fn texts(from: f64, to: f64, step: f64) -> Vec<String> {
            ticks(from, to, step).map(|tick| tick.1).collect::<Vec<_>>()
        }
        assert_eq!(texts(0.0, 0.7, 0.2), ["0", "0.2", "0.4", "0.6"]);
        assert_eq!(texts(0.9, 1.6, 0.25), ["1", "1.25", "1.5"]);
    }

    #[test]
    fn colours_come_again_hatched() {
        assert_eq!([0, 7, 8, 16].map(colour), ["c0", "c7", "c0h", "c0"]);
        assert_eq!([0, 25, 26, 60].map(letter), ['A', 'Z', 'a', '?']);
    }
}
