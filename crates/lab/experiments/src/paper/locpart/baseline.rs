//! Each service alone: its throughput and its latency. The objectives are derived from these.

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_chip::service::RequestLoad;

use super::setup::{Scale, TailBench, steady};

/// The load of an open loop, as a share of the most that a service can answer (decision Locpart 3).
pub(super) const LOAD: f64 = 0.6;

/// The objective, as a multiple of the service's tail alone (decision Locpart 7).
const SLACK: f64 = 1.5;

/// The measurements of a service without co-runners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline {
    pub(super) which: TailBench,
    /// Requests per second in a closed loop with all ways: the most that it can answer.
    pub(super) saturation: f64,
    /// Its 99th percentile in an open loop: Figure 1's, with all ways.
    open_tail: Duration,
}

impl Baseline {
    /// Measures a service alone.
    pub(super) fn measure(scale: Scale, which: TailBench) -> Result<Self, ChipError> {
        let (saturation, _) = saturate(scale, which)?;
        let mut service = Self { which, saturation, open_tail: Duration::ZERO };
        (service.open_tail, _) = service.tail(scale, scale.bench.ways(), LOAD)?;
        Ok(service)
    }

    /// The 99th percentile of the service alone with this many ways under this load, and the number
    /// of its requests.
    pub(super) fn tail(
        &self,
        scale: Scale,
        ways: u32,
        load: f64,
    ) -> Result<(Duration, u64), ChipError> {
        let Scale { bench, requests, tails, .. } = scale;
        let job = bench.service(self.which, steady(self.open(load)));
        let span = Duration::from_secs_f64(f64::from(requests) / (load * self.saturation));
        let (_, requests, tail) = bench.fixed(&[(job, ways)], span, tails)?.answered();
        Ok((tail, requests))
    }

    /// Requests that come at random, at this share of the most that it can answer.
    pub(super) fn open(&self, share: f64) -> RequestLoad {
        RequestLoad::Poisson { per_second: share * self.saturation }
    }

    /// The objective in every experiment, derived from Figure 1's tails (§III-A, decision Locpart
    /// 7).
    pub(super) fn slo(&self) -> Duration {
        self.slo_of(self.open_tail)
    }

    /// The objective that this tail gives.
    pub(super) fn slo_of(&self, tail: Duration) -> Duration {
        self.which.published_slo().unwrap_or_else(|| tail.mul_f64(SLACK))
    }
}

/// Requests per second in a closed loop with all ways, and their 99th percentile.
pub(super) fn saturate(scale: Scale, service: TailBench) -> Result<(f64, Duration), ChipError> {
    let Scale { bench, requests, tails, .. } = scale;
    let job = bench.saturated(service);
    // The time of a request is not known yet: about a cycle and a half per instruction.
    let instructions = job.requests().map_or(1.0, |requests| requests.instructions);
    let each = Duration::from_secs_f64(1.5 * instructions / 2.2e9);
    let run = bench.fixed(&[(job, bench.ways())], each * requests, tails)?;
    let (rate, _, tail) = run.answered();
    Ok((rate, tail))
}
