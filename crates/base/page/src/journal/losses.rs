//! What each program loses to its neighbours, over time.

use std::path::Path;

use fairways_attribution::{Attribution, Caused};
use fairways_command_kit::BadInput;
use fairways_core::{AppId, Event, Q32, Time};
use fairways_record::blame::KnownLatency;
use fairways_record::journal::{Follower, Reader};

use super::programs::ProgramIndex;
use super::story::Story;

/// The equal times in which losses are found.
pub(super) const TIMES: usize = 48;

/// A program's loss in one of the times.
#[derive(Debug)]
pub(super) struct TimedLoss {
    /// The number of the time.
    pub(super) time: usize,
    pub(super) program: ProgramIndex,
    /// How much longer it took than alone with the whole cache, as a part of the time alone.
    pub(super) loss: f64,
    /// The neighbour that causes the largest part, and that part.
    pub(super) worst: Option<(ProgramIndex, f64)>,
}

/// Reads a journal again, to the end of its story, and finds the losses in each time. What
/// happened before a time shows how often programs miss.
pub(super) fn read(
    path: &Path,
    latency: KnownLatency,
    story: &mut Story,
) -> Result<Vec<TimedLoss>, BadInput> {
    let mut follower = Follower::new(Reader::open_kept(path)?)?;
    let latency = latency(follower.header().kind());
    let mut attribution = Attribution::new(latency, story.begin);
    let mut losses = Vec::new();
    let mut time = 0;
    while follower.next_at().is_some_and(|at| at <= story.end) {
        let Some(step) = follower.step()? else { break };
        while time + 1 < TIMES && step.at > story.time(time + 1) {
            add(&attribution, None, time, story, &mut losses);
            time += 1;
            attribution.begin(story.time(time));
        }
        if let Event::Exited { app } = step.event {
            add(&attribution, Some(app), time, story, &mut losses);
        }
        if follower.header().happened(&step.event) {
            attribution.handle(step.at, &step.event);
        }
    }
    add(&attribution, None, time, story, &mut losses);
    Ok(losses)
}

/// Adds the losses since the time began, of all programs or of one.
fn add(
    attribution: &Attribution,
    only: Option<AppId>,
    time: usize,
    story: &mut Story,
    losses: &mut Vec<TimedLoss>,
) {
    let programs = &mut story.programs;
    for loss in attribution.losses().filter(|loss| only.is_none_or(|only| only == loss.app)) {
        let program = programs.index_of(loss.app);
        let worst = attribution
            .worst_culprit(loss)
            .map(|worst: Caused| (programs.index_of(worst.culprit), number(worst.total())));
        // What is not known is shown by what it is at least.
        let shown = if loss.is_known() { loss } else { loss.at_least() };
        losses.push(TimedLoss { time, program, loss: number(shown.slowdown.likely) - 1.0, worst });
    }
}

fn number(value: Q32) -> f64 {
    value.raw() as f64 / Q32::ONE.raw() as f64
}

impl Story {
    /// When the time with this number begins.
    pub(super) fn time(&self, number: usize) -> Time {
        let length = self.end.nanos() - self.begin.nanos();
        let before = u128::from(length) * number as u128 / TIMES as u128;
        Time::from_nanos(self.begin.nanos() + u64::try_from(before).unwrap_or(length))
    }
}
