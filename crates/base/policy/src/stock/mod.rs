//! `stock`: no partitioning, as in a kernel without a policy. Every program may fill every way.
//!
//! The experiments of LFOC §5 compare every policy with it.

use fairways_core::{Action, Event, Policy, Time};

use crate::running::{RunningPrograms, leave_unpartitioned};
use crate::table::{DecisionScope, Descriptor, make};

/// `stock`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    decides: DecisionScope::Nothing,
    ..Descriptor::new::<()>("stock", "one cluster with every way: no partitioning", &|settings| {
        make((), |()| Stock::default(), settings)
    })
};

/// The `stock` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    running: RunningPrograms,
}

impl Policy for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.update_programs(event) {
            self.running.plan(act, |llc, programs, partition, _| {
                leave_unpartitioned(llc, programs, partition);
                "no partitioning"
            });
        }
    }
}
