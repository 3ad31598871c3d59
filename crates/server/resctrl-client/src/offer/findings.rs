//! The findings of the last look, and what they leave to offer to policies.

use std::collections::BTreeSet;
use std::time::Instant;

use fairways_core::CpuSet;
use fairways_linux::topology::{Topology, cpus_of_node};
use fairways_resctrl::language::CountedTraffic;

use super::bandwidth_domains::without_domain;
use super::domain::{Cap, Domain, Offers};
use super::survey::Survey;
use crate::counts::traffic::{read_traffic, say_filtered};
use crate::error::{Error, Scarce};
use crate::settings::Settings;
use crate::tree::Tree;
use crate::tree::mon_data::{CountedPlace, DividedCache};

/// A survey, and what follows from it.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) survey: Survey,
    pub(crate) topology: Topology,
    pub(crate) offers: Offers,
    /// The cap, if fewer classes are available than resctrl counts.
    pub(crate) cap: Option<Cap>,
    pub(crate) domains: Vec<Domain>,
    /// The caches that several NUMA nodes share.
    shared: Vec<DividedCache>,
    /// Whether each of those nodes is a domain, rather than each cache.
    by_node: bool,
    /// How memory traffic is counted.
    pub(crate) traffic: CountedTraffic,
}

impl Findings {
    /// The findings of the first survey.
    ///
    /// # Errors
    /// [`Error::Busy`] if it leaves nothing to offer; if `info` can't be read.
    pub(crate) fn new(
        survey: Survey,
        l3: Topology,
        settings: &Settings,
        tree: &Tree,
    ) -> Result<Self, Error> {
        let offers = Offers::find(&survey, settings, None)?;
        let mut topology = l3;
        if survey.level() != 3 {
            topology = Topology::of_level(survey.level());
            topology.refresh(&settings.sysfs);
        }
        let domains = offers.domains(&survey, tree, &topology);
        let shared = shared(&survey, settings);
        let by_node = false;
        let traffic = read_traffic(tree, survey.monitoring.as_ref())?;
        say_filtered(&traffic);
        let found = Self { survey, topology, offers, cap: None, domains, shared, by_node, traffic };
        found.say_odd_lines(None);
        Ok(found)
    }

    /// Logs lines of `schemata` that are not fully known, unless the survey `before` had them.
    fn say_odd_lines(&self, before: Option<(BTreeSet<String>, Option<String>)>) {
        let (unknown, without) = (self.survey.unknown_resources(), self.without_bandwidth());
        let (unknown_before, without_before) = before.unwrap_or_default();
        if !unknown.is_empty() && unknown != unknown_before {
            let lines = unknown.iter().map(|name| name.escape_debug().to_string());
            tracing::warn!(
                target: "fairways::actuate", lines = lines.collect::<Vec<_>>().join(" "),
                "schemata has lines that this version does not know: they are kept as they are"
            );
        }
        if let Some(why) = &without
            && without != without_before
        {
            tracing::warn!(target: "fairways::actuate", "{why}");
        }
    }

    /// Why memory bandwidth can't be limited for some caches, if the host can limit it.
    pub(crate) fn without_bandwidth(&self) -> Option<String> {
        let Survey { root, bandwidth_domains, .. } = &self.survey;
        let line = self.survey.sides[0];
        line.starts_with("L3").then(|| without_domain(root, bandwidth_domains, line))?
    }

    /// Reads the CPUs of caches again.
    pub(crate) fn refresh_topology(&mut self, settings: &Settings) {
        self.topology.refresh(&settings.sysfs);
    }

    /// Replaces the survey by a newer one; returns whether the domains have changed.
    pub(crate) fn renew(
        &mut self,
        survey: Survey,
        offers: Offers,
        settings: &Settings,
        tree: &Tree,
    ) -> bool {
        self.shared = shared(&survey, settings);
        let odd = (self.survey.unknown_resources(), self.without_bandwidth());
        (self.survey, self.offers) = (survey, offers);
        self.say_odd_lines(Some(odd));
        self.list_domains(tree)
    }

    /// Makes each node that shares a cache a domain, or each cache. Returns whether that changed.
    pub(crate) fn divide(&mut self, by_node: bool, tree: &Tree) -> bool {
        let by_node = by_node && !self.node_cpus().is_empty();
        let has_changed = by_node != self.by_node;
        self.by_node = by_node;
        if has_changed {
            self.list_domains(tree);
        }
        has_changed
    }

    /// Lists the domains again. Returns whether they have changed.
    fn list_domains(&mut self, tree: &Tree) -> bool {
        let mut domains = self.offers.domains(&self.survey, tree, &self.topology);
        if self.by_node && !self.node_cpus().is_empty() {
            let caches = std::mem::take(&mut domains);
            domains = caches.iter().flat_map(|cache| cache.by_node(&self.shared)).collect();
        }
        let have_changed = domains != self.domains;
        self.domains = domains;
        have_changed
    }

    /// Records that no class could be made for a plan while `held` of ours existed: from now on,
    /// plans use that many.
    pub(crate) fn set_cap(&mut self, held: usize, lacks: Scarce) {
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        let classes = held.max(1);
        tracing::warn!(
            target: "fairways::actuate", classes, counted = self.offers.counted,
            "the kernel gives fewer classes of service than it counts: plans are for that many; {lacks}"
        );
        self.cap = Some(Cap { classes, held, lacks, found: Instant::now() });
    }

    /// The nodes that share a place's cache; none if the place is a node, or no nodes share the
    /// cache.
    pub(crate) fn nodes_of(&self, place: CountedPlace) -> &[(u32, CpuSet)] {
        let of_cache =
            self.shared.iter().find(|of| of.cache == place.cache && place.node.is_none());
        of_cache.map_or(&[], |of| &of.nodes)
    }

    /// The CPUs of each node that shares a cache; none if any cache is not shared, or the CPUs of a
    /// node are not known.
    pub(crate) fn node_cpus(&self) -> Vec<CpuSet> {
        let nodes = self.shared.iter().flat_map(|shared| &shared.nodes);
        let nodes: Vec<CpuSet> = nodes.map(|(_, cpus)| cpus.clone()).collect();
        let mut caches = self.survey.domains.iter();
        let are_known = self.survey.level() == 3
            && caches.all(|found| self.shared.iter().any(|shared| shared.cache == found.id))
            && nodes.iter().all(|cpus| !cpus.is_empty());
        if are_known { nodes } else { Vec::new() }
    }

    /// Where the events of a domain are counted, if it is an L3.
    pub(crate) fn counted(&self, domain: u32) -> Option<CountedPlace> {
        let known = self.domain(domain);
        let place = known.map_or(CountedPlace { cache: domain, node: None }, |known| {
            CountedPlace { cache: known.cache_id, node: known.node }
        });
        (self.survey.level() == 3).then_some(place)
    }

    /// The id of the cache that a domain is, or belongs to; `None` for a node that is gone.
    pub(crate) fn cache_of(&self, domain: u32) -> Option<u32> {
        let known = self.domain(domain).map(|domain| domain.cache_id);
        known.or((!self.by_node).then_some(domain))
    }

    /// Why nothing can be given out in some domains, in a line.
    pub(crate) fn nothing_free(&self) -> Option<String> {
        let lack = self.offers.lack.as_ref()?;
        let is_watched = self.offers.of.values().any(|offer| !offer.is_free);
        let watched = if is_watched { "; its programs are only watched" } else { "" };
        Some(format!("nothing could be given out: {lack}{watched}"))
    }

    /// The domain with this id, if anything of it is offered.
    pub(crate) fn domain(&self, id: u32) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.id == id)
    }
}

/// The caches that several nodes share, with their CPUs.
fn shared(survey: &Survey, settings: &Settings) -> Vec<DividedCache> {
    let mut shared = survey.shared.clone();
    for (node, cpus) in shared.iter_mut().flat_map(|shared| &mut shared.nodes) {
        *cpus = cpus_of_node(&settings.sysfs, *node);
    }
    shared
}
