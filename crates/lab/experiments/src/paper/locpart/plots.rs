//! Locpart's figures, drawn.

use super::intervals::{Curve, INTERVALS_MS};
use super::objective::ObjectiveCase;
use super::performance::{ServiceMix, Shares};
use super::sensitivity::Sensitivity;
use super::setup::TailBench;
use super::timelines::Timeline;
use crate::paper::figures::{Bars, FigureError, Line, bars, lines};
use crate::paper::published::FigureFolder;

/// The data of the figures.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) sensitivity: Sensitivity,
    pub(super) mixes: Vec<ServiceMix>,
    pub(super) curves: Vec<Curve>,
    pub(super) cases: Vec<ObjectiveCase>,
    pub(super) timelines: Vec<Timeline>,
}

impl Figures {
    /// Draws all figures into a folder: `figure1.svg` and so on.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        fn by_ways(name: &str, values: &[f64]) -> Line {
            Line {
                name: name.to_owned(),
                points: (1..).map(f64::from).zip(values.iter().copied()).collect(),
            }
        }
        fn over_all((service, tails): &(TailBench, Vec<f64>)) -> Line {
            let all = tails.last().copied().unwrap_or(1.0);
            by_ways(service.name(), &tails.iter().map(|tail| tail / all).collect::<Vec<f64>>())
        }
        let tails: Vec<Line> = self.sensitivity.tails.iter().map(over_all).collect();
        let title = "Figure 1: 99th percentile of each service by itself";
        lines(folder.svg("figure1"), title, ["ways", "over that with 20 ways"], &tails)?;
        let batch = [by_ways("mcf", &self.sensitivity.batch)];
        let title = "Figure 1: speed of mcf by itself";
        lines(folder.svg("figure1-batch"), title, ["ways", "over that with 20 ways"], &batch)?;
        self.draw_mixes(folder)?;
        let curves: Vec<Line> = self
            .curves
            .iter()
            .map(|(service, rates)| Line {
                name: service.name().to_owned(),
                points: INTERVALS_MS
                    .iter()
                    .map(|&ms| (ms as f64).log10())
                    .zip(rates.iter().copied())
                    .collect(),
            })
            .collect();
        let title = "Figure 6: throughput by interval";
        let axes = ["interval, decimal logarithm of ms", "over that with 50 ms"];
        lines(folder.svg("figure6"), title, axes, &curves)?;
        self.draw_cases(folder)?;
        for timeline in &self.timelines {
            let (ways, tails) = (timeline.ways(), timeline.tails());
            let name = format!("{}-ways", timeline.name);
            lines(folder.svg(&name), timeline.title, ["seconds", "ways"], &ways)?;
            let name = format!("{}-tail", timeline.name);
            lines(folder.svg(&name), timeline.title, ["seconds", "ms"], &tails)?;
        }
        Ok(())
    }

    fn draw_mixes(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        let labels: Vec<String> =
            self.mixes.iter().map(|mixed| mixed.service.name().to_owned()).collect();
        let series = |of: &dyn Fn(&ServiceMix) -> [f64; 3]| {
            let names = ["uncontrolled", "Locpart", "the margin rule"];
            let named = names.into_iter().enumerate().map(|(place, name)| {
                (name.to_owned(), self.mixes.iter().map(|mixed| of(mixed)[place]).collect())
            });
            named.collect::<Vec<(String, Vec<f64>)>>()
        };
        fn shares(mixed: &ServiceMix) -> [Shares; 3] {
            [mixed.uncontrolled, mixed.ruled.published, mixed.ruled.margin]
        }
        for (name, title, of) in [
            (
                "figure4",
                "Figure 4: requests per second",
                &(|mixed: &ServiceMix| shares(mixed).map(|shares| shares.service))
                    as &dyn Fn(&ServiceMix) -> [f64; 3],
            ),
            ("figure5", "Figure 5: global performance", &|mixed| shares(mixed).map(Shares::global)),
            ("batch", "Speed of mcf beside each service", &|mixed| {
                shares(mixed).map(|shares| shares.batch)
            }),
        ] {
            let plot = Bars { labels: labels.clone(), series: series(of), stacked: false };
            bars(folder.svg(name), title, ["service", "over that by itself"], &plot)?;
        }
        Ok(())
    }

    fn draw_cases(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        fn label(case: &ObjectiveCase) -> String {
            format!("{} {:.0}", case.service.name(), 100.0 * case.load)
        }
        let attainable: Vec<(&ObjectiveCase, f64)> =
            self.cases.iter().filter_map(|case| Some((case, case.fewest()?.1.batch))).collect();
        let published = attainable.iter().map(|(case, best)| case.published.batch / best);
        let margin = attainable.iter().map(|(case, best)| case.margin.batch / best);
        let plot = Bars {
            labels: attainable.iter().map(|(case, _)| label(case)).collect(),
            series: vec![
                ("the published rule".to_owned(), published.collect()),
                ("the margin rule".to_owned(), margin.collect()),
            ],
            stacked: false,
        };
        let title = "Speed of mcf, over that beside the fewest ways that hold the objective";
        bars(
            folder.svg("objective-batch"),
            title,
            ["service and load in percent", "ratio"],
            &plot,
        )?;
        let percent = |of: &dyn Fn(&ObjectiveCase) -> f64| {
            self.cases.iter().map(|case| 100.0 * of(case)).collect()
        };
        let best = |case: &ObjectiveCase| {
            case.fixed.iter().map(super::objective::AllocationOutcome::share).fold(0.0, f64::max)
        };
        let plot = Bars {
            labels: self.cases.iter().map(label).collect(),
            series: vec![
                ("the best allocation".to_owned(), percent(&best)),
                ("the margin rule".to_owned(), percent(&|case| case.margin.share())),
                ("the published rule".to_owned(), percent(&|case| case.published.share())),
            ],
            stacked: false,
        };
        let title = "Windows in which the objective holds";
        bars(folder.svg("objective"), title, ["service and load in percent", "percent"], &plot)
    }
}
