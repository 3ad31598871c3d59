//! Services that answer requests one after the other, as fast as their ways allow.

use alloc::vec::Vec;

use fairways_core::{AppId, Latencies, LatencyBin};

/// Numbers that look random: the high bits of a linear congruential generator (Knuth's MMIX).
#[derive(Clone, Debug)]
pub(super) struct Lcg(u64);

impl Lcg {
    pub(super) fn new(seed: u64) -> Self {
        let mut lcg = Self(seed);
        for _ in 0..4 {
            lcg.next();
        }
        lcg
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 32
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() * bound) >> 32
    }

    /// Nearly an exponential variate: the binary logarithm is assumed to be straight between powers
    /// of 2.
    pub(super) fn exponential(&mut self, mean: u64) -> u64 {
        let bits = self.next() | 1;
        let zeros = u64::from(bits.leading_zeros()) - 32;
        let fraction = (bits << (zeros + 1)) & 0xffff_ffff;
        let log = (zeros << 32) + ((1 << 32) - fraction);
        let product = u128::from(mean) * u128::from(log) * 693;
        u64::try_from((product / 1000) >> 32).unwrap()
    }
}

/// How long requests take beside the time that they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    /// All alike, at equal distances, and without waiting: the tail is the time.
    None,
    /// Within a tenth of the average, without waiting.
    Little,
    /// As in a queue with one server, where both gaps and times are exponential.
    Queue,
}

/// A service; times are nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// Between two requests, on average; 0 if none come.
    pub(super) gap: u64,
    /// The mean time of a request by the number of ways, from 1 up.
    pub(super) times: Vec<u64>,
    pub(super) noise: Noise,
    lcg: Lcg,
    /// When the next request comes, and when the server is free.
    next: u64,
    free: u64,
    /// When the accepted requests will be answered, and how long they took.
    answered: Vec<(u64, u64)>,
}

impl Service {
    pub(super) fn new(
        seed: u64,
        gap: u64,
        noise: Noise,
        times: impl IntoIterator<Item = u64>,
    ) -> Self {
        let times = times.into_iter().collect();
        Self { gap, times, noise, lcg: Lcg::new(seed), next: 0, free: 0, answered: Vec::new() }
    }

    /// Goes on until this time with `ways` ways.
    pub(super) fn run(&mut self, until: u64, ways: u32) {
        let time = self.times[(ways as usize).min(self.times.len()) - 1];
        while self.gap > 0 && self.next.max(self.free) < until {
            let (arrived, queue) = (self.next, self.noise == Noise::Queue);
            let takes = match self.noise {
                Noise::None => time,
                Noise::Little => time * (900 + self.lcg.below(201)) / 1000,
                Noise::Queue => self.lcg.exponential(time).max(1),
            };
            let starts = if queue { arrived.max(self.free) } else { arrived };
            let done = starts + takes;
            if queue {
                self.free = done;
            }
            self.answered.push((if queue { done } else { arrived }, done - arrived));
            self.next += if queue { self.lcg.exponential(self.gap).max(1) } else { self.gap };
        }
        if self.gap == 0 {
            self.next = until;
        }
    }

    /// The latencies of the requests that were answered by this time, since the last call.
    pub(super) fn take(&mut self, until: u64) -> Vec<u64> {
        let done = self.answered.iter().filter(|(done, _)| *done <= until);
        let mut latencies: Vec<u64> = done.map(|&(_, latency)| latency).collect();
        self.answered.retain(|(done, _)| *done > until);
        latencies.sort_unstable();
        latencies
    }

    /// The share of periods, in thousandths, in which the percentile misses `slo` with a fixed
    /// number of ways.
    pub(super) fn misses(
        &self,
        ways: u32,
        period: u64,
        periods: u64,
        percent: u64,
        slo: u64,
    ) -> u64 {
        let mut service = self.clone();
        let mut missed = 0;
        for index in 1..=periods {
            service.run(index * period, ways);
            let latencies = service.take(index * period);
            missed += u64::from(is_missed(&latencies, percent, slo));
        }
        missed * 1000 / periods
    }
}

/// Whether 100 requests or more missed the objective.
pub(super) fn is_missed(sorted: &[u64], percent: u64, slo: u64) -> bool {
    sorted.len() >= 100 && tail(sorted, percent) >= slo
}

pub(super) fn tail(sorted: &[u64], percent: u64) -> u64 {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted[usize::try_from(rank).unwrap() - 1]
}

/// A histogram of sorted latencies.
pub(super) fn histogram(app: u32, window: core::time::Duration, sorted: &[u64]) -> Latencies {
    let mut answered: Vec<LatencyBin> = Vec::new();
    for &latency in sorted {
        let latency = core::time::Duration::from_nanos(latency);
        match answered.last_mut() {
            Some(last) if last.latency == latency => last.requests += 1,
            _ => answered.push(LatencyBin { latency, requests: 1 }),
        }
    }
    Latencies { app: AppId(app), window, answered }
}
