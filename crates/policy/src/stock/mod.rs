//! `stock`: no partitioning, what a kernel that is told nothing does. Every program may fill
//! every way. The yardstick of every comparison in LFOC §5.

use fairways_core::{Action, Event, Policy, Time};

use crate::running::{Running, everybody};

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
