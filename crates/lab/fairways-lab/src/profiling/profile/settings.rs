//! The settings of a profile, and their checks.

use std::path::{Path, PathBuf};

use fairways_chip::PagePlacement;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::read;
use fairways_profiles::{ProfileTable, read_table};

use crate::profiling::subject::{TracedCommand, can_write, plain_name};
use crate::profiling::{TraceSettings, TracedChip};

/// What to profile, and where the profiles go.
#[derive(Clone, Debug)]
pub(crate) struct ProfileSettings {
    /// The program.
    pub(crate) trace: TraceSettings,
    /// The chips, at least one: the program runs once for all of them.
    pub(crate) chips: Vec<TracedChip>,
    /// A file for each chip, as CSV, or none; `-` is standard output. The default is the program's
    /// name and `.profile.csv`; for several chips, with the chip's name between.
    pub(crate) outputs: Vec<PathBuf>,
    /// Whether to keep the profiles of other programs in the files.
    pub(crate) append: bool,
    /// The file for a plot of misses and IPC, as SVG; for one chip only.
    pub(crate) plot: Option<PathBuf>,
    /// Whether lines are placed in the cache by their virtual addresses, without pages.
    pub(crate) by_address: bool,
}

/// A measurement whose settings are valid.
pub(super) struct Checked {
    pub(super) subject: TracedCommand,
    pub(super) chips: Vec<ProfiledChip>,
    /// Whether to keep the profiles of other programs in the files.
    pub(super) append: bool,
}

/// A chip, and where its profile goes.
pub(super) struct ProfiledChip {
    pub(super) chip: TracedChip,
    pub(super) output: Output,
}

/// Where a profile goes.
pub(super) enum Output {
    Standard,
    File(PathBuf),
}

impl Output {
    fn new(path: PathBuf) -> Self {
        if path == Path::new("-") { Self::Standard } else { Self::File(path) }
    }

    fn file(&self) -> Option<&Path> {
        match self {
            Self::Standard => None,
            Self::File(path) => Some(path),
        }
    }

    /// Whether both are the same, by whatever paths.
    fn is_same(&self, other: &Self) -> bool {
        self.file().map(real_path) == other.file().map(real_path)
    }
}

/// The path of a file without links, as far as there is any.
fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    folder
        .ok()
        .zip(path.file_name())
        .map_or_else(|| path.into(), |(folder, name)| folder.join(name))
}

impl Checked {
    pub(super) fn new(settings: &ProfileSettings) -> anyhow::Result<Self> {
        let ProfileSettings { trace, chips, outputs, append, plot, by_address } = settings;
        let quiet = trace.json || outputs.iter().any(|path| path == Path::new("-"));
        let subject = TracedCommand::profiled(trace, chips, *by_address, quiet)?;
        let chips = with_outputs(settings, &subject.name)?;
        let files = chips.iter().filter_map(|chip| chip.output.file());
        files.chain(plot.as_deref()).try_for_each(can_write)?;
        if trace.json && chips.iter().any(|chip| chip.output.file().is_none()) {
            let said = "--json: expected another --output than standard output with it";
            return Err(BadInput(said.to_owned()).into());
        }
        for ProfiledChip { chip, output } in &chips {
            if let Some(path) = output.file().filter(|path| *append && path.exists()) {
                others(path, chip)?;
            }
        }
        Ok(Self { subject, chips, append: *append })
    }
}

/// The chips as they are simulated, each with an output of its own.
fn with_outputs(settings: &ProfileSettings, name: &str) -> Result<Vec<ProfiledChip>, BadInput> {
    let ProfileSettings { chips, outputs, plot, by_address, .. } = settings;
    let count = chips.len();
    if !outputs.is_empty() && outputs.len() != count {
        let found = outputs.len();
        return Err(BadInput(format!(
            "--output: expected as many as machines ({count}), in their order, found {found}"
        )));
    }
    if plot.is_some() && count > 1 {
        return Err(BadInput(format!("--plot: expected one --machine with it, found {count}")));
    }
    let mut all: Vec<ProfiledChip> = Vec::new();
    for (place, chip) in chips.iter().enumerate() {
        let output = match outputs.get(place) {
            Some(path) => path.clone(),
            None if count == 1 => PathBuf::from(format!("{name}.profile.csv")),
            None => {
                let short = chip.name.trim_start_matches("chip:");
                let short = plain_name(short.as_ref());
                PathBuf::from(format!("{name}.{short}.profile.csv"))
            }
        };
        let output = Output::new(output);
        if let Some(other) = all.iter().find(|other| other.output.is_same(&output)) {
            let shown = output.file().map_or("-".into(), Path::to_string_lossy);
            let (one, two) = (&other.chip.name, &chip.name);
            return Err(BadInput(format!(
                "{shown}: expected a file for each machine, found one for {one} and {two}"
            )));
        }
        let mut chip = chip.clone();
        if *by_address {
            chip.settings.placement = PagePlacement::Sequential;
        }
        all.push(ProfiledChip { chip, output });
    }
    Ok(all)
}

/// The programs that a file has, measured on the same chip.
pub(super) fn others(path: &Path, chip: &TracedChip) -> Result<ProfileTable, BadInput> {
    let ways = chip.settings.chip.llc.ways;
    let shown = path.display().to_string();
    let table = read_table(&read(path)?, &shown).map_err(|why| BadInput(why.to_string()))?;
    if table.ways() != ways {
        let found = table.ways();
        return Err(BadInput(format!(
            "{shown}: expected profiles with {ways} ways, found {found}"
        )));
    }
    let mut runs = (0..table.names().len()).filter_map(|program| table.run(program));
    if let Some(other) = runs.find(|run| run.machine != chip.name) {
        return Err(BadInput(format!(
            "{shown}: expected profiles of {}, found one of {}",
            chip.name, other.machine
        )));
    }
    if (0..table.names().len()).any(|program| table.l1rpki(program).is_none()) {
        return Err(BadInput(format!("{shown}: expected profiles with the column l1rpki")));
    }
    Ok(table)
}
