//! The programs that an LFOC example runs: the embedded ones, or those of two files.

use std::borrow::Cow;
use std::error::Error;

use fairways_profiles::{ProgramCatalog, embedded_programs, read_phased, read_table};

/// The embedded programs, or those of the arguments `PROFILES.csv PHASES.csv`.
///
/// # Errors
/// If there are other arguments, or a file can't be read.
pub(crate) fn from_arguments() -> Result<Cow<'static, ProgramCatalog>, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [] => Ok(Cow::Borrowed(embedded_programs())),
        [profiles, phases] => {
            let table = read_table(&std::fs::read(profiles)?, profiles)?;
            let phased = read_phased(&std::fs::read(phases)?, phases, &table)?;
            Ok(Cow::Owned(ProgramCatalog::new(table, phased)))
        }
        _ => Err("expected no arguments, or PROFILES.csv PHASES.csv".into()),
    }
}
