//! What programs do at their best, which slowdowns refer to.

use fairways_chip::Chip;
use fairways_core::{Action, Event, Policy, Time, run};
use rayon::prelude::*;

use super::machine::Running;
use super::settings::{Checked, On};

/// What each program did at its best, for as long as a run took.
pub(super) enum Best {
    /// The machine knows.
    Known,
    /// The instructions that each ran by itself.
    Alone(Vec<u64>),
    /// The user had no patience for that.
    Unknown,
}

impl Best {
    /// For a run that ended at `end`. On a chip every program is run by itself for it, unless the user
    /// has seen enough.
    pub(super) fn new(checked: &Checked, end: Time, interrupted: bool) -> Self {
        match &checked.on {
            On::Model { .. } => Self::Known,
            On::Chip(_) if interrupted => Self::Unknown,
            On::Chip(world) => {
                let alone = |job: &fairways_chip::Job| {
                    let chip = Chip::new(world.settings, [job.clone()]);
                    let mut chip = chip.expect("a chip on which they run together");
                    chip.stop_at(end);
                    run(&mut chip, &mut Nothing);
                    chip.account(0).instructions
                };
                Self::Alone(checked.chip_jobs().par_iter().map(alone).collect())
            }
        }
    }

    /// How many times slower than at its best each program ran; NaN where that is not known.
    pub(super) fn slowdowns(&self, machine: &Running, jobs: usize) -> Vec<f64> {
        let slowdown = |job: usize| match (machine, self) {
            (Running::Model(model), _) => {
                let (ran, best) = model.progress(job);
                ran / best
            }
            (Running::Chip(chip), Self::Alone(alone)) => {
                // One that runs nothing even by itself is not slowed down.
                let (alone, here) = (alone[job], chip.account(job).instructions);
                if alone == 0 { 1.0 } else { alone as f64 / here as f64 }
            }
            (Running::Chip(_), Self::Known | Self::Unknown) => f64::NAN,
        };
        (0..jobs).map(slowdown).collect()
    }
}

/// A policy that does nothing.
struct Nothing;

impl Policy for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn handle(&mut self, _: Time, _: &Event, _: &mut dyn FnMut(Action<'_>)) {}
}
