//! A policy's estimates of a program, for Prometheus: a word, and its unit beside it. The words of
//! policies ([`words`](fairways_policy::words)) end in their units. Here units are base units, and
//! shares are ratios.

/// The word, its unit if it has one, and the value in that unit.
pub(super) fn exported(word: &str, value: f64) -> (&str, Option<&str>, f64) {
    let (what, unit) = word.split_once(", ").unwrap_or((word, ""));
    match (what, unit) {
        (_, "ms") => (what, Some("seconds"), value / 1e3),
        (_, "MB/s") => (what, Some("bytes per second"), value * 1e6),
        (_, "of all cycles" | "of slowdown" | "over an equal share" | "of the objective")
        | ("expected slowdown" | "normalized IPC", "") => (what, Some("ratio"), value),
        ("ways", "") => (what, Some("ways"), value),
        (_, "") => (what, None, value),
        _ => (what, Some(unit), value),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairways_policy::words;

    use super::exported;

    const DOCS: &str = include_str!("../../../../../docs/metrics.md");

    /// No word may end in one of these: the units of policies, and those of Prometheus.
    const UNITS: [&str; 10] = [
        "ms",
        "MB/s",
        "seconds",
        "second",
        "bytes",
        "ways",
        "ratio",
        "cycles",
        "references",
        "instructions",
    ];

    #[test]
    fn units_stand_beside_words_and_are_base_units() {
        assert_eq!(exported(words::TAIL.text(), 1.5), ("tail", Some("seconds"), 0.0015));
        let bandwidth = exported(words::UTILITY_BANDWIDTH.text(), -0.5);
        assert_eq!(bandwidth, ("utility", Some("bytes per second"), -500_000.0));
        assert_eq!(exported(words::SLACK.text(), -0.25), ("slack", Some("ratio"), -0.25));
        let pressure = exported(words::LLCMPKC.text(), 12.5);
        assert_eq!(pressure, ("LLCMPKC", Some("misses per 1000 cycles"), 12.5));
        // A word of a policy from outside.
        assert_eq!(exported("distance", 3.0), ("distance", None, 3.0));
    }

    #[test]
    fn no_word_ends_in_a_unit_and_no_two_are_one_series() {
        let mut series = BTreeSet::new();
        for word in words::ALL {
            let (what, unit, _) = exported(word, 1.0);
            assert!(unit.is_some_and(|unit| !unit.contains(['/', ','])), "{word}: {unit:?}");
            assert!(!what.contains(','), "{what}");
            for unit in UNITS {
                assert!(!what.ends_with(&format!(" {unit}")), "{what} ends in a unit");
            }
            assert!(series.insert((what, unit)), "{what} in {unit:?} is exported twice");
        }
    }

    /// docs/metrics.md has a row for each word and unit, and no others. The slowdown has none: it
    /// is a metric of its own.
    #[test]
    fn words_and_units_are_documented() {
        let section = DOCS.split("\n### Estimates\n").nth(1).unwrap();
        let section = section.split("\n### ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: BTreeSet<(&str, &str)> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(str::trim).collect();
                (cells[0].trim_matches('`'), cells[1].trim_matches('`'))
            })
            .collect();
        let words = words::ALL.iter().filter(|word| **word != words::SLOWDOWN.text());
        let exported: BTreeSet<(&str, &str)> = words
            .map(|word| {
                let (what, unit, _) = exported(word, 1.0);
                (what, unit.unwrap())
            })
            .collect();
        assert_eq!(exported, documented);
    }
}
