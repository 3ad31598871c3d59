//! A journal: the ways of programs over time, their losses, and their counts.

mod losses;
mod programs;
mod show;
mod story;

use std::path::Path;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_experiments::report::Section;
use fairways_record::journal::Reader;

/// Makes the section.
pub(super) fn section(path: &Path) -> Result<Section, BadInput> {
    let mut story = story::read(Reader::open_kept(path)?)?;
    let losses = losses::read(path, &mut story)?;
    Ok(Section { source: shown(path), ..show::section(&story, &losses) })
}
