//! The settings of `fairways profile`, from checked flags.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use fairways_chip::program::{Accesses, LiveProgram, LiveProgramError, SimulatedProgram};
use fairways_chip::{PagePlacement, Settings};
use fairways_command_kit::input::read;
use fairways_command_kit::{BadInput, whole};
use fairways_core::Ways;
use fairways_profiles::{ProfileTable, read_table};
use fairways_tracer::{Launch, StartError};

use crate::args::Profile;
use crate::chip::simulated;

/// A measurement whose flags are valid.
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) preset: String,
    pub(super) settings: Settings,
    pub(super) program: SimulatedProgram,
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
        let mut chip = args.machine.geometry;
        chip.llc.ways = args.ways.unwrap_or(chip.llc.ways);
        let mut settings = simulated(chip, &args.how, args.seed)?;
        if args.by_address {
            settings.placement = PagePlacement::Sequential;
        }
        let launch = Launch {
            follow: args.children,
            quiet: args.json || args.output.as_deref() == Some(Path::new("-")),
            qemu: args.qemu.clone(),
            ..Launch::new(args.command.clone())
        };
        let mut live = LiveProgram::new(launch);
        (live.by_address, live.must_succeed) = (args.by_address, false);
        live.check().map_err(|why| match why {
            LiveProgramError::Program(StartError::NotFound(_) | StartError::Unfit(_)) => {
                BadInput(why.to_string()).into()
            }
            // The command is as it should be; this machine is not.
            why => anyhow::Error::from(why),
        })?;
        let program = SimulatedProgram {
            base_cpi: args.cpi,
            overlap: args.overlap,
            ..SimulatedProgram::live(live)
        };
        let name = name(args);
        let output = match &args.output {
            Some(path) if path == Path::new("-") => Output::Standard,
            Some(path) => Output::File(path.clone()),
            None => Output::File(PathBuf::from(format!("{name}.profile.csv"))),
        };
        let file = match &output {
            Output::File(path) => Some(path),
            Output::Standard => None,
        };
        file.into_iter().chain(&args.plot).try_for_each(|path| can_write(path))?;
        if args.json && matches!(output, Output::Standard) {
            let said = "--json: expected another --output than standard output with it";
            return Err(BadInput(said.to_owned()).into());
        }
        if let Output::File(path) = &output
            && args.append
            && path.exists()
        {
            others(path, chip.llc.ways)?;
        }
        let (preset, append) = (args.machine.name.clone(), args.append);
        Ok(Self { name, preset, settings, program, output, append })
    }

    pub(super) fn live(&self) -> &LiveProgram {
        match &self.program.accesses {
            Accesses::Live(live) => live,
            _ => unreachable!("a command is measured"),
        }
    }
}

/// What takes long to measure is not to be lost in the end.
fn can_write(path: &Path) -> Result<(), BadInput> {
    whole::try_out(path).map_err(|why| {
        BadInput(format!("{}: can't write it: {why}", fairways_command_kit::input::shown(path)))
    })
}

/// What the profile calls the program.
fn name(args: &Profile) -> String {
    if let Some(name) = &args.name {
        return name.clone();
    }
    let name = Path::new(&args.command[0]).file_name().map(OsStr::to_string_lossy);
    let plain = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
    name.unwrap_or_default().replace(|letter| !plain(letter), "_")
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
