//! `stock`: no partitioning, what a kernel that is told nothing does. Every program may fill
//! every way. The yardstick of every comparison in LFOC §5.

use fairways_core::{Action, Event, Policy, Time};

use crate::running::{Running, everybody};
use crate::table::{Decides, Descriptor, make};

/// `stock`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    decides: Decides::Nothing,
    ..Descriptor::new::<()>("stock", "one cluster with every way: no partitioning", |given| {
        make((), |()| Stock::default(), given)
    })
};

/// The `stock` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Stock {
    running: Running,
}

impl Policy for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.take_others(event) {
            self.running.plan(act, |llc, programs, partition, _| {
                everybody(llc, programs, partition);
                "no partitioning"
            });
        }
    }
}
