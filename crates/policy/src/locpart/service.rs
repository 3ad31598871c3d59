//! A latency-critical service, and what its tail calls for (Algorithm 1, lines 10 and 13).

use core::cmp::Ordering;

use fairways_core::{Objective, Q32, Time};

use super::margin::{Margin, TailVerdict};
use super::parameters::{GivingRule, Parameters};
use super::tail::{TailOf, Tails, nanos};

/// What a latency-critical service is held to be, in words for journals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceClass {
    /// Its tail is below its objective.
    Held,
    /// Its tail is at its objective or above.
    Violated,
    /// It is so with all the ways that there are for it, and that not once only.
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
    /// As it was before the last period's end.
    pub(super) margin_before: Margin,
    /// The tail in nanoseconds that the verdict is on.
    pub(super) tail: u64,
    pub(super) verdict: TailVerdict,
    /// Whether it is still to have its turn.
    pub(super) is_waiting: bool,
    pub(super) is_watched: bool,
    /// The period in which its tail was known last.
    pub(super) known: u64,
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
            known: period,
            class: None,
        }
    }

    /// The objective in nanoseconds. One of nothing at all, which there should not be, is missed by whoever takes
    /// any time.
    pub(super) fn slo(&self) -> u64 {
        nanos(self.objective.slo).max(1)
    }

    /// Says what it is held to be at the end of a period, once it is settled who gets what.
    pub(super) fn classify(&mut self, period: u64, longest: u32) {
        let class = match self.verdict {
            TailVerdict::Unknown if period.saturating_sub(self.known) < u64::from(longest) => {
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

    /// What the tail leaves of the objective, in units of 2^-32 of it; below nothing if it is missed.
    pub(super) fn slack(&self) -> i64 {
        let left = i128::from(self.slo()) - i128::from(self.tail);
        let slack = (left << 32) / i128::from(self.slo());
        i64::try_from(slack).unwrap_or(if slack < 0 { i64::MIN } else { i64::MAX })
    }

    /// By how many times the objective the tail is.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (u128::from(self.tail), u128::from(other.tail));
        (a * u128::from(other.slo())).cmp(&(b * u128::from(self.slo())))
    }
}

/// What a service's tail is, in nanoseconds, and what it calls for (Algorithm 1, lines 10 and 13).
pub(super) fn judge(
    service: &mut Service,
    at: Time,
    period: u64,
    ways: u32,
    least: u32,
    parameters: &Parameters,
) -> (u64, TailVerdict) {
    let slo = service.slo();
    let Service { objective, tails, margin, known, .. } = service;
    let mut tail = |of| tails.tail(at, *objective, of, parameters);
    if parameters.rule == GivingRule::Published {
        let Some(tail) = tail(TailOf::All) else { return (0, TailVerdict::Unknown) };
        *known = period;
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
        // Sooner, no request can have taken as long as would be too long.
        let settles = objective.slo.saturating_mul(2);
        (TailOf::CameSince(since, settles), TailOf::AnsweredSince(since))
    });
    let found = tail(came);
    let verdict = match found {
        Some(tail) if tail < slo => margin.judge(period, ways, (tail, slo), least, parameters),
        Some(_) => {
            let all = tail(answered).or(found).unwrap_or(slo);
            margin.miss(period, ways, all, parameters)
        }
        // All that are answered came before: what had piled up still stands between.
        None if margin.is_climbing() => {
            let all = tail(answered).filter(|&all| all >= slo);
            let Some(all) = all else { return (0, TailVerdict::Unknown) };
            *known = period;
            return (all, margin.miss(period, ways, all, parameters));
        }
        None => return (0, TailVerdict::Unknown),
    };
    *known = period;
    (found.unwrap_or(slo), verdict)
}
