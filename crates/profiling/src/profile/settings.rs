//! The settings of `fairways profile`, from checked flags.

use std::path::{Path, PathBuf};

use fairways_chip::{PagePlacement, Settings};
use fairways_command_kit::BadInput;
use fairways_command_kit::input::read;
use fairways_core::Ways;
use fairways_profiles::{ProfileTable, read_table};

use crate::args::Profile;
use crate::chip::simulated;
use crate::traced::{TracedCommand, can_write};

/// A measurement whose flags are valid.
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
    pub(super) fn new(args: &Profile) -> anyhow::Result<Self> {
        let mut chip = args.traced.machine.geometry;
        chip.llc.ways = args.ways.unwrap_or(chip.llc.ways);
        let mut settings = simulated(chip, &args.how, args.traced.seed)?;
        if args.by_address {
            settings.placement = PagePlacement::Sequential;
        }
        let quiet = args.traced.json || args.output.as_deref() == Some(Path::new("-"));
        let subject = TracedCommand::profiled(&args.traced, args.by_address, quiet)?;
        let output = match &args.output {
            Some(path) if path == Path::new("-") => Output::Standard,
            Some(path) => Output::File(path.clone()),
            None => Output::File(PathBuf::from(format!("{}.profile.csv", subject.name))),
        };
        let file = match &output {
            Output::File(path) => Some(path),
            Output::Standard => None,
        };
        file.into_iter().chain(&args.plot).try_for_each(|path| can_write(path))?;
        if args.traced.json && matches!(output, Output::Standard) {
            let said = "--json: expected another --output than standard output with it";
            return Err(BadInput(said.to_owned()).into());
        }
        if let Output::File(path) = &output
            && args.append
            && path.exists()
        {
            others(path, chip.llc.ways)?;
        }
        Ok(Self { subject, settings, output, append: args.append })
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
