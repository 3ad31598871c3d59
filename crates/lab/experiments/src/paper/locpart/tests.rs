//! Tests of the experiments' assumptions.

#![allow(clippy::unwrap_used)]

use fairways_chip::Job;
use fairways_policy::stock::Stock;

use super::*;
use baseline::LOAD;

/// Decision Locpart 13: four copies of mcf, each with a memory of its own, behave as one that is
/// four times as fast and uses four times as much; four threads of a service that share a memory
/// answer four times as much.
#[test]
fn four_are_as_one_that_is_four_times_as_fast() {
    Ground::ALL.into_iter().for_each(four_are_as_one);
}

fn four_are_as_one(ground: Ground) {
    let scale = Setting { ground, ..Setting::new(true) }.scale(TailBench::Masstree, 1, true);
    let four = scale.with_threads(4);
    fn service(four_bench: &LocpartBench) -> Job {
        four_bench.saturated(TailBench::Masstree)
    }
    let batch_speed = |batch: Vec<Job>| {
        let jobs = [vec![service(&four.bench)], batch].concat();
        let step = Duration::from_millis(500);
        let run = scale.bench.run(&jobs, &mut Stock::default(), step, 3).unwrap();
        (1..jobs.len()).map(|job| run.instructions(job, 1)).sum::<f64>()
    };
    let apart = batch_speed(vec![scale.bench.batch(); 4]);
    let as_one = batch_speed(vec![four.bench.batch()]);
    assert!((as_one / apart - 1.0).abs() < 0.02, "{as_one} {apart}");
    let [one, four] =
        [scale, four].map(|scale| baseline::saturate(scale, TailBench::Masstree).unwrap());
    assert!((four.0 / one.0 - 4.0).abs() < 0.1, "{one:?} {four:?}");
}

/// Decision Locpart 7: one objective in every experiment, from Figure 1's tails.
#[test]
fn objectives_are_of_the_tails_of_figure_1() {
    let setting = Setting::new(true);
    for which in [TailBench::Masstree, TailBench::Silo] {
        let scale = setting.scale(which, 1, true);
        let service = Baseline::measure(scale, which).unwrap();
        let (tail, _) = service.tail(scale, scale.bench.ways(), LOAD).unwrap();
        let slo =
            if which == TailBench::Silo { Duration::from_millis(2) } else { tail.mul_f64(1.5) };
        assert_eq!(service.slo(), slo);
        // In a closed loop no request waits for another.
        let (_, closed) = baseline::saturate(scale, which).unwrap();
        assert!(closed < tail / 2, "{which:?}: {closed:?} {tail:?}");
    }
}

#[test]
fn a_tail_of_sphinx_is_of_a_thousand_requests() {
    let setting = Setting::new(false);
    for seed in setting.seeds() {
        let scale = setting.scale(TailBench::Sphinx, seed, true);
        let service =
            Baseline::measure(Scale { requests: 100, ..scale }, TailBench::Sphinx).unwrap();
        let (_, requests) = service.tail(scale, scale.bench.ways(), LOAD).unwrap();
        assert!(requests >= 1000, "{requests}");
    }
}

/// Values that a quick run can't measure are missing: tails need many requests, and intervals long
/// runs.
#[test]
fn a_quick_run_has_no_tails_and_no_intervals() {
    let mut findings = Findings::default();
    findings.add(claims::MCF_WITH_1_WAY, 1.0);
    findings.add_beside("Figure 1", "silo, p99 with 1 way over that with all", "ratio", Some(1.0));
    findings.add(claims::GLOBAL_UNCONTROLLED, 1.0);
    findings.add(claims::XAPIAN_LONG_INTERVAL, 1.0);
    findings.add(claims::SPHINX_TAIL, 1.0);
    findings.0.retain(is_quick);
    let left: Vec<&str> = findings.0.iter().map(|finding| finding.item.as_str()).collect();
    assert_eq!(left, ["Figure 1", "Figure 5"]);
}
