//! Whether the processor's counters count what they should.

use fairways_daemon::implausible_counts;
use fairways_doctor::{Finding, FindingState};

/// The finding's id, and why it matters.
pub(super) const PLAUSIBLE: (&str, &str) = (
    "plausible-counts",
    "policies decide by these counts, and a wrong encoding counts something else",
);

/// Counts a known loop, for some 20 ms.
pub(super) fn check() -> Finding {
    let (id, why) = PLAUSIBLE;
    match implausible_counts().as_deref() {
        None => {
            let found = "nothing can be counted".to_owned();
            let remedy = Some("see pmu and perf-permission".to_owned());
            Finding { id, state: FindingState::Unknown, found, why, remedy }
        }
        Some([]) => {
            let found = "a known loop is counted as expected".to_owned();
            Finding { id, state: FindingState::Ok, found, why, remedy: None }
        }
        Some(odd) => {
            let remedy =
                Some("report this output with a copy by `fairways collect`; until then use --policy equal or static, with --counters none".to_owned());
            Finding { id, state: FindingState::Limited, found: odd.join("; "), why, remedy }
        }
    }
}
