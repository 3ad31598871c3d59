//! The measured programs, and phased ones made of them.

use std::path::Path;

use fairways_profiles::{ProgramCatalog, read_phased};

use crate::common::{shared, spec};

/// All of them; `None` where the measured profiles are not there.
pub(crate) fn catalog(test: &str) -> Option<ProgramCatalog> {
    let (table, _) = spec(&shared(test)?);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/spec-phases.csv");
    let phased = read_phased(&std::fs::read(path).unwrap(), "spec-phases.csv", &table).unwrap();
    Some(ProgramCatalog::new(table, phased))
}
