//! On the chip, without profiles: the programs miss as their profiles say.

use std::time::Duration;

use fairways_chip::program::profiled;
use fairways_chip::{ChipError, Job, Settings, preset};
use fairways_core::Ways;
use fairways_policy::by_name;
use fairways_profiles::ProfileTable;

use super::EvaluationSize;
use super::scored::{MixScores, OURS, RULES};
use crate::draw::random_mixes;
use crate::executed::{ChipProtocol, compare_on_chip};

/// The policies that learn about programs while they run.
const POLICIES: [&str; 4] = ["dcat", "lfoc", RULES, OURS];

/// Programs of a mix.
const SIZES: [usize; 2] = [4, 8];

/// One in this many sets is simulated, and a second on the policy's clock takes a 50th of a second.
const SET_SAMPLING: u32 = 16;
const TIME_SCALE: u32 = 50;

/// Runs mixes under each policy.
pub(super) fn run(
    table: &ProfileTable,
    ways: Ways,
    size: EvaluationSize,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<Vec<MixScores>, ChipError> {
    let chip = preset::preset("skylake").expect("a preset of this project");
    let settings = Settings {
        set_sampling: SET_SAMPLING,
        time_scale: TIME_SCALE,
        seed: size.seed,
        ..Settings::new(chip)
    };
    let seconds = Duration::from_secs(4);
    let protocol = ChipProtocol {
        warm_up: seconds,
        span: seconds,
        profile: Duration::ZERO,
        profiles_known: false,
    };
    let mixes = random_mixes(table, &SIZES, size.on_chip, size.seed);
    let scored = mixes.iter().enumerate().map(|(place, mix)| {
        progress("mixes on the chip", place, mixes.len());
        // A program that never references the cache is not simulated.
        let jobs = mix
            .programs
            .iter()
            .filter_map(|&program| profiled(table, program, ways, chip.latency).ok().map(Job::new));
        let jobs: Vec<Job> = jobs.collect();
        let found = compare_on_chip(settings, &jobs, &protocol, &POLICIES, &by_name, &|| ())?;
        let outcomes = found.outcomes.iter().map(|of| (of.policy, &of.metrics));
        Ok(MixScores::new(&mix.name, &found.stock, outcomes))
    });
    scored.collect()
}
