//! What somebody may have meant who misspelt a name.

/// How much alike two names are at least, of 1 for the same, unless they are one letter apart.
const LIKENESS: f64 = 0.8;

/// Of names shorter than this, one letter is too much of them to say what was meant.
const SHORTEST: usize = 3;

/// The candidate that is most like what was found, as the end of a message: `; did you mean "lfoc"?`. Nothing if none is alike.
pub fn did_you_mean<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let near = nearest(found, candidates);
    near.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// The candidate that is most like what was found, if any is alike.
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
