//! How memory traffic is counted, where that can be changed.

use std::fs;

use fairways_resctrl::language::{CountedTraffic, TrafficCounters};

use super::facts::Facts;
use super::{Finding, FindingState};

const ID: &str = "traffic";

const WHY: &str = "by these events it is known how many bytes programs move";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let monitoring = facts.info.as_ref().and_then(|info| info.monitoring.as_ref());
    let (Some(resctrl), Some(monitoring)) = (&facts.resctrl, monitoring) else { return };
    if !monitoring.can_count_otherwise {
        return;
    }
    let folder = resctrl.root.join("info/L3_MON");
    let counted = CountedTraffic::read(|path| fs::read_to_string(folder.join(path)).ok());
    findings.push(match counted {
        Ok(counted) => finding(&counted),
        Err(why) => Finding::new(ID, FindingState::Unknown, why.to_string(), WHY),
    });
}

fn finding(counted: &CountedTraffic) -> Finding {
    let mut said = Vec::new();
    let mut remedies = Vec::new();
    let mut why = WHY;
    match &counted.counters {
        Some(TrafficCounters { each, free: Some(free) }) => {
            said.push(format!("counters are assigned to groups: {}", share(each, free)));
            if free.iter().any(|(_, free)| *free == 0) {
                why = "each program needs a counter of its own; where there are too few, programs are counted in turns";
                remedies.push(
                    "in each group whose traffic nobody reads: echo 'mbm_total_bytes:*=_' > mbm_L3_assignments, and the same for mbm_local_bytes",
                );
            }
        }
        Some(TrafficCounters { free: None, .. }) => {
            said.push("hardware gives its counters to groups by itself".to_owned());
            why = "with more groups than counters, bytes are Unavailable, and begin again at each change";
            remedies.push(
                "echo mbm_event > /sys/fs/resctrl/info/L3_MON/mbm_assign_mode (all groups' counts begin again, other tools' too)",
            );
        }
        None => {}
    }
    if !counted.filtered.is_empty() {
        said.extend(counted.filtered.iter().map(ToString::to_string));
        why = "somebody changed what is counted: bytes of programs are not all of their traffic";
        remedies.push(
            "in mode default, write 0x7f to mbm_total_bytes_config and 0x15 to mbm_local_bytes_config, for each domain (0=0x7f;1=0x7f); \
             in mode mbm_event, write all transactions to mbm_total_bytes/event_filter, and \
             local_reads,local_non_temporal_writes,local_reads_slow_memory to mbm_local_bytes/event_filter",
        );
    } else {
        said.push("events count what they count by default".to_owned());
    }
    let said = said.join("; ");
    if remedies.is_empty() {
        return Finding::new(ID, FindingState::Ok, said, why);
    }
    Finding::new(ID, FindingState::Limited, said, why).remedy(remedies.join("; "))
}

/// The counters of each domain, and how many of them are free.
fn share(each: &[(u32, u32)], free: &[(u32, u32)]) -> String {
    let parts = each.iter().map(|(domain, all)| {
        let free = free.iter().find(|(of, _)| of == domain).map_or(0, |&(_, free)| free);
        format!("{free} of {all} free in domain {domain}")
    });
    parts.collect::<Vec<_>>().join(", ")
}
