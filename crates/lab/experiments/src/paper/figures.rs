//! Plots.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use thiserror::Error;

use super::published::{Drawn, FigureFile, PublishedValue, draw, height, shortened, write};

/// Pixels of a plot, and of the room to its right for the names of lines and bars.
const PLOT: (u32, u32) = (820, 420);
const NAMES: u32 = 190;
const COLOURS: [RGBColor; 8] = [
    RGBColor(200, 80, 60),
    RGBColor(60, 110, 190),
    RGBColor(150, 170, 120),
    RGBColor(130, 90, 160),
    RGBColor(90, 90, 90),
    RGBColor(220, 150, 40),
    RGBColor(60, 160, 160),
    RGBColor(160, 120, 90),
];

/// The height of a plot over that of its highest bar.
const HEADROOM: f64 = 1.05;

/// A plot could not be drawn or written.
#[derive(Debug, Error)]
#[error("{path}: {why}")]
pub struct FigureError {
    path: String,
    why: String,
}

impl FigureError {
    /// What is wrong with this file.
    pub(crate) fn at<E: ToString>(path: &Path) -> impl Fn(E) -> Self {
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

/// Draws lines.
///
/// # Errors
/// If the file can't be written.
pub fn lines(
    file: impl Into<FigureFile>,
    title: &str,
    [x, y]: [&str; 2],
    lines: &[Line],
) -> Result<(), FigureError> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (left, right) = ends(points().map(|point| point.0));
    let (low, high) = ends(points().map(|point| point.1));
    let room = (high - low).max(1e-3) * 0.05;
    let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
    on_sheet(&file.into(), &names, |plot| {
        let mut chart = ChartBuilder::on(plot)
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
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            chart.draw_series(LineSeries::new(line.points.clone(), colour.stroke_width(2)))?;
        }
        Ok(())
    })
}

/// Draws bars.
///
/// # Errors
/// If the file can't be written.
pub fn bars(
    file: impl Into<FigureFile>,
    title: &str,
    [x, y]: [&str; 2],
    bars: &Bars,
) -> Result<(), FigureError> {
    let groups = bars.labels.len();
    let top = (0..groups)
        .map(|index: usize| -> f64 {
            let heights = bars.series.iter().map(|(_, heights)| heights[index]);
            if bars.stacked { heights.sum() } else { heights.fold(0.0, f64::max) }
        })
        .fold(1e-3, f64::max)
        * HEADROOM;
    let names: Vec<&str> = bars.series.iter().map(|(name, _)| name.as_str()).collect();
    on_sheet(&file.into(), &names, |plot| {
        let mut chart = ChartBuilder::on(plot)
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
        let series = bars.series.iter().zip(COLOURS.iter().cycle());
        for (index, ((_, heights), colour)) in series.enumerate() {
            chart.draw_series(heights.iter().enumerate().map(|(place, height)| {
                let below = bars.series[..index].iter().map(|(_, heights)| heights[place]);
                let base = if bars.stacked { below.sum() } else { 0.0 };
                let left = if bars.stacked {
                    place as f64 - width / 2.0
                } else {
                    place as f64 - 0.4 + width * index as f64
                };
                Rectangle::new([(left, base), (left + width, base + height)], colour.filled())
            }))?;
        }
        Ok(())
    })
}

/// Draws a plot with the names of its lines or bars to its right, where they cover nothing, and
/// below it what the paper prints of it.
fn on_sheet(
    file: &FigureFile,
    names: &[&str],
    plot: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn,
) -> Result<(), FigureError> {
    let mut svg = String::new();
    draw_sheet(&mut svg, &file.published, names, plot).map_err(FigureError::at(&file.path))?;
    std::fs::write(&file.path, svg).map_err(FigureError::at(&file.path))
}

fn draw_sheet(
    svg: &mut String,
    published: &[PublishedValue],
    names: &[&str],
    plot: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Drawn,
) -> Drawn {
    let size = (PLOT.0 + NAMES, PLOT.1 + height(published));
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(PLOT.1);
    let (left, right) = above.split_horizontally(PLOT.0);
    plot(&left)?;
    for (row, (name, colour)) in (0..).zip(names.iter().zip(COLOURS.iter().cycle())) {
        let middle = 50 + 20 * row;
        let sign = [(4, middle - 5), (16, middle + 5)];
        right.draw(&Rectangle::new(sign, colour.filled()))?;
        write(&right, &shortened(name, 26), [22, middle], 12)?;
    }
    draw(&below, published)?;
    Ok(root.present()?)
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}
