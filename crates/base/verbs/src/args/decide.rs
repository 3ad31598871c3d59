//! The policy of a run, its duration, and its journal.

use std::path::PathBuf;
use std::time::Duration;

use fairways_command_kit::input::{size, time, whole};
use fairways_exec_policy::policies::Setting;

use super::PolicyName;

/// The policy and the duration of a run.
#[derive(Clone, Debug, clap::Args)]
pub struct DecideFlags {
    /// The policy; `fairways policies` lists them [default: fairways]
    ///
    /// exec:COMMAND is a program of your own (docs/exec.md).
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PolicyName,
        hide_possible_values = true,
        help_heading = None::<&'static str>
    )]
    pub policy: Option<String>,

    /// Set a parameter of the policy; `fairways policies NAME` lists them
    ///
    /// May be given more than once.
    #[arg(long, value_name = "NAME=VALUE", help_heading = None::<&'static str>)]
    pub set: Vec<Setting>,

    /// How long to run: 500ms, 60s, 2m
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = None::<&'static str>)]
    pub duration: Option<Duration>,
}

/// Where a run is recorded.
#[derive(Clone, Debug, clap::Args)]
pub struct JournalFlags {
    /// Write every event and action to this file, for `replay` and `explain`
    ///
    /// The file is a journal (docs/journal.md).
    #[arg(long, value_name = "FILE", help_heading = None::<&'static str>)]
    pub journal: Option<PathBuf>,

    /// Largest size of one part of the journal: 500K, 64M, 2G [default: 256M]
    ///
    /// Begins a new part of the journal before one exceeds this size.
    #[arg(long, value_name = "SIZE", value_parser = size,
        help_heading = None::<&'static str>)]
    pub journal_size: Option<u64>,

    /// Finished parts to keep
    ///
    /// Keeps this many finished parts of the journal, and deletes older ones.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(0, u32::MAX), help_heading = None::<&'static str>)]
    pub journal_parts: Option<u32>,
}
