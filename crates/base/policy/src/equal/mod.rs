//! `equal`: every program has the same number of ways; where it does not come out even, the first
//! ones have one more. If there are more programs than clusters, the programs are dealt out in
//! turn.

use fairways_core::{Action, Event, Policy, Time};

use crate::running::RunningPrograms;
use crate::split::{Stack, evenly};
use crate::table::{Descriptor, make};

/// `equal`, in the table of policies.
pub(crate) const POLICY: Descriptor =
    Descriptor::new::<()>("equal", "the same number of ways for every program", &|settings| {
        make((), |()| Equal::default(), settings)
    });

/// The `equal` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Equal {
    running: RunningPrograms,
}

impl Policy for Equal {
    fn name(&self) -> &'static str {
        "equal"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if !self.running.update_programs(event) {
            return;
        }
        self.running.plan(act, |llc, programs, partition, _| {
            let most = llc.max_clusters();
            let clusters = u32::try_from(programs.len()).map_or(most, |count| count.min(most));
            let mut stack = Stack::new(llc);
            for ways in evenly(llc.ways.get(), clusters) {
                partition.add_cluster(stack.next(ways));
            }
            partition.place_all(programs.iter().map(|program| program.app), 0..=clusters - 1);
            "the same number of ways for every program"
        });
    }
}
