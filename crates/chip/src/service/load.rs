//! When requests come.

use std::time::Duration;

/// When requests come, on the policy's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Clients of which each asks, waits for the answer, thinks for an exponentially distributed time, and asks
    /// again: a closed loop. Where nobody thinks, the service is saturated.
    Closed {
        /// How many, at least 1.
        clients: u32,
        /// How long each thinks, in the mean.
        think: Duration,
    },
    /// A Poisson process, whatever becomes of the requests: an open loop, as `TailBench` has it.
    Poisson {
        /// Requests a second, 0 or more.
        per_second: f64,
    },
    /// An open loop in which busy times and calm ones take turns, each exponentially distributed, with a Poisson
    /// process in each.
    Bursty {
        /// Requests a second over all, above 0.
        per_second: f64,
        /// How many times as many come in a busy time as in a calm one, at least 1.
        times: f64,
        /// Which share of the time is busy, above 0 and below 1.
        share: f64,
        /// How long a busy time is in the mean, more than nothing.
        length: Duration,
    },
}

/// A load for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The load.
    pub load: Load,
    /// How long, at least a microsecond; `None`: to the end of the run.
    pub length: Option<Duration>,
}

impl Stage {
    /// A client that never thinks: as many requests as there can be, one at a time.
    pub const SATURATED: Self = Self::of(Load::Closed { clients: 1, think: Duration::ZERO });

    /// A load to the end of the run.
    #[must_use]
    pub const fn of(load: Load) -> Self {
        Self { load, length: None }
    }

    /// Whether there can be such a load; if not, what must be.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.length.is_some_and(|length| length < SHORTEST) {
            return Err("loads of a microsecond or longer");
        }
        match self.load {
            Load::Closed { clients, .. } if !(1..=MOST_CLIENTS).contains(&clients) => {
                Err("1 to 1000000 clients")
            }
            Load::Poisson { per_second } if !(0.0..=MOST_RATE).contains(&per_second) => {
                Err("0 to 1e9 requests a second")
            }
            Load::Bursty { per_second, times, share, length } => {
                if !(per_second > 0.0 && per_second <= MOST_RATE) {
                    Err("more than 0 and at most 1e9 requests a second")
                } else if !(1.0..=1e6).contains(&times) {
                    Err("1 to 1e6 times as many requests in a busy time")
                } else if !(share > 0.0 && share < 1.0) {
                    Err("more than 0 % and less than 100 % of busy time")
                } else if length.is_zero() {
                    Err("busy times of more than nothing")
                } else {
                    Ok(())
                }
            }
            Load::Closed { .. } | Load::Poisson { .. } => Ok(()),
        }
    }
}

/// Stages are gone through one by one.
const SHORTEST: Duration = Duration::from_micros(1);

const MOST_CLIENTS: u32 = 1_000_000;
const MOST_RATE: f64 = 1e9;
