//! The reasons of plans: what each gains.

use super::objective::{Gain, Objective};

/// One text for each percent from 0 to 25: composing a text would allocate.
macro_rules! percents {
    ($before:literal, $after:literal) => {
        percents!(@ $before, $after;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25)
    };
    (@ $before:literal, $after:literal; $($percent:literal)*) => {
        [$(concat!($before, $percent, $after)),*]
    };
}

const FAIRER: [&str; 26] = percents!("unfairness is ", " % lower than with the plan before");
const FASTER: [&str; 26] = percents!("throughput is ", " % higher than with the plan before");
const HEAVIER: [&str; 26] =
    percents!("weighted throughput is ", " % higher than with the plan before");
const SHORTER: [&str; 26] =
    percents!("the largest slowdown is ", " % smaller than with the plan before");

/// Why a plan is the one before it; after a sampling, that no lines move for it is not why.
pub(crate) const KEPT: &str = "no other plan is worth the lines that move";
pub(crate) const KEPT_AFTER_SAMPLING: &str = "sampling has ended: the decision before it stands";

/// The reason for a plan with this gain over the one before it.
pub(crate) fn reason(objective: Objective, gain: Gain) -> &'static str {
    let (texts, more, only) = match objective {
        Objective::Unfairness => (
            FAIRER,
            "unfairness is more than 25 % lower than with the plan before",
            "no clustering nearby is fairer",
        ),
        Objective::Stp => (
            FASTER,
            "throughput is more than 25 % higher than with the plan before",
            "no clustering nearby has a higher throughput",
        ),
        Objective::Weighted => (
            HEAVIER,
            "weighted throughput is more than 25 % higher than with the plan before",
            "no clustering nearby has a higher weighted throughput",
        ),
        Objective::MaxSlowdown => (
            SHORTER,
            "the largest slowdown is more than 25 % smaller than with the plan before",
            "no clustering nearby has a smaller largest slowdown",
        ),
    };
    let gain = match gain {
        Gain::Needed => return only,
        Gain::Small => return "clusters would gain next to nothing: no partitioning",
        Gain::None => return KEPT,
        Gain::Worth(share) => share,
        Gain::Faster(share) => return reason(Objective::Stp, Gain::Worth(share)),
    };
    // To the nearest percent.
    let percent = (u128::from(gain) * 100 + (1 << 31)) >> 32;
    usize::try_from(percent).ok().and_then(|percent| texts.get(percent).copied()).unwrap_or(more)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a gain of some hundredths of a percent.
    fn percent(hundredths: u64) -> &'static str {
        reason(Objective::Unfairness, Gain::Worth((hundredths << 32) / 10_000))
    }

    #[test]
    fn a_reason_states_the_gain_to_the_nearest_percent() {
        assert_eq!(percent(551), "unfairness is 6 % lower than with the plan before");
        assert_eq!(percent(2549), "unfairness is 25 % lower than with the plan before");
        assert_eq!(percent(2600), "unfairness is more than 25 % lower than with the plan before");
        assert_eq!(
            reason(Objective::Unfairness, Gain::Faster((3 << 32) / 100)),
            "throughput is 3 % higher than with the plan before"
        );
        assert_eq!(
            reason(Objective::Stp, Gain::Needed),
            "no clustering nearby has a higher throughput"
        );
    }
}
