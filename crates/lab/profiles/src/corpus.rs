//! The corpus of real programs (the folder `corpus`), inside the binary: their profiles on three
//! machines, and which programs of the papers they stand for.
//!
//! Everything is read from the committed files, so it is never older than they are.

use std::sync::LazyLock;

use serde::Deserialize;

/// A machine on which the programs were measured (`machines` in `corpus/programs.toml`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusMachine {
    /// 11 ways of 2.5 MB behind 1 MB.
    Skylake,
    /// 20 ways of 2.25 MB behind 256 KB.
    Broadwell,
    /// 32 ways of 48 KB behind 8 KB.
    Small,
}

impl CorpusMachine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Skylake, Self::Broadwell, Self::Small];

    /// Its name, which its file has too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skylake => "skylake",
            Self::Broadwell => "broadwell",
            Self::Small => "small",
        }
    }

    /// The size of its last-level cache, in MB.
    #[must_use]
    pub const fn llc_mb(self) -> f64 {
        match self {
            Self::Skylake => 27.5,
            Self::Broadwell => 45.0,
            Self::Small => 1.5,
        }
    }
}

/// The profiles of the programs on a machine, as CSV (docs/profiles.md).
#[must_use]
pub const fn profiles(machine: CorpusMachine) -> &'static str {
    match machine {
        CorpusMachine::Skylake => include_str!("../../../../corpus/profiles/skylake.csv"),
        CorpusMachine::Broadwell => include_str!("../../../../corpus/profiles/broadwell.csv"),
        CorpusMachine::Small => include_str!("../../../../corpus/profiles/small.csv"),
    }
}

/// The corpus' program that stands for a paper's program, such as `lemon-mcf` for `mcf`: the first
/// one in `corpus/programs.toml` that says so.
#[must_use]
pub fn counterpart(program: &str) -> Option<&'static str> {
    let mut programs = MANIFEST.program.iter();
    programs.find(|listed| listed.stands_for(program)).map(|listed| listed.name.as_str())
}

/// Whether a program of the corpus is a kernel that the project wrote, and no program of Debian.
#[must_use]
pub fn is_ours(program: &str) -> bool {
    MANIFEST.program.iter().any(|listed| listed.name == program && listed.licence == "ours")
}

/// What a program of the corpus is, such as `Debian gzip 1.12-1`, and the benchmarks of papers that
/// it stands for; `None` for another program.
#[must_use]
pub fn described(program: &str) -> Option<(String, Option<&'static str>)> {
    let listed = MANIFEST.program.iter().find(|listed| listed.name == program)?;
    let what = match (&listed.package, &listed.version) {
        (Some(package), Some(version)) => format!("Debian {package} {version}"),
        _ => "a kernel of the project's".to_owned(),
    };
    Some((what, listed.stands_for.as_deref()))
}

#[derive(Deserialize)]
struct Manifest {
    /// For all programs that say nothing else.
    #[cfg(test)]
    skip: u64,
    #[cfg(test)]
    instructions: u64,
    program: Vec<ListedProgram>,
}

#[derive(Deserialize)]
struct ListedProgram {
    name: String,
    licence: String,
    package: Option<String>,
    version: Option<String>,
    /// Programs of papers, with commas between them.
    stands_for: Option<String>,
    #[cfg(test)]
    command: String,
    #[cfg(test)]
    skip: Option<u64>,
}

impl ListedProgram {
    fn stands_for(&self, program: &str) -> bool {
        self.stands_for.iter().flat_map(|listed| listed.split(", ")).any(|one| one == program)
    }
}

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    let text = include_str!("../../../../corpus/programs.toml");
    toml::from_str(text).expect("a test reads the same text")
});

#[cfg(test)]
mod tests {
    use crate::read_table;

    use super::*;

    #[test]
    fn each_machine_has_profiles_with_its_ways_of_listed_programs() {
        for (machine, ways) in CorpusMachine::ALL.into_iter().zip([11, 20, 32]) {
            let table = read_table(profiles(machine).as_bytes(), machine.name()).expect("a table");
            assert_eq!(table.ways().get(), ways);
            for name in table.names() {
                assert!(MANIFEST.program.iter().any(|listed| listed.name == *name), "{name}");
            }
        }
    }

    #[test]
    fn kernels_of_the_project_are_known() {
        let found = ["stream", "lbm", "gzip", "nonesuch"].map(is_ours);
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn each_profile_is_of_the_run_that_is_listed() {
        for machine in CorpusMachine::ALL {
            let table = read_table(profiles(machine).as_bytes(), machine.name()).expect("a table");
            assert_eq!(table.names().len(), MANIFEST.program.len(), "{}", machine.name());
            for listed in &MANIFEST.program {
                let name = &listed.name;
                let run = table.find(name).and_then(|program| table.run(program)).expect(name);
                let words: Vec<&str> = listed.command.split_whitespace().collect();
                assert_eq!(run.command, words, "{name}");
                let skip = listed.skip.unwrap_or(MANIFEST.skip);
                assert_eq!((run.skip, run.instructions), (skip, MANIFEST.instructions), "{name}");
            }
        }
    }

    #[test]
    fn counterparts_are_the_first_that_say_so() {
        let found = ["mcf", "gcc", "gobmk", "sjeng", "nonesuch"].map(counterpart);
        assert_eq!(found, [Some("lemon-mcf"), Some("cc1"), Some("gnugo"), Some("gnugo"), None]);
    }
}
