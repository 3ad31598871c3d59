//! Rows beside the claims': the same cases under the other stop of a Receiver, or on other grounds.

use super::super::{ClaimKind, DCAT, Findings, claims};

const PRINTED: &str = "as printed in §3.4";

/// Adds the results under the stop that §3.4 prints (decision dCat 19), and how many outcomes lie
/// in their bands under either stop. `once` has the results that do not depend on the stop.
pub(super) fn compare(
    default: &Findings,
    printed: &Findings,
    once: &Findings,
    beside: &mut Findings,
) {
    let all = claims(DCAT).expect("the data of this project");
    // Figure 8 has rows with both stops of its own.
    let others = printed.0.iter().filter(|finding| finding.item != "Figure 8");
    beside.add_ground(&all, others, PRINTED);
    for (name, own) in [("while IPC improves", default), (PRINTED, printed)] {
        let outcomes =
            all.iter().filter(|claim| ClaimKind::of_claim("dcat", claim) == ClaimKind::Outcome);
        let verdicts = outcomes.filter_map(|claim| {
            let mut found = own.0.iter().chain(&once.0);
            claim.holds(
                &found
                    .find(|finding| finding.item == claim.item && finding.case == claim.case)?
                    .value,
            )
        });
        let verdicts: Vec<bool> = verdicts.collect();
        let within = verdicts.iter().filter(|within| **within).count();
        for (what, count) in [("in band", within), ("judged", verdicts.len())] {
            let case = format!("outcomes {what}, {name}");
            beside.add_beside("Both stops", &case, "count", Some(count as f64));
        }
    }
}
