//! The parameters of Locpart, by their names in the paper where it has one.

use core::time::Duration;

use fairways_core::Q32;

/// When a service gives ways to batch programs (decision Locpart 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Rule {
    /// When its tail is at most `util_th` of the objective, as the prose admits (§III-B), and what was
    /// seen with fewer ways does not speak against it.
    #[default]
    Margin,
    /// When what its tail leaves of the objective is at least `util_th` of it, as Algorithm 1 prints it
    /// (line 13): with 0.95, a tail of a twentieth of the objective.
    Published,
}

/// Which requests the tail is of (decision Locpart 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Window {
    /// The latest, as many windows of them as it takes for `least_requests`.
    #[default]
    Sliding,
    /// Those of the past interval (§III-A).
    PastInterval,
}

/// The parameters of Locpart. Decisions are those of docs/decisions.md. What is counted in periods is
/// counted in decisions, of which there is one every `t_sched`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Parameters {
    /// `T_sched`: how long a period is (§III-C: 500 ms; §IV-A evaluates with 50 ms); at least a
    /// nanosecond.
    #[cfg_attr(feature = "serde", serde(with = "fairways_core::nanos"))]
    pub t_sched: Duration,
    /// `w`: ways that change hands in a step (§III-B: 1); at least 1.
    pub w: u32,
    /// `Util_th`, a share of the objective (§III-B: 0.95).
    pub util_th: Q32,
    /// When a service gives ways to batch programs.
    pub rule: Rule,
    /// Which requests the tail is of.
    pub window: Window,
    /// The tail of fewer requests is unknown (decision Locpart 5); at least 1.
    pub least_requests: u32,
    /// How many periods a sliding window reaches back at most, at least 1; and after how many of
    /// which nothing is known a service is unknown. Ours.
    pub longest_window: u32,
    /// Periods after a violation in which the margin rule gives nothing (decision Locpart 1 names a few), and
    /// known tails in a row with slack before it gives (decision Locpart 8).
    pub hold: u32,
    /// For so many periods the margin rule does not go back to a number of ways with which the objective
    /// was missed; twice as many each time it is missed with that number again, four times as many where it
    /// was missed at once, up to 16 times as many. Ours.
    pub memory: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            t_sched: Duration::from_millis(500),
            w: 1,
            util_th: Q32::ratio(95, 100),
            rule: Rule::default(),
            window: Window::default(),
            least_requests: 100,
            longest_window: 10,
            hold: 4,
            memory: 400,
        }
    }
}

impl Parameters {
    /// Algorithm 1 as it is printed.
    #[must_use]
    pub fn published() -> Self {
        Self {
            rule: Rule::Published,
            window: Window::PastInterval,
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
