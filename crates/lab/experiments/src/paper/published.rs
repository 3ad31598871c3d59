//! What a paper prints of a figure, drawn below it beside what was measured here.

use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Claim, Findings, MeasuredValue};

/// Where the figures of a paper go, and what the paper says of each.
#[derive(Clone, Copy, Debug)]
pub struct FigureFolder<'a> {
    folder: &'a Path,
    claims: &'a [Claim],
    findings: &'a Findings,
}

/// The file of a figure, and the published values to draw below it.
#[derive(Clone, Debug)]
pub struct FigureFile {
    pub(super) path: PathBuf,
    pub(super) published: Vec<PublishedValue>,
}

/// A value of a paper with the band within which a value counts as the same, and the one here.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PublishedValue {
    case: String,
    unit: String,
    /// `None` where the paper has an image only.
    published: Option<f64>,
    band: Option<[f64; 2]>,
    here: f64,
}

impl<'a> FigureFolder<'a> {
    /// A folder for the figures of a paper with these claims, of which `findings` were measured.
    #[must_use]
    pub fn new(folder: &'a Path, claims: &'a [Claim], findings: &'a Findings) -> Self {
        Self { folder, claims, findings }
    }

    /// A file beside the figures.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The file of a figure: `figure6-stp` is of the paper's Figure 6, `table2` of its Table 2;
    /// other names are of none.
    pub(super) fn svg(&self, name: &str) -> FigureFile {
        let numbers = numbers_of(name);
        let claims = self.claims.iter().filter(|claim| numbers.contains(&claim.item));
        let published = claims.filter_map(|claim| PublishedValue::of(claim, self.findings));
        let path = self.file(&format!("{name}.svg"));
        FigureFile { path, published: published.collect() }
    }
}

impl From<&Path> for FigureFile {
    fn from(path: &Path) -> Self {
        Self { path: path.to_owned(), published: Vec::new() }
    }
}

/// The items of claims that a figure's name stands for.
fn numbers_of(name: &str) -> Vec<String> {
    let (kind, rest) = match (name.strip_prefix("figure"), name.strip_prefix("table")) {
        (Some(rest), _) => ("Figure", rest),
        (None, Some(rest)) => ("Table", rest),
        (None, None) => return Vec::new(),
    };
    let parts: Vec<&str> = rest.split('-').collect();
    let numbers: Vec<&str> = match parts.iter().filter(|part| is_number(part)).count() {
        0 => vec![rest.trim_end_matches(|letter: char| !letter.is_ascii_digit())],
        _ => parts.iter().filter(|part| is_number(part)).copied().collect(),
    };
    let mut items: Vec<String> = numbers.iter().map(|number| format!("{kind} {number}")).collect();
    if let [first, second] = numbers[..] {
        items.push(format!("{kind}s {first} and {second}"));
    }
    items
}

fn is_number(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

impl PublishedValue {
    /// `None` where a number is missing: here, or both in the paper and in the band.
    fn of(claim: &Claim, findings: &Findings) -> Option<Self> {
        let is_it =
            |finding: &&super::Finding| finding.item == claim.item && finding.case == claim.case;
        let MeasuredValue::Number(here) = findings.0.iter().find(is_it)?.value else { return None };
        let published = claim.published.parse().ok();
        let band = claim.low.parse().ok().zip(claim.high.parse().ok()).map(<[f64; 2]>::from);
        let (case, unit) = (claim.case.clone(), claim.unit.clone());
        published.or(band.map(|[low, _]| low))?;
        Some(Self { case, unit, published, band, here })
    }

    /// Places of values between the ends of a scale, 0 and 1; those beyond stand at the ends.
    fn scale(&self) -> impl Fn(f64) -> f64 + use<> {
        let centre = self
            .band
            .map(|[low, high]| f64::midpoint(low, high))
            .or(self.published)
            .unwrap_or(self.here);
        let width = self.band.map_or(0.0, |[low, high]| high - low);
        // A band of one value, and none at all, still needs a scale.
        let width = width.max(0.2 * centre.abs()).max(1e-9);
        move |value| (0.5 + (value - centre) / width * 0.5).clamp(0.0, 1.0)
    }

    fn words(&self) -> String {
        let published = match self.published {
            Some(published) => format!("published {}", short(published)),
            None => "published as an image".to_owned(),
        };
        format!("{published}, here {} {}", short(self.here), self.unit)
    }
}

/// A number with four digits that count.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -308 and 308")]
    let digits = 3 - number.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 12));
    ((number * scale).round() / scale).to_string()
}

pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Height of the panel's head and of a value.
const HEAD: i32 = 34;
const ROW: i32 = 20;
/// Where the names of values begin, where their scales begin and end, where their numbers begin.
const NAMES: i32 = 16;
const SCALE: [i32; 2] = [440, 600];
const WORDS: i32 = 614;

const BAND: RGBColor = RGBColor(205, 205, 205);
const HERE: RGBColor = RGBColor(200, 80, 60);

/// The height of the panel for these values.
pub(super) fn height(values: &[PublishedValue]) -> u32 {
    let rows = i32::try_from(values.len()).unwrap_or(0);
    if rows == 0 { 0 } else { (HEAD + ROW * rows + ROW / 2).unsigned_abs() }
}

/// Draws a row for each value: its band, the published value as a stroke, and the one here as a
/// dot.
pub(super) fn draw(area: &Area<'_>, values: &[PublishedValue]) -> Drawn {
    if values.is_empty() {
        return Ok(());
    }
    let head = "What the paper prints of this figure (stroke), the band that counts as the same \
                (grey), and the value here (dot)";
    write(area, head, [NAMES, HEAD / 2], 12)?;
    for (row, value) in (0..).zip(values) {
        let middle = HEAD + ROW * row + ROW / 2;
        write(area, &shortened(&value.case, 68), [NAMES, middle], 12)?;
        let place = value.scale();
        let [from, to] = SCALE.map(f64::from);
        #[expect(clippy::cast_possible_truncation, reason = "between the ends of the scale")]
        let x = |at: f64| (from + place(at) * (to - from)).round() as i32;
        let axis = vec![(SCALE[0], middle), (SCALE[1], middle)];
        area.draw(&PathElement::new(axis, BLACK.mix(0.3)))?;
        if let Some([low, high]) = value.band {
            let corners = [(x(low) - 1, middle - 5), (x(high) + 1, middle + 5)];
            area.draw(&Rectangle::new(corners, BAND.filled()))?;
        }
        if let Some(published) = value.published {
            let stroke = vec![(x(published), middle - 7), (x(published), middle + 7)];
            area.draw(&PathElement::new(stroke, BLACK.stroke_width(2)))?;
        }
        area.draw(&Circle::new((x(value.here), middle), 4, HERE.filled()))?;
        write(area, &value.words(), [WORDS, middle], 12)?;
    }
    Ok(())
}

/// Writes a text whose height is centred.
pub(super) fn write(area: &Area<'_>, text: &str, [x, y]: [i32; 2], size: i32) -> Drawn {
    let style = ("sans-serif", size).into_font().color(&BLACK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    Ok(area.draw(&Text::new(text.to_owned(), (x, y), style))?)
}

/// Cuts a text to at most `most` letters; an ellipsis replaces the rest.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).collect::<String>() + "…"
}

#[cfg(test)]
mod tests {
    use super::super::{Bars, ClaimName, bars, claims};
    use super::*;

    #[test]
    fn names_of_figures_stand_for_items() {
        for (name, items) in [
            ("figure6-stp", &["Figure 6"][..]),
            ("figure10", &["Figure 10"]),
            ("figure7a", &["Figure 7"]),
            ("figure8-9", &["Figure 8", "Figure 9", "Figures 8 and 9"]),
            ("table2", &["Table 2"]),
            ("noise", &[]),
        ] {
            assert_eq!(numbers_of(name), items, "{name}");
        }
    }

    const CLAIMED: &str = "item,case,unit,published,low,high,reproducible,why\n\
         Figure 6,seen,percent,5,4,6,shape,w\nFigure 6,an image,ratio,,1,1.1,shape,w\n\
         Figure 6,words,text,x,x,x,yes,w\nFigure 6,not measured,percent,5,4,6,shape,w\n\
         Figure 7,another,percent,5,4,6,shape,w\n";

    fn claim(item: &'static str, case: &'static str) -> ClaimName {
        ClaimName { item, case }
    }

    /// Below the bars stands a row for each number that the paper has of this figure; no name
    /// stands within the axes.
    #[test]
    fn published_values_stand_below_their_figure() {
        let claims = claims(CLAIMED).unwrap();
        let mut findings = Findings::default();
        findings.add(claim("Figure 6", "seen"), 5.5);
        findings.add(claim("Figure 6", "an image"), 1.05);
        findings.add_text(claim("Figure 6", "words"), "x");
        findings.add(claim("Figure 7", "another"), 5.0);
        let folder = tempfile::tempdir().unwrap();
        let figures = FigureFolder::new(folder.path(), &claims, &findings);
        let plot = Bars {
            labels: vec!["M1".to_owned(), "M2".to_owned()],
            series: vec![("lfoc".to_owned(), vec![1.0, 2.0])],
            stacked: false,
        };
        bars(figures.svg("figure6"), "Figure 6", ["mix", "STP"], &plot).unwrap();
        let drawn = std::fs::read_to_string(folder.path().join("figure6.svg")).unwrap();
        let lines: Vec<&str> = drawn.lines().map(str::trim).collect();
        for shown in [
            "seen",
            "an image",
            "published 5, here 5.5 percent",
            "published as an image, here 1.05 ratio",
        ] {
            assert_eq!(lines.iter().filter(|line| **line == shown).count(), 1, "{shown}: {drawn}");
        }
        // The name of the bars stands to the right of the plot.
        let name = lines.iter().position(|line| *line == "lfoc").unwrap();
        let x = lines[name - 1].split("x=\"").nth(1).and_then(|rest| rest.split('"').next());
        assert!(x.unwrap().parse::<u32>().unwrap() > 820, "{drawn}");
        assert!(!drawn.contains("another") && !drawn.contains("words"), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 2);
    }

    fn value(published: Option<f64>, band: Option<[f64; 2]>, here: f64) -> PublishedValue {
        let (case, unit) = (String::new(), String::new());
        PublishedValue { case, unit, published, band, here }
    }

    #[test]
    fn a_band_lies_in_the_middle_half_and_what_is_beyond_at_the_ends() {
        let wide = value(Some(5.0), Some([4.0, 6.0]), 5.5);
        assert_eq!([4.0, 5.0, 6.0, 9.0].map(wide.scale()), [0.25, 0.5, 0.75, 1.0]);
        let exact = value(Some(10.0), Some([10.0, 10.0]), 11.0);
        assert_eq!([10.0, 11.0].map(exact.scale()), [0.5, 0.75]);
        assert_eq!([0.0, 12345.6, 0.012_345_6, 87.0].map(short), ["0", "12346", "0.01235", "87"]);
    }
}
