//! A curve over ways.

use super::figure::{Figure, step, ticks};
use super::svg::{Svg, shortened};

const WIDTH: f64 = 172.0;
const HEIGHT: f64 = 121.0;
const LEFT: f64 = 36.0;
const RIGHT: f64 = 166.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 94.0;

/// Draws a program's values with 1 way, with 2, and so on, above `least`; `None` where a value is
/// not known.
#[must_use]
pub fn curve(name: &str, what: &str, least: f64, values: &[Option<f64>]) -> Figure {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let most = known().fold(least, f64::max).max(least + 1e-3);
    let step_up = step(most - least, 3.0);
    let top = least + ((most - least) / step_up).ceil() * step_up;
    let last = values.len().max(2) as f64;
    let x = |ways: f64| LEFT + (ways - 1.0) / (last - 1.0) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - (value - least) / (top - least) * (BOTTOM - TOP);
    let mut svg = Svg::new(WIDTH, HEIGHT);
    for (at, label) in ticks(least, top, step_up) {
        svg.line([LEFT, y(at), RIGHT, y(at)], "grid");
        svg.text(LEFT - 4.0, y(at) + 3.5, "m end", &label);
    }
    for (at, label) in ticks(1.0, last, step(last, 4.0).max(1.0)) {
        svg.text(x(at), BOTTOM + 12.0, "m mid", &label);
    }
    svg.text(RIGHT, HEIGHT - 3.0, "m end", "ways");
    svg.line([LEFT, BOTTOM, RIGHT, BOTTOM], "axis");
    let mut run = Vec::new();
    for (ways, value) in (1..).map(f64::from).zip(values) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                run.push((x(ways), y(value)));
                svg.circle(x(ways), y(value), 2.0, "dot", &format!("{ways} ways: {value} {what}"));
            }
            // A missing value breaks the line.
            None => svg.polyline(&std::mem::take(&mut run), "curve"),
        }
    }
    svg.polyline(&run, "curve");
    let drawing = svg.finish("drawing", &format!("{name}: {what} by ways"));
    Figure {
        title: shortened(name, 60),
        caption: what.to_owned(),
        drawing,
        room: "small",
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_breaks_the_line() {
        let drawn = curve("p", "MPKI", 0.0, &[Some(3.0), Some(2.0), None, Some(1.0)]).drawing;
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(!curve("p", "MPKI", 0.0, &[None, None]).drawing.contains("<circle"));
    }
}
