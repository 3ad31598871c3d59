//! A value of each program over time, by shades.

use super::figure::{Figure, Key, step, ticks};
use super::svg::{Svg, shortened};

/// A row of shades.
#[derive(Clone, Debug)]
pub struct HeatRow {
    /// What it is of.
    pub name: String,
    /// A cell for each time; `None` where the value is not known.
    pub cells: Vec<Option<HeatCell>>,
}

/// A value, and what is said about it.
#[derive(Clone, Debug)]
pub struct HeatCell {
    /// The value, 0 or more.
    pub value: f64,
    /// Its tooltip.
    pub tooltip: String,
}

/// The values from which on a shade is a darker one, in hundredths.
const SHADES: [u8; 5] = [3, 10, 25, 50, 100];

const ROW: f64 = 18.0;

/// Draws rows of equal times, the first beginning at `from` and the last ending at `to`, in
/// seconds; `what` says what a shade is.
#[must_use]
pub fn heat_map(title: &str, what: &str, [from, to]: [f64; 2], rows: &[HeatRow]) -> Figure {
    let narrow = draw([from, to], rows, [340.0, 84.0]).finish("drawing narrow", title);
    let wide = draw([from, to], rows, [940.0, 150.0]).finish("drawing wide", title);
    let caption = format!("Time from left to right. {what} No colour: not known.");
    let mut key = vec![Key { class: "s0".into(), sign: String::new(), words: words(0) }];
    key.extend((1..=SHADES.len()).map(|shade| Key {
        class: format!("s{shade}"),
        sign: String::new(),
        words: words(shade),
    }));
    Figure { title: title.to_owned(), caption, key, drawing: narrow + &wide, room: "large" }
}

/// The range of a shade.
fn words(shade: usize) -> String {
    match (shade.checked_sub(1), SHADES.get(shade)) {
        (None, _) => format!("less than {} %", SHADES[0]),
        (Some(below), Some(most)) => format!("{} to {most} %", SHADES[below]),
        (Some(below), None) => format!("{} % and more", SHADES[below]),
    }
}

/// The class of a value's shade.
fn shade(value: f64) -> String {
    format!("s{}", SHADES.iter().filter(|&&least| value * 100.0 >= f64::from(least)).count())
}

fn draw([from, to]: [f64; 2], rows: &[HeatRow], [width, left]: [f64; 2]) -> Svg {
    let height = ROW * rows.len() as f64;
    let mut svg = Svg::new(width, height + 22.0);
    let room = width - left - 2.0;
    svg.rect([left, 0.0, room, height], "none", "");
    let letters = if left > 100.0 { 24 } else { 13 };
    for (number, row) in rows.iter().enumerate() {
        let y = ROW * number as f64;
        svg.text(0.0, y + 13.0, "t", &shortened(&row.name, letters));
        let wide = room / row.cells.len().max(1) as f64;
        for (place, cell) in row.cells.iter().enumerate() {
            if let Some(HeatCell { value, tooltip }) = cell {
                let x = left + wide * place as f64;
                svg.rect([x, y + 1.0, wide, ROW - 2.0], &shade(*value), tooltip);
            }
        }
    }
    let length = (to - from).max(1e-9);
    for (at, label) in ticks(from, to, step(length, if width > 500.0 { 10.0 } else { 3.0 })) {
        let x = left + (at - from) / length * room;
        svg.line([x, height, x, height + 4.0], "axis");
        let place = if x > width - 24.0 { "m end" } else { "m mid" };
        svg.text(x, height + 15.0, place, &format!("{label} s"));
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_shades_of_their_ranges_and_unknown_ones_none() {
        let shades = [0.0, 0.029, 0.03, 0.2, 0.99, 7.0].map(shade);
        assert_eq!(shades, ["s0", "s0", "s1", "s2", "s4", "s5"]);
        assert_eq!(words(0), "less than 3 %");
        assert_eq!([words(1), words(5)], ["3 to 10 %", "100 % and more"]);
        let cell = HeatCell { value: 0.3, tooltip: "<b>".into() };
        let rows = [HeatRow { name: "redis".into(), cells: vec![Some(cell), None] }];
        let figure = heat_map("", "", [0.0, 2.0], &rows);
        assert_eq!(figure.drawing.matches("class=\"s3\"><title>&lt;b&gt;").count(), 2);
        // The ground, and the cell that is known, in both drawings.
        assert_eq!(figure.drawing.matches("<rect").count(), 4);
        assert_eq!(figure.key.len(), 6);
    }
}
