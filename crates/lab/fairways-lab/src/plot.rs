//! The file of a plot.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use fairways_command_kit::input::shown;
use fairways_command_kit::whole;
use fairways_core::Ways;
use fairways_experiments::{DrawnMix, draw_plans};

/// Draws mixes into a file, if one is requested.
///
/// # Errors
/// If they can't be drawn, or the file can't be written; an earlier one is still there then.
pub(crate) fn plot(
    path: Option<&Path>,
    ways: &[Ways],
    mixes: impl FnOnce() -> Vec<DrawnMix>,
) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let svg = draw_plans(ways, &mixes()).map_err(|why| anyhow!("{}: {why}", shown(path)))?;
    whole::write(path, svg.as_bytes(), None)
        .with_context(|| format!("{}: can't write it", shown(path)))
}
