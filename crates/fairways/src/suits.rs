//! Which policies suit a machine, and the flags beside them: the one place that says so.
//!
//! What a policy needs of a host is checked by the daemon, whose configuration may name it.

use fairways_command_kit::BadInput;
use fairways_command_kit::policies::{honours, names};
use fairways_lab::OPTIMUM;
use fairways_policy::descriptor;
use fairways_policy::table::OwnerRequest;

use crate::args::Machine;

/// Checks policies that a flag names for a simulated machine; `is_dynamic`, whether its programs run.
///
/// # Errors
/// The first that does not suit it.
pub(crate) fn check(
    flag: &str,
    policies: &[&str],
    machine: &Machine,
    is_dynamic: bool,
) -> Result<(), BadInput> {
    let is_model = matches!(machine, Machine::Model);
    for policy in policies {
        let why = match descriptor(policy) {
            None if *policy == OPTIMUM && !is_model => {
                "it is for profiles: expected other policies on a chip"
            }
            Some(policy) if is_model && policy.schedules() => {
                "it decides who runs where and when, and the model gives every program a core of \
                 its own: expected --machine chip: and a preset with it"
            }
            Some(policy) if is_model && policy.honours(OwnerRequest::Objectives) => {
                "it divides ways between services and batch programs, and on the model nobody \
                 answers requests: expected --machine chip: and a preset with it"
            }
            Some(policy) if is_model && !is_dynamic && policy.name == "dcat" => {
                "it decides by what it sees running: expected --dynamic with it, or --machine \
                 chip:PRESET"
            }
            _ => continue,
        };
        return Err(BadInput(format!("{flag} {policy}: {why}")));
    }
    Ok(())
}

/// Checks that a policy that a flag names takes promises, where ways are promised.
///
/// # Errors
/// None does.
pub(crate) fn check_baselines(flag: &str, policies: &[&str]) -> Result<(), BadInput> {
    if policies.iter().any(|policy| honours(policy, OwnerRequest::Baselines)) {
        return Ok(());
    }
    let fitting = names(|policy| policy.honours(OwnerRequest::Baselines));
    Err(BadInput(format!("--baselines needs {flag} {fitting}: no other policy honours them")))
}
