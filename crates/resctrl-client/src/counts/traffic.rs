//! How memory traffic is counted: by which filters, and whether counters are assigned to groups.

use fairways_resctrl::language::CountedTraffic;

use super::survey::Survey;
use crate::error::Error;
use crate::tree::Tree;
use crate::tree::mon_data::COUNTED;

/// Reads how traffic is counted; nothing is read where it can't be changed.
pub(crate) fn read_traffic(tree: &Tree, survey: &Survey) -> Result<CountedTraffic, Error> {
    let Some(monitoring) = survey.monitoring.as_ref().filter(|of| of.can_count_otherwise) else {
        return Ok(CountedTraffic::default());
    };
    let mut failed = None;
    let counted = CountedTraffic::read(|path| match tree.read(&format!("info/L3_MON/{path}")) {
        Ok(text) => Some(text),
        // Somebody may change the mode between two of these readings.
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

/// Logs which events do not count what they count by default.
pub(crate) fn say_filtered(traffic: &CountedTraffic) {
    for of in &traffic.filtered {
        tracing::warn!(target: "fairways::actuate", event = of.event, "{of}, not the default");
    }
}

/// Whether counters are assigned to groups now.
pub(crate) fn are_assigned(traffic: &CountedTraffic) -> bool {
    traffic.counters.as_ref().is_some_and(|counters| counters.free.is_some())
}
