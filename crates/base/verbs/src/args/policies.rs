//! The flags of `policies`, and the names of policies in flags.

use std::io::Write;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::repeated;
use fairways_command_kit::warn;
use fairways_exec_policy::policies::{self, is_program};
use fairways_experiments::OPTIMUM;
use fairways_profiles::ProfileTable;
use fairways_simulation::profile_needs;
use fairways_simulation::suits::{self, MachineUse};

/// Reads the name of a policy; completion suggests all names. A program is not started yet: on a
/// host, the daemon starts it without rights.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyName;

impl TypedValueParser for PolicyName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        TypedValueParser::parse_ref(&checked_name, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let all = fairways_policy::POLICIES.iter();
        Some(Box::new(all.map(|policy| PossibleValue::new(policy.name).help(policy.summary))))
    }
}

/// The name, if it is that of a policy, or of a program.
fn checked_name(name: &str) -> Result<String, BadInput> {
    match is_program(name) {
        true => Ok(name.to_owned()),
        false => policies::known(name).map(|policy| policy.name.to_owned()),
    }
}

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

/// List the policies, or show one with its parameters
///
/// Examples:
///   fairways policies
///   fairways policies dcat
///   fairways policies exec:./mine.py --json
///
/// The list shows what each policy does and decides, which measurements it uses, and
/// which requests of a program's owner it honours. With a name, it shows the
/// parameters that --set takes, with their defaults.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Policies {
    /// The policy to show, with its parameters
    #[arg(value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub(crate) name: Option<String>,

    /// Print JSON instead of tables (docs/policies/README.md)
    #[arg(long)]
    pub(crate) json: bool,
}

impl Policies {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let policy = self.name.as_deref().map(policies::known).transpose()?;
        fairways_verbs::policies::print(policy, self.json, out)
    }
}
