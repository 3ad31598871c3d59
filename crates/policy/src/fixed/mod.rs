//! `static`: every program that was promised ways ([`Wish::baseline_ways`]) owns exactly those,
//! whatever it or its neighbours do; the yardstick of dCat §5. Programs that were promised nothing
//! divide what is left evenly, and so do those whose promise does not fit beside the ones before
//! it and the least cluster that is kept for whoever divides. A promise below the least mask is
//! raised to it. Ways that nobody was promised and nobody is left to use stay empty.
//!
//! [`Wish::baseline_ways`]: fairways_core::Wish::baseline_ways

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Event, Llc, Partition, Policy, Time};

use crate::announce::{self, Announcer};
use crate::program::RunningProgram;
use crate::running::RunningPrograms;
use crate::split::{Stack, evenly};
use crate::table::{Descriptor, OwnerRequest, make};
use crate::words;

/// `static`, in the table of policies.
pub(crate) const POLICY: Descriptor = Descriptor {
    honours: &[OwnerRequest::Baselines],
    ..Descriptor::new::<()>("static", "the ways that each program was promised", |given| {
        make((), |()| Static::default(), given)
    })
};

/// The `static` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Static {
    running: RunningPrograms,
}

impl Policy for Static {
    fn name(&self) -> &'static str {
        "static"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.running.update_promises(event).is_some() {
            self.running.plan(act, promised);
        }
    }
}

fn promised(
    llc: &Llc,
    programs: &[RunningProgram],
    partition: &mut Partition,
    announcer: &mut Announcer<'_>,
) -> &'static str {
    let wanted =
        |program: &RunningProgram| program.wish.baseline_ways.map(|ways| ways.max(llc.min_ways()));
    let total: u64 = programs.iter().filter_map(wanted).map(u64::from).sum();
    let all_promised = programs.iter().all(|program| wanted(program).is_some());
    let all_fit = total <= u64::from(llc.ways.get()) && programs.len() <= llc.clos as usize;
    let (mut free, mut clusters) = (llc.ways.get(), llc.clos.max(1));
    if !(all_promised && all_fit) {
        // Somebody will divide what is left: keep a cluster for them.
        free -= llc.min_ways();
        clusters -= 1;
    }

    let mut stack = Stack::new(llc);
    let mut rest: Vec<AppId> = Vec::new();
    let mut broken = false;
    for program in programs {
        match wanted(program) {
            Some(ways) if ways <= free && clusters > 0 => {
                announcer.announce_class(
                    program.app,
                    "promised",
                    "ways of its own were promised to it",
                );
                announcer.announce_numbers(
                    program.app,
                    [words::BASELINE],
                    [announce::raw_ways(ways)],
                );
                let cluster = partition.add_cluster(stack.next(ways));
                partition.place(program.app, cluster);
                free -= ways;
                clusters -= 1;
            }
            promise => {
                broken |= promise.is_some();
                let reason = if promise.is_some() {
                    "what was promised to it does not fit beside the others"
                } else {
                    "no ways were promised to it"
                };
                announcer.announce_class(program.app, "sharing", reason);
                rest.push(program.app);
            }
        }
    }
    if let Ok(count @ 1..) = u32::try_from(rest.len()) {
        let first = u32::try_from(partition.clusters().len()).unwrap_or(u32::MAX);
        let free = free + llc.min_ways();
        let clusters = count.min(clusters + 1).min(free / llc.min_ways());
        for ways in evenly(free, clusters) {
            partition.add_cluster(stack.next(ways));
        }
        partition.place_all(rest, first..=first + clusters - 1);
    }
    match (broken, all_promised) {
        (true, _) => "more was promised than fits: who was promised too much shares the rest",
        (false, true) => "the ways that each program was promised",
        (false, false) => "the ways promised, and an even share of the rest",
    }
}
