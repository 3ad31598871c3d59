//! Table 2: the cost of a decision.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use fairways_core::{Action, AppId, Event, Llc, Time, Wish};
use fairways_policy::by_name;
use fairways_profiles::ProfileTable;

use super::claims;
use crate::draw::random_mixes;
use crate::paper::{ClaimName, Findings};

/// The numbers of programs in the table, and the claims of what LFOC and KPart cost with them.
pub(super) const ROWS: [(usize, [ClaimName; 2]); 8] = [
    (4, [claims::LFOC_4, claims::KPART_4]),
    (5, [claims::LFOC_5, claims::KPART_5]),
    (6, [claims::LFOC_6, claims::KPART_6]),
    (7, [claims::LFOC_7, claims::KPART_7]),
    (8, [claims::LFOC_8, claims::KPART_8]),
    (9, [claims::LFOC_9, claims::KPART_9]),
    (10, [claims::LFOC_10, claims::KPART_10]),
    (11, [claims::LFOC_11, claims::KPART_11]),
];

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
    ROWS.map(|(programs, _)| {
        ["lfoc", "kpart", "lfoc-plus"]
            .map(|policy| milliseconds(policy, table, llc, programs, seed))
    })
    .to_vec()
}

pub(super) fn findings(costs: &[[f64; 3]], findings: &mut Findings) {
    for ((programs, claims), [lfoc, kpart, plus]) in ROWS.iter().zip(costs) {
        findings.add(claims[0], *lfoc);
        findings.add(claims[1], *kpart);
        findings.add_beside("Table 2", &format!("LFOC+, {programs} programs"), "ms", Some(*plus));
    }
    if let ([first, ..], [.., last]) = (costs, costs) {
        findings.add(claims::KPART_OVER_LFOC_4, first[1] / first[0]);
        findings.add(claims::KPART_OVER_LFOC_11, last[1] / last[0]);
        findings.add(claims::KPART_GROWTH, last[1] / first[1]);
        findings.add(claims::LFOC_GROWTH, last[0] / first[0]);
    }
}
