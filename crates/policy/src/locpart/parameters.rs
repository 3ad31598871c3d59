//! The parameters of Locpart, by their names in the paper where it has one.

use core::time::Duration;

use fairways_core::Q32;

use crate::parameter::{MILLISECOND, choices, parameters};

/// When a service gives ways to batch programs (decision Locpart 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GivingRule {
    /// When its tail is at most `util_th` of the objective, as the prose admits (§III-B), and what was
    /// seen with fewer ways does not speak against it.
    #[default]
    Margin,
    /// When what its tail leaves of the objective is at least `util_th` of it, as Algorithm 1 prints it
    /// (line 13): with 0.95, a tail of a twentieth of the objective.
    Published,
}

choices!(GivingRule { Margin = "margin", Published = "published" });

/// Which requests the tail is of (decision Locpart 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TailWindow {
    /// The latest, as many windows of them as it takes for `least_requests`.
    #[default]
    Sliding,
    /// Those of the past interval (§III-A).
    PastInterval,
}

choices!(TailWindow { Sliding = "sliding", PastInterval = "past-interval" });

parameters! {
    /// The parameters of Locpart. Decisions are those of docs/decisions.md. What is counted in periods is
    /// counted in decisions, of which there is one every `t_sched`.
    pub struct Parameters {
        /// T_sched: how often it decides.
        t_sched: Duration = Duration::from_millis(500), "", "§III-C, `T_sched`", least MILLISECOND;

        /// Ways that move in a step.
        w: u32 = 1, "ways", "§III-B, `w`", least 1;

        /// Util_th: the share of the objective that decides when ways are given.
        util_th: Q32 = Q32::ratio(95, 100), "share of the objective", "§III-B, `Util_th`";

        /// When a service gives ways: `margin`, when its tail is at most `util_th` of its objective
        /// and what was seen with fewer ways does not speak against it; `published`, as Algorithm 1
        /// prints it.
        rule: GivingRule = GivingRule::default(), "", "Algorithm 1, line 13 (decision 1)";

        /// The requests whose tail it is: `sliding`, the latest, `least_requests` at least;
        /// `past-interval`, those of the last period.
        window: TailWindow = TailWindow::default(), "", "Algorithm 1, GetTL";

        /// The tail of fewer requests is unknown.
        least_requests: u32 = 100, "requests", "ours (decision 5)", least 1;

        /// Periods that a sliding window reaches back at most.
        ///
        /// And after how many of which nothing is known a service is unknown.
        longest_window: u32 = 10, "periods", "ours (decision 5)", least 1;

        /// Periods after a violation in which nothing is given, and tails in a row with slack
        /// before a way is given.
        hold: u32 = 4, "periods", "ours";

        /// Periods for which a number of ways that did not do is not gone back to, at first.
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

    /// How long a period is.
    pub(super) fn period(&self) -> Duration {
        self.t_sched.max(Duration::from_nanos(1))
    }

    /// How long a sliding window is at most.
    pub(super) fn reach(&self) -> Duration {
        self.period().saturating_mul(self.longest_window.max(1))
    }
}
