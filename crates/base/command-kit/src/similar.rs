//! Suggestions for a misspelt name.

/// The least similarity of two names (1: the same), unless they are one letter apart.
const LIKENESS: f64 = 0.8;

/// In shorter names, one letter is too large a part to guess what was meant.
const SHORTEST: usize = 3;

/// The candidate that is most like `found`, as the end of a message: `; did you mean "lfoc"?`.
/// Empty if none is similar.
pub fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(found, candidates);
    near.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// The candidate that is most like `found`, if any is similar.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let likeness = |&candidate: &&str| {
        let name = candidate.to_lowercase();
        let likeness = strsim::jaro_winkler(&found, &name);
        let is_near = found.len() >= SHORTEST && strsim::damerau_levenshtein(&found, &name) == 1;
        if is_near { likeness.max(LIKENESS) } else { likeness }
    };
    let alike = candidates.into_iter().filter(|candidate| likeness(candidate) >= LIKENESS);
    alike.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn what_is_like_a_name_is_named_and_nothing_else() {
        let known = ["lfoc", "lfoc-plus", "dcat", "ucp", "hash-join", "unit", "process", "mlr"];
        for (found, meant) in [
            ("lofc", "lfoc"),
            ("LFOC", "lfoc"),
            ("dact", "dcat"),
            ("hashjoin", "hash-join"),
            ("unti", "unit"),
            ("proces", "process"),
            ("mrl", "mlr"),
        ] {
            assert_eq!(did_you_mean(found, known), format!("; did you mean {meant:?}?"), "{found}");
        }
        for found in ["", "best", "xyz", "nonesuch"] {
            assert_eq!(did_you_mean(found, known), "", "{found}");
        }
    }
}
