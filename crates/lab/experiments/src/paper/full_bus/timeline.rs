//! A service with an objective beside streams, window by window: its latency, the streams' levels,
//! and their traffic.

use std::ops::Range;
use std::time::Duration;

use fairways_chip::ChipError;
use rayon::prelude::*;

use super::{BOTH, MBPS, POLICIES, SLO, STREAMS, WAYS_ONLY, made, service_jobs, service_settings};
use crate::executed::{ProgramStep, timeline};
use crate::paper::figures::{FigureError, Line, lines};
use crate::paper::published::FigureFolder;

/// The length of a window, and the number of windows in a run: as long as a run of the findings,
/// with its warm-up.
const WINDOW: Duration = Duration::from_millis(500);
const WINDOWS: u32 = 60;

/// The scenario under `fairways` with ways only, then under `fairways`, each from its start.
#[derive(Clone, Debug)]
pub struct ObjectiveTimelines(pub Vec<ObjectiveTimeline>);

/// The scenario under a policy.
#[derive(Clone, Debug)]
pub struct ObjectiveTimeline {
    policy: &'static str,
    /// Each program's windows; the service's first.
    steps: Vec<Vec<ProgramStep>>,
}

/// Runs the service and the streams.
///
/// # Errors
/// If the chip is not possible.
pub fn objective_timelines(seed: u64) -> Result<ObjectiveTimelines, ChipError> {
    let chosen = POLICIES.into_par_iter().filter(|(name, ..)| [WAYS_ONLY, BOTH].contains(name));
    let run = chosen.map(|(policy, name, set)| {
        let settings = service_settings(seed);
        let mut own = made(name, set);
        let steps = timeline(settings, &service_jobs(), own.as_mut(), WINDOW, WINDOWS)?;
        Ok(ObjectiveTimeline { policy, steps })
    });
    run.collect::<Result<_, ChipError>>().map(ObjectiveTimelines)
}

/// When a window ends, s.
fn end_of(window: usize) -> f64 {
    WINDOW.as_secs_f64() * (window + 1) as f64
}

impl ObjectiveTimeline {
    /// The windows, from 0 on.
    #[must_use]
    pub fn windows(&self) -> Range<usize> {
        0..self.steps[0].len()
    }

    /// The service's tail in a window relative to its objective; `None` without requests.
    #[must_use]
    pub fn over_objective(&self, window: usize) -> Option<f64> {
        let tail = self.steps[0][window].tail?;
        Some(tail.as_secs_f64() / SLO.as_secs_f64())
    }

    /// A stream's level after a window, percent; streams are numbered from 0.
    #[must_use]
    pub fn level(&self, stream: usize, window: usize) -> u32 {
        self.steps[1 + stream][window].level.map_or(100, |level| level.get())
    }

    /// The streams' traffic in a window, GB/s.
    #[must_use]
    pub fn moved_gbps(&self, window: usize) -> f64 {
        let lines: u64 = self.steps[1..].iter().map(|steps| steps[window].counted.lines).sum();
        let scale = f64::from(service_settings(0).time_scale);
        64.0 * lines as f64 / (WINDOW.as_secs_f64() / scale) / 1e9
    }

    fn line(&self, name: &str, value: impl Fn(usize) -> Option<f64>) -> Line {
        let points = self.windows().filter_map(|window| Some((end_of(window), value(window)?)));
        Line { name: name.to_owned(), points: points.collect() }
    }
}

impl ObjectiveTimelines {
    /// Draws latency, levels and the streams' traffic into a folder: `objective-latency.svg`,
    /// `objective-levels.svg`, `objective-batch.svg`; writes the windows as `objective.csv`.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        let latency = self.0.iter().map(|of| of.line(of.policy, |at| of.over_objective(at)));
        let mut latency: Vec<Line> = latency.collect();
        let ends = [end_of(0), end_of(WINDOWS as usize - 1)];
        let points = ends.map(|at| (at, 1.0)).to_vec();
        latency.push(Line { name: "the objective".to_owned(), points });
        let title = "A service beside streams: its 99th percentile";
        lines(folder.svg("objective-latency"), title, ["seconds", "over the objective"], &latency)?;
        let limited = self.0.iter().filter(|of| of.policy == BOTH);
        let levels = limited.flat_map(|of| {
            (0..STREAMS).map(|stream| {
                let name = format!("stream {}", stream + 1);
                of.line(&name, |at| Some(f64::from(of.level(stream, at))))
            })
        });
        let levels: Vec<Line> = levels.collect();
        let title = "A service beside streams: their levels under fairways";
        lines(folder.svg("objective-levels"), title, ["seconds", "percent"], &levels)?;
        let batch: Vec<Line> =
            self.0.iter().map(|of| of.line(of.policy, |at| Some(of.moved_gbps(at)))).collect();
        let title = format!("A service beside streams: what these move of {} GB/s", MBPS[0] / 1000);
        lines(folder.svg("objective-batch"), &title, ["seconds", "GB/s"], &batch)?;
        let path = folder.file("objective.csv");
        std::fs::write(&path, self.csv()).map_err(FigureError::at(&path))
    }

    /// A row for each policy and window.
    fn csv(&self) -> String {
        let levels: String =
            (1..=STREAMS).map(|stream| format!(",level_{stream}_percent")).collect();
        let mut text = format!(
            "policy,seconds,requests,tail_ms,over_objective,service_ways{levels},streams_gbps\n"
        );
        for of in &self.0 {
            for (window, service) in of.steps[0].iter().enumerate() {
                let tail = service
                    .tail
                    .map_or(String::new(), |tail| format!("{:.4}", 1e3 * tail.as_secs_f64()));
                let over =
                    of.over_objective(window).map_or(String::new(), |over| format!("{over:.4}"));
                let levels: String =
                    (0..STREAMS).map(|stream| format!(",{}", of.level(stream, window))).collect();
                text += &format!(
                    "\"{}\",{},{},{tail},{over},{}{levels},{:.4}\n",
                    of.policy,
                    end_of(window),
                    service.requests,
                    service.ways,
                    of.moved_gbps(window)
                );
            }
        }
        text
    }
}
