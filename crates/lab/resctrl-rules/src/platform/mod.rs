//! Machines, as hardware and kernel describe them.
//!
//! A [`Platform`] is a named machine, changed as wanted: [`Platform::skylake`]`().with_domains(2,
//! 8)`.

mod kernel;
mod named;
mod resource;

use std::collections::{BTreeMap, BTreeSet};

pub use kernel::Kernel;
pub use resource::{
    BandwidthAllocation, CacheAllocation, Event, Monitoring, OtherLine, PackageEvent, Resource,
    ThrottleMode,
};

use fairways_core::CpuSet;

/// A CPU's caches, by the ids that the kernel gives them (sysfs `cache/index*/id`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Its last-level cache, which is also the domain of memory bandwidth and of monitoring.
    pub l3: u32,
    /// Its second-level cache.
    pub l2: u32,
}

/// A machine, as resctrl sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Its name.
    pub name: &'static str,
    /// The kernel that it runs.
    pub kernel: Kernel,
    /// All possible CPUs, by number, with their caches.
    pub cpus: BTreeMap<u32, Caches>,
    /// NUMA nodes that share a last-level cache (sub-NUMA clusters); 1 where there are none.
    pub nodes_per_cache: u32,
    /// How ways of the last-level cache are shared out, if they can be.
    pub l3: Option<CacheAllocation>,
    /// How ways of second-level caches are shared out, if they can be.
    pub l2: Option<CacheAllocation>,
    /// How memory bandwidth is limited, if it can be.
    pub mb: Option<BandwidthAllocation>,
    /// How bandwidth of slow memory is limited, if it can be.
    pub smba: Option<BandwidthAllocation>,
    /// The domain of memory bandwidth of a last-level cache whose id is not the domain's: a NUMA
    /// node, as kernels for MPAM that are not Linux's own number them.
    pub memory_nodes: BTreeMap<u32, u32>,
    /// Lines of `schemata` beside those of [`Resource`], as such kernels have them.
    pub other_lines: Vec<OtherLine>,
    /// What can be monitored, if anything.
    pub monitoring: Option<Monitoring>,
    /// Monitoring ids for which packages report energy, if they do (`info/PERF_PKG_MON`). Each L3
    /// is one package's.
    pub telemetry_rmids: Option<u32>,
    /// Whether its kernels are built with pseudo-locking (`CONFIG_RESCTRL_FS_PSEUDO_LOCK`): x86's
    /// are.
    pub pseudo_lock: bool,
    /// Bytes of a last-level cache, allocatable or not: the limit of `max_threshold_occupancy`.
    pub llc_bytes: u32,
}

impl Platform {
    /// Under another kernel.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// With `domains` last-level caches of `cpus_each` CPUs, numbered on, caches from 0 on; each
    /// CPU has an L2 of its own.
    #[must_use]
    pub fn with_domains(self, domains: u32, cpus_each: u32) -> Self {
        let ids: Vec<u32> = (0..domains).collect();
        self.with_domain_ids(&ids, cpus_each)
    }

    /// With a last-level cache of `cpus_each` CPUs for each of `ids`, which may skip numbers.
    #[must_use]
    pub fn with_domain_ids(mut self, ids: &[u32], cpus_each: u32) -> Self {
        let l3 = ids.iter().flat_map(|&id| (0..cpus_each).map(move |_| id));
        self.cpus = (0_u32..).zip(l3).map(|(cpu, l3)| (cpu, Caches { l3, l2: cpu })).collect();
        self
    }

    /// With these CPUs and caches.
    #[must_use]
    pub fn with_cpus(mut self, cpus: impl IntoIterator<Item = (u32, Caches)>) -> Self {
        self.cpus = cpus.into_iter().collect();
        self
    }

    /// With a last-level cache of `ways` ways (1 to 32), of which `shareable_bits` are shared with
    /// other agents.
    #[must_use]
    pub fn with_ways(mut self, ways: u32, shareable_bits: u32) -> Self {
        if let Some(l3) = &mut self.l3 {
            l3.cbm_len = ways.clamp(1, 32);
            l3.shareable_bits = shareable_bits & l3.full();
        }
        self
    }

    /// With last-level caches of that many bytes.
    #[must_use]
    pub fn with_llc_bytes(mut self, bytes: u32) -> Self {
        self.llc_bytes = bytes;
        if let Some(l3) = &mut self.l3 {
            l3.cache_bytes = bytes;
        }
        self
    }

    /// With that many classes of service for everything.
    #[must_use]
    pub fn with_closids(mut self, closids: u32) -> Self {
        let caches = [&mut self.l3, &mut self.l2].into_iter().flatten();
        caches.for_each(|cache| cache.closids = closids);
        let bandwidths = [&mut self.mb, &mut self.smba].into_iter().flatten();
        bandwidths.for_each(|bandwidth| bandwidth.closids = closids);
        self
    }

    /// With that many monitoring ids, at least one.
    #[must_use]
    pub fn with_rmids(mut self, rmids: u32) -> Self {
        if let Some(monitoring) = &mut self.monitoring {
            monitoring.rmids = rmids.max(1);
        }
        self
    }

    /// With masks that may have gaps, or may not.
    #[must_use]
    pub fn with_sparse_masks(mut self, sparse: bool) -> Self {
        let caches = [&mut self.l3, &mut self.l2].into_iter().flatten();
        caches.for_each(|cache| cache.sparse = sparse);
        self
    }

    /// One more than the greatest CPU number (the kernel's `nr_cpu_ids`).
    #[must_use]
    pub fn cpu_limit(&self) -> u32 {
        self.cpus.keys().next_back().map_or(0, |cpu| cpu + 1)
    }

    /// All CPUs.
    #[must_use]
    pub fn all_cpus(&self) -> CpuSet {
        self.cpus.keys().copied().collect()
    }

    /// With last-level caches that so many NUMA nodes share (at least 1), each node with as many
    /// CPUs.
    #[must_use]
    pub fn with_nodes_per_cache(mut self, nodes: u32) -> Self {
        self.nodes_per_cache = nodes.max(1);
        self
    }

    /// Nodes that share a cache, as the kernel knows them (`snc_nodes_per_l3_cache`).
    #[must_use]
    pub const fn nodes_per_known_cache(&self) -> u32 {
        if self.kernel.sub_numa_clusters { self.nodes_per_cache } else { 1 }
    }

    /// The domain in which `cpu` is monitored: its last-level cache, or its node where several
    /// nodes share one. Nodes are numbered on, cache by cache.
    #[must_use]
    pub fn monitored_domain_of(&self, cpu: u32) -> Option<u32> {
        let own = self.cpus.get(&cpu)?.l3;
        let nodes = self.nodes_per_known_cache();
        if nodes == 1 {
            return Some(own);
        }
        let caches: BTreeSet<u32> = self.cpus.values().map(|caches| caches.l3).collect();
        let cache = u32::try_from(caches.range(..own).count()).ok()?;
        let within = self.cpus.iter().filter(|(_, caches)| caches.l3 == own);
        let within: Vec<u32> = within.map(|(&cpu, _)| cpu).collect();
        let place = within.iter().position(|&other| other == cpu)? * nodes as usize / within.len();
        Some(cache * nodes + u32::try_from(place).ok()?)
    }

    /// The last-level cache that a monitored domain is, or is part of.
    #[must_use]
    pub fn cache_of_monitored(&self, domain: u32) -> Option<u32> {
        let mut cpus = self.cpus.iter();
        if self.nodes_per_known_cache() == 1 {
            return cpus.any(|(_, caches)| caches.l3 == domain).then_some(domain);
        }
        let found = cpus.find(|&(&cpu, _)| self.monitored_domain_of(cpu) == Some(domain));
        found.map(|(_, caches)| caches.l3)
    }

    /// Bytes that a monitoring counter counts as one (`mon_scale`): a part of the processor's where
    /// nodes share a cache.
    #[must_use]
    pub fn scale_bytes(&self) -> u32 {
        let own = self.monitoring.as_ref().map_or(1, |monitoring| monitoring.scale_bytes);
        (own / self.nodes_per_known_cache()).max(1)
    }

    /// The domain of `resource` that `cpu` belongs to.
    #[must_use]
    pub fn domain_of(&self, resource: Resource, cpu: u32) -> Option<u32> {
        let caches = self.cpus.get(&cpu)?;
        Some(match resource {
            Resource::L2 => caches.l2,
            Resource::L3 => caches.l3,
            Resource::Mb | Resource::Smba => self.bandwidth_domain_of(caches.l3),
        })
    }

    /// The domain of memory bandwidth that a last-level cache belongs to.
    #[must_use]
    pub fn bandwidth_domain_of(&self, cache: u32) -> u32 {
        self.memory_nodes.get(&cache).copied().unwrap_or(cache)
    }

    /// How ways of that cache are shared out.
    #[must_use]
    pub fn cache(&self, resource: Resource) -> Option<&CacheAllocation> {
        match resource {
            Resource::L3 => self.l3.as_ref(),
            Resource::L2 => self.l2.as_ref(),
            Resource::Mb | Resource::Smba => None,
        }
    }

    /// The cache whose ways are worth sharing out: the last-level one, or the L2 where only its
    /// ways can be.
    #[must_use]
    pub fn last_shared_cache(&self) -> Resource {
        if self.l3.is_none() && self.l2.is_some() { Resource::L2 } else { Resource::L3 }
    }

    /// How that bandwidth is limited.
    #[must_use]
    pub fn bandwidth(&self, resource: Resource) -> Option<&BandwidthAllocation> {
        match resource {
            Resource::Mb => self.mb.as_ref(),
            Resource::Smba if self.kernel.slow_memory_bandwidth => self.smba.as_ref(),
            _ => None,
        }
    }

    /// Classes of service that hardware has for `resource`; none if it cannot be shared out.
    #[must_use]
    pub fn closids(&self, resource: Resource) -> Option<u32> {
        let cache = self.cache(resource).map(|cache| cache.closids);
        cache.or_else(|| self.bandwidth(resource).map(|bandwidth| bandwidth.closids))
    }

    /// Whether each class of service has monitoring ids of its own, as with MPAM.
    #[must_use]
    pub fn has_rmids_per_class(&self) -> bool {
        self.monitoring.as_ref().is_some_and(|monitoring| monitoring.rmids_per_class)
    }

    /// Monitoring ids for which packages report energy, if kernel and hardware do.
    #[must_use]
    pub fn telemetry(&self) -> Option<u32> {
        self.telemetry_rmids.filter(|_| self.kernel.telemetry && self.monitoring.is_some())
    }

    /// Monitoring ids that groups can have: the least of those of the L3 and of the packages
    /// (`resctrl_arch_system_num_rmid_idx`).
    #[must_use]
    pub fn rmids(&self) -> u32 {
        let own = self.l3_rmids();
        self.telemetry().map_or(own, |rmids| rmids.min(own))
    }

    /// Pairs of a class and a monitoring id where ids belong to classes, otherwise ids
    /// (`info/L3_MON/num_rmids`); 0 if nothing is monitored.
    #[must_use]
    pub fn l3_rmids(&self) -> u32 {
        let own = self.monitoring.as_ref().map_or(0, |monitoring| monitoring.rmids);
        own.saturating_mul(self.classes_with_rmids()) / self.nodes_per_known_cache()
    }

    /// The number of classes that each have the same monitoring ids.
    pub(crate) fn classes_with_rmids(&self) -> u32 {
        if !self.has_rmids_per_class() {
            return 1;
        }
        Resource::ALL.iter().filter_map(|&of| self.closids(of)).max().unwrap_or(1)
    }

    /// A class's value without a limit: all ways, or all bandwidth.
    #[must_use]
    pub fn unlimited(&self, resource: Resource) -> u32 {
        let cache = self.cache(resource).map(CacheAllocation::full);
        cache.or_else(|| self.bandwidth(resource).map(|bandwidth| bandwidth.max)).unwrap_or(0)
    }

    /// Whether anything can be shared out.
    #[must_use]
    pub fn allocates(&self) -> bool {
        Resource::ALL.iter().any(|&resource| self.closids(resource).is_some())
    }
}
