//! The content of the folder `info`.

use fairways_core::WayMask;

use super::{LanguageError, plain};

/// A cache whose ways can be given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// `L3`, `L3CODE`, `L3DATA`, `L2`, `L2CODE` or `L2DATA`.
    pub resource: String,
    /// `num_closids`: the most groups, including the root.
    pub closids: u32,
    /// `cbm_mask`: every way.
    pub mask: WayMask,
    /// `min_cbm_bits`: the fewest ways a group can have.
    pub min_bits: u32,
    /// `shareable_bits`: ways that hardware other than CPUs fills, too.
    pub shareable: WayMask,
    /// `sparse_masks`: whether a mask's ways need not be neighbours. `None` where the kernel
    /// (before 6.7) does not report it.
    pub sparse: Option<bool>,
}

impl Cache {
    /// Whether this is Arm's MPAM, of which `info` shows that any mask is legal and every way
    /// shareable (drivers/resctrl/mpam_resctrl.c).
    #[must_use]
    pub fn is_of_mpam(&self) -> bool {
        self.sparse == Some(true) && self.shareable == self.mask
    }
}

/// Memory bandwidth that can be given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// `MB`, or `SMBA` for slow memory.
    pub resource: String,
    /// `num_closids`.
    pub closids: u32,
    /// `min_bandwidth`: the least a group can have, in the unit of its schemata: percent, or MiB/s
    /// under `mba_MBps`, or an eighth of a GB/s on AMD. The most is the root's first value; `info`
    /// does not contain it.
    pub min: u32,
    /// `bandwidth_gran`: the step to which a value is rounded up.
    pub step: u32,
    /// `delay_linear`: whether the steps are even.
    pub linear: Option<bool>,
    /// `thread_throttle_mode`: `max` or `per-thread`.
    pub throttle: Option<String>,
}

/// What can be monitored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitoring {
    /// The most groups that can be monitored, including the root: the least `num_rmids` of `L3_MON`
    /// and `PERF_PKG_MON`; over all classes together with MPAM, where each class has as many.
    pub rmids: u32,
    /// The event files of a group: `llc_occupancy`, `mbm_total_bytes`, `mbm_local_bytes`, and those
    /// of newer kernels.
    pub events: Vec<String>,
    /// Those of them that can be configured, by a file of their name and `_config` in
    /// `info/L3_MON`.
    pub configurable: Vec<String>,
    /// Whether somebody can change how traffic is counted: the events are
    /// [`configurable`](Self::configurable), or `num_mbm_cntrs` exists.
    pub can_count_otherwise: bool,
    /// `max_threshold_occupancy`: bytes of its lines below which a freed RMID is used again.
    pub max_threshold_occupancy: Option<u64>,
}

/// The content of `info`. Missing entries are absent; nothing is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Caches, in the order in which their folders were given.
    pub caches: Vec<Cache>,
    /// Bandwidths, likewise.
    pub bandwidths: Vec<Bandwidth>,
    /// `L3_MON`.
    pub monitoring: Option<Monitoring>,
    /// `PERF_PKG_MON`'s `mon_features`: the events that packages count (since Linux 7.0); none
    /// without it.
    pub package_events: Vec<String>,
}

impl Info {
    /// Reads `info`, whose entries are `entries`; `file` returns the text of a file by its path
    /// under `info`, and nothing if it does not exist. Entries of other kinds are passed over.
    ///
    /// # Errors
    /// If a file that every kernel has is missing, or one is not of its form.
    pub fn read<'a>(
        entries: impl IntoIterator<Item = &'a str>,
        mut file: impl FnMut(&str) -> Option<String>,
    ) -> Result<Self, LanguageError> {
        let mut info = Self::default();
        let mut packages = None;
        for entry in entries {
            let mut folder = Folder { entry, file: &mut file };
            match entry {
                "L3" | "L3CODE" | "L3DATA" | "L2" | "L2CODE" | "L2DATA" => {
                    info.caches.push(folder.cache()?)
                }
                "MB" | "SMBA" => info.bandwidths.push(folder.bandwidth()?),
                "L3_MON" => info.monitoring = Some(folder.monitoring()?),
                "PERF_PKG_MON" => {
                    packages = folder.optional("num_rmids", plain)?;
                    info.package_events = folder.needed("mon_features", lines)?;
                }
                _ => {}
            }
        }
        if let (Some(monitoring), Some(packages)) = (&mut info.monitoring, packages) {
            monitoring.rmids = monitoring.rmids.min(packages);
        }
        Ok(info)
    }
}

struct Folder<'a, F> {
    entry: &'a str,
    file: &'a mut F,
}

impl<F: FnMut(&str) -> Option<String>> Folder<'_, F> {
    fn cache(&mut self) -> Result<Cache, LanguageError> {
        Ok(Cache {
            resource: self.entry.to_owned(),
            closids: self.needed("num_closids", plain)?,
            mask: self.needed("cbm_mask", mask)?,
            min_bits: self.needed("min_cbm_bits", plain)?,
            shareable: self.optional("shareable_bits", mask)?.unwrap_or_default(),
            sparse: self.optional("sparse_masks", switch)?,
        })
    }

    fn bandwidth(&mut self) -> Result<Bandwidth, LanguageError> {
        Ok(Bandwidth {
            resource: self.entry.to_owned(),
            closids: self.needed("num_closids", plain)?,
            min: self.needed("min_bandwidth", plain)?,
            step: self.needed("bandwidth_gran", plain)?,
            linear: self.optional("delay_linear", switch)?,
            throttle: self.optional("thread_throttle_mode", |text| Some(text.to_owned()))?,
        })
    }

    fn monitoring(&mut self) -> Result<Monitoring, LanguageError> {
        let features: Vec<String> = self.needed("mon_features", lines)?;
        let configurable = features.iter().filter_map(|name| name.strip_suffix("_config"));
        let configurable: Vec<String> = configurable.map(str::to_owned).collect();
        let counters = self.optional("num_mbm_cntrs", |text| Some(text.to_owned()))?;
        Ok(Monitoring {
            rmids: self.needed("num_rmids", plain)?,
            events: features.iter().filter(|name| !name.ends_with("_config")).cloned().collect(),
            can_count_otherwise: counters.is_some() || !configurable.is_empty(),
            configurable,
            max_threshold_occupancy: self
                .optional("max_threshold_occupancy", |text| text.parse().ok())?,
        })
    }

    fn needed<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, LanguageError> {
        let missing = || {
            LanguageError::new("info", &format!("{}/{name}", self.entry), "the file to be there")
        };
        let missing = missing();
        self.optional(name, parse)?.ok_or(missing)
    }

    fn optional<T>(
        &mut self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, LanguageError> {
        let Some(text) = (self.file)(&format!("{}/{name}", self.entry)) else { return Ok(None) };
        parse(text.trim()).map(Some).ok_or_else(|| {
            LanguageError::new(name, &text, "what resctrl.rst says of this file of `info`")
        })
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "any text has lines")]
fn lines(text: &str) -> Option<Vec<String>> {
    Some(text.lines().map(str::to_owned).collect())
}

fn mask(text: &str) -> Option<WayMask> {
    u32::from_str_radix(text, 16).ok().map(WayMask::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 14] = [
        ("L3/num_closids", "16\n"),
        ("L3/cbm_mask", "fffff\n"),
        ("L3/min_cbm_bits", "1\n"),
        ("L3/shareable_bits", "c0000\n"),
        ("L3/sparse_masks", "0\n"),
        ("MB/num_closids", "8\n"),
        ("MB/min_bandwidth", "10\n"),
        ("MB/bandwidth_gran", "10\n"),
        ("MB/delay_linear", "1\n"),
        ("MB/thread_throttle_mode", "max\n"),
        ("L3_MON/num_rmids", "176\n"),
        ("L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_total_bytes_config\n"),
        ("L3_MON/max_threshold_occupancy", "163840\n"),
        ("last_cmd_status", "ok\n"),
    ];

    fn read(change: impl Fn(&str) -> Option<Option<&'static str>>) -> Result<Info, LanguageError> {
        Info::read(["L3", "MB", "L3_MON", "last_cmd_status"], |path| {
            let usual = FILES.iter().find(|(name, _)| *name == path).map(|&(_, text)| text);
            change(path).unwrap_or(usual).map(str::to_owned)
        })
    }

    #[test]
    fn a_server_is_read() {
        let info = read(|_| None).expect("a server's info");
        assert_eq!(info.caches.len(), 1);
        let l3 = &info.caches[0];
        assert_eq!(
            (l3.closids, l3.mask.count(), l3.min_bits, l3.shareable.bits()),
            (16, 20, 1, 0xc0000)
        );
        assert_eq!(l3.sparse, Some(false));
        assert_eq!(info.bandwidths[0].step, 10);
        assert_eq!(info.bandwidths[0].throttle.as_deref(), Some("max"));
        let monitoring = info.monitoring.expect("monitored");
        assert_eq!(monitoring.events, ["llc_occupancy", "mbm_total_bytes"]);
        assert_eq!(monitoring.configurable, ["mbm_total_bytes"]);
        assert_eq!(monitoring.max_threshold_occupancy, Some(163_840));
    }

    #[test]
    fn what_an_older_kernel_does_not_report_is_unknown() {
        let info =
            read(|path| (path == "L3/sparse_masks").then_some(None)).expect("a kernel before 6.7");
        assert_eq!(info.caches[0].sparse, None);
    }

    #[test]
    fn what_every_kernel_reports_must_be_present() {
        let error = read(|path| (path == "L3/cbm_mask").then_some(None)).expect_err("no mask");
        assert_eq!(error.to_string(), "info `L3/cbm_mask`: expected the file to be there");
        let error = read(|path| (path == "L3/num_closids").then_some(Some("many\n")))
            .expect_err("no number");
        assert_eq!(
            error.to_string(),
            "num_closids `many`: expected what resctrl.rst says of this file of `info`"
        );
    }
}
