//! Loads: when requests come.

use std::time::Duration;

/// A load: when requests come, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestLoad {
    /// A closed loop: each client sends a request, waits for the answer, thinks for an
    /// exponentially distributed time, and repeats. Without think time the service is saturated.
    Closed {
        /// The number of clients, at least 1.
        clients: u32,
        /// The mean think time.
        think: Duration,
    },
    /// An open loop, as in `TailBench`: a Poisson process that does not depend on the answers.
    Poisson {
        /// Requests a second, 0 or more.
        per_second: f64,
    },
    /// An open loop with alternating busy and calm periods, each exponentially distributed, and a
    /// Poisson process in each.
    Bursty {
        /// Requests a second over all periods, above 0.
        per_second: f64,
        /// How many times more requests come in a busy period than in a calm one, at least 1.
        times: f64,
        /// The share of time that is busy, above 0 and below 1.
        share: f64,
        /// The mean length of a busy period, more than 0.
        length: Duration,
    },
}

/// A load for a limited or unlimited time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The load.
    pub load: RequestLoad,
    /// Its length, at least a microsecond; `None`: to the end of the run.
    pub length: Option<Duration>,
}

impl Stage {
    /// A client without think time: as many requests as possible, one at a time.
    pub const SATURATED: Self = Self::of(RequestLoad::Closed { clients: 1, think: Duration::ZERO });

    /// A load to the end of the run.
    #[must_use]
    pub const fn of(load: RequestLoad) -> Self {
        Self { load, length: None }
    }

    /// Checks that the load is possible. The error names the expected value.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.length.is_some_and(|length| length < SHORTEST) {
            return Err("loads of a microsecond or longer");
        }
        match self.load {
            RequestLoad::Closed { clients, .. } if !(1..=MOST_CLIENTS).contains(&clients) => {
                Err("1 to 1000000 clients")
            }
            RequestLoad::Poisson { per_second } if !(0.0..=MOST_RATE).contains(&per_second) => {
                Err("0 to 1e9 requests a second")
            }
            RequestLoad::Bursty { per_second, times, share, length } => {
                if !(per_second > 0.0 && per_second <= MOST_RATE) {
                    Err("more than 0 and at most 1e9 requests a second")
                } else if !(1.0..=1e6).contains(&times) {
                    Err("1 to 1e6 times as many requests in a busy time")
                } else if !(share > 0.0 && share < 1.0) {
                    Err("more than 0 % and less than 100 % of busy time")
                } else if length.is_zero() {
                    Err("busy times of more than 0")
                } else {
                    Ok(())
                }
            }
            RequestLoad::Closed { .. } | RequestLoad::Poisson { .. } => Ok(()),
        }
    }
}

/// Stages are gone through one by one, so they must not be too short.
const SHORTEST: Duration = Duration::from_micros(1);

const MOST_CLIENTS: u32 = 1_000_000;
const MOST_RATE: f64 = 1e9;
