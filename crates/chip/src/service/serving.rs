//! A service that runs.

use hdrhistogram::Histogram;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use fairways_core::LatencyBin;

use super::arrivals::Arrivals;
use super::load::Stage;
use super::request::{Draw, Requests};
use crate::account::TICKS;
use crate::pages::mix;
use crate::settings::Settings;

/// Latencies in nanoseconds, to three digits: up to an hour, beyond which they are taken for one.
pub(crate) fn histogram() -> Histogram<u64> {
    const HOUR: u64 = 3_600_000_000_000;
    Histogram::new_with_bounds(1, HOUR, 3).expect("bounds and digits that can be")
}

/// A service at work.
pub(crate) struct Serving {
    arrivals: Arrivals,
    sizes: Draw,
    random: Pcg64Mcg,
    current: Option<Current>,
    /// Latencies of the window under way, in nanoseconds on the policy's clock.
    window: Histogram<u64>,
    time_scale: u64,
    mhz: u64,
}

/// The request that is being answered.
#[derive(Clone, Copy, Debug)]
struct Current {
    /// When it came, in ticks.
    came: u64,
    /// After how many instructions of the program it is answered.
    end: u64,
}

impl Serving {
    /// A service that begins at this time, in ticks; `placed` says what is drawn.
    pub(crate) fn new(
        settings: &Settings,
        requests: &Requests,
        loads: &[Stage],
        placed: u64,
        from: u64,
    ) -> Self {
        let mhz = u64::from(settings.chip.mhz);
        let second = (mhz * 1_000_000 * TICKS) as f64 / f64::from(settings.time_scale);
        let random = |which: u64| Pcg64Mcg::seed_from_u64(mix(placed ^ mix(which)));
        let stages = if loads.is_empty() { vec![Stage::SATURATED] } else { loads.to_vec() };
        Self {
            arrivals: Arrivals::new(stages, from, second, random(ARRIVALS)),
            sizes: requests.sizes(settings.time_scale),
            random: random(SIZES),
            current: None,
            window: histogram(),
            time_scale: u64::from(settings.time_scale),
            mhz,
        }
    }

    /// Turns to the next request, if it comes before `until` and none is being answered; when it came. `ran`: the
    /// instructions that the program has run.
    pub(crate) fn turn_to_next(&mut self, ran: u64, until: u64) -> Option<u64> {
        if let Some(Current { came, .. }) = self.current {
            return Some(came);
        }
        let came = self.arrivals.next(until)?;
        self.arrivals.take();
        let end = ran.saturating_add(self.sizes.next(&mut self.random));
        self.current = Some(Current { came, end });
        Some(came)
    }

    /// After how many instructions the request is answered that the service has turned to.
    pub(crate) fn end(&self) -> u64 {
        self.current.map_or(u64::MAX, |current| current.end)
    }

    /// The request is answered at this time; its latency in nanoseconds on the policy's clock.
    pub(crate) fn answer(&mut self, at: u64) -> u64 {
        let Some(Current { came, .. }) = self.current.take() else { return 0 };
        self.arrivals.answered(at);
        let nanos = u128::from(at.saturating_sub(came)) * 1000 * u128::from(self.time_scale)
            / u128::from(self.mhz * TICKS);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.window.saturating_record(nanos);
        nanos
    }

    /// A window begins.
    pub(crate) fn begin_window(&mut self) {
        self.window.reset();
    }

    /// The latencies of the window, which ends.
    pub(crate) fn end_window(&mut self) -> Vec<LatencyBin> {
        let recorded = self.window.iter_recorded().map(|step| LatencyBin {
            latency: std::time::Duration::from_nanos(step.value_iterated_to()),
            requests: step.count_at_value(),
        });
        let answered = recorded.collect();
        self.window.reset();
        answered
    }
}

/// What random numbers are for.
const ARRIVALS: u64 = 0xa221_7a15;
const SIZES: u64 = 0x517e5;
