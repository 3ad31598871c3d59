//! `fairways-lab record`: keeps what leaves a program's private caches.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fairways_chip::Recorder;
use fairways_chip::program::private_caches;
use fairways_command_kit::{BadInput, ExitCode, Interrupted, input, whole};
use fairways_profiles::{StreamManifest, StreamTotals};

use crate::profiling::measured::measure;
use crate::profiling::steppable::RunEnd;
use crate::profiling::subject::{CPI, OVERLAP, TracedCommand, can_write};
use crate::profiling::{TraceSettings, TracedChip};

/// Runs a command, and writes the stream of its accesses to a file; everything is checked before
/// anything is run.
///
/// # Errors
/// If the settings are not for a command, the command can't be run or failed, or the user ended it.
pub(crate) fn record(
    settings: &TraceSettings,
    chip: &TracedChip,
    path: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let subject = TracedCommand::recorded(settings, chip, settings.json)?;
    if subject.is_stream() {
        let said = "expected a command or a trace to record, found a stream that was recorded";
        return Err(BadInput(said.to_owned()).into());
    }
    can_write(path)?;
    let mut recorder = Recorder::new(&chip.settings, &subject.program, subject.slices)?;
    let end = measure(&subject, &mut recorder, settings.quiet)?;
    subject.check_end(&recorder, end)?;
    let code = subject.exit_code(&recorder).unwrap_or(0);
    let manifest = StreamManifest {
        program: subject.name.clone(),
        run: subject.run(chip, &recorder)?,
        private: private_caches(&chip.settings.chip),
        cpi: settings.cpi.unwrap_or(CPI),
        overlap: settings.overlap.unwrap_or(OVERLAP),
        overlap_estimate: 0.0,
        totals: StreamTotals::default(),
        blocks: Vec::new(),
    };
    let (stream, manifest) = recorder.finish(manifest);
    whole::write(path, &stream, Some(".old"))
        .with_context(|| format!("{}: can't write it", input::shown(path)))?;
    if settings.json {
        serde_json::to_writer(&mut *out, &manifest)?;
        writeln!(out)?;
    } else if !settings.quiet {
        write!(std::io::stderr(), "{}", summary(&manifest, path, stream.len()))?;
    }
    if end == RunEnd::Interrupted {
        return Err(Interrupted.into());
    }
    match code {
        0 => Ok(()),
        code => Err(ExitCode(u8::try_from(code).unwrap_or(1)).into()),
    }
}

/// The stream, for people.
fn summary(manifest: &StreamManifest, path: &Path, bytes: usize) -> String {
    let StreamManifest { program, run, totals, overlap, overlap_estimate, .. } = manifest;
    let StreamTotals { instructions, loads, stores, write_backs, .. } = totals;
    let (file, machine) = (input::shown(path), &run.machine);
    let per_event = bytes as f64 / (loads + stores + write_backs).max(1) as f64;
    format!(
        "{program}: {instructions} instructions, from the private caches of {machine} {loads} loads, \
         {stores} stores, {write_backs} write-backs\n\
         overlap {overlap}; by the distances of misses at most {overlap_estimate}: \
         dependences are not known\n\
         {bytes} bytes, {per_event:.2} for each of these; fairways-lab simulate --machine {machine} \
         --programs stream:{file}\n"
    )
}
