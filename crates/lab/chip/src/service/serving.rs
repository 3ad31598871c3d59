//! A service that runs.

use hdrhistogram::Histogram;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use fairways_core::LatencyBin;

use super::arrivals::Arrivals;
use super::load::Stage;
use super::request::{Requests, SizeDraw};
use crate::account::TICKS;
use crate::pages::mix;
use crate::settings::Settings;

/// An empty histogram of latencies in nanoseconds, to three digits, up to an hour; longer latencies
/// count as an hour.
pub(crate) fn histogram() -> Histogram<u64> {
    const HOUR: u64 = 3_600_000_000_000;
    Histogram::new_with_bounds(1, HOUR, 3).expect("bounds and digits that can be")
}

/// The state of a service that runs.
pub(crate) struct RunningService {
    arrivals: Arrivals,
    sizes: SizeDraw,
    random: Pcg64Mcg,
    current: Option<CurrentRequest>,
    /// Latencies of the window under way, in nanoseconds on the policy's clock.
    window: Histogram<u64>,
    time_scale: u64,
    mhz: u64,
}

/// The request that is being answered.
#[derive(Clone, Copy, Debug)]
struct CurrentRequest {
    /// Its arrival, in ticks.
    came: u64,
    /// The program's instruction count at which it is answered.
    end: u64,
}

/// The random numbers for one purpose.
fn random(seed: u64, purpose: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(mix(seed ^ mix(purpose)))
}

impl RunningService {
    /// A service that begins at time `from`, in ticks; `placed` is the seed.
    pub(crate) fn new(
        settings: &Settings,
        requests: &Requests,
        loads: &[Stage],
        placed: u64,
        from: u64,
    ) -> Self {
        let mhz = u64::from(settings.chip.mhz);
        let second = (mhz * 1_000_000 * TICKS) as f64 / f64::from(settings.time_scale);
        let stages = if loads.is_empty() { vec![Stage::SATURATED] } else { loads.to_vec() };
        Self {
            arrivals: Arrivals::new(stages, from, second, random(placed, ARRIVALS)),
            sizes: requests.sizes(settings.time_scale),
            random: random(placed, SIZES),
            current: None,
            window: histogram(),
            time_scale: u64::from(settings.time_scale),
            mhz,
        }
    }

    /// Starts the next request, if it comes before `until` and none is under way. Returns the
    /// arrival of the request under way. `ran`: the instructions that the program has run.
    pub(crate) fn turn_to_next(&mut self, ran: u64, until: u64) -> Option<u64> {
        if let Some(CurrentRequest { came, .. }) = self.current {
            return Some(came);
        }
        let came = self.arrivals.next(until)?;
        self.arrivals.take();
        let end = ran.saturating_add(self.sizes.next(&mut self.random));
        self.current = Some(CurrentRequest { came, end });
        Some(came)
    }

    /// The program's instruction count at which the current request is answered.
    pub(crate) fn end(&self) -> u64 {
        self.current.map_or(u64::MAX, |current| current.end)
    }

    /// Answers the current request at this time; returns its latency in nanoseconds on the policy's
    /// clock.
    pub(crate) fn answer(&mut self, at: u64) -> u64 {
        let Some(CurrentRequest { came, .. }) = self.current.take() else { return 0 };
        self.arrivals.note_answer(at);
        let nanos = u128::from(at.saturating_sub(came)) * 1000 * u128::from(self.time_scale)
            / u128::from(self.mhz * TICKS);
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        self.window.saturating_record(nanos);
        nanos
    }

    /// Begins a window.
    pub(crate) fn begin_window(&mut self) {
        self.window.reset();
    }

    /// Ends a window; returns its latencies.
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

/// Seeds for separate streams of random numbers.
const ARRIVALS: u64 = 0xa221_7a15;
const SIZES: u64 = 0x517e5;
