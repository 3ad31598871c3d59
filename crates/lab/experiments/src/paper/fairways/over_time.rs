//! Over time, on the model, without profiles: the protocol of LFOC §5, with runs a fifth as long.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairways_core::{Llc, Ways};
use fairways_policy::by_name;
use fairways_profiles::ProgramCatalog;
use rayon::prelude::*;

use super::EvaluationSize;
use super::scored::{MixScores, OURS, RULES};
use crate::draw::draw_workloads;
use crate::live::{LiveError, Protocol, compare_live};

/// The policies that learn about programs while they run.
const POLICIES: [&str; 6] = ["dcat", "dunn", "kpart", "lfoc", RULES, OURS];

/// Runs mixes of 8, 12 and 16 programs of LFOC's kinds, with phases if the table has phased
/// programs.
pub(super) fn run(
    programs: &ProgramCatalog,
    ways: Ways,
    size: EvaluationSize,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Vec<MixScores>, LiveError> {
    let machine = fairways_model::Settings::new(Llc::with_ways(ways));
    let protocol = Protocol { scale: 0.2, ..Protocol::default() };
    let mut mixes = draw_workloads(programs, ways, size.live, size.seed);
    if programs.len() == programs.table().names().len() {
        mixes.retain(|mix| mix.name.starts_with('S'));
    }
    let done = AtomicUsize::new(0);
    mixes
        .par_iter()
        .map(|mix| {
            let policies = POLICIES.map(|name| by_name(name).expect("a policy's name"));
            let found = compare_live(programs, mix, &machine, &protocol, policies)?;
            let outcomes = found.outcomes.iter().map(|of| (of.policy, &of.metrics));
            let scores = MixScores::new(&mix.name, &found.stock, outcomes);
            progress("mixes over time", 1 + done.fetch_add(1, Ordering::Relaxed), mixes.len());
            Ok(scores)
        })
        .collect()
}
