//! Bars from 1 on, such as slowdowns: a group for each program, a bar for each policy.

use super::figure::{Figure, step, ticks};
use super::svg::{Svg, shortened};

/// A group of bars.
#[derive(Clone, Debug)]
pub struct BarGroup {
    /// The name; may be empty.
    pub name: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name.
    pub name: String,
    /// The length; `None` if it is not known.
    pub value: Option<f64>,
}

const WIDTH: f64 = 340.0;
const LEFT: f64 = 88.0;
const RIGHT: f64 = 292.0;
const ROW: f64 = 16.0;
const HEAD: f64 = 20.0;
const AXIS: f64 = 22.0;

/// Draws bars that begin at 1, to which they are relative.
#[must_use]
pub fn bars(title: &str, caption: &str, groups: &[BarGroup]) -> Figure {
    let values = || groups.iter().flat_map(|group| &group.bars).filter_map(|bar| bar.value);
    let finite = || values().filter(|value| value.is_finite());
    let least = finite().fold(1.0, f64::min);
    let most = finite().fold(1.0, f64::max).max(least + 0.1);
    let x = |value: f64| LEFT + (value - least) / (most - least) * (RIGHT - LEFT);
    let height: f64 = groups
        .iter()
        .map(|group| {
            let head = if group.name.is_empty() { 4.0 } else { HEAD };
            head + ROW * group.bars.len() as f64
        })
        .sum();
    let mut svg = Svg::new(WIDTH, height + AXIS);
    for (at, label) in ticks(least, most, step(most - least, 4.0)) {
        svg.line([x(at), 0.0, x(at), height + 3.0], "grid");
        svg.text(x(at), height + 15.0, "m mid", &label);
    }
    svg.line([x(1.0), 0.0, x(1.0), height + 3.0], "axis");
    let mut y = 0.0;
    for group in groups {
        if group.name.is_empty() {
            y += 4.0;
        } else {
            svg.text(0.0, y + 14.0, "t strong", &shortened(&group.name, 46));
            y += HEAD;
        }
        for bar in &group.bars {
            svg.text(0.0, y + 11.5, "t", &shortened(&bar.name, 14));
            match bar.value.filter(|value| value.is_finite()) {
                Some(value) => {
                    let (from, to) = (x(value.min(1.0)), x(value.max(1.0)));
                    let place = [from, y + 2.0, (to - from).max(1.0), ROW - 4.0];
                    svg.rect(place, "bar", &format!("{} {}: {value}", group.name, bar.name));
                    svg.text(to + 5.0, y + 11.5, "t", &label(value));
                }
                None => svg.text(x(1.0) + 5.0, y + 11.5, "m", super::table::MISSING),
            }
            y += ROW;
        }
    }
    let drawing = svg.finish("drawing", title);
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Figure { title, caption, drawing, room: "medium", ..Figure::default() }
}

/// A value that fits beside the longest bar: at most seven letters.
fn label(value: f64) -> String {
    match value {
        ..999.9995 => format!("{value:.3}"),
        ..99_999.95 => format!("{value:.1}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_has_no_bar() {
        fn bar(name: &str, value: Option<f64>) -> Bar {
            Bar { name: name.into(), value }
        }
        fn group(value: Option<f64>) -> [BarGroup; 1] {
            [BarGroup { name: "g".into(), bars: vec![bar("p", value)] }]
        }
        let known = bars("", "", &group(Some(1.5))).drawing;
        assert!(known.contains("<rect") && known.contains(">1.500<"), "{known}");
        for value in [None, Some(f64::NAN)] {
            let missing = bars("", "", &group(value)).drawing;
            assert!(!missing.contains("<rect") && missing.contains(">–<"), "{missing}");
        }
    }

    #[test]
    fn a_label_has_room_beside_the_longest_bar() {
        let shown = [1.0, 999.9994, 999.9996, 99_999.94, 99_999.96, 1e300].map(label);
        assert_eq!(shown, ["1.000", "999.999", "1000.0", "99999.9", "1.0e5", "1.0e300"]);
        assert!(shown.iter().all(|label| label.len() <= 7));
    }
}
