//! Which event of which processor counts what Fairways asks for.
//!
//! A processor's table names, for each [`Counter`], the event, its raw encoding and the file of Linux's
//! `tools/perf/pmu-events/arch` (vendors' own event lists) that it stands in. Counters that a processor has no event for are lost, and
//! the table says why. A processor without a table is counted by the kernel's generic events.

mod amd;
mod arm;
mod cpu;
mod generic;
mod intel;

use fairways_core::Counter;

pub use cpu::{Cpu, Vendor};

/// The counters that the processor counts. (`memory_bytes` is resctrl's, `cpu_nanos` the kernel's.)
pub const BY_PROCESSOR: [Counter; 8] = [
    Counter::Instructions,
    Counter::Cycles,
    Counter::L1References,
    Counter::LlcReferences,
    Counter::LlcMisses,
    Counter::StallsL2Miss,
    Counter::StallsLlcMiss,
    Counter::StallsStoreBuffer,
];

/// An event as perf_event_open(2) is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// `perf_event_attr.type`.
    pub kind: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
}

/// The event that counts a counter of Fairways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it counts.
    pub field: Counter,
    /// The event's name in the vendor's list.
    pub name: &'static str,
    /// How it is asked for.
    pub encoding: Encoding,
}

/// The events of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Whose table it is: the microarchitecture, or `generic events`.
    pub name: &'static str,
    /// Where the events are written down, under `tools/perf/pmu-events/arch` of Linux unless it says otherwise.
    pub source: &'static str,
    /// The events, at most one a counter, in [`BY_PROCESSOR`]'s order.
    pub events: Vec<Event>,
    /// The counters that can't be counted, and why.
    pub lost: Vec<(Counter, String)>,
    /// Fields whose events leave a hyper-thread few counters: nothing but instructions and cycles is counted with them at once.
    pub alone: Vec<Counter>,
}

impl Chosen {
    /// No events: whoever asks for these counts nothing, whatever the processor has.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            name: "no events",
            source: "",
            events: Vec::new(),
            lost: Vec::new(),
            alone: Vec::new(),
        }
    }
}

/// A processor's table, as it is written down.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    source: &'static str,
    kind: u32,
    /// See [`Chosen::alone`].
    alone: &'static [Counter],
    events: &'static [(Counter, &'static str, u64)],
    lost: &'static [(Counter, &'static str)],
}

impl Table {
    fn chosen(&self) -> Chosen {
        let event = |&(field, name, config): &(Counter, &'static str, u64)| Event {
            field,
            name,
            encoding: Encoding { kind: self.kind, config },
        };
        let mut events: Vec<Event> = self.events.iter().map(event).collect();
        events.sort_unstable_by_key(|event| event.field);
        let lost = self.lost.iter().map(|&(field, why)| (field, why.to_owned())).collect();
        Chosen { name: self.name, source: self.source, events, lost, alone: self.alone.to_vec() }
    }
}

/// `PERF_TYPE_RAW`: the vendor's own encoding.
const RAW: u32 = perf_event_open_sys::bindings::PERF_TYPE_RAW;

/// The events that count on `cpu`.
///
/// A hybrid processor has none: a task's events count on one kind of its cores only, and would tell too little without a word.
#[must_use]
pub fn for_cpu(cpu: &Cpu) -> Chosen {
    if cpu.hybrid {
        let why = "the processor's cores are of two kinds, and an event counts on one of them only";
        return Chosen {
            name: "hybrid",
            source: "/sys/bus/event_source/devices",
            events: Vec::new(),
            lost: BY_PROCESSOR.iter().map(|&field| (field, why.to_owned())).collect(),
            alone: Vec::new(),
        };
    }
    let table = match &cpu.vendor {
        Vendor::Intel { family, model } => intel::table(*family, *model),
        Vendor::Amd { family, model } => amd::table(*family, *model),
        Vendor::Arm { implementer, part } => arm::table(*implementer, *part),
        Vendor::Other(_) => None,
    };
    table.map_or_else(generic::events, |table| table.chosen())
}

/// Every table there is, for documentation.
#[must_use]
pub fn all() -> Vec<Chosen> {
    let tables = intel::TABLES.iter().chain(amd::TABLES).chain(arm::TABLES);
    tables.map(|table| table.chosen()).chain([generic::events()]).collect()
}

#[cfg(test)]
mod tests {
    use fairways_core::Counters;

    use super::*;

    #[test]
    fn every_table_says_of_every_field_either_how_it_is_counted_or_why_not() {
        for chosen in all() {
            for field in BY_PROCESSOR {
                let counted = chosen.events.iter().filter(|event| event.field == field).count();
                let lost = chosen.lost.iter().filter(|&&(lost, _)| lost == field).count();
                assert_eq!(counted + lost, 1, "{}: {}", chosen.name, field.name());
            }
            assert!(chosen.events.is_sorted_by_key(|event| event.field), "{}", chosen.name);
        }
    }

    #[test]
    fn no_table_counts_two_fields_by_one_event() {
        for chosen in all() {
            for (index, event) in chosen.events.iter().enumerate() {
                let twin = chosen.events[..index].iter().find(|e| e.encoding == event.encoding);
                assert_eq!(twin, None, "{}: {}", chosen.name, event.name);
            }
        }
    }

    #[test]
    fn each_field_has_a_place_of_its_own() {
        for field in BY_PROCESSOR {
            let mut counters = Counters::default();
            *counters.get_mut(field) = Some(7);
            let told = serde_json::to_value(counters).unwrap();
            assert_eq!(told[field.name()], 7, "{told}");
            assert_eq!(told.as_object().unwrap().values().filter(|v| !v.is_null()).count(), 1);
        }
    }
}
