//! The operating system's own thread.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::Time;

use crate::job::Job;
use crate::phase::Phase;
use crate::program::{Accesses, Pattern, PhaseLength, SimulatedProgram};
use crate::settings::Scheduling;

/// How long the system's thread sleeps, in twentieths of a quantum, and how long it runs then.
const NAPS: [u32; 5] = [19, 43, 31, 61, 23];
const BURST: Duration = Duration::from_micros(500);

impl Scheduling {
    /// The system's own thread, if it has one; it starts after the first quantum.
    pub(crate) fn system(&self) -> Option<Job> {
        let accesses = Accesses::Pattern(Pattern::Busy);
        let burst = Arc::new(SimulatedProgram::new(accesses, 1.0, 1.0));
        let phases = NAPS.into_iter().flat_map(|nap| {
            let nap =
                Phase { program: None, length: Some(PhaseLength::Time(self.quantum * nap / 20)) };
            let program = Some(Arc::clone(&burst));
            let burst = BURST.min(self.quantum / 40);
            [nap, Phase { program, length: Some(PhaseLength::Time(burst)) }]
        });
        let (phases, at) = (phases.collect(), Time::ZERO.after(self.quantum));
        self.system.then_some(Job { phases, at, system: true, ..Job::default() })
    }
}
