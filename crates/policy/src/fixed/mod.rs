//! `static`: every program that was promised ways ([`Wish::baseline_ways`]) owns exactly those,
//! whatever it or its neighbours do; the yardstick of dCat §5. Programs that were promised
//! nothing divide what is left evenly, and so do, when more was promised than there is, those
//! whose promise came too late. Ways that nobody was promised and nobody is left to use stay
//! empty.
//!
//! [`Wish::baseline_ways`]: fairways_core::Wish::baseline_ways

use alloc::vec::Vec;

use fairways_core::{Action, AppId, Event, Llc, Partition, Policy};

use crate::office::{Office, Program};
use crate::split::{Stack, evenly};

/// The `static` policy; it has no parameters.
#[derive(Clone, Debug, Default)]
pub struct Static {
    office: Office,
}

impl Policy for Static {
    fn name(&self) -> &'static str {
        "static"
    }

    fn handle(&mut self, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        if self.office.take(event).is_some() {
            self.office.plan(act, promised);
        }
    }
}

fn promised(llc: &Llc, programs: &[Program], partition: &mut Partition) -> &'static str {
    let wanted = |program: &Program| program.wish.baseline_ways.map(|ways| ways.max(llc.unit()));
    let fits = |ways: u32, clusters: u32| {
        let promises = || programs.iter().filter_map(wanted);
        promises().map(u64::from).sum::<u64>() <= u64::from(ways)
            && promises().count() <= clusters as usize
    };
    let all_promised = programs.iter().all(|program| wanted(program).is_some());
    let (mut free, mut clusters) = (llc.ways.get(), llc.clos.max(1));
    let everyone_fits = fits(free, clusters);
    if !(all_promised && everyone_fits) {
        // Somebody will divide what is left: keep a cluster for them.
        free -= llc.unit().min(free);
        clusters -= 1;
    }

    let mut stack = Stack::new(llc);
    let mut rest: Vec<AppId> = Vec::new();
    for program in programs {
        match wanted(program) {
            Some(ways) if ways <= free && clusters > 0 => {
                let cluster = partition.add_cluster(stack.next(ways));
                partition.place(program.app, cluster);
                free -= ways;
                clusters -= 1;
            }
            _ => rest.push(program.app),
        }
    }
    if let Ok(count @ 1..) = u32::try_from(rest.len()) {
        let first = u32::try_from(partition.masks().len()).unwrap_or(u32::MAX);
        let free = free + llc.unit().min(llc.ways.get());
        let clusters = count.min(clusters + 1).min(free / llc.unit()).max(1);
        for ways in evenly(free, clusters) {
            partition.add_cluster(stack.next(ways));
        }
        for (app, cluster) in rest.into_iter().zip((0..clusters).cycle()) {
            partition.place(app, first + cluster);
        }
    }
    match (all_promised, everyone_fits) {
        (true, true) => "the ways that each program was promised",
        (false, true) => "the ways promised, and an even share of the rest",
        (_, false) => "more was promised than there is; the last promises share the rest",
    }
}
