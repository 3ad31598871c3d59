//! The parameters of Locpart, under the paper's names where it has one.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{MILLISECOND, choices, parameters};

/// When a service gives ways to batch programs (decision Locpart 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GivingRule {
    /// When its tail is at most `util_th` of the objective, as the text suggests (§III-B), and the
    /// tails with fewer ways do not speak against it.
    #[default]
    Margin,
    /// When the tail leaves at least `util_th` of the objective, as Algorithm 1 prints it (line
    /// 13): with 0.95, a tail of a twentieth of the objective.
    Published,
}

choices!(GivingRule { Margin = "margin", Published = "published" });

/// The requests that the tail is computed from (decision Locpart 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TailWindow {
    /// The latest windows, as many as contain `least_requests`.
    #[default]
    Sliding,
    /// The past interval (§III-A).
    PastInterval,
}

choices!(TailWindow { Sliding = "sliding", PastInterval = "past-interval" });

parameters! {
    /// The parameters of Locpart. Decisions are those of docs/decisions.md. A period is the time
    /// between two decisions, `t_sched`.
    pub struct Parameters {
        /// T_sched: the time between two decisions.
        t_sched: Duration = Duration::from_millis(500), "", "§III-C, `T_sched`", least MILLISECOND;

        /// How many ways move in a step.
        w: u32 = 1, "ways", "§III-B, `w`", least 1;

        /// Util_th: the share of the objective that decides when ways are given.
        util_th: Q32 = Q32::ratio(95, 100), "share of the objective", "§III-B, `Util_th`";

        /// When a service gives ways: `margin`, when its tail is at most `util_th` of its objective
        /// and the tails with fewer ways do not speak against it; `published`, as Algorithm 1
        /// prints it.
        rule: GivingRule = GivingRule::default(), "", "Algorithm 1, line 13 (decision 1)";

        /// The requests that the tail is computed from: `sliding`, the latest, at least
        /// `least_requests`; `past-interval`, those of the last period.
        window: TailWindow = TailWindow::default(), "", "Algorithm 1, GetTL";

        /// The tail of fewer requests is unknown.
        least_requests: u32 = 100, "requests", "ours (decision 5)", least 1;

        /// Periods that a sliding window reaches back at most.
        ///
        /// A service of which nothing is known for this many periods is of unknown class.
        longest_window: u32 = 10, "periods", "ours (decision 5)", least 1;

        /// Periods after a violation in which a service gives nothing, and tails with slack in a
        /// row before it gives a way.
        hold: u32 = 4, "periods", "ours";

        /// Periods for which a number of ways that did not suffice is avoided, at first.
        ///
        /// Twice as many each time the objective is missed with that number again, four times as
        /// many where it was missed at once, up to 16 times as many.
        memory: u32 = 400, "periods", "ours";
    }
}

impl Parameters {
    /// Algorithm 1 as it is printed.
    #[must_use]
    pub fn published() -> Self {
        Self {
            rule: GivingRule::Published,
            window: TailWindow::PastInterval,
            least_requests: 1,
            ..Self::default()
        }
    }

    /// The length of a period.
    pub(crate) fn period(&self) -> Duration {
        self.t_sched.max(Duration::from_nanos(1))
    }

    /// The greatest length of a sliding window.
    pub(super) fn reach(&self) -> Duration {
        self.period().saturating_mul(self.longest_window.max(1))
    }
}
