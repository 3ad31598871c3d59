//! A step that is being tried: another limit for one program, until it has been judged.

use fairways_core::{AppId, BandwidthLevel};

use super::bandwidth_user::BusUser;
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

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepVerdict {
    Wait,
    Keep,
    TakeBack,
    /// The program does not feel it.
    Further,
}

/// Spans for which memory must not be full again after a limit was raised.
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

    /// Takes in a span that shows the step alone.
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
        // A step that takes less than a 32nd of its traffic is not felt.
        if own.traffic >= own.traffic_before - own.traffic_before / 32 {
            return StepVerdict::Further;
        }
        if self.left > 0 {
            return StepVerdict::Wait;
        }
        let total: i64 = users.iter().map(BusUser::change).fold(0, i64::saturating_add);
        let needed = i64::from(p.limit_gain_percent) * 1024;
        if users.iter().any(BusUser::is_relieved) || total * 100 > needed {
            StepVerdict::Keep
        } else {
            StepVerdict::TakeBack
        }
    }
}
