//! Which events are counted together.

use std::io;

use rustix::io::Errno;

use super::events::{Encoding, Event, Field};
use super::part::{Layout, Part};
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
    pub(super) lost: Vec<(Field, String)>,
}

/// Groups of at most `beside` events beside instructions and cycles, which are in each; so the ratios that policies want are of one
/// time. With `beside` 0, each event alone.
fn plan(events: &[Event], beside: usize) -> Layout {
    let pair = |event: &Event| (event.field, event.encoding);
    if beside == 0 {
        return events.iter().map(|event| vec![pair(event)]).collect();
    }
    let (shared, others): (Vec<&Event>, Vec<&Event>) =
        events.iter().partition(|event| matches!(event.field, Field::Instructions | Field::Cycles));
    let shared: Vec<(Field, Encoding)> = shared.into_iter().map(pair).collect();
    if others.is_empty() {
        return if shared.is_empty() { Vec::new() } else { vec![shared] };
    }
    let group = |chunk: &[&Event]| {
        shared.iter().copied().chain(chunk.iter().map(|event| pair(event))).collect()
    };
    others.chunks(beside).map(group).collect()
}

/// Finds out, on the calling thread, which events and groups the kernel takes.
pub(super) fn fit(events: &[Event]) -> Fitted {
    let open = |event: &Event, user_only| {
        sys::open(event.encoding, Whom::Thread(0), None, user_only).map(drop)
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
    let held = |layout: &Layout| match Part::open(layout, Whom::Thread(0), user_only) {
        Err(error) => !trouble::is(&error, Errno::INVAL),
        Ok(_) => true,
    };
    let smaller = (1..=BESIDE).rev().map(|beside| plan(&taken, beside)).find(held);
    Fitted { layout: smaller.unwrap_or_else(|| plan(&taken, 0)), user_only, lost }
}

#[cfg(test)]
mod tests {
    use super::super::events;
    use super::*;

    #[test]
    fn instructions_and_cycles_are_in_each_group_and_no_group_is_too_large() {
        for chosen in events::all() {
            let layout = plan(&chosen.events, BESIDE);
            for event in &chosen.events {
                let held = layout
                    .iter()
                    .filter(|group| group.contains(&(event.field, event.encoding)))
                    .count();
                let everywhere = matches!(event.field, Field::Instructions | Field::Cycles);
                assert_eq!(held, if everywhere { layout.len() } else { 1 }, "{}", event.name);
            }
            assert!(layout.len() <= 2 && layout.iter().all(|group| group.len() <= 5));
            assert_eq!(plan(&chosen.events, 0).len(), chosen.events.len());
        }
        assert!(plan(&[], BESIDE).is_empty());
    }
}
