//! The flags of `policies`, and names of policies as flags have them.

use clap::builder::{PossibleValue, TypedValueParser};

/// The name of a policy, for completion; what is none is refused where it is used, with what was
/// meant.
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
        clap::builder::StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let all = fairways_policy::POLICIES.iter();
        Some(Box::new(all.map(|policy| PossibleValue::new(policy.name).help(policy.summary))))
    }
}

/// List the policies, or show one with its parameters
///
/// The list shows what each policy does and decides, which measurements it uses, and which requests
/// of a program's owner it honours. With a name, it shows the parameters that --set takes, with
/// their defaults.
#[derive(Debug, clap::Args)]
pub(crate) struct Policies {
    /// The policy to show, with its parameters
    #[arg(value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub(crate) name: Option<String>,

    /// Print JSON instead of tables (docs/policies/README.md)
    #[arg(long)]
    pub(crate) json: bool,
}
