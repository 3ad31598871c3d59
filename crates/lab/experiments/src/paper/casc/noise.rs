//! How noise in measured miss rates affects which threads count as greedy: a curve that the paper
//! does not have.
//!
//! Eighteen threads on eight CPUs, of which six miss 48 times per 100 references and twelve 16
//! times: the ratio of three that follows from §5.4.1's spread. Groups miss as often as the average
//! of their threads (Formula 1), times one plus noise (standard deviation in percent), drawn for
//! every interval.

use std::time::Duration;

use fairways_core::{
    AppId, CoRun, Counters, Cpus, Event, Policy, ThreadCounters, ThreadId, Time, Wish,
};
use fairways_policy::casc::{Casc, Parameters};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::setup::{THREADS, chip};
use crate::paper::Findings;

/// Noise in percent, and the number of threads classified right.
pub(super) type Point = (f64, f64);

const NOISE: [f64; 9] = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0];

/// Trials with each noise.
const TRIALS: u64 = 100;

const GREEDY: usize = 6;
const CONTEXTS: usize = 8;

fn rate(thread: usize) -> f64 {
    // Of the first nine, three are greedy.
    if thread.is_multiple_of(THREADS / GREEDY) { 48.0 } else { 16.0 }
}

/// A number that is nearly normally distributed: the sum of twelve uniform ones.
fn normal(random: &mut Pcg64Mcg) -> f64 {
    (0..12).map(|_| f64::from(random.next_u32()) / f64::from(u32::MAX)).sum::<f64>() - 6.0
}

/// A policy that is notified of threads that run together.
struct ScriptedCasc {
    casc: Casc,
    random: Pcg64Mcg,
    noise: f64,
}

impl ScriptedCasc {
    fn new(noise: f64, trial: u64) -> Self {
        let mut script = Self {
            casc: Casc::new(Parameters::default()),
            random: Pcg64Mcg::seed_from_u64(trial),
            noise,
        };
        script.notify(&Event::Machine(chip(768).llc.into()));
        let quantum = Duration::from_millis(200);
        script.notify(&Event::Cpus(Cpus { count: 8, quantum }));
        for app in 0..THREADS {
            let (app, wish) = (id(app).app, Wish::default());
            script.notify(&Event::Started { app, wish, profile: None });
        }
        script
    }

    fn notify(&mut self, event: &Event) {
        self.casc.handle(Time::ZERO, event, &mut |_| ());
    }

    /// Two milliseconds of these threads.
    fn add_window(&mut self, threads: &[usize]) {
        let mean = threads.iter().map(|&thread| rate(thread)).sum::<f64>() / threads.len() as f64;
        let measured = (mean * (1.0 + self.noise * normal(&mut self.random) / 100.0)).max(0.0);
        let counters = Counters {
            llc_references: Some(100_000_000),
            llc_misses: Some(whole(measured * 1e6)),
            ..Counters::default()
        };
        let threads = threads
            .iter()
            .map(|&thread| ThreadCounters { thread: id(thread), counters: Counters::default() })
            .collect();
        let window = Duration::from_millis(2);
        self.notify(&Event::RanTogether(CoRun { threads, group: counters, window }));
    }

    /// The number of threads classified right, once all are measured.
    fn count_right(mut self) -> f64 {
        let first: Vec<usize> = (0..=CONTEXTS).collect();
        // In the first round, no thread has run for long enough.
        for out in first.iter().chain(&first) {
            let row: Vec<usize> = first.iter().copied().filter(|thread| thread != out).collect();
            self.add_window(&row);
        }
        for thread in first.len()..THREADS {
            for beside in 0..2 {
                let peers = (0..thread).skip(beside).take(CONTEXTS - 1);
                let group: Vec<usize> = peers.chain([thread]).collect();
                self.add_window(&group);
            }
        }
        let max_pcmrs = self.casc.max_pcmrs();
        (0..THREADS)
            .filter(|thread| {
                let pcmr = self.casc.pcmr(id(*thread)).unwrap_or_default();
                max_pcmrs.iter().any(|&max| pcmr > max) == (rate(*thread) > 20.0)
            })
            .count() as f64
    }
}

fn id(thread: usize) -> ThreadId {
    ThreadId::first_of(AppId(u32::try_from(thread).unwrap_or(u32::MAX)))
}

pub(super) fn curve(findings: &mut Findings) -> Vec<Point> {
    let points: Vec<Point> = NOISE
        .into_iter()
        .map(|noise| {
            let right = (0..TRIALS).map(|trial| ScriptedCasc::new(noise, trial).count_right());
            (noise, right.sum::<f64>() / TRIALS as f64)
        })
        .collect();
    for (noise, right) in &points {
        let case = format!("threads classified right of 18, rates off by {noise} %");
        findings.add_beside("Noise", &case, "threads", Some(*right));
    }
    points
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are between 0 and a few hundred"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use fairways_core::Q32;

    use super::*;

    #[test]
    fn without_noise_all_are_right_and_much_noise_confounds_them() {
        fn right(noise: f64) -> f64 {
            (0..10).map(|trial| ScriptedCasc::new(noise, trial).count_right()).sum::<f64>()
        }
        assert_eq!(right(0.0), 180.0);
        assert!(right(30.0) < 150.0);
        // A raw score may lie far outside of the possible range; the score itself is limited to
        // that range.
        let mut script = ScriptedCasc::new(30.0, 3);
        for out in (0..9).chain(0..9) {
            let row: Vec<usize> = (0..9).filter(|&thread| thread != out).collect();
            script.add_window(&row);
        }
        let raws = (0..9).filter_map(|thread| script.casc.raw_pcmr(id(thread)));
        assert!(raws.into_iter().any(|raw| raw < 0));
        let most = Some(Q32::from_int(100));
        assert!((0..9).all(|thread| script.casc.pcmr(id(thread)) <= most));
    }
}
