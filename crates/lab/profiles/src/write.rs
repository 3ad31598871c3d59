//! Writing a profile file.

use std::fmt::Write;

use crate::table::{L1RPKI, ProfileMetric, ProfileTable};

/// The table as a profile file: a row for each program and way count, in that order, numbers with
/// the fewest digits that read back as the same number. The runs that are known come first, each as
/// a comment.
#[must_use]
pub fn write_table(table: &ProfileTable) -> String {
    let mut text = String::new();
    for (program, name) in table.names().iter().enumerate() {
        if let Some(run) = table.run(program) {
            // Texts and numbers can be written as JSON, and writing to a String does not fail.
            let run = serde_json::to_string(run).unwrap_or_default();
            let _ = writeln!(text, "# {name} {run}");
        }
    }
    text.push_str("BENCH,NR_WAYS");
    for metric in ProfileMetric::ALL {
        text.push(',');
        text.push_str(metric.column());
    }
    // Either all programs have it, or none.
    let has_l1rpki = (0..table.names().len()).any(|program| table.l1rpki(program).is_some());
    if has_l1rpki {
        text.push(',');
        text.push_str(L1RPKI);
    }
    text.push('\n');
    for (program, name) in table.names().iter().enumerate() {
        for (ways, row) in (1..).zip(table.rows(program)) {
            let _ = write!(text, "{name},{ways}");
            for value in row {
                let _ = write!(text, ",{value}");
            }
            if let Some(value) = table.l1rpki(program) {
                let _ = write!(text, ",{value}");
            }
            text.push('\n');
        }
    }
    text
}
