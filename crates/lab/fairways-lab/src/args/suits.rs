//! Which flags suit the policies beside them.
//!
//! The daemon checks what a policy needs on a host, because its configuration may name the policy.

use fairways_command_kit::BadInput;
use fairways_exec_policy::policies::{Setting, honours, names};
use fairways_policy::table::OwnerRequest;
use fairways_simulation::suits::MachineUse;

use super::world::World;

/// Checks that one of the policies that a flag names, with these parameters and on this machine,
/// honours what flags request for programs.
///
/// # Errors
/// If none does.
pub(super) fn check_requests(
    flag: &str,
    policies: &[&str],
    set: &[Setting],
    of: MachineUse,
    world: &World,
) -> Result<(), BadInput> {
    for (is_given, request, what) in [
        (world.baselines.is_some(), OwnerRequest::Baselines, "--baselines"),
        (world.importance.is_some(), OwnerRequest::Importance, "--importance"),
    ] {
        if is_given && !policies.iter().any(|policy| honours(policy, request)) {
            let fitting = names(|policy| policy.honours(request));
            let them = if request == OwnerRequest::Baselines { "them" } else { "it" };
            return Err(BadInput(format!(
                "{what} needs {flag} {fitting}: no other policy honours {them}"
            )));
        }
    }
    // docs/policies/fairways.md: a level of bandwidth is divided by importance, whatever the goal.
    let has_levels = !of.is_model || of.is_dynamic && of.is_memory_limited;
    let by_weight = set.iter().any(|set| set.name == "objective" && set.value == "weighted");
    let importance = OwnerRequest::Importance;
    if world.importance.is_some()
        && !by_weight
        && !has_levels
        && policies.iter().all(|policy| *policy == "fairways" || !honours(policy, importance))
    {
        let why = "--importance needs --set objective=weighted, or over time --bandwidth-mbps: \
                   otherwise fairways gives every program the same weight";
        return Err(BadInput(why.to_owned()));
    }
    Ok(())
}
