//! A step that is being tried: a new limit for one program, until it is judged.

use fairways_core::{AppId, BandwidthLevel};

use super::bandwidth_user::BusUser;
use super::objective::{Objective, Outcome};
use super::parameters::Parameters;

/// A step that is being tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitTrial {
    pub(super) app: AppId,
    /// The limit before it.
    pub(super) from: Option<BandwidthLevel>,
    is_raise: bool,
    /// Spans until it is judged.
    left: u32,
}

/// The verdict on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepVerdict {
    Wait,
    Keep,
    TakeBack,
    /// The program does not feel it.
    Further,
}

/// After a limit was raised, the number of spans in which memory must not become full again.
const RAISE_SPANS: u32 = 3;

impl LimitTrial {
    pub(super) const fn lower(app: AppId, from: Option<BandwidthLevel>, p: &Parameters) -> Self {
        Self { app, from, is_raise: false, left: p.judge_spans }
    }

    pub(super) const fn raise(app: AppId, from: Option<BandwidthLevel>) -> Self {
        Self { app, from, is_raise: true, left: RAISE_SPANS }
    }

    pub(super) const fn is_raise(&self) -> bool {
        self.is_raise
    }

    /// Judges the step by one more span, in which nothing else changed.
    pub(super) fn judge(
        &mut self,
        p: &Parameters,
        users: &[BusUser],
        is_full: bool,
    ) -> StepVerdict {
        self.left = self.left.saturating_sub(1);
        if self.is_raise {
            return match (is_full, self.left) {
                (true, _) => StepVerdict::TakeBack,
                (false, 0) => StepVerdict::Keep,
                (false, _) => StepVerdict::Wait,
            };
        }
        let Some(own) = users.iter().find(|user| user.app == self.app) else {
            return StepVerdict::Keep;
        };
        if own.is_below(p.limit_floor_percent) {
            return StepVerdict::TakeBack;
        }
        // The program does not feel a step that takes less than a 32nd of its traffic.
        if own.traffic >= own.traffic_before - own.traffic_before / 32 {
            return StepVerdict::Further;
        }
        if self.left > 0 {
            return StepVerdict::Wait;
        }
        if users.iter().any(BusUser::is_relieved) || is_better(p, users) {
            StepVerdict::Keep
        } else {
            StepVerdict::TakeBack
        }
    }
}

/// The most throughput that a fairer step may cost, in percent.
const MOST_LOSS_PERCENT: u64 = 2;

/// Whether a step gains enough. It is judged by the policy's objective if the speed alone of every
/// program is known; otherwise, and for an objective that is a sum, by the change of all speeds.
fn is_better(p: &Parameters, users: &[BusUser]) -> bool {
    let mut outcomes = [Outcome::NONE; 2];
    let are_known = users.iter().all(|user| user.add_to(&mut outcomes).is_some());
    if p.objective.is_sum() || !are_known {
        let total: i64 = users.iter().map(BusUser::change).fold(0, i64::saturating_add);
        return total * 100 > i64::from(p.limit_gain_percent) * 1024;
    }
    let [before, after] = &outcomes;
    let percent = (1 << 32) / 100;
    p.objective.gain(before, after) > percent * u64::from(p.limit_gain_percent)
        && Objective::Stp.gain(after, before) <= percent * MOST_LOSS_PERCENT
}
