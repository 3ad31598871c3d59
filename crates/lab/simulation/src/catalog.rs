//! The programs that can be named, and the files and names that they come from.

use std::path::PathBuf;
use std::str::FromStr;

use fairways_chip::preset;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::{read, shown};
use fairways_command_kit::plain::plain;
use fairways_command_kit::similar::did_you_mean;
use fairways_profiles::corpus::CorpusMachine;
use fairways_profiles::{
    EMBEDDED_CSV, InputError, ProfileTable, ProgramCatalog, embedded_programs, read_phased,
    read_table, read_table_to_score,
};

/// The name of the profiles that are computed, not measured.
const SYNTHETIC: &str = "synthetic";

/// Where profiles come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfileSource {
    /// The real programs of the corpus, measured on one of its machines.
    Corpus(CorpusMachine),
    /// The synthetic programs.
    Synthetic,
    /// A file.
    File(PathBuf),
}

impl FromStr for ProfileSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let machine = CorpusMachine::ALL.into_iter().find(|machine| machine.name() == text);
        Ok(match machine {
            Some(machine) => Self::Corpus(machine),
            None if text == SYNTHETIC => Self::Synthetic,
            None => Self::File(text.into()),
        })
    }
}

impl ProfileSource {
    /// The programs; those with phases are of a file, or the synthetic ones.
    pub fn programs(&self, phases: Option<&PathBuf>) -> Result<ProgramCatalog, BadInput> {
        self.read(phases, read_table)
    }

    /// The same, to score plans or to list them: a file may have IPC and misses only
    /// ([`crate::profile_needs`]).
    pub fn programs_to_score(&self, phases: Option<&PathBuf>) -> Result<ProgramCatalog, BadInput> {
        self.read(phases, read_table_to_score)
    }

    fn read(
        &self,
        phases: Option<&PathBuf>,
        read_table: fn(&[u8], &str) -> Result<ProfileTable, InputError>,
    ) -> Result<ProgramCatalog, BadInput> {
        if *self == Self::Synthetic && phases.is_none() {
            return Ok(embedded_programs().clone());
        }
        let wrong = |error: InputError| BadInput(error.to_string());
        let (bytes, name) = self.csv()?;
        let table = read_table(&bytes, &name).map_err(wrong)?;
        let phased = match phases {
            Some(path) => read_phased(&read(path)?, &shown(path), &table).map_err(wrong)?,
            None => Vec::new(),
        };
        Ok(ProgramCatalog::new(table, phased))
    }

    /// Its name, or its file's.
    pub fn name(&self) -> String {
        match self {
            Self::Corpus(machine) => machine.name().to_owned(),
            Self::Synthetic => SYNTHETIC.to_owned(),
            Self::File(path) => shown(path),
        }
    }

    /// The file, and how errors name it.
    fn csv(&self) -> Result<(Vec<u8>, String), BadInput> {
        match self {
            Self::Corpus(machine) => Ok((
                fairways_profiles::corpus::profiles(*machine).into(),
                machine.name().to_owned(),
            )),
            Self::Synthetic => Ok((EMBEDDED_CSV.into(), SYNTHETIC.to_owned())),
            Self::File(path) => {
                let bytes = read(path).map_err(|BadInput(why)| {
                    let names = CorpusMachine::ALL.map(CorpusMachine::name);
                    let names = names.into_iter().chain([SYNTHETIC]);
                    BadInput(format!("{why}{}", did_you_mean(&shown(path), names)))
                })?;
                Ok((bytes, shown(path)))
            }
        }
    }

    /// The size of the cache on which these profiles of it were measured, in MB. Of profiles that
    /// do not say it, that of `skylake`; of profiles of several caches, the largest, with a
    /// warning.
    pub fn llc_mb(&self, profiles: &ProfileTable) -> f64 {
        match self {
            Self::Corpus(machine) => machine.llc_mb(),
            Self::Synthetic => CorpusMachine::Skylake.llc_mb(),
            Self::File(path) => {
                let sizes = measured_llc_mb(profiles);
                if let [(machine, _), .., (other, _)] = &sizes[..] {
                    fairways_command_kit::warn(&format!(
                        "{}: profiles of caches of different sizes, of {} and {}",
                        shown(path),
                        plain(machine),
                        plain(other)
                    ));
                }
                sizes.last().map_or(CorpusMachine::Skylake.llc_mb(), |(_, size)| *size)
            }
        }
    }
}

/// The sizes of the caches on which programs were measured, as far as profiles say it, in MB, from
/// the smallest, each with a machine's name.
fn measured_llc_mb(profiles: &ProfileTable) -> Vec<(&str, f64)> {
    let ways = f64::from(profiles.ways().get());
    let runs = (0..profiles.names().len()).filter_map(|program| profiles.run(program));
    let mut sizes: Vec<(&str, f64)> = runs
        .filter_map(|run| {
            let chip = preset::parse(run.machine.strip_prefix("chip:")?).ok()?;
            Some((&*run.machine, chip.way_bytes() as f64 * ways / f64::from(1 << 20)))
        })
        .collect();
    sizes.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    sizes.dedup_by(|(_, one), (_, other)| one == other);
    sizes
}

/// The end of a message about a name that these profiles do not have, if it is a synthetic
/// program's and these are not the synthetic ones.
pub fn synthetic_has(name: &str, profiles: &ProfileTable) -> Option<String> {
    let synthetic = embedded_programs();
    let are_others = profiles.names() != synthetic.table().names();
    let found = synthetic.find(name).filter(|_| are_others);
    found.map(|_| format!("; --profiles {SYNTHETIC} has it"))
}

/// The same on a chip, whose programs are those of the table: they have no phases.
pub fn synthetic_table_has(name: &str, profiles: &ProfileTable) -> Option<String> {
    embedded_programs().table().find(name).and_then(|_| synthetic_has(name, profiles))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_file_and_a_path_is_no_name() {
        for machine in CorpusMachine::ALL {
            let source = ProfileSource::from_str(machine.name()).unwrap();
            assert_eq!(source, ProfileSource::Corpus(machine));
            assert!(source.programs(None).unwrap().find("gzip").is_some());
        }
        let synthetic = ProfileSource::from_str("synthetic").unwrap();
        assert!(synthetic.programs(None).unwrap().find("field-solver").is_some());
        let file = ProfileSource::from_str("./skylake").unwrap();
        assert_eq!(file, ProfileSource::File("./skylake".into()));
    }

    /// Profiles of one's own say on which chip they were measured.
    #[test]
    fn a_file_has_the_cache_of_its_runs() {
        for machine in CorpusMachine::ALL {
            let programs = ProfileSource::Corpus(machine).programs(None).unwrap();
            let sizes = measured_llc_mb(programs.table());
            assert!(matches!(sizes[..], [(_, size)] if size == machine.llc_mb()), "{sizes:?}");
        }
        assert_eq!(measured_llc_mb(embedded_programs().table()), []);
    }

    #[test]
    fn other_profiles_hint_at_a_synthetic_program() {
        let skylake = ProfileSource::Corpus(CorpusMachine::Skylake).programs(None).unwrap();
        let synthetic = embedded_programs().table();
        for (name, on_model, on_chip) in
            [("hash-join", true, true), ("field-solver", true, false), ("none", false, false)]
        {
            assert_eq!(synthetic_has(name, skylake.table()).is_some(), on_model, "{name}");
            assert_eq!(synthetic_table_has(name, skylake.table()).is_some(), on_chip, "{name}");
            assert_eq!(synthetic_has(name, synthetic), None, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_misspelt_is_guessed() {
        for (text, meant) in
            [("skylak", "skylake"), ("broadwel", "broadwell"), ("syntetic", "synthetic")]
        {
            let BadInput(said) = ProfileSource::from_str(text).unwrap().programs(None).unwrap_err();
            assert!(said.ends_with(&format!("; did you mean {meant:?}?")), "{said}");
        }
        let BadInput(said) = ProfileSource::File("none.csv".into()).programs(None).unwrap_err();
        assert!(said.contains("none.csv: can't read it") && !said.contains("mean"), "{said}");
    }
}
