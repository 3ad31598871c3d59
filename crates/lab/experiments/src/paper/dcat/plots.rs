//! dCat's figures, drawn.

use super::spec::SpecOutcome;
use crate::paper::figures::{Bars, FigureError, Line, bars, lines};
use crate::paper::published::{FigureFile, FigureFolder};

/// Bars: the name of each, and its heights.
pub(super) type Series = Vec<(String, Vec<f64>)>;

/// A timeline: the file's name, the title, and the lines of ways and of normalised IPC.
pub(super) type DrawnTimeline = (&'static str, &'static str, Vec<Line>);

/// The data of the figures.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) interference: Series,
    pub(super) thresholds: Vec<Line>,
    pub(super) sizes: Series,
    pub(super) timelines: Vec<DrawnTimeline>,
    pub(super) latencies: Series,
    pub(super) spec: Vec<SpecOutcome>,
}

impl Figures {
    /// Draws all figures into a folder: `figure1.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        let title = "Figure 1: MLR beside two MLOADs";
        latency(folder.svg("figure1"), title, &["MLR-6MB", "MLR-16MB"], &self.interference)?;
        let title = "Figures 8 and 9: ways of MLR-8MB by threshold";
        lines(folder.svg("figure8-9"), title, ["percent", "ways"], &self.thresholds)?;
        let title = "Figure 11: MLR under dCat and with static ways";
        let names = ["MLR-4MB", "MLR-8MB", "MLR-12MB", "MLR-16MB"];
        latency(folder.svg("figure11"), title, &names, &self.sizes)?;
        for (name, title, drawn) in &self.timelines {
            lines(
                folder.svg(name),
                title,
                ["seconds", "ways; IPC over that with the baseline"],
                drawn,
            )?;
        }
        let title = "Figure 16: MLR beside MLOAD";
        let names = ["MLR-8MB", "MLOAD-60MB"];
        latency(folder.svg("figure16"), title, &names, &self.latencies)?;
        if self.spec.is_empty() {
            return Ok(());
        }
        // As much of the name as fits.
        let heights = |value: &dyn Fn(&SpecOutcome) -> f64| self.spec.iter().map(value).collect();
        let spec = Bars {
            labels: self.spec.iter().map(|one| one.row.name.chars().take(6).collect()).collect(),
            series: vec![
                ("static".to_owned(), heights(&|one| one.fixed)),
                ("dCat".to_owned(), heights(&|one| one.dcat)),
            ],
            stacked: false,
        };
        let title = "Figure 17: speed over that with a shared cache";
        bars(folder.svg("figure17"), title, ["program", "speed"], &spec)
    }
}

fn latency(
    file: FigureFile,
    title: &str,
    labels: &[&str],
    series: &[(String, Vec<f64>)],
) -> Result<(), FigureError> {
    let labels = labels.iter().map(|&label| label.to_owned()).collect();
    let plot = Bars { labels, series: series.to_vec(), stacked: false };
    bars(file, title, ["", "latency over that with the whole cache"], &plot)
}
