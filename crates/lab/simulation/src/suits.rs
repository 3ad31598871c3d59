//! Which policies suit a simulated machine.

use fairways_command_kit::BadInput;
use fairways_exec_policy::descriptor;
use fairways_experiments::OPTIMUM;
use fairways_policy::table::{DecisionScope, KnowledgeSource};

/// A simulated machine, and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct MachineUse {
    /// Whether it is the model; otherwise it is a chip.
    pub is_model: bool,
    /// Whether its programs run over time.
    pub is_dynamic: bool,
    /// Whether the model's memory has a limit, so that levels of it can be set over time.
    pub is_memory_limited: bool,
}

/// Checks that the policies that a flag names suit a simulated machine.
///
/// # Errors
/// If a policy does not suit it; the first one is named.
pub fn check(flag: &str, policies: &[&str], of: MachineUse) -> Result<(), BadInput> {
    let MachineUse { is_model, is_dynamic, is_memory_limited } = of;
    let has_levels = is_dynamic && is_memory_limited;
    for policy in policies {
        let why = match descriptor(policy) {
            None if *policy == OPTIMUM && !is_model => {
                "it needs profiles, which a chip does not have"
            }
            Some(policy) if is_model && policy.schedules() => {
                "it needs --machine chip:PRESET: it schedules threads, and on the model every \
                 program has a core of its own"
            }
            Some(policy) if is_model && policy.knows == KnowledgeSource::Latencies => {
                "it needs --machine chip:PRESET: it divides ways between services and batch \
                 programs, and on the model no program answers requests"
            }
            Some(policy)
                if is_model && !has_levels && policy.decides == DecisionScope::Bandwidth =>
            {
                "it needs a machine that can limit memory bandwidth, such as --machine \
                 chip:skylake, or over time the model with --bandwidth-mbps"
            }
            Some(policy) if is_model && !is_dynamic && policy.name == "dcat" => {
                "it needs --dynamic, --settle or --machine chip:PRESET: it decides from measurements of \
                 running programs"
            }
            _ => continue,
        };
        return Err(BadInput(format!("{flag} {policy}: {why}")));
    }
    Ok(())
}

/// All policies that suit a simulated machine, in the order in which tables show them.
#[must_use]
pub fn all(of: MachineUse) -> Vec<&'static str> {
    let names = fairways_policy::NAMES.into_iter();
    names.filter(|name| check("", &[name], of).is_ok()).collect()
}
