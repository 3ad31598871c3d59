//! Which events are counted together.

use fairways_core::Counter;

use std::io;

use rustix::io::Errno;

use super::events::{Chosen, Encoding, Event};
use super::part::{How, Layout, Part};
use super::sys::{self, Whom};
use super::trouble;

/// Events beside instructions and cycles in a group at most.
///
/// The smallest processors of the tables have four general counters a hyper-thread, and the kernel's watchdog may hold the fixed one
/// for cycles: then a group needs a general one for cycles as well, on AMD two.
const BESIDE: usize = 3;

/// Events that can be counted here.
pub(super) struct Fitted {
    pub(super) layout: Layout,
    /// Whether the kernel's part of a program's work is left out, because only that is allowed.
    pub(super) user_only: bool,
    /// What can't, and why.
    pub(super) lost: Vec<(Counter, String)>,
    taken: Vec<Event>,
    alone: Vec<Counter>,
    beside: usize,
}

impl Fitted {
    /// Puts fewer events into a group, where one is never put on counters as it is: whether that was possible.
    pub(super) fn shrink(&mut self) -> bool {
        let before = self.layout.len();
        while self.layout.len() == before && self.beside > 0 {
            self.beside -= 1;
            self.layout = plan(&self.taken, self.beside, &self.alone);
        }
        self.layout.len() > before
    }
}

/// Descriptors that a thread costs, or a cgroup on a CPU, where the kernel takes every event.
pub(super) fn cost(chosen: &Chosen) -> usize {
    plan(&chosen.events, BESIDE, &chosen.alone).iter().map(Vec::len).sum()
}

/// Groups of at most `beside` events beside instructions and cycles, which are in each; so the ratios that policies want are of one
/// time. Those that are to be `alone` are the only ones of theirs. With `beside` 0, each event alone.
fn plan(events: &[Event], beside: usize, alone: &[Counter]) -> Layout {
    let pair = |event: &Event| (event.field, event.encoding);
    if beside == 0 {
        return events.iter().map(|event| vec![pair(event)]).collect();
    }
    let (shared, others): (Vec<&Event>, Vec<&Event>) = events
        .iter()
        .partition(|event| matches!(event.field, Counter::Instructions | Counter::Cycles));
    let shared: Vec<(Counter, Encoding)> = shared.into_iter().map(pair).collect();
    if others.is_empty() {
        return if shared.is_empty() { Vec::new() } else { vec![shared] };
    }
    let group = |chunk: &[&Event]| {
        shared.iter().copied().chain(chunk.iter().map(|event| pair(event))).collect()
    };
    let (alone, others): (Vec<&Event>, Vec<&Event>) =
        others.into_iter().partition(|event| alone.contains(&event.field));
    // As many groups as there must be, and those as small as can be.
    let groups = others.len().div_ceil(beside);
    let others = others.chunks(others.len().div_ceil(groups.max(1)).max(1));
    alone.chunks(1).chain(others).map(group).collect()
}

/// Finds out, on the calling thread, which events and groups the kernel takes.
pub(super) fn fit(chosen: &Chosen) -> Fitted {
    let events = &chosen.events;
    let open = |event: &Event, user_only| {
        sys::open(event.encoding, Whom::Thread(0), None, user_only, 0).map(drop)
    };
    let denied = |error: &io::Error| trouble::is(error, Errno::ACCESS);
    let is_denied = |event, user_only| open(event, user_only).is_err_and(|error| denied(&error));
    let user_only = events.iter().any(|event| is_denied(event, false) && !is_denied(event, true));
    let (mut taken, mut lost) = (Vec::new(), Vec::new());
    for event in events {
        match open(event, user_only) {
            Ok(()) => taken.push(*event),
            Err(error) => lost.push((event.field, trouble::line(&error))),
        }
    }
    let held = |layout: &Layout| match Part::open(
        layout,
        Whom::Thread(0),
        How { user_only, sampled: false },
    ) {
        Err(error) => !trouble::is(&error, Errno::INVAL),
        Ok(_) => true,
    };
    let planned = |beside| plan(&taken, beside, &chosen.alone);
    let beside = (1..=BESIDE).rev().find(|&beside| held(&planned(beside))).unwrap_or(0);
    Fitted { layout: planned(beside), user_only, lost, taken, alone: chosen.alone.clone(), beside }
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;

    #[test]
    fn instructions_and_cycles_are_in_each_group_and_no_group_is_too_large() {
        for chosen in events::all() {
            let layout = plan(&chosen.events, BESIDE, &chosen.alone);
            for event in &chosen.events {
                let held = layout
                    .iter()
                    .filter(|group| group.contains(&(event.field, event.encoding)))
                    .count();
                let everywhere = matches!(event.field, Counter::Instructions | Counter::Cycles);
                assert_eq!(held, if everywhere { layout.len() } else { 1 }, "{}", event.name);
            }
            assert!(layout.len() <= 3 && layout.iter().all(|group| group.len() <= 5));
            assert_eq!(layout.len() == 3, chosen.name == "Haswell", "{}", chosen.name);
            assert_eq!(plan(&chosen.events, 0, &chosen.alone).len(), chosen.events.len());
        }
        assert!(plan(&[], BESIDE, &[]).is_empty());
        // Five events in a group, but for those of two groups.
        let costs: Vec<usize> = events::all().iter().map(cost).collect();
        assert!(costs.iter().all(|cost| (4..=13).contains(cost)), "{costs:?}");
        assert!(costs.iter().min() < costs.iter().max());
    }

    #[test]
    fn on_haswell_no_group_needs_more_than_the_half_of_four_counters() {
        let cpu =
            events::Cpu { vendor: events::Vendor::Intel { family: 6, model: 0x3f }, hybrid: false };
        let chosen = events::for_cpu(&cpu);
        assert_eq!(chosen.name, "Haswell");
        for group in plan(&chosen.events, BESIDE, &chosen.alone) {
            // Instructions and cycles are on fixed counters, but for cycles if the watchdog has that one.
            let loads = group.iter().any(|&(field, _)| field == Counter::L1References);
            assert!(group.len() <= if loads { 3 } else { 4 }, "{group:?}");
        }
    }

    #[test]
    fn groups_become_smaller_until_every_event_is_alone() {
        for chosen in events::all() {
            let mut fitted = Fitted {
                layout: plan(&chosen.events, BESIDE, &chosen.alone),
                user_only: false,
                lost: Vec::new(),
                taken: chosen.events.clone(),
                alone: chosen.alone,
                beside: BESIDE,
            };
            let largest = |fitted: &Fitted| fitted.layout.iter().map(Vec::len).max();
            let mut before = largest(&fitted);
            while fitted.shrink() {
                assert!(largest(&fitted) <= before, "{}", chosen.name);
                before = largest(&fitted);
            }
            assert_eq!((before, fitted.layout.len()), (Some(1), chosen.events.len()));
        }
    }
}
