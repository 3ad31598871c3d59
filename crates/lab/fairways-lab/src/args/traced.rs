//! The flags of `profile` and `record`: a command to run under QEMU, and the part to look at.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::profiling::{TraceSettings, TracedChip};
use fairways_command_kit::input::{real, whole};
use fairways_profiles::{NAME_RULE, is_name};

use super::ChipPreset;
use fairways_simulation::ENDLESS;

/// Reads a program's name, as a profile file may have it.
fn name(text: &str) -> Result<String, String> {
    let name = is_name(text).then(|| text.to_owned());
    name.ok_or_else(|| format!("expected {NAME_RULE}, found {text:?}"))
}

/// Reads a number of instructions, such as `200M`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    let number = digits.parse().ok().and_then(|number: u64| number.checked_mul(unit));
    let found = number.filter(|&number| number <= ENDLESS);
    found.ok_or_else(|| format!("expected a number of instructions, such as 200M, found {text:?}"))
}

/// Reads a number of instructions above 0.
fn length(text: &str) -> Result<u64, String> {
    count(text)?.checked_sub(1).map(|less| less + 1).ok_or_else(|| {
        format!("expected a number of instructions above 0, such as 200M, found {text:?}")
    })
}

/// Reads a variable, `NAME=VALUE`.
fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("expected NAME=VALUE, found {text:?}")),
    }
}

/// A command, the machine, and the part of the program to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct Traced {
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    pub(crate) command: Vec<OsString>,

    /// The program's name in the result [default: the command's]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) name: Option<String>,

    /// Skip the first N instructions, which only fill the private caches [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) skip: Option<u64>,

    /// Look at N instructions, such as 200M, then end the command, which runs in a fixed
    /// environment, so that results are the same on every machine [default: to the end]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = length)]
    pub(crate) instructions: Option<u64>,

    /// Look at N slices of --instructions each [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = whole(1u32, 10_000))]
    pub(crate) slices: Option<u32>,

    /// Instructions from the start of one slice to the start of the next
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = length)]
    pub(crate) apart: Option<u64>,

    /// Set an environment variable, besides the fixed ones; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) env: Vec<(OsString, OsString)>,

    /// Keep the result of a run that failed, or ended before --instructions
    #[arg(long)]
    pub(crate) keep_any: bool,

    /// Cycles per instruction if every access hits the L1 [default: 0.5, or the stream's]
    #[arg(long, value_name = "X", allow_negative_numbers = true,
        value_parser = real(0.05, 1000.0))]
    pub(crate) cpi: Option<f64>,

    /// Misses that are served at the same time [default: 4, or the stream's]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = real(1.0, 64.0))]
    pub(crate) overlap: Option<f64>,

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

/// A chip, simulated like this.
pub(super) fn traced_chip(preset: &ChipPreset, settings: fairways_chip::Settings) -> TracedChip {
    TracedChip { name: format!("chip:{}", preset.name), settings }
}

impl Traced {
    /// What to trace.
    pub(super) fn settings(self) -> TraceSettings {
        TraceSettings {
            command: self.command,
            name: self.name,
            skip: self.skip,
            instructions: self.instructions,
            slices: self.slices,
            apart: self.apart,
            environment: self.env,
            keep_any: self.keep_any,
            cpi: self.cpi,
            overlap: self.overlap,
            children: self.children,
            qemu: self.qemu,
            quiet: self.quiet,
            json: self.json,
        }
    }
}
