//! Each service by itself: how much it can answer, and how soon. What objectives are made of.

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_chip::service::RequestLoad;

use super::setup::{Scale, steady};

/// The share of what a service can answer that comes in an open loop (decision Locpart 3).
pub(super) const LOAD: f64 = 0.6;

/// So many times its tail by itself a service may take (decision Locpart 7).
const SLACK: f64 = 1.5;

/// What is known of a service before anybody shares the cache with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline {
    pub(super) name: &'static str,
    /// Requests a second in a closed loop, with all ways: what it can answer.
    pub(super) saturation: f64,
    /// Its 99th percentile in an open loop: Figure 1's, with all ways.
    open_tail: Duration,
}

impl Baseline {
    /// Measures a service by itself.
    pub(super) fn measure(scale: Scale, name: &'static str) -> Result<Self, ChipError> {
        let (saturation, _) = saturate(scale, name)?;
        let mut service = Self { name, saturation, open_tail: Duration::ZERO };
        (service.open_tail, _) = service.tail(scale, scale.bench.ways(), LOAD)?;
        Ok(service)
    }

    /// Its 99th percentile by itself with so many ways, where so much comes of what it can answer;
    /// of how many requests.
    pub(super) fn tail(
        &self,
        scale: Scale,
        ways: u32,
        load: f64,
    ) -> Result<(Duration, u64), ChipError> {
        let Scale { bench, requests, tails, .. } = scale;
        let job = bench.service(self.name, steady(self.open(load)));
        let span = Duration::from_secs_f64(f64::from(requests) / (load * self.saturation));
        let (_, requests, tail) = bench.fixed(&[(job, ways)], span, tails)?.answered();
        Ok((tail, requests))
    }

    /// Requests that come at random, so many times what it can answer.
    pub(super) fn open(&self, share: f64) -> RequestLoad {
        RequestLoad::Poisson { per_second: share * self.saturation }
    }

    /// Its objective in every experiment, of Figure 1's tails (§III-A, decision Locpart 7).
    pub(super) fn slo(&self) -> Duration {
        self.slo_of(self.open_tail)
    }

    /// The objective, if it were made of this tail.
    pub(super) fn slo_of(&self, tail: Duration) -> Duration {
        if self.name == "silo" { Duration::from_millis(2) } else { tail.mul_f64(SLACK) }
    }
}

/// Requests a second in a closed loop with all ways, and their 99th percentile.
pub(super) fn saturate(scale: Scale, name: &str) -> Result<(f64, Duration), ChipError> {
    let Scale { bench, requests, tails, .. } = scale;
    let job = bench.saturated(name);
    // How long a request takes is not known yet: about a cycle and a half an instruction.
    let instructions = job.requests().map_or(1.0, |requests| requests.instructions);
    let each = Duration::from_secs_f64(1.5 * instructions / 2.2e9);
    let run = bench.fixed(&[(job, bench.ways())], each * requests, tails)?;
    let (rate, _, tail) = run.answered();
    Ok((rate, tail))
}
