//! What can be done with profiles that lack columns.
//!
//! With IPC and misses, the static model scores any plan: slowdowns are of IPC, and occupancies in
//! shared ways of misses. Limits of memory bandwidth, machines over time, and some policies need
//! more.

use fairways_command_kit::BadInput;
use fairways_profiles::{ProfileMetric, ProfileTable};

/// What a limit of memory bandwidth is modelled by.
const BY_LIMIT: [ProfileMetric; 4] = [
    ProfileMetric::BandwidthMbps,
    ProfileMetric::StallsTotal,
    ProfileMetric::StallsL3Miss,
    ProfileMetric::StallsStoreBuf,
];

/// The metrics beside IPC and misses by which a policy decides. What a policy from outside reads
/// is not known: it may be all.
fn read_by(policy: &str) -> &'static [ProfileMetric] {
    match policy {
        "dunn" => &[ProfileMetric::StallsL2Miss],
        "yu-petrov" => &[ProfileMetric::BandwidthMbps],
        fairways_experiments::OPTIMUM => &[],
        name if fairways_policy::descriptor(name).is_some() => &[],
        _ => &ProfileMetric::ALL,
    }
}

/// Whether profiles have all by which a policy decides.
#[must_use]
pub fn suffice(profiles: &ProfileTable, policy: &str) -> bool {
    !profiles.missing().any(|metric| read_by(policy).contains(&metric))
}

/// Checks that policies can be scored by these profiles. `flag` named them.
///
/// # Errors
/// If a policy decides by what they lack; the first one is named.
pub fn check_policies(
    flag: &str,
    policies: &[&str],
    profiles: &ProfileTable,
) -> Result<(), BadInput> {
    for policy in policies {
        check(&format!("{flag} {policy}"), profiles, read_by(policy))?;
    }
    Ok(())
}

/// Checks that these profiles say enough for a limit of memory bandwidth, which `flag` has set.
///
/// # Errors
/// If they do not.
pub fn check_limit(flag: &str, profiles: &ProfileTable) -> Result<(), BadInput> {
    check(flag, profiles, &BY_LIMIT)
}

/// Checks that these profiles lack nothing, as `what` needs all.
///
/// # Errors
/// If they do.
pub fn check_all(what: &str, profiles: &ProfileTable) -> Result<(), BadInput> {
    check(what, profiles, &ProfileMetric::ALL)
}

fn check(what: &str, profiles: &ProfileTable, needed: &[ProfileMetric]) -> Result<(), BadInput> {
    let lacks = profiles.missing().filter(|metric| needed.contains(metric));
    let lacks: Vec<&str> = lacks.map(ProfileMetric::column).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    let lacks = lacks.join(", ");
    Err(BadInput(format!("{what}: expected profiles with {lacks}, found profiles without")))
}
