//! The flags of `policies`, and the names of policies in flags.

use std::io::Write;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::repeated;
use fairways_command_kit::policies::{is_program, known};
use fairways_lab::OPTIMUM;
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
        false => known(name).map(|policy| policy.name.to_owned()),
    }
}

/// Policies to compare, `A,B,C`, each once; `optimum` may be among them. Or `all`.
#[derive(Clone, Debug)]
pub(crate) struct PolicyNames(pub(crate) Vec<&'static str>);

/// Stands for every policy that suits the machine.
const ALL: &str = "all";

impl PolicyNames {
    /// The policies to compare on a machine.
    pub(super) fn on(&self, machine: MachineUse) -> Vec<&'static str> {
        match &*self.0 {
            [ALL] => suits::all(machine),
            names => names.to_vec(),
        }
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
                name => known(name).map_err(|why| why.to_string())?.name,
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
        let policy = self.name.as_deref().map(known).transpose()?;
        fairways_output::policies::print(policy, self.json, out)
    }
}
