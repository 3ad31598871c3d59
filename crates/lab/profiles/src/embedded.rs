//! The project's own profiles, inside the binary.

use std::sync::LazyLock;

use crate::programs::ProgramCatalog;
use crate::read::read_table;
use crate::read_phased::read_phased;
use crate::table::ProfileTable;

/// The profile file of the embedded programs, as [`crate::generate::embedded_csv`] writes it.
pub const EMBEDDED_CSV: &str = include_str!("../data/embedded.csv");

/// The embedded profiles: 30 synthetic programs on a cache of 20 ways, 27.5 MB.
///
/// They are generated ([`crate::generate`]), not measured.
#[must_use]
pub fn embedded() -> &'static ProfileTable {
    static TABLE: LazyLock<ProfileTable> = LazyLock::new(|| {
        read_table(EMBEDDED_CSV.as_bytes(), "embedded.csv").expect("a test reads the same bytes")
    });
    &TABLE
}

/// The embedded profiles, and 8 phased programs made of them.
///
/// Their phases are modelled on real programs, not measured; LFOC's Figure 4 and the P workloads of
/// its §5.2 show such programs.
#[must_use]
pub fn embedded_programs() -> &'static ProgramCatalog {
    static PROGRAMS: LazyLock<ProgramCatalog> = LazyLock::new(|| {
        let phased = read_phased(include_bytes!("../data/phased.csv"), "phased.csv", embedded());
        ProgramCatalog::new(embedded().clone(), phased.expect("a test reads the same bytes"))
    });
    &PROGRAMS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProgramPhase;
    use crate::generate::embedded_csv;

    #[test]
    fn the_committed_file_is_what_the_generator_writes() {
        assert!(
            EMBEDDED_CSV == embedded_csv(),
            "data/embedded.csv is stale: cargo run -p fairways-profiles --example generate > \
             crates/lab/profiles/data/embedded.csv"
        );
        assert_eq!((embedded().names().len(), embedded().ways().get()), (30, 20));
    }

    fn phase(name: &str, instructions: Option<u64>) -> ProgramPhase {
        ProgramPhase { program: embedded().find(name).unwrap(), instructions }
    }

    #[test]
    fn the_phased_programs_follow_the_table() {
        let programs = embedded_programs();
        assert_eq!((programs.table(), programs.len()), (embedded(), 38));
        // 7.5 of 150 * 10^9 instructions are 5 %.
        let phases = [phase("matrix-tile", Some(7_500_000_000)), phase("stencil-3d", None)];
        assert_eq!(programs.phases(programs.find("field-solver").unwrap()), phases);
        assert!((30..38).all(|index| programs.phases(index).len() > 1));
    }
}
