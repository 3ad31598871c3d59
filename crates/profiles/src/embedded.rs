//! The project's own profiles, inside the binary.

use std::sync::LazyLock;

use crate::read::read_table;
use crate::table::Table;

/// The profile file of the embedded programs: what [`crate::generate::embedded_csv`] writes.
pub const EMBEDDED_CSV: &str = include_str!("../data/embedded.csv");

/// The embedded profiles: 30 synthetic programs on a cache of 20 ways, 27.5 MB.
///
/// They are generated ([`crate::generate`]), not measured.
#[must_use]
pub fn embedded() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        read_table(EMBEDDED_CSV.as_bytes(), "embedded.csv").expect("a test reads the same bytes")
    });
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::embedded_csv;

    #[test]
    fn the_committed_file_is_what_the_generator_writes() {
        assert!(
            EMBEDDED_CSV == embedded_csv(),
            "data/embedded.csv is stale: cargo run -p fairways-profiles --example generate > \
             crates/profiles/data/embedded.csv"
        );
        assert_eq!((embedded().names().len(), embedded().ways().get()), (30, 20));
    }
}
