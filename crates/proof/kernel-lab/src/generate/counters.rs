//! Steps for counters of bandwidth that are assigned to groups.

use super::{Maker, below};
use crate::Vendor;
use crate::steps::Step;

const EVENTS: [&str; 2] = ["mbm_total_bytes", "mbm_local_bytes"];

fn line(path: &str, text: &str) -> Step {
    Step::Write(path.into(), format!("{text}\n").into_bytes())
}

fn filter(event: &str) -> String {
    format!("info/L3_MON/event_configs/{event}/event_filter")
}

impl Maker<'_> {
    pub(super) fn assigns_counters(&self) -> bool {
        let processor = &self.grounds.processor;
        let assignable = processor.monitoring.is_some_and(|of| of.assignable.is_some());
        assignable && processor.vendor == Vendor::Amd
    }

    pub(super) fn counters(&mut self) -> Step {
        let event = self.one(&EVENTS);
        let group = self.group();
        match self.below(20) {
            0..8 => {
                let mut text = format!("{event}:{}", self.assignments());
                if self.chance(20) {
                    let more = self.assignments();
                    text = format!("{text}\nmbm_local_bytes:{more}");
                }
                line(&below(&group, "mbm_L3_assignments"), &text)
            }
            8..10 => {
                let odd = [
                    "",
                    ":",
                    "mbm_total_bytes",
                    "mbm_total_bytes:",
                    "llc_occupancy:*=e",
                    "none:0=e",
                    "mbm_total_bytes:=e",
                    "mbm_total_bytes:0=e\n\n",
                    "mbm_total_bytes :0=e",
                    " mbm_total_bytes:0=e",
                    "mbm_total_bytes:0=e;;1=e",
                ];
                line(&below(&group, "mbm_L3_assignments"), self.one(&odd))
            }
            10..12 => Step::Read(below(&group, "mbm_L3_assignments")),
            12..14 => {
                Step::Read(below(&group, &format!("mon_data/mon_L3_0{}/{event}", self.below(4))))
            }
            14 => {
                let modes = ["default", "mbm_event", "mbm_event", "mbm_event", "mbm_cntr", ""];
                line("info/L3_MON/mbm_assign_mode", self.one(&modes))
            }
            15 => {
                let texts = ["0", "1", "1", "y", "off", "on", "o", "E", "d", "tu", "", " 1", "2"];
                line("info/L3_MON/mbm_assign_on_mkdir", self.one(&texts))
            }
            16 => {
                let texts = [
                    "local_reads",
                    "local_reads, remote_reads",
                    "dirty_victim_writes_all,",
                    ",local_reads",
                    "",
                    "local_reads,none",
                    "remote_non_temporal_writes\tlocal_reads",
                    "local_non_temporal_writes,local_reads_slow_memory,remote_reads_slow_memory",
                ];
                line(&filter(event), self.one(&texts))
            }
            _ => {
                let files = [
                    "mbm_assign_mode",
                    "mbm_assign_on_mkdir",
                    "num_mbm_cntrs",
                    "available_mbm_cntrs",
                    "mon_features",
                    "event_configs/mbm_total_bytes/event_filter",
                    "event_configs/mbm_local_bytes/event_filter",
                ];
                Step::Read(format!("info/L3_MON/{}", self.one(&files)))
            }
        }
    }

    /// Domains with states, good and bad.
    fn assignments(&mut self) -> String {
        let pairs = [
            "*=e", "*=_", "0=e", "1=e", "2=e", "3=_", "0=_", " 1=e", "2=e ", "7=e", "0", "0=",
            "x=e", "1=ee", "*", "*x=e", "0 =e", "3=d", "-1=e", "+1=e", "01=_",
        ];
        let mut text = self.one(&pairs).to_owned();
        while self.chance(40) {
            text = format!("{text};{}", self.one(&pairs));
        }
        text
    }

    /// The mode, filters and `mbm_assign_on_mkdir` outlive a mount. Another mode sets back all.
    pub(super) fn counters_again(&mut self) {
        if self.assigns_counters() {
            for mode in ["default", "mbm_event"] {
                self.steps.push(line("info/L3_MON/mbm_assign_mode", mode));
            }
        }
    }
}
