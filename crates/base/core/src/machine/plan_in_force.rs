//! The plan in force.

use crate::{Event, Partition, PartitionError, PlanId};

/// The plan in force on a machine that carries out every legal plan.
#[derive(Clone, Debug, Default)]
pub struct PlanInForce {
    /// The plan's number; `None` before the first plan.
    pub plan: Option<PlanId>,
    /// The partition; without a cluster before the first plan.
    pub partition: Partition,
}

impl PlanInForce {
    /// Puts a plan in force unless it breaks a rule: as `actual`, which has the levels of memory
    /// bandwidth that the machine's lever makes of the plan's. Returns the answer to it,
    /// and whether it is in force.
    pub fn carry_out(
        &mut self,
        plan: PlanId,
        actual: Partition,
        legal: Result<(), PartitionError>,
    ) -> (Event, bool) {
        if let Err(why) = legal {
            return (Event::Refused { plan, why }, false);
        }
        self.plan = Some(plan);
        self.partition.clone_from(&actual);
        (Event::Applied { plan, actual }, true)
    }
}
