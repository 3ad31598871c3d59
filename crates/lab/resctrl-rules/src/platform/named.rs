//! Machines by name.
//!
//! The values that the rules depend on (masks, classes, steps) are the processor family's; bytes of
//! cache, CPUs and monitoring ids are those of one model, to be changed as wanted.

use std::collections::BTreeMap;

use super::{
    BandwidthAllocation, CacheAllocation, Caches, Event, Kernel, Monitoring, Platform, ThrottleMode,
};

const KIB: u32 = 1024;
const MIB: u32 = 1024 * KIB;

/// An Intel cache of 20 ways with all of Intel's features, to be changed.
const INTEL_L3: CacheAllocation = CacheAllocation {
    cbm_len: 20,
    shareable_bits: 0xc_0000,
    min_cbm_bits: 1,
    sparse: false,
    closids: 16,
    cdp: true,
    io_alloc: false,
    cache_bytes: 40 * MIB,
};

/// Intel's bandwidth in percent (SDM vol. 3B, 18.19.7): steps of ten.
const INTEL_MB: BandwidthAllocation = BandwidthAllocation {
    min: 10,
    max: 100,
    gran: 10,
    linear: true,
    closids: 8,
    fraction_bits: None,
    throttle_mode: Some(ThrottleMode::Max),
};

fn monitoring(rmids: u32, scale_bytes: u32) -> Monitoring {
    Monitoring {
        rmids,
        rmids_per_class: false,
        events: Event::ALL.to_vec(),
        scale_bytes,
        configurable: None,
        assignable: None,
    }
}

impl Platform {
    fn intel(name: &'static str, l3: CacheAllocation) -> Self {
        Self {
            name,
            kernel: Kernel::v7_2(),
            cpus: BTreeMap::new(),
            nodes_per_cache: 1,
            pseudo_lock: true,
            llc_bytes: l3.cache_bytes,
            l3: Some(l3),
            l2: None,
            mb: None,
            smba: None,
            telemetry_rmids: None,
            memory_nodes: BTreeMap::new(),
            other_lines: Vec::new(),
            monitoring: Some(monitoring(144, 64 * KIB)),
        }
        .with_domains(2, 8)
    }

    /// The machine of the kernel lab: four CPUs, caches 0 of CPUs 0 and 1 and 1 of CPUs 2 and 3, 12
    /// ways of 16 MiB.
    #[must_use]
    pub fn lab() -> Self {
        let l3 = CacheAllocation {
            cbm_len: 12,
            shareable_bits: 0xc00,
            closids: 8,
            cache_bytes: 16 * MIB,
            ..INTEL_L3
        };
        Self {
            mb: Some(INTEL_MB),
            monitoring: Some(monitoring(32, 64 * KIB)),
            ..Self::intel("lab", l3)
        }
        .with_domains(2, 2)
    }

    /// Xeon E5 v3: four classes, at least two ways each, nothing else (`cache_alloc_hsw_probe`).
    #[must_use]
    pub fn haswell() -> Self {
        let l3 = CacheAllocation {
            min_cbm_bits: 2,
            closids: 4,
            cdp: false,
            cache_bytes: 30 * MIB,
            ..INTEL_L3
        };
        let events = vec![Event::LlcOccupancy];
        Self {
            monitoring: Some(Monitoring { events, ..monitoring(48, 48 * KIB) }),
            ..Self::intel("haswell", l3)
        }
    }

    /// Xeon E5 v4: 20 ways, 16 classes, code and data apart, no bandwidth control.
    #[must_use]
    pub fn broadwell() -> Self {
        Self {
            monitoring: Some(monitoring(88, 48 * KIB)),
            ..Self::intel("broadwell", CacheAllocation { cache_bytes: 55 * MIB, ..INTEL_L3 })
        }
    }

    /// First Xeon Scalable: 11 ways, of which two are shared; bandwidth, with 8 classes, which is
    /// the limit for all.
    #[must_use]
    pub fn skylake() -> Self {
        let l3 = CacheAllocation {
            cbm_len: 11,
            shareable_bits: 0x600,
            cache_bytes: 22 * MIB,
            ..INTEL_L3
        };
        Self {
            mb: Some(INTEL_MB),
            monitoring: Some(monitoring(112, 80 * KIB)),
            ..Self::intel("skylake", l3)
        }
    }

    /// Third Xeon Scalable: 12 ways, L2 too, 15 classes; siblings are throttled apart.
    #[must_use]
    pub fn ice_lake() -> Self {
        let l3 = CacheAllocation {
            cbm_len: 12,
            shareable_bits: 0xc00,
            closids: 15,
            cache_bytes: 48 * MIB,
            ..INTEL_L3
        };
        let l2 = CacheAllocation { shareable_bits: 0, cache_bytes: 1280 * KIB, ..l3.clone() };
        let throttle_mode = Some(ThrottleMode::PerThread);
        Self {
            l2: Some(l2),
            mb: Some(BandwidthAllocation { closids: 15, throttle_mode, ..INTEL_MB }),
            monitoring: Some(monitoring(224, 96 * KIB)),
            ..Self::intel("ice-lake", l3)
        }
    }

    /// Granite Rapids: masks may have gaps.
    #[must_use]
    pub fn granite_rapids() -> Self {
        let mut platform = Self { name: "granite-rapids", ..Self::ice_lake() };
        platform = platform.with_ways(16, 0).with_llc_bytes(504 * MIB).with_sparse_masks(true);
        if let Some(l2) = &mut platform.l2 {
            l2.cbm_len = 16;
            l2.cache_bytes = 2 * MIB;
        }
        platform
    }

    /// Granite Rapids as it is delivered, with sub-NUMA clusters: three nodes share a cache, so
    /// that each counts a third of it, with a third of the ids (Linux 6.11, `snc_get_config`).
    #[must_use]
    pub fn granite_rapids_snc3() -> Self {
        let shared = Self::granite_rapids().with_domains(2, 12).with_nodes_per_cache(3);
        Self { name: "granite-rapids-snc3", ..shared }
    }

    /// Clearwater Forest: packages report energy for 576 monitoring ids (intel_aet.c), fewer than
    /// the L3 has here.
    #[must_use]
    pub fn clearwater_aet() -> Self {
        Self {
            name: "clearwater-aet",
            telemetry_rmids: Some(576),
            ..Self::granite_rapids().with_rmids(1024)
        }
    }

    /// AMD EPYC: a cache for each core complex, with ids that skip; masks with gaps, or empty;
    /// bandwidth in 1/8 GB/s; events that can be configured.
    #[must_use]
    pub fn zen() -> Self {
        let l3 = CacheAllocation {
            cbm_len: 16,
            shareable_bits: 0,
            min_cbm_bits: 0,
            sparse: true,
            closids: 16,
            cdp: true,
            io_alloc: false,
            cache_bytes: 32 * MIB,
        };
        let mb = BandwidthAllocation {
            min: 0,
            max: 2048,
            gran: 1,
            linear: false,
            closids: 16,
            fraction_bits: None,
            throttle_mode: None,
        };
        Self {
            mb: Some(mb.clone()),
            smba: Some(mb),
            monitoring: Some(Monitoring { configurable: Some(0x7f), ..monitoring(256, 64) }),
            ..Self::intel("zen", l3)
        }
        .with_domain_ids(&[0, 1, 8, 9], 4)
    }

    /// AMD EPYC of Zen 5: counters of bandwidth are assigned to groups, 32 in each domain (the
    /// example of resctrl.rst, `num_mbm_cntrs`).
    #[must_use]
    pub fn zen5_abmc() -> Self {
        let mut platform = Self { name: "zen5-abmc", ..Self::zen() };
        if let Some(monitoring) = &mut platform.monitoring {
            monitoring.assignable = Some(32);
        }
        platform
    }

    /// Arm MPAM (drivers/resctrl/mpam_resctrl.c): a portion bitmap with gaps, all of it shareable,
    /// so that no group can be exclusive; bandwidth in percent; four monitoring groups in each
    /// class; no CDP without CONFIG_EXPERT.
    #[must_use]
    pub fn mpam() -> Self {
        let l3 = CacheAllocation {
            cbm_len: 16,
            shareable_bits: 0xffff,
            min_cbm_bits: 1,
            sparse: true,
            closids: 32,
            cdp: false,
            io_alloc: false,
            cache_bytes: 32 * MIB,
        };
        let mb = BandwidthAllocation {
            min: 1,
            max: 100,
            gran: 1,
            linear: true,
            closids: 32,
            fraction_bits: None,
            throttle_mode: None,
        };
        let events = vec![Event::LlcOccupancy];
        Self {
            mb: Some(mb),
            monitoring: Some(Monitoring { rmids_per_class: true, events, ..monitoring(4, 1) }),
            pseudo_lock: false,
            ..Self::intel("mpam", l3)
        }
    }

    /// NVIDIA's Grace, an MPAM machine: a maximum of bandwidth that is a fraction of six bits, so
    /// that percentages are rounded. The kernel names its errata (drivers/resctrl/mpam_devices.c,
    /// T241-MPAM-1, -4 and -6), none of which changes a file, and not its widths: those here are
    /// chosen.
    #[must_use]
    pub fn grace_mpam() -> Self {
        let mut platform = Self { name: "grace-mpam", ..Self::mpam() };
        platform = platform.with_domains(2, 72).with_llc_bytes(114 * MIB);
        if let Some(mb) = &mut platform.mb {
            (mb.min, mb.gran, mb.fraction_bits) = (2, 2, Some(6));
        }
        platform
    }

    /// AMD EPYC with a class for devices (L3 Smart Data Cache Injection Allocation Enforcement).
    /// Linux knows no such feature of Intel's.
    #[must_use]
    pub fn zen_ioalloc() -> Self {
        let mut platform = Self { name: "zen-ioalloc", ..Self::zen() };
        if let Some(l3) = &mut platform.l3 {
            l3.io_alloc = true;
        }
        platform
    }

    /// A client chip such as Alder Lake: ways of L2 caches, each of four efficient cores, and
    /// nothing else. The kernel takes all numbers from CPUID; those here are chosen.
    #[must_use]
    pub fn alder_lake_l2() -> Self {
        let (cbm_len, closids, cache_bytes) = (16, 8, 2 * MIB);
        let l2 = CacheAllocation { cbm_len, closids, cache_bytes, shareable_bits: 0, ..INTEL_L3 };
        let cpus = (0..8).map(|cpu| (cpu, Caches { l3: 0, l2: cpu / 4 }));
        let none = Self::intel("alder-lake-l2", INTEL_L3);
        Self { l3: None, l2: Some(l2), monitoring: None, llc_bytes: 30 * MIB, ..none }
            .with_cpus(cpus)
    }

    /// All machines that have a name.
    #[must_use]
    pub fn all() -> [Self; 14] {
        [
            Self::lab(),
            Self::haswell(),
            Self::broadwell(),
            Self::skylake(),
            Self::ice_lake(),
            Self::granite_rapids(),
            Self::granite_rapids_snc3(),
            Self::clearwater_aet(),
            Self::zen(),
            Self::zen_ioalloc(),
            Self::zen5_abmc(),
            Self::mpam(),
            Self::grace_mpam(),
            Self::alder_lake_l2(),
        ]
    }

    /// The machine with that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|platform| platform.name == name)
    }
}
