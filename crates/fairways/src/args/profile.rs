//! The flags of `profile`.

use std::ffi::OsString;
use std::path::PathBuf;

use fairways_command_kit::input::{real, whole};
use fairways_core::Ways;

use super::{ChipPreset, How, ways};

/// What a profile file may call a program.
fn name(text: &str) -> Result<String, String> {
    let is_odd = |letter: char| letter == ',' || letter == '"' || letter.is_control();
    if text.is_empty() || text.contains(is_odd) {
        let expected = "expected a name without commas, quotes or control characters";
        return Err(format!("{expected}, found {text:?}"));
    }
    Ok(text.to_owned())
}

/// Measure how a program fares with every number of ways
///
/// Runs a command, unmodified, under QEMU's user mode (the package qemu-user), simulates the caches behind
/// which its last-level cache lies, and counts in one pass what would miss with each number of ways. What comes
/// out is a profile that `simulate` reads (docs/profile.md). The command's exit code is passed on.
#[derive(Debug, clap::Args)]
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

    /// Keep what the file holds of other programs
    #[arg(long)]
    pub(crate) append: bool,

    /// The program's name in the profile [default: that of the command]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,

    /// Draw misses and IPC by ways to this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,

    /// The chip whose caches are simulated, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE", default_value = "chip:skylake")]
    pub(crate) machine: ChipPreset,

    /// Ways of its last-level cache, of the same size each [default: the chip's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    /// Cycles of an instruction while everything hits the L1
    #[arg(long, value_name = "X", default_value = "0.5", allow_negative_numbers = true,
        value_parser = real(0.05, 1000.0))]
    pub(crate) cpi: f64,

    /// Misses under way at the same time
    #[arg(long, value_name = "X", default_value = "4", allow_negative_numbers = true,
        value_parser = real(1.0, 64.0))]
    pub(crate) overlap: f64,

    #[command(flatten)]
    pub(crate) how: How,

    /// Let lines lie where their virtual addresses say, without pages
    #[arg(long, conflicts_with_all = ["pages", "placement"])]
    pub(crate) by_address: bool,

    /// Measure the command's children, and what it executes, too
    #[arg(long)]
    pub(crate) children: bool,

    /// The QEMU to use [default: qemu-x86_64 or qemu-aarch64 of PATH, like the machine]
    #[arg(long, value_name = "FILE")]
    pub(crate) qemu: Option<PathBuf>,

    /// Where random pages are; the same seed places them alike
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true,
        value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Print no progress, and no table
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Print one JSON object instead of the table, on standard output; what the command prints there goes
    /// to standard error (docs/profile.md)
    #[arg(long)]
    pub(crate) json: bool,
}
