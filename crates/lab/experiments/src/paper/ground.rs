//! The grounds on which a paper's experiments run.

use std::sync::LazyLock;

use fairways_profiles::corpus::CorpusMachine;
use fairways_profiles::{ProfileTable, read_table};

/// What a paper's experiments run on.
///
/// The better ground of a row is found by one rule, whatever the values: it is the corpus if all
/// programs that the paper ran in the row live on there, and were measured behind its machine's
/// caches (docs/paper.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Models of the paper's programs, or profiles that the user has of them.
    Models,
    /// The living counterparts of the paper's programs, as the corpus has them.
    Corpus,
}

impl Ground {
    /// Both, the one that every paper has first.
    pub const ALL: [Self; 2] = [Self::Models, Self::Corpus];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Corpus => "corpus",
        }
    }
}

/// The profiles of the corpus' programs on a machine.
pub(super) fn corpus_table(machine: CorpusMachine) -> &'static ProfileTable {
    static TABLES: LazyLock<[ProfileTable; CorpusMachine::ALL.len()]> = LazyLock::new(|| {
        CorpusMachine::ALL.map(|machine| {
            let text = fairways_profiles::corpus::profiles(machine);
            read_table(text.as_bytes(), machine.name()).expect("a test reads the same text")
        })
    });
    &TABLES[machine as usize]
}
