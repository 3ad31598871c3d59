//! LFOC's figures, drawn.

use super::over_time::LiveScores;
use super::{ScoredMix, cost, over_time, statically};
use crate::best::{CLASSES, Composition};
use crate::paper::figures::{Bars, FigureError, Line, bars, lines};
use crate::paper::published::FigureFolder;

/// The data of the figures.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) curves: Vec<Line>,
    pub(super) phased: Option<Line>,
    pub(super) composition: Composition,
    pub(super) ratios: Vec<(f64, f64)>,
    pub(super) scored: Vec<ScoredMix>,
    pub(super) ran: LiveScores,
    pub(super) costs: Vec<[f64; 3]>,
}

impl Figures {
    /// Draws all figures into a folder: `figure1.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        let Self { curves, phased, composition, ratios, scored, ran, costs } = self;
        if !curves.is_empty() {
            lines(folder.svg("figure1"), "Figure 1: slowdown", ["ways", "slowdown"], curves)?;
        }
        let classes = CLASSES.iter().enumerate().map(|(index, class)| {
            let heights = composition.programs.iter().map(|programs| f64::from(programs[index]));
            (class.name().to_owned(), heights.collect())
        });
        let sizes = Bars {
            labels: (1..=composition.programs.len()).map(|ways| ways.to_string()).collect(),
            series: classes.collect(),
            stacked: true,
        };
        let title = "Figure 2: programs by the ways of their clusters";
        bars(folder.svg("figure2"), title, ["ways of the cluster", "programs"], &sizes)?;
        let title = "Figure 3: best partitioning over best clustering, unfairness";
        let line = Line { name: "mean".into(), points: ratios.clone() };
        // With fewer ways than the fewest programs there is no point.
        if !line.points.is_empty() {
            lines(folder.svg("figure3"), title, ["programs", "ratio"], &[line])?;
        }
        if let Some(line) = phased {
            let axes = ["10^9 instructions", "LLC misses per 1000 cycles"];
            let title = "Figure 4: a program that is light at first, and then streams";
            lines(folder.svg("figure4"), title, axes, std::slice::from_ref(line))?;
        }
        let ran: Vec<ScoredMix> = ran.iter().map(|(mix, _)| mix.clone()).collect();
        for (number, mixes, names) in [
            (6, scored, &statically::POLICIES[..]),
            (7, &ran, &over_time::POLICIES.map(|of| of.name)),
        ] {
            for (what, part) in [("unfairness", 0), ("STP", 1)] {
                let heights = |policy: &str| {
                    let over_stock = mixes.iter().map(|mix| mix.over_stock(policy));
                    over_stock.map(|(unfairness, stp)| [unfairness, stp][part]).collect()
                };
                let plot = Bars {
                    labels: mixes.iter().map(|mix| mix.mix.clone()).collect(),
                    series: names.iter().map(|name| ((*name).to_owned(), heights(name))).collect(),
                    stacked: false,
                };
                let name = format!("figure{number}-{}", what.to_lowercase());
                let title = format!("Figure {number}: {what} over stock");
                bars(folder.svg(&name), &title, ["mix", what], &plot)?;
            }
        }
        let cost = |(index, name): (usize, &str)| {
            let points = cost::ROWS
                .iter()
                .zip(costs)
                .map(|((programs, _), cost)| (*programs as f64, cost[index].log10()));
            Line { name: name.to_owned(), points: points.collect() }
        };
        let costs: Vec<Line> =
            ["LFOC", "KPart", "LFOC+"].into_iter().enumerate().map(cost).collect();
        let title = "Table 2: what a decision costs";
        lines(folder.svg("table2"), title, ["programs", "log10 of milliseconds"], &costs)
    }
}
