//! A trace that another tool wrote, as the program of a measurement.

use std::path::Path;

use fairways_chip::Slices;
use fairways_chip::program::{SimulatedProgram, TraceFile};
use fairways_chip::traces::TraceOptions;
use fairways_command_kit::BadInput;
use fairways_profiles::{MeasuredRun, hexadecimal};
use sha2::{Digest, Sha256};

use crate::profiling::TraceSettings;

/// A trace, ready to be read.
pub(crate) struct OpenedTrace {
    pub(crate) name: String,
    pub(crate) program: SimulatedProgram,
    /// The run, without its chip and result.
    pub(crate) run: MeasuredRun,
}

impl OpenedTrace {
    /// Opens `FILE:format=NAME:instructions_per_access=X`.
    pub(crate) fn open(
        settings: &TraceSettings,
        text: &str,
        slices: &Slices,
        by_address: bool,
    ) -> anyhow::Result<Self> {
        refuse(
            &[
                (settings.children, "children"),
                (!settings.environment.is_empty(), "env"),
                (settings.qemu.is_some(), "qemu"),
            ],
            "trace",
        )?;
        let mut parts = text.split(':');
        let path = Path::new(parts.next().unwrap_or_default());
        let mut options = TraceOptions::default();
        for part in parts {
            let is_one =
                options.take(part).map_err(|why| BadInput(format!("trace:{text}: {why}")))?;
            if !is_one {
                return Err(BadInput(format!(
                    "trace:{text}: expected format=NAME or instructions_per_access=X, found {part:?}"
                ))
                .into());
            }
        }
        let file =
            TraceFile::open(path, options, by_address).map_err(|why| BadInput(why.to_string()))?;
        let name = settings.name.clone().unwrap_or_else(|| name_of(path));
        let program = SimulatedProgram::traced(file);
        let program = SimulatedProgram {
            base_cpi: settings.cpi.unwrap_or(program.base_cpi),
            overlap: settings.overlap.unwrap_or(program.overlap),
            ..program
        };
        let run = MeasuredRun {
            command: vec![format!("trace:{text}")],
            file: path.display().to_string(),
            sha256: checksum(path)?,
            version: None,
            qemu: String::new(),
            machine: String::new(),
            skip: slices.skip,
            instructions: 0,
            slices: slices.count,
            apart: slices.apart,
            exit_code: None,
        };
        Ok(Self { name, program, run })
    }
}

/// Refuses flags that were given, each with its name, where the program is not run.
pub(crate) fn refuse(flags: &[(bool, &str)], program: &str) -> Result<(), BadInput> {
    match flags.iter().find(|(is_given, _)| *is_given) {
        Some((_, flag)) => Err(BadInput(format!("--{flag}: a {program} does not take it"))),
        None => Ok(()),
    }
}

/// The file's name up to its first dot: `gcc` for `gcc.trace.xz`.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("trace");
    stem.replace(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter), "_")
}

/// The SHA-256 of a file; none of a pipe, which can be read only once.
fn checksum(path: &Path) -> anyhow::Result<String> {
    if !path.is_file() {
        return Ok(String::new());
    }
    let mut digest = Sha256::new();
    std::io::copy(&mut std::fs::File::open(path)?, &mut digest)?;
    Ok(hexadecimal(&digest.finalize()))
}
