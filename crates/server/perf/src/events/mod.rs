//! Which event of which processor counts what Fairways needs.
//!
//! For each [`Counter`], a processor's table names the event, its raw encoding and its file in
//! Linux's `tools/perf/pmu-events/arch` (vendors' own event lists). For counters without an event
//! on that processor, the table states the reason. A processor without a table is counted by the
//! kernel's generic events.

mod amd;
mod arm;
mod cpu;
mod generic;
mod intel;

use fairways_core::Counter;

pub use cpu::{Cpu, Vendor};

/// The counters that the processor counts. (`memory_bytes` comes from resctrl, `cpu_nanos` from the
/// kernel.)
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

/// An event's encoding for perf_event_open(2).
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
    /// The counter.
    pub field: Counter,
    /// The event's name in the vendor's list.
    pub name: &'static str,
    /// Its encoding for perf_event_open(2).
    pub encoding: Encoding,
}

/// The events of a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessorEvents {
    /// The table's name: the microarchitecture, or `generic events`.
    pub name: &'static str,
    /// The event lists, under `tools/perf/pmu-events/arch` of Linux unless stated otherwise.
    pub source: &'static str,
    /// The events, at most one a counter, in [`BY_PROCESSOR`]'s order.
    pub events: Vec<Event>,
    /// The counters that are not available, and why.
    pub lost: Vec<(Counter, String)>,
    /// Counters whose events leave a hyper-thread few counters: only instructions and cycles are
    /// counted together with one of them.
    pub alone: Vec<Counter>,
}

impl ProcessorEvents {
    /// No events: nothing is counted, whatever the processor can count.
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

    /// Those of its events that count these counters. Instructions and cycles are always among
    /// them: windows end by instructions, and every view shows instructions per cycle.
    #[must_use]
    pub fn only(&self, counters: &[Counter]) -> Self {
        let mut chosen = self.clone();
        chosen.events.retain(|event| is_wanted(event.field, counters));
        chosen.lost.retain(|&(counter, _)| is_wanted(counter, counters));
        chosen
    }
}

fn is_wanted(counter: Counter, counters: &[Counter]) -> bool {
    is_shared(counter) || counters.contains(&counter)
}

/// Whether a counter is in every group, so that ratios are of one time.
pub(crate) const fn is_shared(counter: Counter) -> bool {
    matches!(counter, Counter::Instructions | Counter::Cycles)
}

/// A processor's table, as it is written down.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    source: &'static str,
    /// Counters without an event in the list, which the kernel's generic events count.
    generic: &'static [Counter],
    kind: u32,
    /// See [`ProcessorEvents::alone`].
    alone: &'static [Counter],
    events: &'static [(Counter, &'static str, u64)],
    lost: &'static [(Counter, &'static str)],
}

impl Table {
    fn processor_events(&self) -> ProcessorEvents {
        let mut events: Vec<Event> = self
            .events
            .iter()
            .map(|&(field, name, config)| Event {
                field,
                name,
                encoding: Encoding { kind: self.kind, config },
            })
            .collect();
        let generic = generic::events().events;
        events.extend(generic.iter().filter(|event| self.generic.contains(&event.field)));
        events.sort_unstable_by_key(|event| event.field);
        let lost = self.lost.iter().map(|&(field, why)| (field, why.to_owned())).collect();
        ProcessorEvents {
            name: self.name,
            source: self.source,
            events,
            lost,
            alone: self.alone.to_vec(),
        }
    }
}

/// `PERF_TYPE_RAW`: the vendor's own encoding.
const RAW: u32 = perf_event_open_sys::bindings::PERF_TYPE_RAW;

/// The events that count on `cpu`.
///
/// A hybrid processor has none: a task's events count on one kind of its cores only, so that the
/// counts would be too low without any sign of it.
#[must_use]
pub fn for_cpu(cpu: &Cpu) -> ProcessorEvents {
    if cpu.hybrid {
        let reason =
            "the processor's cores are of two kinds, and an event counts on one of them only";
        return ProcessorEvents {
            name: "hybrid",
            source: "/sys/bus/event_source/devices",
            events: Vec::new(),
            lost: BY_PROCESSOR.iter().map(|&field| (field, reason.to_owned())).collect(),
            alone: Vec::new(),
        };
    }
    let table = match &cpu.vendor {
        Vendor::Intel { family, model } => intel::for_model(*family, *model),
        Vendor::Amd { family, model } => amd::for_model(*family, *model),
        Vendor::Arm { implementer, part } => arm::for_part(*implementer, *part),
        Vendor::Other(_) => None,
    };
    table.map_or_else(generic::events, |table| table.processor_events())
}

/// Every table, for documentation.
#[must_use]
pub fn all() -> Vec<ProcessorEvents> {
    let tables = intel::TABLES.iter().chain(amd::TABLES).chain(arm::TABLES);
    tables.map(|table| table.processor_events()).chain([generic::events()]).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use fairways_core::Counters;

    use super::*;

    #[test]
    fn every_table_states_for_each_counter_its_event_or_why_there_is_none() {
        for chosen in all() {
            for field in BY_PROCESSOR {
                let counted = chosen.events.iter().filter(|event| event.field == field).count();
                let lost = chosen.lost.iter().filter(|&&(lost, _)| lost == field).count();
                assert_eq!(counted + lost, 1, "{}: {}", chosen.name, field.name());
            }
            assert!(chosen.events.is_sorted_by_key(|event| event.field), "{}", chosen.name);
        }
    }

    /// The tables of docs/events.md.
    fn page() -> String {
        let mut page = String::new();
        for chosen in all() {
            writeln!(page, "### {}\n\nFrom {}.\n", chosen.name, chosen.source).unwrap();
            writeln!(page, "| counter | event | encoding |\n|---|---|---:|").unwrap();
            for Event { field, name, encoding: Encoding { kind, config } } in &chosen.events {
                let kind = match *kind {
                    RAW => "raw",
                    0 => "hardware",
                    _ => "hardware cache",
                };
                writeln!(page, "| `{}` | {name} | {kind} {config:#x} |", field.name()).unwrap();
            }
            for (field, why) in &chosen.lost {
                writeln!(page, "| `{}` | none: {why} | |", field.name()).unwrap();
            }
            page.push('\n');
        }
        page
    }

    /// `FAIRWAYS_WRITE=1 cargo test -p fairways-perf --lib events` writes the tables.
    #[test]
    fn the_page_of_events_has_these_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/events.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (head, tables) = text.split_once("\n### ").unwrap();
        if std::env::var_os("FAIRWAYS_WRITE").is_some() {
            std::fs::write(path, format!("{head}\n{}\n", page().trim_end())).unwrap();
        } else {
            assert_eq!(format!("### {tables}").trim_end(), page().trim_end());
        }
    }

    #[test]
    fn no_table_counts_two_counters_with_one_event() {
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
            let json = serde_json::to_value(counters).unwrap();
            assert_eq!(json[field.name()], 7, "{json}");
            assert_eq!(json.as_object().unwrap().values().filter(|v| !v.is_null()).count(), 1);
        }
    }
}
