//! Cache-fair's figures, drawn.

use super::pairs::FairRate;
use super::schedules::{Schedules, Variant};
use super::setup::TABLE_2;
use crate::paper::figures::{Bars, FigureError, bars};
use crate::paper::published::FigureFolder;

/// The data of the figures.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) pairs: Vec<FairRate>,
    pub(super) schedules: Schedules,
}

impl Figures {
    /// Draws all figures into a folder: `figure4.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        fn per_kilo(rate: f64) -> f64 {
            1e3 * rate
        }
        let estimated = self.pairs.iter().map(|fair| fair.estimated.map_or(0.0, per_kilo));
        let actual = self.pairs.iter().map(|fair| per_kilo(fair.actual));
        let plot = Bars {
            labels: self.pairs.iter().map(|fair| fair.name.to_owned()).collect(),
            series: vec![
                ("estimated".to_owned(), estimated.collect()),
                ("actual".to_owned(), actual.collect()),
            ],
            stacked: false,
        };
        let title = "Figure 4: fair miss rates";
        bars(folder.svg("figure4"), title, ["program", "misses per 1000 cycles"], &plot)?;
        let labels: Vec<String> = TABLE_2.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let normalised = |how: Variant| {
            let slow = self.schedules.variabilities(how);
            vec![
                ("fast schedule".to_owned(), vec![1.0; labels.len()]),
                ("slow schedule".to_owned(), slow.iter().map(|more| 1.0 + more / 100.0).collect()),
            ]
        };
        for (name, title, how) in [
            (
                "figure6",
                "Figure 6: completion times, conventional scheduler",
                Variant::Conventional,
            ),
            ("figure7", "Figure 7: completion times, cache-fair scheduler", Variant::CacheFair),
        ] {
            let plot = Bars { labels: labels.clone(), series: normalised(how), stacked: false };
            bars(
                folder.svg(name),
                title,
                ["program", "time over that in the fast schedule"],
                &plot,
            )?;
        }
        let raw = [
            ("cache-fair, fast", Variant::CacheFair, false),
            ("cache-fair, slow", Variant::CacheFair, true),
            ("conventional, fast", Variant::Conventional, false),
            ("conventional, slow", Variant::Conventional, true),
        ];
        let series =
            raw.map(|(name, how, slow)| (name.to_owned(), self.schedules.seconds(how, slow)));
        let plot = Bars { labels, series: series.to_vec(), stacked: false };
        bars(folder.svg("figure8"), "Figure 8: raw completion times", ["program", "seconds"], &plot)
    }
}
