//! The files under `info`.

use super::files::number;
use super::text;
use super::{ControlFile, Errno, MonitoringFile, Resctrl, SchemaId, World};
use crate::platform::{CacheAllocation, Event, Resource, ThrottleMode};
use fairways_resctrl::language::{BitUsage, Mode, Use};

impl Resctrl {
    /// A file of `info/L3` and its like.
    pub(super) fn show_control(&self, id: SchemaId, file: ControlFile) -> Vec<u8> {
        let cache = self.platform.cache(id.resource);
        let bandwidth = self.platform.bandwidth(id.resource);
        let of_cache = |value: fn(&CacheAllocation) -> u32| cache.map_or(0, value);
        match file {
            ControlFile::NumClosids => {
                let schema = self.schemas.iter().find(|schema| schema.id == id);
                number(schema.map_or(0, |schema| schema.closids))
            }
            ControlFile::CbmMask => hexadecimal(of_cache(CacheAllocation::full)),
            ControlFile::MinCbmBits => number(of_cache(|cache| cache.min_cbm_bits)),
            ControlFile::ShareableBits => hexadecimal(of_cache(|cache| cache.shareable_bits)),
            ControlFile::BitUsage => self.show_bit_usage(id),
            ControlFile::SparseMasks => number(of_cache(|cache| u32::from(cache.sparse))),
            ControlFile::IoAlloc => self.show_io_alloc(id),
            // Its reader can fail: `show_io_alloc_cbm`.
            ControlFile::IoAllocCbm => Vec::new(),
            ControlFile::MinBandwidth => number(bandwidth.map_or(0, |bandwidth| bandwidth.min)),
            ControlFile::BandwidthGran => number(bandwidth.map_or(0, |bandwidth| bandwidth.gran)),
            ControlFile::DelayLinear => {
                number(bandwidth.map_or(0, |bandwidth| u32::from(bandwidth.linear)))
            }
            ControlFile::ThreadThrottleMode => {
                match bandwidth.and_then(|bandwidth| bandwidth.throttle_mode) {
                    Some(ThrottleMode::Max) => b"max\n".to_vec(),
                    Some(ThrottleMode::PerThread) => b"per-thread\n".to_vec(),
                    None => b"undefined\n".to_vec(),
                }
            }
        }
    }

    /// `rdt_bit_usage_show`: shared hides exclusive.
    fn show_bit_usage(&self, id: SchemaId) -> Vec<u8> {
        let Some(cache) = self.platform.cache(id.resource) else { return Vec::new() };
        let classes = self.classes_in_use();
        let devices_class = self.io_alloc_class().filter(|_| id.resource == Resource::L3);
        let domains = self.controls.domains(id.resource).into_iter().map(|domain| {
            let held = |mode: Mode| {
                let of_mode = classes
                    .iter()
                    .filter(|(closid, of)| *of == Some(mode) && devices_class != Some(*closid));
                of_mode.fold(0, |mask, &(closid, _)| {
                    let value = self.controls.value(id.resource, domain, id.side, closid);
                    mask | value.unwrap_or(0)
                })
            };
            let devices = cache.shareable_bits | self.io_alloc_mask(id, domain);
            let (shared, exclusive) = (held(Mode::Shareable), held(Mode::Exclusive));
            let uses = (0..cache.cbm_len).rev().map(|bit| {
                let has = |mask: u32| mask >> bit & 1 == 1;
                match (has(devices), has(shared)) {
                    (true, true) => Use::HardwareAndGroups,
                    (true, false) => Use::Hardware,
                    (false, true) => Use::Shareable,
                    (false, false) if has(exclusive) => Use::Exclusive,
                    (false, false) => Use::Unused,
                }
            });
            (domain, uses.collect())
        });
        format!("{}\n", BitUsage { domains: domains.collect() }).into_bytes()
    }

    /// A file of `info/L3_MON`.
    pub(super) fn show_monitoring(&mut self, file: MonitoringFile) -> Result<Vec<u8>, Errno> {
        let Some(monitoring) = &self.platform.monitoring else { return Ok(Vec::new()) };
        Ok(match file {
            MonitoringFile::MonFeatures => {
                let lines = monitoring.events.iter().map(|&event| {
                    let config = if self.configures(event) {
                        format!("{event}_config\n")
                    } else {
                        String::new()
                    };
                    format!("{event}\n{config}")
                });
                lines.collect::<String>().into_bytes()
            }
            MonitoringFile::NumRmids => number(self.platform.l3_rmids()),
            MonitoringFile::MaxThresholdOccupancy => number(self.rmids.threshold),
            MonitoringFile::MbmTotalBytesConfig => self.show_config(Event::MbmTotalBytes),
            MonitoringFile::MbmLocalBytesConfig => self.show_config(Event::MbmLocalBytes),
            MonitoringFile::MbmAssignMode => self.show_assign_mode(),
            MonitoringFile::NumMbmCntrs => self.show_counters(),
            MonitoringFile::AvailableMbmCntrs => self.show_free_counters()?,
            MonitoringFile::MbmAssignOnMkdir => self.show_assign_on_mkdir()?,
        })
    }

    pub(super) fn write_monitoring(
        &mut self,
        file: MonitoringFile,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        match file {
            MonitoringFile::MaxThresholdOccupancy => self.write_threshold(bytes),
            MonitoringFile::MbmTotalBytesConfig => {
                self.write_config(Event::MbmTotalBytes, bytes, world)
            }
            MonitoringFile::MbmLocalBytesConfig => {
                self.write_config(Event::MbmLocalBytes, bytes, world)
            }
            MonitoringFile::MbmAssignMode => self.write_assign_mode(bytes, world),
            MonitoringFile::MbmAssignOnMkdir => self.write_assign_on_mkdir(bytes),
            MonitoringFile::MonFeatures
            | MonitoringFile::NumRmids
            | MonitoringFile::NumMbmCntrs
            | MonitoringFile::AvailableMbmCntrs => Err(Errno::Einval),
        }
    }

    /// `max_threshold_occ_write`: at most the cache, rounded down to what hardware counts.
    fn write_threshold(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let explains = self.platform.kernel.explains_bad_input;
        if explains {
            self.status.clear();
        }
        let threshold = text::number_u32(text::string(bytes), 0);
        let threshold = threshold.inspect_err(|_| {
            if explains {
                self.status.put("max_threshold_occupancy: Invalid input\n");
            }
        })?;
        let limit = self.platform.llc_bytes;
        if threshold > limit {
            if explains {
                let text = format!(
                    "max_threshold_occupancy: Exceeds limit (before adjustment) of {limit} bytes\n"
                );
                self.status.print(&[text.as_bytes()]);
            }
            return Err(Errno::Einval);
        }
        let scale = self.platform.scale_bytes();
        self.rmids.threshold = threshold / scale * scale;
        Ok(())
    }

    /// `mbm_config_show`.
    fn show_config(&self, event: Event) -> Vec<u8> {
        let all = self.configurable();
        let domains = self
            .monitored
            .iter()
            .map(|&domain| format!("{domain}=0x{:02x}", self.counters.config(event, domain, all)));
        (domains.collect::<Vec<_>>().join(";") + "\n").into_bytes()
    }

    fn configurable(&self) -> u32 {
        self.platform.monitoring.as_ref().and_then(|of| of.configurable).unwrap_or(0)
    }

    /// `mon_config_write`: each domain at once, until one is wrong.
    fn write_config(
        &mut self,
        event: Event,
        bytes: &[u8],
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        let mut rest = Some(self.line(&format!("{event}_config"), bytes)?);
        let all = self.configurable();
        while let Some(text) = rest.filter(|text| !text.is_empty()) {
            let (pair, after) = text::cut(text, b';');
            rest = after;
            let (id, value) = text::cut(text::trim(pair), b'=');
            let Ok(domain) = text::number(id, 10) else {
                let message = "Missing '=' or non-numeric domain id\n";
                return self.fail(message, Errno::Einval);
            };
            let Some(Ok(value)) = value.map(|value| text::number(value, 16)) else {
                let message = "Non-numeric event configuration value\n";
                return self.fail(message, Errno::Einval);
            };
            let Some(value) = u32::try_from(value).ok().filter(|value| value & all == *value)
            else {
                let text = format!("Invalid event configuration: max valid mask is 0x{all:02x}\n");
                self.status.print(&[text.as_bytes()]);
                return Err(Errno::Einval);
            };
            let known = self.monitored.iter().copied();
            let domain =
                known.into_iter().find(|&of| u64::from(of) == domain).ok_or(Errno::Einval)?;
            if self.counters.config(event, domain, all) != value {
                self.counters.configure(event, domain, value);
                self.restart_domain(domain, world);
            }
        }
        Ok(())
    }
}

fn hexadecimal(value: u32) -> Vec<u8> {
    format!("{value:x}\n").into_bytes()
}
