//! Writes SVG: shapes, and texts that are shown and never interpreted.

use std::fmt::Write as _;

/// A drawing of `width` by `height`, which scales to the available room.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// A coordinate or a length, to a tenth of a unit.
fn tenths(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Not "-0".
    if rounded == 0.0 { "0".into() } else { rounded.to_string() }
}

/// Escapes a text, so that it is shown as it stands.
pub(super) fn escaped(text: &str) -> String {
    let text = fairways_core::plain(text);
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(letter),
        }
    }
    out
}

/// Cuts a text to at most `most` letters; an ellipsis replaces the rest.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept + "…"
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// Draws a rectangle; `title` is its tooltip.
    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str, title: &str) {
        let [x, y, width, height] = [x, y, width, height].map(tenths);
        let _ = write!(
            self.body,
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" class="{class}""#
        );
        if title.is_empty() {
            self.body.push_str("/>");
        } else {
            let _ = write!(self.body, "><title>{}</title></rect>", escaped(title));
        }
    }

    /// Writes a text at a place: `class` sets its style and alignment.
    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let (x, y, text) = (tenths(x), tenths(y), escaped(text));
        let _ = write!(self.body, r#"<text x="{x}" y="{y}" class="{class}">{text}</text>"#);
    }

    pub(super) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(tenths);
        let _ =
            write!(self.body, r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{class}"/>"#);
    }

    pub(super) fn circle(&mut self, x: f64, y: f64, radius: f64, class: &str, title: &str) {
        let [x, y, radius] = [x, y, radius].map(tenths);
        let title = escaped(title);
        let _ = write!(
            self.body,
            r#"<circle cx="{x}" cy="{y}" r="{radius}" class="{class}"><title>{title}</title></circle>"#
        );
    }

    /// Draws a line through points.
    pub(super) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points = points.iter().map(|(x, y)| format!("{},{}", tenths(*x), tenths(*y)));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = write!(self.body, r#"<polyline points="{points}" class="{class}"/>"#);
    }

    /// The whole drawing; `label` describes it for screen readers.
    pub(super) fn finish(self, class: &str, label: &str) -> String {
        let [width, height] = [self.width, self.height].map(tenths);
        format!(
            r#"<svg viewBox="0 0 {width} {height}" class="{class}" role="img" aria-label="{}">{}</svg>"#,
            escaped(label),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_and_never_interpreted() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text(-0.01, 1.26, "t", "<script>&'\"\u{1}");
        svg.rect([0.0; 4], "c0", "</title><script>");
        let drawn = svg.finish("wide", "\"><script>");
        assert!(!drawn.contains("<script"), "{drawn}");
        assert!(
            drawn.contains(r#"x="0" y="1.3""#) && drawn.contains(r"&#39;&quot;\u0001"),
            "{drawn}"
        );
    }

    #[test]
    fn long_names_end_in_an_ellipsis() {
        assert_eq!(shortened("grüße", 5), "grüße");
        assert_eq!(shortened("grüße!", 5), "grüß…");
    }
}
