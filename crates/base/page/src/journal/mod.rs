//! A journal: the ways of programs over time, their losses, and their counts.

mod losses;
mod programs;
mod show;
mod story;

use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_record::blame::KnownLatency;
use fairways_record::journal::Reader;

use crate::page::Section;

/// Makes the section; `latency` knows the machines of simulations.
pub(super) fn section(path: &Path, latency: KnownLatency) -> Result<Section, BadInput> {
    let mut story = story::read(Reader::open_kept(path)?)?;
    let losses = losses::read(path, latency, &mut story)?;
    Ok(Section { source: shown(path), ..show::section(&story, &losses) })
}
