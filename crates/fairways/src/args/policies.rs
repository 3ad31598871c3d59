//! The flags of `policies`, and the names of policies in flags.

use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use fairways_command_kit::input::repeated;
use fairways_command_kit::policies::known;
use fairways_lab::OPTIMUM;
use fairways_policy::Descriptor;

/// Reads the name of a policy; completion suggests all names.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolicyName;

impl TypedValueParser for PolicyName {
    type Value = &'static Descriptor;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<&'static Descriptor, clap::Error> {
        TypedValueParser::parse_ref(&known, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let all = fairways_policy::POLICIES.iter();
        Some(Box::new(all.map(|policy| PossibleValue::new(policy.name).help(policy.summary))))
    }
}

/// Policies to compare, `A,B,C`, each once; `optimum` may be among them.
#[derive(Clone, Debug)]
pub(crate) struct PolicyNames(pub(crate) Vec<&'static str>);

impl FromStr for PolicyNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
///   fairways policies --json
///
/// The list shows what each policy does and decides, which measurements it uses, and
/// which requests of a program's owner it honours. With a name, it shows the
/// parameters that --set takes, with their defaults.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Policies {
    /// The policy to show, with its parameters
    #[arg(value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub(crate) name: Option<&'static Descriptor>,

    /// Print JSON instead of tables (docs/policies/README.md)
    #[arg(long)]
    pub(crate) json: bool,
}
