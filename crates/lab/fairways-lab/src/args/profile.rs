//! The flags of `profile`.

use std::io::Write;
use std::path::PathBuf;

use crate::profiling::{ProfileSettings, profile};
use fairways_core::Ways;

use super::traced::traced_chip;
use super::{ChipPreset, How, Traced, svg_file, ways};

/// Measure how fast a program runs with each number of ways
///
/// Examples:
///   fairways-lab profile -- xz -6 -k -c text > text.xz
///   fairways-lab profile --machine chip:xeon-e5 --plot misses.svg -- ./my-program
///   fairways-lab profile --append --output all.csv --name web -- ./server --once
///
/// It runs a command, unmodified, under QEMU's user mode (package qemu-user),
/// simulates the caches, and counts in one pass the misses with each number of ways
/// of the last-level cache. The result is a profile for `simulate`
/// (docs/profile.md). The exit code is the command's. With stream:FILE as the
/// command, it profiles a recorded stream, and with trace:FILE a trace of ChampSim,
/// valgrind, gem5 or DynamoRIO (docs/traces.md), both without QEMU.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Profile {
    #[command(flatten)]
    pub(crate) traced: Traced,

    /// The chip whose caches are simulated, such as chip:xeon-e5 (docs/chip.md); may be repeated,
    /// for profiles on several chips from one run
    #[arg(long, value_name = "MACHINE", default_value = "chip:skylake")]
    pub(crate) machine: Vec<ChipPreset>,

    /// Write the profile here, as CSV; - is standard output; of several machines, one for each
    /// [default: NAME.profile.csv; of several machines, NAME.MACHINE.profile.csv]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,

    /// Keep the profiles of other programs in the file
    #[arg(long)]
    pub(crate) append: bool,

    /// Draw misses and IPC by number of ways to this file, as SVG
    #[arg(long, value_name = "FILE", value_parser = svg_file)]
    pub(crate) plot: Option<PathBuf>,

    /// Ways of its last-level cache; their size stays the same [default: the chip's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ways)]
    pub(crate) ways: Option<Ways>,

    #[command(flatten)]
    pub(crate) how: How,

    /// Place lines in the cache by their virtual addresses, without pages
    #[arg(long, conflicts_with_all = ["pages", "placement"])]
    pub(crate) by_address: bool,
}

impl Profile {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Self { traced, machine, output: outputs, append, plot, ways, how, by_address } = self;
        let mut chips = Vec::new();
        for preset in &machine {
            let mut chip = preset.geometry;
            chip.llc.ways = ways.unwrap_or(chip.llc.ways);
            chips.push(traced_chip(preset, how.settings(chip, traced.seed)?));
        }
        let trace = traced.settings();
        profile(&ProfileSettings { trace, chips, outputs, append, plot, by_address }, out)
    }
}
