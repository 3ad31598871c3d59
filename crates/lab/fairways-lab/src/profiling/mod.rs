//! `fairways-lab profile` and `fairways-lab record`: run a command under QEMU, simulate the caches
//! of a chip, and write what the program does with memory, as a profile or as a stream.

mod measured;
mod profile;
mod record;
mod signals;
mod steppable;
mod subject;
mod trace_file;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use profile::{ProfileSettings, profile};
pub(crate) use record::record;

/// A chip whose caches a program uses.
#[derive(Clone, Debug)]
pub(crate) struct TracedChip {
    /// The name of the chip in the result, such as `chip:skylake`.
    pub(crate) name: String,
    /// The chip, and how it is simulated.
    pub(crate) settings: fairways_chip::Settings,
}

/// The program to trace, and the part of it that counts.
#[derive(Clone, Debug)]
pub(crate) struct TraceSettings {
    /// The command, and its arguments; the command `stream:FILE` is a recorded stream,
    /// `trace:FILE` a trace that another tool wrote.
    pub(crate) command: Vec<OsString>,
    /// The program's name in the result; by default, the command's.
    pub(crate) name: Option<String>,
    /// Instructions before the part that counts; by default none.
    pub(crate) skip: Option<u64>,
    /// Instructions of each slice that counts; by default, everything to the end.
    pub(crate) instructions: Option<u64>,
    /// How many slices count; by default one.
    pub(crate) slices: Option<u32>,
    /// Instructions from the start of one slice to the start of the next.
    pub(crate) apart: Option<u64>,
    /// Environment variables besides the fixed ones.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Whether the result of a run that failed, or ended too soon, is kept.
    pub(crate) keep_any: bool,
    /// Cycles per instruction if every access hits the L1; by default 0.5, or the stream's.
    pub(crate) cpi: Option<f64>,
    /// Misses that are served at the same time; by default 4, or the stream's.
    pub(crate) overlap: Option<f64>,
    /// Whether the command's children are measured too.
    pub(crate) children: bool,
    /// The QEMU to use; by default, the one in `PATH` for the program's processor.
    pub(crate) qemu: Option<PathBuf>,
    /// Whether no progress and no table are printed.
    pub(crate) quiet: bool,
    /// Whether one JSON object is printed instead of a table.
    pub(crate) json: bool,
}
