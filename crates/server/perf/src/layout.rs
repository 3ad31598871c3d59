//! Which events are counted together.

use fairways_core::Counter;

use std::fs;
use std::io;

use rustix::io::Errno;

use super::events::{Encoding, Event, ProcessorEvents, is_shared};
use super::part::{CountedPart, Layout, OpenOptions};
use super::sys::{self, Scope};
use super::trouble;

/// The most events in a group, not counting instructions and cycles, beside the kernel's watchdog.
///
/// The smallest processors in the tables have four general counters per hyper-thread, and the
/// watchdog occupies the fixed one for cycles: then a group needs a general one for cycles as
/// well. AMD's have six, of which instructions and cycles take two.
const BESIDE_WATCHDOG: usize = 3;

/// The same where the watchdog is off. If others occupy a counter all the same, the group is never
/// on counters, and is made [smaller](Fitted::shrink).
const MOST_BESIDE: usize = 4;

fn beside() -> usize {
    let watchdog = fs::read_to_string("/proc/sys/kernel/nmi_watchdog");
    if watchdog.is_ok_and(|text| text.trim() == "0") { MOST_BESIDE } else { BESIDE_WATCHDOG }
}

/// The events that can be counted on this host.
pub(super) struct Fitted {
    pub(super) layout: Layout,
    /// Whether the kernel's part of a program's work is left out, as only the rest may be counted.
    pub(super) user_only: bool,
    /// The counters that are not available, and why.
    pub(super) lost: Vec<(Counter, String)>,
    accepted: Vec<Event>,
    alone: Vec<Counter>,
    beside: usize,
    /// The most that a group was to hold.
    beside_at_first: usize,
}

impl Fitted {
    /// Puts fewer events into each group, because one group is never put on counters as it is.
    /// Returns whether that was possible.
    pub(super) fn shrink(&mut self) -> bool {
        let before = self.layout.len();
        while self.layout.len() == before && self.beside > 0 {
            self.beside -= 1;
            self.layout = plan(&self.accepted, self.beside, &self.alone);
        }
        self.layout.len() > before
    }

    /// Whether other events occupy counters, so that groups were made smaller.
    pub(super) const fn is_crowded(&self) -> bool {
        self.beside < self.beside_at_first
    }
}

/// The groups where the kernel accepts every event, and its watchdog occupies a counter.
pub(super) fn expected(chosen: &ProcessorEvents) -> Layout {
    plan(&chosen.events, BESIDE_WATCHDOG, &chosen.alone)
}

const fn pair(event: &Event) -> (Counter, Encoding) {
    (event.field, event.encoding)
}

/// Groups of at most `beside` events in addition to instructions and cycles, which are in each
/// group, so that the ratios that policies want are from one time. Each event in `alone` gets a
/// group without other events. With `beside` 0, each event is by itself.
fn plan(events: &[Event], beside: usize, alone: &[Counter]) -> Layout {
    if beside == 0 {
        return events.iter().map(|event| vec![pair(event)]).collect();
    }
    let (shared, others): (Vec<&Event>, Vec<&Event>) =
        events.iter().partition(|event| is_shared(event.field));
    let shared: Vec<(Counter, Encoding)> = shared.into_iter().map(pair).collect();
    if others.is_empty() {
        return if shared.is_empty() { Vec::new() } else { vec![shared] };
    }
    let (alone, others): (Vec<&Event>, Vec<&Event>) =
        others.into_iter().partition(|event| alone.contains(&event.field));
    // As few groups as possible, and those as small as possible.
    let groups = others.len().div_ceil(beside);
    let others = others.chunks(others.len().div_ceil(groups.max(1)).max(1));
    alone
        .chunks(1)
        .chain(others)
        .map(|chunk| shared.iter().copied().chain(chunk.iter().map(|event| pair(event))).collect())
        .collect()
}

/// Finds out, on the calling thread, which events and groups the kernel accepts.
pub(super) fn fit(chosen: &ProcessorEvents) -> Fitted {
    let events = &chosen.events;
    let user_only = events.iter().any(|event| is_denied(event, false) && !is_denied(event, true));
    let (mut taken, mut lost) = (Vec::new(), Vec::new());
    for event in events {
        match try_open(event, user_only) {
            Ok(()) => taken.push(*event),
            Err(error) => lost.push((event.field, trouble::explain(&error))),
        }
    }
    let beside = (1..=beside())
        .rev()
        .find(|&beside| fits(&plan(&taken, beside, &chosen.alone), user_only))
        .unwrap_or(0);
    Fitted {
        layout: plan(&taken, beside, &chosen.alone),
        user_only,
        lost,
        accepted: taken,
        alone: chosen.alone.clone(),
        beside,
        beside_at_first: beside,
    }
}

/// Opens an event on the calling thread, and closes it.
fn try_open(event: &Event, user_only: bool) -> io::Result<()> {
    sys::open(event.encoding, Scope::Thread(0), None, user_only, 0).map(drop)
}

fn is_denied(event: &Event, user_only: bool) -> bool {
    try_open(event, user_only).is_err_and(|error| trouble::is(&error, Errno::ACCESS))
}

/// Whether each group of a layout fits on the processor.
fn fits(layout: &Layout, user_only: bool) -> bool {
    let options = OpenOptions { user_only, sampled: false };
    match CountedPart::open(layout, Scope::Thread(0), options) {
        Err(error) => !trouble::is(&error, Errno::INVAL),
        Ok(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;

    #[test]
    fn instructions_and_cycles_are_in_each_group_and_no_group_is_too_large() {
        for chosen in events::all() {
            let layout = plan(&chosen.events, BESIDE_WATCHDOG, &chosen.alone);
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
        assert!(plan(&[], BESIDE_WATCHDOG, &[]).is_empty());
        // Five events in one group, except on processors that need two groups.
        let costs: Vec<usize> = events::all().iter().map(crate::cost).collect();
        assert!(costs.iter().all(|cost| (4..=13).contains(cost)), "{costs:?}");
        assert!(costs.iter().min() < costs.iter().max());
    }

    #[test]
    fn without_the_watchdog_stalls_references_and_misses_are_in_one_group() {
        let wanted = [
            Counter::LlcReferences,
            Counter::LlcMisses,
            Counter::StallsL2Miss,
            Counter::StallsLlcMiss,
        ];
        for chosen in events::all() {
            let chosen = chosen.only(&wanted);
            assert_eq!(
                plan(&chosen.events, MOST_BESIDE, &chosen.alone).len(),
                1,
                "{}",
                chosen.name
            );
        }
    }

    #[test]
    fn on_haswell_no_group_needs_more_than_the_half_of_four_counters() {
        let cpu =
            events::Cpu { vendor: events::Vendor::Intel { family: 6, model: 0x3f }, hybrid: false };
        let chosen = events::for_cpu(&cpu);
        assert_eq!(chosen.name, "Haswell");
        for group in plan(&chosen.events, BESIDE_WATCHDOG, &chosen.alone) {
            // Instructions and cycles are on fixed counters, unless the watchdog occupies the one
            // for cycles.
            let loads = group.iter().any(|&(field, _)| field == Counter::L1References);
            assert!(group.len() <= if loads { 3 } else { 4 }, "{group:?}");
        }
    }

    #[test]
    fn groups_become_smaller_until_every_event_is_alone() {
        for chosen in events::all() {
            let mut fitted = Fitted {
                layout: plan(&chosen.events, BESIDE_WATCHDOG, &chosen.alone),
                user_only: false,
                lost: Vec::new(),
                accepted: chosen.events.clone(),
                alone: chosen.alone,
                beside: BESIDE_WATCHDOG,
                beside_at_first: BESIDE_WATCHDOG,
            };
            fn largest(fitted: &Fitted) -> Option<usize> {
                fitted.layout.iter().map(Vec::len).max()
            }
            let mut before = largest(&fitted);
            while fitted.shrink() {
                assert!(largest(&fitted) <= before, "{}", chosen.name);
                before = largest(&fitted);
            }
            assert_eq!((before, fitted.layout.len()), (Some(1), chosen.events.len()));
        }
    }
}
