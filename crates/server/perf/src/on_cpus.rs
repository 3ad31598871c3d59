//! Events of whole CPUs, to be read by a program in the kernel.

use fairways_core::{Counter, CpuSet};

use std::os::fd::{AsFd as _, OwnedFd};

use super::events::{Event, ProcessorEvents};
use super::sys::{self, Scope};

/// An event that counts on a CPU, whatever runs there.
#[derive(Debug)]
pub struct CpuEvent {
    /// The CPU.
    pub cpu: u32,
    /// The counter.
    pub field: Counter,
    /// Its descriptor.
    pub event: OwnedFd,
}

/// The counters that scheduling policies use. They fit into one group on every processor with a
/// table: instructions and cycles have their own counters on most, and three others are on the
/// general ones.
const WANTED: [Counter; 5] = [
    Counter::Instructions,
    Counter::Cycles,
    Counter::LlcMisses,
    Counter::LlcReferences,
    Counter::StallsLlcMiss,
];

/// Opens the events on these CPUs, in one group per CPU, so that they count at the same times.
/// Events that the kernel refuses are missing: all of them, where there is no PMU.
#[must_use]
pub fn open(chosen: &ProcessorEvents, cpus: &CpuSet) -> Vec<CpuEvent> {
    let wanted: Vec<&Event> = WANTED
        .iter()
        .filter_map(|field| chosen.events.iter().find(|event| event.field == *field))
        .collect();
    cpus.iter().flat_map(|cpu| group(&wanted, cpu)).collect()
}

fn group(events: &[&Event], cpu: u32) -> Vec<CpuEvent> {
    let mut group: Vec<CpuEvent> = Vec::new();
    let Ok(number) = i32::try_from(cpu) else { return group };
    for event in events {
        let leader = group.first().map(|leader| leader.event.as_fd());
        if let Ok(opened) = sys::open(event.encoding, Scope::Cpu(number), leader, false, 0) {
            group.push(CpuEvent { cpu, field: event.field, event: opened });
        }
    }
    if let Some(leader) = group.first()
        && sys::enable(&leader.event).is_err()
    {
        group.clear();
    }
    group
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::events::Encoding;

    /// Two of the kernel's software events stand in for the counters, with one that no kernel has.
    #[test]
    fn what_the_kernel_has_is_one_group() {
        const SOFTWARE: u32 = 1;
        let event = |field, config| Event {
            field,
            name: "a test's",
            encoding: Encoding { kind: SOFTWARE, config },
        };
        let events = vec![
            event(Counter::Instructions, 0),
            event(Counter::Cycles, 1 << 40),
            event(Counter::LlcMisses, 0),
        ];
        let source = "include/uapi/linux/perf_event.h";
        let chosen = ProcessorEvents {
            name: "a test's",
            source,
            events,
            lost: Vec::new(),
            alone: Vec::new(),
        };
        let opened = open(&chosen, &CpuSet::from_iter([0]));
        if opened.is_empty() {
            // This user may not count events of a CPU.
            assert!(sys::open(chosen.events[0].encoding, Scope::Cpu(0), None, false, 0).is_err());
            return;
        }
        let fields: Vec<Counter> = opened.iter().map(|of| of.field).collect();
        assert_eq!(fields, [Counter::Instructions, Counter::LlcMisses]);
        let counted = || sys::read(&opened[0].event, 2).unwrap().values;
        let (from, began) = (counted(), std::time::Instant::now());
        while counted() <= from {
            assert!(began.elapsed().as_secs() < 10, "the CPU's clock does not go on");
        }
        assert!(open(&chosen, &CpuSet::from_iter([8000])).is_empty());
    }
}
