//! The names by which code answers the claims of a paper.

/// A claim, by its item and case in a file of `claims/`. Only [`claims!`] makes them: experiments
/// report a value under such a name, so that the compiler knows every claim that they answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClaimName {
    /// Section, figure or table.
    pub(super) item: &'static str,
    /// The case within the item.
    pub(super) case: &'static str,
}

/// Declares the claims of a file: for each item, the name and the text of its cases. A name that
/// no code uses is a warning of the compiler; a claim that nothing answers here is called `_`.
macro_rules! claims {
    ($($item:literal { $($name:tt = $case:literal;)+ })+) => {
        $($(pub(in crate::paper) const $name: $crate::paper::ClaimName =
            $crate::paper::ClaimName { item: $item, case: $case };)+)+

        #[cfg(test)]
        pub(in crate::paper) const ALL: &[$crate::paper::ClaimName] =
            &[$($($crate::paper::ClaimName { item: $item, case: $case },)+)+];
    };
}

pub(super) use claims;

#[cfg(test)]
mod tests {
    use super::super::{
        BANDWIDTH, CACHE_FAIR, CASC, DCAT, FAIRWAYS, LFOC, LOCPART, bandwidth, cache_fair, casc,
        claims, dcat, fairways, lfoc, locpart,
    };
    use super::*;

    /// Checks that the claims of a file are the declared ones, each once; returns their number.
    fn compare(file: &str, declared: &[ClaimName]) -> usize {
        let rows = claims(file).unwrap();
        let mut rows: Vec<[&str; 2]> = rows.iter().map(|row| [&*row.item, &*row.case]).collect();
        let mut declared: Vec<[&str; 2]> =
            declared.iter().map(|claim| [claim.item, claim.case]).collect();
        rows.sort_unstable();
        declared.sort_unstable();
        assert_eq!(declared, rows);
        rows.len()
    }

    /// In both directions. `crates/fairways/tests/paper.rs` compares the files of the five papers
    /// with those that were set before anything was measured.
    #[test]
    fn the_declared_claims_are_those_of_the_files() {
        let papers = [
            (LFOC, lfoc::claims::ALL),
            (DCAT, dcat::claims::ALL),
            (CASC, casc::claims::ALL),
            (CACHE_FAIR, cache_fair::claims::ALL),
            (LOCPART, locpart::claims::ALL),
        ];
        let count: usize = papers.map(|(file, declared)| compare(file, declared)).iter().sum();
        assert_eq!(count, 338);
        compare(BANDWIDTH, bandwidth::claims::ALL);
        compare(FAIRWAYS, fairways::claims::ALL);
    }
}
