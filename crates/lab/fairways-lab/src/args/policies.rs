//! The names of policies to compare.

use std::str::FromStr;

use fairways_command_kit::input::repeated;
use fairways_command_kit::{BadInput, warn};
use fairways_exec_policy::policies;
use fairways_experiments::OPTIMUM;
use fairways_profiles::ProfileTable;
use fairways_simulation::profile_needs;
use fairways_simulation::suits::{self, MachineUse};

/// Policies to compare, `A,B,C`, each once; `optimum` may be among them. Or `all`.
#[derive(Clone, Debug)]
pub(crate) struct PolicyNames(pub(crate) Vec<&'static str>);

/// Stands for every policy that suits the machine.
const ALL: &str = "all";

/// The policies that are compared if none are named.
const USUAL: [&str; 6] =
    ["stock", "equal", "ucp", "ucp-slowdown", "lfoc", fairways_policy::DEFAULT];

impl PolicyNames {
    /// The policies to compare on a machine: the usual ones if none are named.
    pub(super) fn on(named: Option<&Self>, machine: MachineUse) -> Vec<&'static str> {
        match named.map(|names| &*names.0) {
            None => USUAL.to_vec(),
            Some([ALL]) => suits::all(machine),
            Some(names) => names.to_vec(),
        }
    }

    /// The same where plans are scored by profiles: those that need more than these have are
    /// refused if they are named, otherwise left out, with a warning.
    pub(super) fn scored(
        named: Option<&Self>,
        machine: MachineUse,
        profiles: &ProfileTable,
    ) -> Result<Vec<&'static str>, BadInput> {
        let all = Self::on(named, machine);
        if named.is_some_and(|names| *names.0 != [ALL]) {
            profile_needs::check_policies("--policies", &all, profiles)?;
            return Ok(all);
        }
        let (known, unknown): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|policy| profile_needs::suffice(profiles, policy));
        if !unknown.is_empty() {
            let left_out = unknown.join(", ");
            warn(&format!(
                "left out: {left_out}: the profiles lack columns that they need (docs/profiles.md)"
            ));
        }
        Ok(known)
    }
}

impl FromStr for PolicyNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == ALL {
            return Ok(Self(vec![ALL]));
        }
        let mut names = Vec::new();
        for name in text.split(',').map(str::trim) {
            names.push(match name {
                OPTIMUM => OPTIMUM,
                name => policies::known(name).map_err(|why| why.to_string())?.name,
            });
        }
        match repeated(&names) {
            Some(twice) => Err(format!("expected each policy once, found {twice} twice")),
            None => Ok(Self(names)),
        }
    }
}
