//! `equal`: every program owns the same number of ways, the first ones one more where it does
//! not come out even. With more programs than clusters they are dealt out in turn.

use fairways_core::{Action, Event, Policy};

use crate::office::Office;
use crate::split::{Stack, evenly};

/// The `equal` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Equal {
    office: Office,
}

impl Policy for Equal {
    fn name(&self) -> &'static str {
        "equal"
    }

    fn handle(&mut self, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.office.take(event).is_none() {
            return;
        }
        self.office.plan(act, |llc, programs, partition| {
            let most = llc.max_clusters();
            let clusters = u32::try_from(programs.len()).map_or(most, |count| count.min(most));
            let mut stack = Stack::new(llc);
            for ways in evenly(llc.ways.get(), clusters) {
                partition.add_cluster(stack.next(ways));
            }
            for (program, cluster) in programs.iter().zip((0..clusters).cycle()) {
                partition.place(program.app, cluster);
            }
            "the same number of ways for everybody"
        });
    }
}
