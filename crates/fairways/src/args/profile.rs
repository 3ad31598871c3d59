//! The flags of `profile`.

use std::ffi::OsString;
use std::path::PathBuf;

use fairways_command_kit::input::{real, whole};
use fairways_core::Ways;

use super::{ChipPreset, How, ways};

/// Reads a program's name, as a profile file may have it.
fn name(text: &str) -> Result<String, String> {
    let is_odd = |letter: char| letter == ',' || letter == '"' || letter.is_control();
    if text.is_empty() || text.contains(is_odd) {
        let expected = "expected a name without commas, quotes or control characters";
        return Err(format!("{expected}, found {text:?}"));
    }
    Ok(text.to_owned())
}

/// Measure how fast a program runs with each number of ways
///
/// Examples:
///   fairways profile -- xz -6 -k -c text > text.xz
///   fairways profile --machine chip:xeon-e5 --plot misses.svg -- ./my-program
///   fairways profile --append --output all.csv --name web -- ./server --once
///
/// It runs a command, unmodified, under QEMU's user mode (package qemu-user),
/// simulates the caches, and counts in one pass the misses with each number of ways
/// of the last-level cache. The result is a profile for `simulate`
/// (docs/profile.md). The exit code is the command's.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Profile {
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,

    /// Write the profile here, as CSV; - is standard output [default: NAME.profile.csv]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Keep the profiles of other programs in the file
    #[arg(long)]
    pub(crate) append: bool,

    /// The program's name in the profile [default: the command's]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,

    /// Draw misses and IPC by number of ways to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// The chip whose caches are simulated, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE", default_value = "chip:skylake")]
    pub(crate) machine: ChipPreset,

    /// Ways of its last-level cache; their size stays the same [default: the chip's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Cycles per instruction if every access hits the L1
    #[arg(long, value_name = "X", default_value = "0.5", allow_negative_numbers = true,
        value_parser = real(0.05, 1000.0))]
    pub(crate) cpi: f64,

    /// Misses that are served at the same time
    #[arg(long, value_name = "X", default_value = "4", allow_negative_numbers = true,
        value_parser = real(1.0, 64.0))]
    pub(crate) overlap: f64,

    #[command(flatten)]
    pub(crate) how: How,

    /// Place lines in the cache by their virtual addresses, without pages
    #[arg(long, conflicts_with_all = ["pages", "placement"])]
    pub(crate) by_address: bool,

    /// Also measure the command's children and the programs that it executes
    #[arg(long)]
    pub(crate) children: bool,

    /// The QEMU to use [default: qemu-x86_64 or qemu-aarch64 in PATH, as the machine needs]
    #[arg(long, value_name = "FILE")]
    pub(crate) qemu: Option<PathBuf>,

    /// Seed for where pages lie; the same seed places them alike
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print no progress and no table
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print one JSON object instead of the table, on standard output; the command's own standard
    /// output goes to standard error (docs/profile.md)
    #[arg(long)]
    pub(crate) json: bool,
}
