//! The flags of `policies`, and the names of policies in flags.

use std::io::Write;

use clap::builder::{PossibleValue, TypedValueParser};
use fairways_command_kit::BadInput;
use fairways_exec_policy::policies::{self, is_program};

/// Reads the name of a policy; completion suggests all names. A program is not started yet: on a
/// host, the daemon starts it without rights.
#[derive(Clone, Copy, Debug)]
pub struct PolicyName;

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
pub struct Policies {
    /// The policy to show, with its parameters
    #[arg(value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub name: Option<String>,

    /// Print JSON instead of tables (docs/policies/README.md)
    #[arg(long)]
    pub json: bool,
}

impl Policies {
    /// Runs the command.
    ///
    /// # Errors
    /// If the policy is not known, or the output can't be written.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let policy = self.name.as_deref().map(policies::known).transpose()?;
        crate::policies::print(policy, self.json, out)
    }
}
