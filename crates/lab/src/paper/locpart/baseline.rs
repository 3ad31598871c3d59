//! Each service by itself: how much it can answer, and how soon. What objectives are made of.

use std::time::Duration;

use fairways_chip::ChipError;
use fairways_chip::service::{Load, Stage};

use super::setup::{Bench, steady};

/// The share of what a service can answer that comes in an open loop (decision Locpart 3).
pub(super) const LOAD: f64 = 0.6;

/// So many times its tail by itself a service may take (decision Locpart 7).
const SLACK: f64 = 1.5;

/// A run is as long as its requests take.
const ANSWERED: &str = "requests that were answered";

/// What is known of a service before anybody shares the cache with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline {
    pub(super) name: &'static str,
    /// Requests a second in a closed loop, with all ways: what it can answer.
    pub(super) saturation: f64,
    /// Its 99th percentile there, and in an open loop.
    pub(super) closed_tail: Duration,
    pub(super) open_tail: Duration,
}

impl Baseline {
    /// Measures a service by itself for about so many requests.
    pub(super) fn measure(
        bench: Bench,
        name: &'static str,
        requests: u32,
    ) -> Result<Self, ChipError> {
        let closed = bench.service(name, vec![Stage::SATURATED]);
        let all = bench.ways();
        let alone = |loads, step| {
            let job = (bench.service(name, loads), all);
            bench.fixed(&[job], step, 2)
        };
        // How long a request takes is not known yet: with the first of them.
        let guess = expected(&closed) * requests;
        let run = alone(vec![Stage::SATURATED], guess)?;
        let (saturation, closed_tail) = (run.rate(0, 1), run.moments[0][1].tail);
        let span = Duration::from_secs_f64(f64::from(requests) / (LOAD * saturation));
        let run = alone(steady(Load::Poisson { per_second: LOAD * saturation }), span)?;
        Ok(Self {
            name,
            saturation,
            closed_tail: closed_tail.expect(ANSWERED),
            open_tail: run.moments[0][1].tail.expect(ANSWERED),
        })
    }

    /// Requests that come at random, so many times what it can answer.
    pub(super) fn open(&self, share: f64) -> Load {
        Load::Poisson { per_second: share * self.saturation }
    }

    /// How long about so many requests take in an open loop.
    pub(super) fn span(&self, requests: u32, share: f64) -> Duration {
        Duration::from_secs_f64(f64::from(requests) / (share * self.saturation))
    }

    /// Its objective, of a tail that it has by itself (§III-A, decision Locpart 7).
    pub(super) fn slo(&self, tail: Duration) -> Duration {
        if self.name == "silo" { Duration::from_millis(2) } else { tail.mul_f64(SLACK) }
    }
}

/// About how long a request takes: a cycle and a half an instruction.
fn expected(job: &fairways_chip::Job) -> Duration {
    let instructions = job.requests().map_or(1.0, |requests| requests.instructions);
    Duration::from_secs_f64(1.5 * instructions / 2.2e9)
}
