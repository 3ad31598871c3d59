//! Plots.

use std::path::{Path, PathBuf};

use plotters::prelude::*;
use thiserror::Error;

const SIZE: (u32, u32) = (820, 420);
const COLOURS: [RGBColor; 5] = [
    RGBColor(200, 80, 60),
    RGBColor(60, 110, 190),
    RGBColor(150, 170, 120),
    RGBColor(130, 90, 160),
    RGBColor(90, 90, 90),
];

/// The height of a plot over that of its highest bar: the names stand above the bars.
const HEADROOM: f64 = 1.35;

/// A plot could not be drawn or written.
#[derive(Debug, Error)]
#[error("{path}: {why}")]
pub struct FigureError {
    path: String,
    why: String,
}

impl FigureError {
    /// What is wrong with this file.
    pub(super) fn at<E: ToString>(path: &Path) -> impl Fn(E) -> Self {
        let path = path.display().to_string();
        move |why| Self { path: path.clone(), why: why.to_string() }
    }
}

/// A plot of lines.
#[derive(Clone, Debug)]
pub struct Line {
    /// The line's name.
    pub name: String,
    /// The line's points.
    pub points: Vec<(f64, f64)>,
}

/// A plot of bars: a group for each label, with a bar for each name.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The names of the groups.
    pub labels: Vec<String>,
    /// By bar of a group: its name, and its height in each group.
    pub series: Vec<(String, Vec<f64>)>,
    /// Whether the bars of a group stand on each other.
    pub stacked: bool,
}

/// The file of a figure in a folder.
pub(super) fn svg(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.svg"))
}

/// Draws lines.
///
/// # Errors
/// If the file can't be written.
pub fn lines(
    path: &Path,
    title: &str,
    [x, y]: [&str; 2],
    lines: &[Line],
) -> Result<(), FigureError> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = ends(points().map(|point| point.0));
    let (low, high) = ends(points().map(|point| point.1));
    let room = (high - low).max(1e-3) * 0.05;
    let draw = || -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(left..right, low - room..high + room)?;
        fn plain(x: &f64) -> String {
            format!("{}", (x * 1e6).round() / 1e6)
        }
        let mesh = &mut chart.configure_mesh();
        mesh.max_light_lines(1).x_label_formatter(&plain).y_label_formatter(&plain);
        mesh.x_desc(x).y_desc(y).draw()?;
        for (line, colour) in lines.iter().zip(COLOURS) {
            chart
                .draw_series(LineSeries::new(line.points.clone(), colour.stroke_width(2)))?
                .label(line.name.as_str())
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                });
        }
        chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
        Ok(root.present()?)
    };
    draw().map_err(FigureError::at(path))
}

/// Draws bars.
///
/// # Errors
/// If the file can't be written.
pub fn bars(path: &Path, title: &str, [x, y]: [&str; 2], bars: &Bars) -> Result<(), FigureError> {
    let groups = bars.labels.len();
    let top = (0..groups)
        .map(|index: usize| -> f64 {
            let heights = bars.series.iter().map(|(_, heights)| heights[index]);
            if bars.stacked { heights.sum() } else { heights.fold(0.0, f64::max) }
        })
        .fold(1e-3, f64::max)
        * HEADROOM;
    let draw = || -> Result<(), Box<dyn std::error::Error>> {
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(-0.5..groups as f64 - 0.5, 0.0..top)?;
        let label = |x: &f64| {
            let place = (0..groups).find(|&place| (place as f64 - x).abs() < 1e-6);
            place.map_or(String::new(), |place| bars.labels[place].clone())
        };
        let mesh = &mut chart.configure_mesh();
        mesh.max_light_lines(1).disable_x_mesh().x_labels(2 * groups).x_label_formatter(&label);
        mesh.x_desc(x).y_desc(y).draw()?;
        let width = if bars.stacked { 0.7 } else { 0.8 / bars.series.len() as f64 };
        for (index, ((name, heights), colour)) in bars.series.iter().zip(COLOURS).enumerate() {
            chart
                .draw_series(heights.iter().enumerate().map(|(place, height)| {
                    let below = bars.series[..index].iter().map(|(_, heights)| heights[place]);
                    let base = if bars.stacked { below.sum() } else { 0.0 };
                    let left = if bars.stacked {
                        place as f64 - width / 2.0
                    } else {
                        place as f64 - 0.4 + width * index as f64
                    };
                    Rectangle::new([(left, base), (left + width, base + height)], colour.filled())
                }))?
                .label(name.as_str())
                .legend(move |(x, y)| {
                    Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled())
                });
        }
        let names = &mut chart.configure_series_labels();
        names.position(SeriesLabelPosition::UpperRight);
        names.background_style(WHITE).border_style(BLACK).draw()?;
        Ok(root.present()?)
    };
    draw().map_err(FigureError::at(path))
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}
