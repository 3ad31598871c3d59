//! The flags of `replay`.

use std::io::Write;
use std::path::PathBuf;

use fairways_exec_policy::policies::{Setting, parameters};
use fairways_record::replay;

use super::PolicyName;

/// Feed a journal's events to its policy again, and compare its actions
///
/// Examples:
///   fairways replay run.journal
///   fairways replay run.journal --json
///   fairways replay run.journal --policy dcat --set ipc_imp_thr=3
///
/// If an action differs from the journal, the first difference is printed, and the
/// exit code is 1.
///
/// With --policy, shows what that policy would have decided about the same events, as
/// `fairways explain` does. The events stay those that followed from the journal's own
/// plans.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Replay {
    /// A journal that `fairways run --journal` wrote; its finished parts (FILE.0, ...) are read
    /// first
    #[arg(value_name = "FILE")]
    pub journal: PathBuf,

    /// Show what this policy would have decided
    #[arg(long, value_name = "NAME", value_parser = PolicyName, hide_possible_values = true)]
    pub policy: Option<String>,

    /// Run the program that the journal names as its policy, with your rights
    #[arg(long, conflicts_with = "policy")]
    pub run_program: bool,

    /// Set a parameter of that policy
    #[arg(long, value_name = "NAME=VALUE", requires = "policy")]
    pub set: Vec<Setting>,

    /// Print one JSON object instead of text (docs/journal.md)
    #[arg(long)]
    pub json: bool,
}

impl Replay {
    /// Runs the command.
    ///
    /// # Errors
    /// If the journal can't be read, or an action differs from it.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        match &self.policy {
            None => replay::run(&self.journal, self.run_program, self.json, out),
            Some(policy) => {
                let set = parameters(&self.set)?;
                replay::run_under(policy, set, &self.journal, self.json, out)
            }
        }
    }
}
