//! The settings of a profile, and their checks.

use std::path::{Path, PathBuf};

use fairways_chip::{PagePlacement, Settings};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::read;
use fairways_core::Ways;
use fairways_profiles::{ProfileTable, read_table};

use crate::TraceSettings;
use crate::subject::{TracedCommand, can_write};

/// What to profile, and where the profile goes.
#[derive(Clone, Debug)]
pub struct ProfileSettings {
    /// The program and the chip.
    pub trace: TraceSettings,
    /// The file, as CSV; `-` is standard output, and the default is the program's name and
    /// `.profile.csv`.
    pub output: Option<PathBuf>,
    /// Whether to keep the profiles of other programs in the file.
    pub append: bool,
    /// The file for a plot of misses and IPC, as SVG.
    pub plot: Option<PathBuf>,
    /// Whether lines are placed in the cache by their virtual addresses, without pages.
    pub by_address: bool,
}

/// A measurement whose settings are valid.
pub(super) struct Checked {
    pub(super) subject: TracedCommand,
    pub(super) settings: Settings,
    pub(super) output: Output,
    /// Whether to keep the profiles of other programs in the file.
    pub(super) append: bool,
}

/// Where a profile goes.
pub(super) enum Output {
    Standard,
    File(PathBuf),
}

impl Checked {
    pub(super) fn new(settings: &ProfileSettings) -> anyhow::Result<Self> {
        let ProfileSettings { trace, output, append, plot, by_address } = settings;
        let mut chip = trace.chip;
        if *by_address {
            chip.placement = PagePlacement::Sequential;
        }
        let quiet = trace.json || output.as_deref() == Some(Path::new("-"));
        let subject = TracedCommand::profiled(trace, *by_address, quiet)?;
        let output = match output {
            Some(path) if path == Path::new("-") => Output::Standard,
            Some(path) => Output::File(path.clone()),
            None => Output::File(PathBuf::from(format!("{}.profile.csv", subject.name))),
        };
        let file = match &output {
            Output::File(path) => Some(path),
            Output::Standard => None,
        };
        file.into_iter().chain(plot).try_for_each(|path| can_write(path))?;
        if trace.json && matches!(output, Output::Standard) {
            let said = "--json: expected another --output than standard output with it";
            return Err(BadInput(said.to_owned()).into());
        }
        if let Output::File(path) = &output
            && *append
            && path.exists()
        {
            others(path, chip.chip.llc.ways)?;
        }
        Ok(Self { subject, settings: chip, output, append: *append })
    }
}

/// The programs that a file has, measured with as many ways.
pub(super) fn others(path: &Path, ways: Ways) -> Result<ProfileTable, BadInput> {
    let shown = path.display().to_string();
    let table = read_table(&read(path)?, &shown).map_err(|why| BadInput(why.to_string()))?;
    if table.ways() != ways {
        let found = table.ways();
        return Err(BadInput(format!(
            "{shown}: expected profiles with {ways} ways, found {found}"
        )));
    }
    if (0..table.names().len()).any(|program| table.l1rpki(program).is_none()) {
        return Err(BadInput(format!("{shown}: expected profiles with the column l1rpki")));
    }
    Ok(table)
}
