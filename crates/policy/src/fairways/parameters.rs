//! The parameters of `fairways`.

use super::objective::Objective;
use crate::parameter::parameters;
use crate::slowdown::Reference;

parameters! {
    /// The parameters of `fairways`.
    pub struct Parameters {
        /// What a plan is to make best: `unfairness`, `stp` or `max-slowdown`.
        objective: Objective = Objective::Unfairness, "", "LFOC §2.1";

        /// What slowdown is relative to: `best` or `whole-cache`.
        reference: Reference = Reference::Best, "", "LFOC, equation 2 (decision LFOC 1)";

        /// Clusterings that a decision tries at most; the best so far is the plan.
        trials: u32 = 20_000, "clusterings", "ours", least 1;
    }
}
