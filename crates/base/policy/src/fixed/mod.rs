//! `static`: every program that was promised ways ([`Wish::baseline_ways`]) has exactly those,
//! whatever it or its neighbours do. The experiments of dCat §5 compare with it.
//!
//! Programs without a promise divide the remaining ways evenly. So do programs whose promise does
//! not fit beside the promises before it and the least cluster that is kept for those that divide.
//! A promise below the least mask is raised to it. Ways that no program was promised stay empty if
//! no program is left to use them.
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
    ..Descriptor::new::<()>("static", "the ways that each program was promised", &|settings| {
        make((), |()| Static::default(), settings)
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

/// The ways promised to a program, at least as many as a mask must have.
fn promise(program: &RunningProgram, llc: &Llc) -> Option<u32> {
    program.wish.baseline_ways.map(|ways| ways.max(llc.min_ways()))
}

fn promised(
    llc: &Llc,
    programs: &[RunningProgram],
    partition: &mut Partition,
    announcer: &mut Announcer<'_>,
) -> &'static str {
    let total: u64 =
        programs.iter().filter_map(|program| promise(program, llc)).map(u64::from).sum();
    let all_promised = programs.iter().all(|program| program.wish.baseline_ways.is_some());
    let all_fit = total <= u64::from(llc.ways.get()) && programs.len() <= llc.clos as usize;
    let (mut free, mut clusters) = (llc.ways.get(), llc.clos.max(1));
    if !(all_promised && all_fit) {
        // Some programs will divide the remaining ways: keep a cluster for them.
        free -= llc.min_ways();
        clusters -= 1;
    }

    let mut stack = Stack::new(llc);
    let mut rest: Vec<AppId> = Vec::new();
    let mut is_broken = false;
    for program in programs {
        match promise(program, llc) {
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
                is_broken |= promise.is_some();
                let reason = if promise.is_some() {
                    "the ways promised to it do not fit beside the others"
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
    match (is_broken, all_promised) {
        (true, _) => {
            "more ways are promised than fit: programs whose promise does not fit share the rest"
        }
        (false, true) => "the ways that each program was promised",
        (false, false) => "the ways promised, and an even share of the rest",
    }
}
