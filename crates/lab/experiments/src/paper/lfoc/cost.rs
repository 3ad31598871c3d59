//! Table 2: the cost of a decision.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use fairways_core::{Action, AppId, Event, Llc, Time, Wish};
use fairways_policy::by_name;
use fairways_profiles::ProfileTable;

use crate::draw::random_mixes;
use crate::paper::Findings;

/// The numbers of programs in the table.
pub(super) const PROGRAMS: std::ops::RangeInclusive<usize> = 4..=11;

/// The mixes over which a number is the mean.
const MIXES: usize = 200;

/// The seconds of a policy's decision on a mix: its first program has ended, and the partition of
/// the others is handed over.
fn seconds(policy: &str, table: &ProfileTable, llc: Llc, mix: &[usize]) -> f64 {
    let mut policy = by_name(policy).expect("a policy's name");
    let mut act = |action: Action<'_>| {
        black_box(&action);
    };
    policy.handle(Time::ZERO, &Event::Machine(llc.into()), &mut act);
    for (app, &program) in (0..).map(AppId).zip(mix) {
        let profile = Some(Arc::new(table.profile(program)));
        let started = Event::Started { app, wish: Wish::default(), profile };
        policy.handle(Time::ZERO, &started, &mut act);
    }
    let exit = Event::Exited { app: AppId(0) };
    let start = Instant::now();
    policy.handle(Time::ZERO, black_box(&exit), &mut act);
    start.elapsed().as_secs_f64()
}

/// The milliseconds of a policy's decision that leaves `programs` programs: the mean over mixes of
/// the least of three.
fn milliseconds(policy: &str, table: &ProfileTable, llc: Llc, programs: usize, seed: u64) -> f64 {
    let mixes = random_mixes(table, &[programs + 1], MIXES, seed);
    let least = mixes.iter().map(|mix| {
        let tries = (0..3).map(|_| seconds(policy, table, llc, &mix.programs));
        tries.fold(f64::INFINITY, f64::min)
    });
    1e3 * least.sum::<f64>() / mixes.len() as f64
}

/// By number of programs, the milliseconds of LFOC, of KPart and of LFOC+.
pub(super) fn measure(table: &ProfileTable, llc: Llc, seed: u64) -> Vec<[f64; 3]> {
    PROGRAMS
        .map(|programs| {
            ["lfoc", "kpart", "lfoc-plus"]
                .map(|policy| milliseconds(policy, table, llc, programs, seed))
        })
        .collect()
}

pub(super) fn findings(costs: &[[f64; 3]], findings: &mut Findings) {
    const ITEM: &str = "Table 2";
    for (programs, [lfoc, kpart, plus]) in PROGRAMS.zip(costs) {
        findings.add(ITEM, &format!("LFOC, {programs} programs"), *lfoc);
        findings.add(ITEM, &format!("KPart, {programs} programs"), *kpart);
        findings.add_beside(ITEM, &format!("LFOC+, {programs} programs"), "ms", Some(*plus));
    }
    if let ([first, ..], [.., last]) = (costs, costs) {
        findings.add(ITEM, "KPart over LFOC, 4 programs", first[1] / first[0]);
        findings.add(ITEM, "KPart over LFOC, 11 programs", last[1] / last[0]);
        findings.add(ITEM, "KPart growth 4 to 11 programs", last[1] / first[1]);
        findings.add(ITEM, "LFOC growth 4 to 11 programs", last[0] / first[0]);
    }
}
