//! Arrivals of requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use super::load::{RequestLoad, Stage};

/// When requests come, in ticks of the chip.
///
/// There is no queue of waiting requests: requests are answered one after the other, and only
/// answers influence when clients send more, so the next arrival is computed when the request
/// before it is done.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    stages: Vec<Stage>,
    stage: usize,
    /// When the stage ends.
    ends: u64,
    source: ArrivalSource,
    random: Pcg64Mcg,
    /// Ticks of a second of the policy's clock.
    second: f64,
}

#[derive(Clone, Debug)]
enum ArrivalSource {
    /// When each client sends its next request, and its mean think time.
    Closed {
        asks: BinaryHeap<Reverse<u64>>,
        think: f64,
    },
    Open(OpenLoop),
}

/// A Poisson process whose rate may change.
#[derive(Clone, Debug)]
struct OpenLoop {
    /// When the next request comes.
    next: u64,
    /// Mean ticks between requests, now and after the next change; infinite if none come.
    gap: f64,
    other: f64,
    /// When the rate changes, and the mean lengths of the next two periods.
    changes: u64,
    lengths: [f64; 2],
}

impl Arrivals {
    /// Arrivals from time `from` on. The stages were checked; there is at least one.
    pub(super) fn new(stages: Vec<Stage>, from: u64, second: f64, random: Pcg64Mcg) -> Self {
        let source = ArrivalSource::Closed { asks: BinaryHeap::new(), think: 0.0 };
        let mut arrivals = Self { stage: 0, ends: from, source, random, second, stages };
        arrivals.begin(from);
        arrivals
    }

    fn ticks(&self, span: Duration) -> f64 {
        span.as_secs_f64() * self.second
    }

    fn begin(&mut self, from: u64) {
        let Some(Stage { load, length }) = self.stages.get(self.stage).copied() else { return };
        self.ends =
            length.map_or(u64::MAX, |length| from.saturating_add(whole(self.ticks(length)).max(1)));
        self.source = match load {
            RequestLoad::Closed { clients, think } => {
                let think = self.ticks(think);
                let asks = (0..clients).map(|_| Reverse(later(from, think, &mut self.random)));
                ArrivalSource::Closed { asks: asks.collect(), think }
            }
            RequestLoad::Poisson { per_second } => {
                let gap = self.second / per_second;
                let next = later(from, gap, &mut self.random);
                let (changes, lengths) = (u64::MAX, [f64::INFINITY; 2]);
                ArrivalSource::Open(OpenLoop { next, gap, other: gap, changes, lengths })
            }
            RequestLoad::Bursty { per_second, times, share, length } => {
                let busy = self.ticks(length);
                let calm = busy * (1.0 - share) / share;
                let other = self.second * (1.0 - share + share * times) / per_second;
                // It begins in a calm time.
                let changes = later(from, calm, &mut self.random);
                let lengths = [busy, calm];
                let gap = other / times;
                let mut open = OpenLoop { next: from, gap: other, other: gap, changes, lengths };
                open.draw_next(&mut self.random);
                ArrivalSource::Open(open)
            }
        };
    }

    /// When the next request comes, if that is before `until`. Stages that begin later are not
    /// computed.
    pub(super) fn next(&mut self, until: u64) -> Option<u64> {
        loop {
            let next = match &self.source {
                ArrivalSource::Closed { asks, .. } => {
                    asks.peek().map_or(u64::MAX, |&Reverse(next)| next)
                }
                ArrivalSource::Open(open) => open.next,
            };
            if next < self.ends {
                return Some(next).filter(|&next| next < until);
            }
            if self.ends >= until {
                return None;
            }
            self.stage = (self.stage + 1) % self.stages.len();
            self.begin(self.ends);
        }
    }

    /// Takes the next request.
    pub(super) fn take(&mut self) {
        match &mut self.source {
            ArrivalSource::Closed { asks, .. } => {
                asks.pop();
            }
            ArrivalSource::Open(open) => open.draw_next(&mut self.random),
        }
    }

    /// Notes that a request was answered: its client begins to think.
    pub(super) fn note_answer(&mut self, at: u64) {
        if let ArrivalSource::Closed { asks, think } = &mut self.source {
            asks.push(Reverse(later(at, *think, &mut self.random)));
        }
    }
}

impl OpenLoop {
    /// Draws when the request after the next comes.
    fn draw_next(&mut self, random: &mut Pcg64Mcg) {
        self.next = later(self.next, self.gap, random);
        // A request that has not come when the rate changes is drawn again from then on (the
        // process has no memory).
        while self.next >= self.changes && self.changes < u64::MAX {
            (self.gap, self.other) = (self.other, self.gap);
            self.next = later(self.changes, self.gap, random);
            self.changes = later(self.changes, self.lengths[0], random).max(self.changes + 1);
            self.lengths.reverse();
        }
    }
}

/// An exponentially distributed time later.
fn later(from: u64, mean: f64, random: &mut Pcg64Mcg) -> u64 {
    let drawn: f64 = Exp1.sample(random);
    if mean.is_finite() { from.saturating_add(whole(drawn * mean)) } else { u64::MAX }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are not negative; the cast saturates"
)]
fn whole(ticks: f64) -> u64 {
    ticks.round() as u64
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    const SECOND: f64 = 1e9;
    const MS: Duration = Duration::from_millis(1);

    fn arrivals(stages: Vec<Stage>) -> Arrivals {
        Arrivals::new(stages, 1000, SECOND, Pcg64Mcg::seed_from_u64(7))
    }

    /// All requests before this time, if each is answered at once.
    fn all(arrivals: &mut Arrivals, until: u64) -> Vec<u64> {
        let mut all = Vec::new();
        while let Some(next) = arrivals.next(until) {
            arrivals.take();
            arrivals.note_answer(next);
            all.push(next);
        }
        all
    }

    /// The variance of the count in windows over its mean: 1 of a Poisson process.
    fn dispersion(all: &[u64], window: u64, windows: u64) -> f64 {
        let mut counts = vec![0.0; usize::try_from(windows).unwrap()];
        all.iter().for_each(|at| counts[usize::try_from((at - 1000) / window).unwrap()] += 1.0);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
        squares / counts.len() as f64 / mean
    }

    #[test]
    fn an_open_load_comes_as_often_as_it_should_and_in_order() {
        let (window, windows) = (10_000_000, 10_000);
        let end = 1000 + window * windows;
        let bursty =
            |times, length| RequestLoad::Bursty { per_second: 2000.0, times, share: 0.1, length };
        for (load, least, most) in [
            (RequestLoad::Poisson { per_second: 2000.0 }, 0.95, 1.05),
            (bursty(1.0, 50 * MS), 0.95, 1.05),
            (bursty(8.0, 50 * MS), 10.0, 60.0),
        ] {
            let all = all(&mut arrivals(vec![Stage::of(load)]), end);
            assert!(all.is_sorted() && all.iter().all(|&at| at >= 1000));
            let rate = all.len() as f64 / ((window * windows) as f64 / SECOND);
            assert!((rate / 2000.0 - 1.0).abs() < 0.05, "{load:?}: {rate}");
            let dispersion = dispersion(&all, window, windows);
            assert!((least..most).contains(&dispersion), "{load:?}: {dispersion}");
        }
    }

    #[test]
    fn clients_ask_again_once_they_have_thought() {
        let load = RequestLoad::Closed { clients: 3, think: 30 * MS };
        let mut arrivals = arrivals(vec![Stage::of(load)]);
        let mut asked = 0;
        let mut now = 0;
        // A service that takes a millisecond: each client sends a request every 31 ms, three
        // clients about every 10.3 ms.
        while let Some(next) = arrivals.next(100_000_000_000) {
            arrivals.take();
            now = next.max(now) + 1_000_000;
            arrivals.note_answer(now);
            asked += 1;
        }
        let each = 100_000.0 / f64::from(asked);
        assert!((10.2..10.7).contains(&each), "{each} ms");
    }

    fn stage(load: RequestLoad, ms: u32) -> Stage {
        Stage { load, length: Some(MS * ms) }
    }

    #[test]
    fn stages_follow_each_other_and_begin_again() {
        let stages = vec![
            stage(RequestLoad::Poisson { per_second: 50_000.0 }, 10),
            stage(RequestLoad::Poisson { per_second: 0.0 }, 20),
            stage(RequestLoad::Closed { clients: 4, think: MS }, 10),
        ];
        let mut arrivals = arrivals(stages);
        let all = all(&mut arrivals, 1000 + 80_000_000);
        let within = |from: u64, to: u64| {
            let (from, to) = (1000 + from * 1_000_000, 1000 + to * 1_000_000);
            all.iter().filter(|&&at| (from..to).contains(&at)).count()
        };
        for round in [0, 40] {
            assert!((400..600).contains(&within(round, round + 10)));
            assert_eq!(within(round + 10, round + 30), 0);
            assert!((20..60).contains(&within(round + 30, round + 40)));
        }
        assert!(all.is_sorted());
    }

    /// Arrivals are not computed beyond `until`, however far the next request is.
    #[test]
    fn silence_is_not_looked_through() {
        let silent = Stage { load: RequestLoad::Poisson { per_second: 0.0 }, length: Some(MS) };
        let mut arrivals = arrivals(vec![silent, silent]);
        assert_eq!(arrivals.next(10_000_000), None);
        assert!(arrivals.ends < 12_000_000);
    }
}
