//! Figure 4 and the examples of §4.3: arithmetic.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fairways_core::{
    Action, AppId, CoRun, Counters, Cpus, Event, Policy, Q32, ThreadCounters, ThreadId, Time, Wish,
};
use fairways_policy::casc::{Casc, Parameters, buckets, matching};
use fairways_policy::solve;

use super::claims;
use crate::paper::Findings;
use crate::paper::turns::median;

/// `MAX_PCMR` of Figure 4's four CPUs: 1 and 5 are in the text, 11 and 17 follow from the average
/// of 8.5 and from the example of §4.3.1.
const FIGURE_4: [u32; 4] = [1, 5, 11, 17];

/// PCMRs of its nine threads: t0 of 1, t2 of 3 and t5 of 12 are in the text, as are t4 and t6 on
/// CPU 3 alone, and t8 beside t0 as the only others within 1.
const PCMRS: [u32; 9] = [1, 4, 3, 5, 14, 12, 17, 8, 1];

/// Hardware threads of the paper's chip.
const CONTEXTS: u32 = 8;

/// Runs of which the median counts.
const TIMES: usize = 101;

fn q(values: &[u32]) -> Vec<Q32> {
    values.iter().map(|&value| Q32::from_int(value)).collect()
}

fn number(value: Q32) -> f64 {
    value.raw() as f64 / (1u64 << 32) as f64
}

pub(super) fn findings(findings: &mut Findings) {
    let (max_pcmrs, pcmrs) = (q(&FIGURE_4), q(&PCMRS));
    findings.add(claims::AVERAGE_MAX_PCMR, number(buckets::average(&max_pcmrs)));
    let allowed =
        [4, 5, 6].map(|thread| buckets::allowed(&max_pcmrs, pcmrs[thread]).collect::<Vec<u32>>());
    let text = if allowed.iter().all(|cpus| cpus[..] == [3]) {
        "3 only".to_owned()
    } else {
        format!("{allowed:?}")
    };
    findings.add_text(claims::ALLOWED_CPUS, text);
    let low = Parameters { threshold: Q32::from_int(3), ..Parameters::default() };
    let assignment = buckets::assign(&pcmrs, max_pcmrs.len(), &low);
    let unreachable = assignment.threshold > low.threshold || !assignment.is_reached;
    findings.add(claims::UNREACHABLE_THRESHOLD, f64::from(u8::from(unreachable)));

    let greedy = q(&[1, 1, 1, 17]);
    findings.add(claims::GREEDY_ASSIGNMENT, number(buckets::average(&greedy)));
    let refused = !matching::keeps_busy(&greedy, &pcmrs, 1);
    findings.add(claims::REFUSED_ASSIGNMENT, f64::from(u8::from(refused)));
    // From all at 100 down to 0: with threads that miss nothing, and a threshold that is never met.
    let most = Parameters { threshold: Q32::default(), ..Parameters::default() };
    let steps = buckets::assign(&[Q32::default(); 8], 8, &most).steps;
    findings.add(claims::MOST_STEPS, f64::from(steps));

    let (rows, confined) = newcomer();
    findings.add(claims::ROWS, rows);
    findings.add_if(claims::NEW_THREADS_CPU, confined);
    let rows: Vec<Vec<i64>> =
        (0..9).map(|out| (0..9).map(|column| i64::from(column != out)).collect()).collect();

    let right: Vec<i64> = (0..9).map(|row| (8 * (20 + 3 * row)) << 32).collect();
    findings.add(
        claims::LINEAR_SOLVE,
        microseconds(|| black_box(solve(black_box(&rows), black_box(&right)).is_some())),
    );
    let eighteen: Vec<Q32> = (0..18).map(|thread| Q32::from_int(5 + 40 * (thread % 3))).collect();
    let parameters = Parameters::default();
    findings.add(
        claims::BUCKETIZATION,
        microseconds(|| black_box(buckets::assign(black_box(&eighteen), 8, &parameters).steps) > 0),
    );
}

/// The rows of the initial measurement, each without one of the threads that take part; and the CPU
/// to which a thread that comes later is confined, `None` if to none.
fn newcomer() -> (f64, Option<f64>) {
    let mut casc = Casc::new(Parameters::default());
    fn notify(casc: &mut Casc, event: Event) {
        casc.handle(Time::ZERO, &event, &mut |_| ())
    }
    notify(&mut casc, Event::Machine(super::setup::chip(768).llc.into()));
    notify(&mut casc, Event::Cpus(Cpus { count: CONTEXTS, quantum: Duration::from_millis(200) }));
    for app in 0..=CONTEXTS {
        let (wish, profile) = (Wish::default(), None);
        notify(&mut casc, Event::Started { app: AppId(app), wish, profile });
    }
    let rows = casc.taking_part().count() as f64;
    // Each row of the matrix, twice: before the first, a thread has not run for long enough.
    for out in (0..=CONTEXTS).chain(0..=CONTEXTS) {
        let counters =
            Counters { llc_references: Some(1000), llc_misses: Some(100), ..Counters::default() };
        let threads = (0..=CONTEXTS)
            .filter(|app| *app != out)
            .map(|app| ThreadCounters { thread: ThreadId::first_of(AppId(app)), counters })
            .collect();
        let window = Duration::from_millis(2);
        notify(&mut casc, Event::RanTogether(CoRun { threads, group: counters, window }));
    }
    let (app, wish) = (AppId(CONTEXTS + 1), Wish::default());
    let mut confined = None;
    casc.handle(Time::ZERO, &Event::Started { app, wish, profile: None }, &mut |action| {
        if let Action::Allow { thread, cpus, .. } = action
            && let ([cpu], true) = (&cpus[..], thread.app == app)
        {
            confined = Some(f64::from(*cpu));
        }
    });
    (rows, confined)
}

/// The duration of `what`, the median in microseconds.
fn microseconds(what: impl Fn() -> bool) -> f64 {
    let mut each = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let start = Instant::now();
        black_box(what());
        each.push(start.elapsed().as_secs_f64() * 1e6);
    }
    median(&each)
}
