//! The flags of `record`.

use std::io::Write;
use std::path::PathBuf;

use fairways_chip::Settings;

use super::traced::traced_chip;
use super::{ChipPreset, Traced};

/// Record what leaves a program's private caches, to replay it on a chip
///
/// Examples:
///   fairways-lab record -o xz.stream --skip 1G --instructions 200M -- xz -9 -c text
///   fairways-lab record -o sort.stream --instructions 50M --slices 4 --apart 1G -- sort big
///   fairways-lab record -o gcc.stream --machine chip:skylake --children -- gcc -O2 -c program.c
///
/// It runs a command, unmodified, under QEMU's user mode (package qemu-user), and
/// writes a stream: the loads and stores that miss the private caches of a chip's
/// core, and the changed lines that leave them (docs/streams.md). `simulate --machine
/// chip:PRESET --programs stream:FILE` replays it. With trace:FILE as the command, it
/// is of a trace of ChampSim, valgrind, gem5 or DynamoRIO (docs/traces.md).
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Recording {
    #[command(flatten)]
    pub(crate) traced: Traced,

    /// The chip whose caches are simulated, such as chip:xeon-e5 (docs/chip.md)
    #[arg(long, value_name = "MACHINE", default_value = "chip:skylake")]
    pub(crate) machine: ChipPreset,

    /// Write the stream here
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

impl Recording {
    /// Runs the command.
    pub(crate) fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (seed, machine) = (self.traced.seed, self.machine);
        let chip = traced_chip(&machine, Settings { seed, ..Settings::new(machine.geometry) });
        crate::profiling::record(&self.traced.settings(), &chip, &self.output, out)
    }
}
