//! CASC with stores counted as references of the L2, an experiment.
//!
//! On the T1 every store goes through the L1 and is a reference of the L2, which seldom misses.
//! Profiles of real programs lack those that hit the L1, so that their misses per 100 references
//! are higher than the thresholds of CASC are made for. Here these stores, as many as the profile's
//! loads and stores imply, are added to what CASC counts; the chip runs as without.

use fairways_core::{Action, CoRun, Event, Policy, Time};
use fairways_policy::casc::Casc;

/// CASC, and the stores of every program that hit its L1, per 1000 instructions, by its number.
pub(super) struct StoreCounting {
    pub(super) casc: Casc,
    pub(super) stores: Vec<f64>,
}

impl StoreCounting {
    /// The stores of a window.
    fn stores(&self, together: &CoRun) -> u64 {
        let each = together.threads.iter().map(|ran| {
            let instructions = ran.counters.instructions.unwrap_or(0) as f64;
            let per_kilo = self.stores.get(ran.thread.app.0 as usize).unwrap_or(&0.0);
            instructions * per_kilo / 1000.0
        });
        whole(each.sum())
    }
}

impl Policy for StoreCounting {
    fn name(&self) -> &'static str {
        self.casc.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        match event {
            Event::RanTogether(together) => {
                let mut together = together.clone();
                let stores = self.stores(&together);
                let references = &mut together.group.llc_references;
                *references = references.map(|references| references + stores);
                self.casc.handle(at, &Event::RanTogether(together), act);
            }
            other => self.casc.handle(at, other, act),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "stores of a window are far below 2^64, and not negative"
)]
fn whole(value: f64) -> u64 {
    value as u64
}
