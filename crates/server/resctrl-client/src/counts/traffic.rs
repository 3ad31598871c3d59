//! How memory traffic is counted: with which filters, and whether counters are assigned to groups;
//! and how long a program has had such a counter.

use std::collections::BTreeMap;

use fairways_resctrl::language::{CountedTraffic, Monitoring};

use crate::error::Error;
use crate::tree::Tree;
use crate::tree::mon_data::COUNTED;

/// Reads how traffic is counted; reads nothing if that can't be changed.
pub(crate) fn read_traffic(
    tree: &Tree,
    monitoring: Option<&Monitoring>,
) -> Result<CountedTraffic, Error> {
    let Some(monitoring) = monitoring.filter(|of| of.can_count_otherwise) else {
        return Ok(CountedTraffic::default());
    };
    let mut failed = None;
    let counted = CountedTraffic::read(|path| match tree.read(&format!("info/L3_MON/{path}")) {
        Ok(text) => Some(text),
        // Another process may change the mode between two of these readings.
        Err(error) if error.is_gone() || error.errno() == Some(rustix::io::Errno::INVAL) => None,
        Err(error) => {
            failed.get_or_insert(error);
            None
        }
    });
    match failed {
        Some(error) => Err(error),
        None if monitoring.events.iter().any(|event| event == COUNTED) => {
            counted.map_err(|why| tree.misread("info/L3_MON", why))
        }
        None => Ok(CountedTraffic::default()),
    }
}

/// Logs the events that do not count what they do by default.
pub(crate) fn say_filtered(traffic: &CountedTraffic) {
    for of in &traffic.filtered {
        tracing::warn!(target: "fairways::actuate", event = of.event, "{of}, not the default");
    }
}

/// Whether counters are assigned to groups now.
pub(crate) fn are_assigned(traffic: &CountedTraffic) -> bool {
    traffic.counters.as_ref().is_some_and(|counters| counters.free.is_some())
}

/// After this many readings a program has had two complete windows with its counter: the open
/// window ends, and two more begin and end.
const READINGS: u32 = 3;

/// After this many looks, a program that is not read gives its counter to one that waits.
const LOOKS: u32 = 30;

/// The time that a program has had a domain's counter.
#[derive(Debug, Default)]
pub(crate) struct CounterTurn {
    pub(crate) readings: u32,
    pub(crate) looks: u32,
}

impl CounterTurn {
    /// Whether the program gives its counter to one that waits.
    pub(crate) const fn is_over(&self) -> bool {
        self.readings >= READINGS || self.looks >= LOOKS
    }
}

/// The counters that a program has, by domain.
#[derive(Debug, Default)]
pub(crate) struct HeldCounters {
    pub(crate) held: BTreeMap<u32, CounterTurn>,
    /// The round in which it lost each counter.
    pub(crate) lost: BTreeMap<u32, u64>,
}
