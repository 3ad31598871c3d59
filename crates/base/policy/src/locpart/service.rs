//! A latency-critical service, and the verdict on its tail (Algorithm 1, lines 10 and 13).

use core::cmp::Ordering;

use fairways_core::{Objective, Q32, Time};

use super::margin::{Margin, TailVerdict};
use super::parameters::{GivingRule, Parameters};
use super::tail::{TailOf, Tails, nanos};

/// The class of a latency-critical service, for journals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceClass {
    /// Its tail is below its objective.
    Held,
    /// Its tail is at its objective or above.
    Violated,
    /// Its tail has been so more than once with all the ways that it can have.
    Unattainable,
    /// It answers too few requests for its tail to be known.
    Unknown,
}

impl ServiceClass {
    /// The class in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Violated => "violated",
            Self::Unattainable => "unattainable",
            Self::Unknown => "unknown",
        }
    }

    /// Why a service is of this class.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::Held => "its tail is below its objective",
            Self::Violated => "its tail is not below its objective",
            Self::Unattainable => "it misses its objective with all the ways that it can have",
            Self::Unknown => "it answers too few requests",
        }
    }
}

/// A latency-critical service.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) objective: Objective,
    pub(super) tails: Tails,
    pub(super) margin: Margin,
    /// Its margin before the last period's end.
    pub(super) margin_before: Margin,
    /// The tail that the verdict is about, in nanoseconds.
    pub(super) tail: u64,
    pub(super) verdict: TailVerdict,
    /// Whether it has not had its turn yet.
    pub(super) is_waiting: bool,
    pub(super) is_watched: bool,
    /// The period in which its tail was known last.
    pub(super) known_in: u64,
    pub(super) class: Option<ServiceClass>,
}

impl Service {
    pub(super) fn new(objective: Objective, period: u64) -> Self {
        Self {
            objective,
            tails: Tails::default(),
            margin: Margin::new(None),
            margin_before: Margin::new(None),
            tail: 0,
            verdict: TailVerdict::Unknown,
            is_waiting: false,
            is_watched: false,
            known_in: period,
            class: None,
        }
    }

    /// The objective in nanoseconds, at least 1: an objective of 0, which should not exist, is
    /// missed by every request that takes any time.
    pub(super) fn slo(&self) -> u64 {
        nanos(self.objective.slo).max(1)
    }

    /// Classifies it at the end of a period, after the ways are settled.
    pub(super) fn classify(&mut self, period: u64, longest: u32) {
        let class = match self.verdict {
            TailVerdict::Unknown if period.saturating_sub(self.known_in) < u64::from(longest) => {
                return;
            }
            TailVerdict::Unknown => ServiceClass::Unknown,
            _ if self.margin.is_unattainable => ServiceClass::Unattainable,
            TailVerdict::More | TailVerdict::Drains => ServiceClass::Violated,
            TailVerdict::Hold | TailVerdict::Down(_) => ServiceClass::Held,
        };
        self.class = Some(class);
    }

    /// The tail in milliseconds.
    pub(super) fn tail_ms(&self) -> Q32 {
        Q32::ratio(self.tail, 1_000_000)
    }

    /// What the tail leaves of the objective, in units of 2^-32 of it; negative if it is missed.
    pub(super) fn slack(&self) -> i64 {
        let left = i128::from(self.slo()) - i128::from(self.tail);
        let slack = (left << 32) / i128::from(self.slo());
        i64::try_from(slack).unwrap_or(if slack < 0 { i64::MIN } else { i64::MAX })
    }

    /// Compares their tails, each as a multiple of the objective.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (u128::from(self.tail), u128::from(other.tail));
        (a * u128::from(other.slo())).cmp(&(b * u128::from(self.slo())))
    }
}

/// A service's tail in nanoseconds, and the verdict on it (Algorithm 1, lines 10 and 13).
pub(super) fn judge(
    service: &mut Service,
    at: Time,
    period: u64,
    ways: u32,
    least: u32,
    parameters: &Parameters,
) -> (u64, TailVerdict) {
    let slo = service.slo();
    let Service { objective, tails, margin, known_in, .. } = service;
    let mut tail = |of| tails.tail(at, *objective, of, parameters);
    if parameters.rule == GivingRule::Published {
        let Some(tail) = tail(TailOf::All) else { return (0, TailVerdict::Unknown) };
        *known_in = period;
        if tail >= slo {
            return (tail, TailVerdict::More);
        }
        margin.forget_unattainable();
        let left = u128::from(slo - tail) << 32;
        let to = ways.saturating_sub(parameters.w.max(1)).max(least);
        let slack = left >= u128::from(parameters.util_th.raw()) * u128::from(slo) && to < ways;
        return (tail, if slack { TailVerdict::Down(to) } else { TailVerdict::Hold });
    }
    let (came, answered) = margin.since.map_or((TailOf::All, TailOf::All), |since| {
        // Sooner, no request can have taken too long yet.
        let settles = objective.slo.saturating_mul(2);
        (TailOf::CameSince(since, settles), TailOf::AnsweredSince(since))
    });
    let own = tail(came);
    let verdict = match own {
        Some(tail) if tail < slo => margin.judge(period, ways, (tail, slo), least, parameters),
        Some(_) => {
            let all = tail(answered).or(own).unwrap_or(slo);
            margin.miss(period, ways, all, parameters)
        }
        // All answered requests came before: those that piled up are still in the way.
        None if margin.is_climbing() => {
            let all = tail(answered).filter(|&all| all >= slo);
            let Some(all) = all else { return (0, TailVerdict::Unknown) };
            *known_in = period;
            return (all, margin.miss(period, ways, all, parameters));
        }
        None => return (0, TailVerdict::Unknown),
    };
    *known_in = period;
    (own.unwrap_or(slo), verdict)
}
