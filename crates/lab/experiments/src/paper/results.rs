//! Claims beside what was measured on each ground.

use super::{Claim, ClaimKind, Finding, Findings, Ground, MeasuredValue, Reproducibility};

/// A value that was measured on a ground.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundResult {
    /// The value.
    pub value: MeasuredValue,
    /// The values by seed, in the claim's unit, where it was measured with several.
    pub by_seed: Vec<f64>,
    /// Whether models take part, or programs that stand in for some that do not live on.
    pub is_partial: bool,
}

/// A claim, and the measured values.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// The claim.
    pub claim: Claim,
    /// The claim's kind.
    pub kind: ClaimKind,
    /// The value with models; `None` if there is none.
    pub models: Option<GroundResult>,
    /// The value with the corpus' programs; `None` where they were not run, or have no part in it.
    pub corpus: Option<GroundResult>,
}

impl ClaimResult {
    /// The value on a ground.
    #[must_use]
    pub fn on(&self, ground: Ground) -> Option<&GroundResult> {
        match ground {
            Ground::Models => self.models.as_ref(),
            Ground::Corpus => self.corpus.as_ref(),
        }
    }

    /// The better ground, of those that ran: the corpus, unless models take part there too.
    #[must_use]
    pub fn better_ground(&self) -> Ground {
        match &self.corpus {
            Some(found) if !found.is_partial => Ground::Corpus,
            _ => Ground::Models,
        }
    }

    /// Whether the value on a ground lies in the band; `None` without a value or a band.
    #[must_use]
    pub fn in_band(&self, ground: Ground) -> Option<bool> {
        self.claim.holds(&self.on(ground)?.value)
    }

    /// The number of seeds whose values on a ground lie in the band; `None` without a band, or
    /// without values by seed.
    #[must_use]
    pub fn seeds_in_band(&self, ground: Ground) -> Option<usize> {
        let by_seed = &self.on(ground)?.by_seed;
        self.in_band(ground).filter(|_| !by_seed.is_empty())?;
        let values = by_seed.iter().map(|value| MeasuredValue::Number(*value));
        Some(values.filter(|value| self.claim.holds(value) == Some(true)).count())
    }
}

/// Every claim of a paper (such as `lfoc`) with what was found on models and on the corpus, and
/// then the other values.
#[must_use]
pub fn rows(
    paper: &str,
    claims: Vec<Claim>,
    models: Findings,
    corpus: Findings,
) -> Vec<ClaimResult> {
    let (mut models, mut corpus) = (models.0, corpus.0);
    let mut rows: Vec<ClaimResult> = claims
        .into_iter()
        .map(|claim| {
            let [models, corpus] = [&mut models, &mut corpus]
                .map(|found| taken(found, &claim.item, &claim.case).map(result));
            ClaimResult { kind: ClaimKind::of_claim(paper, &claim), claim, models, corpus }
        })
        .collect();
    rows.extend(models.into_iter().map(|found| {
        let corpus = taken(&mut corpus, &found.item, &found.case).map(result);
        ClaimResult { corpus, ..unclaimed(&found, Ground::Models) }
    }));
    rows.extend(corpus.iter().map(|found| unclaimed(found, Ground::Corpus)));
    rows
}

/// Takes out the finding of this item and case.
fn taken(findings: &mut Vec<Finding>, item: &str, case: &str) -> Option<Finding> {
    let place = findings.iter().position(|found| found.item == item && found.case == case)?;
    Some(findings.remove(place))
}

fn result(found: Finding) -> GroundResult {
    GroundResult { value: found.value, by_seed: found.by_seed, is_partial: found.is_partial }
}

/// The row of a value for which the paper has none.
fn unclaimed(found: &Finding, ground: Ground) -> ClaimResult {
    let measured = Some(result(found.clone()));
    let (models, corpus) = match ground {
        Ground::Models => (measured, None),
        Ground::Corpus => (None, measured),
    };
    let claim = Claim {
        item: found.item.clone(),
        case: found.case.clone(),
        unit: found.unit.clone(),
        published: String::new(),
        low: String::new(),
        high: String::new(),
        reproducible: Reproducibility::No,
        why: String::new(),
    };
    ClaimResult { claim, kind: ClaimKind::Outcome, models, corpus }
}

#[cfg(test)]
mod tests {
    use super::super::{ClaimName, claims};
    use super::*;

    const CLAIMED: &str = "item,case,unit,published,low,high,reproducible,why\n\
         F,a,percent,5,4,6,shape,w\nF,b,text,x,x,x,yes,w\nF,c,percent,5,,,no,w\n";

    const A: ClaimName = ClaimName { item: "F", case: "a" };
    const B: ClaimName = ClaimName { item: "F", case: "b" };
    const C: ClaimName = ClaimName { item: "F", case: "c" };

    fn one(a: f64) -> Findings {
        let mut findings = Findings::default();
        findings.add(A, a);
        findings.add_text(B, "x");
        findings.add(C, a);
        findings
    }

    fn verdict(row: &ClaimResult, ground: Ground) -> (Option<bool>, Option<usize>) {
        (row.in_band(ground), row.seeds_in_band(ground))
    }

    /// Each seed has its own verdict, and text has no seeds.
    #[test]
    fn each_seed_is_held_to_the_band() {
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), one(7.0), one(6.0)]);
        let rows = rows("none", claims(CLAIMED).expect("claims"), findings, Findings::default());
        assert_eq!(rows[0].models.as_ref().expect("a value").by_seed, [5.0, 7.0, 6.0]);
        assert_eq!(verdict(&rows[0], Ground::Models), (Some(true), Some(2)));
        assert_eq!(verdict(&rows[1], Ground::Models), (Some(true), None));
        assert_eq!(rows[2].models.as_ref().expect("a value").by_seed.len(), 3);
        assert_eq!(verdict(&rows[2], Ground::Models), (None, None));
        // A value that one of the seeds lacks has no values by seed.
        let mut findings = one(5.0);
        findings.note_seeds(&[one(5.0), Findings::default()]);
        assert!(findings.0.iter().all(|finding| finding.by_seed.is_empty()));
    }

    /// Each ground has its own verdict; the corpus is the better one wherever it has a value
    /// without models, whatever the value.
    #[test]
    fn each_ground_is_held_to_the_band() {
        let mut corpus = Findings::default();
        corpus.add(A, 7.0);
        corpus.add_text(B, "x");
        corpus.add_beside("F", "only there", "ways", Some(1.0));
        corpus.mark_partial(|found| found.case == B.case);
        let rows = rows("none", claims(CLAIMED).expect("claims"), one(5.0), corpus);
        assert_eq!(verdict(&rows[0], Ground::Models), (Some(true), None));
        assert_eq!(verdict(&rows[0], Ground::Corpus), (Some(false), None));
        assert_eq!(verdict(&rows[1], Ground::Corpus), (Some(true), None));
        let better: Vec<Ground> = rows.iter().map(ClaimResult::better_ground).collect();
        let [models, corpus] = Ground::ALL;
        assert_eq!(better, [corpus, models, models, corpus]);
        assert_eq!((rows[3].claim.case.as_str(), &rows[3].models), ("only there", &None));
    }
}
