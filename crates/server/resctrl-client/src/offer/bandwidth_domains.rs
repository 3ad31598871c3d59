//! Which domain of memory bandwidth (`MB`) belongs to which cache.
//!
//! On x86 both have the ids of the caches (resctrl.rst, "MB"), and so it is with Arm's MPAM in
//! Linux itself (drivers/resctrl/mpam_resctrl.c). Other kernels for MPAM number the domains of `MB`
//! by NUMA node. A node's number is not a cache's id: confusing them would limit another socket's
//! memory. The CPUs show which ids belong together.

use std::collections::BTreeMap;
use std::path::Path;

use fairways_core::CpuSet;
use fairways_linux::topology::{Topology, describes, nodes};
use fairways_resctrl::language::{Cache, Schemata};

/// The domain of `MB` for each L3, by the cache's id; caches without a certain domain are left out.
///
/// If the domains of `MB` have the ids of the caches, they belong to these. With MPAM, if there are
/// also nodes of all these numbers, each cache's node of the same number must have its CPUs. If
/// the domains have other ids, a cache's domain is the node with the same CPUs. `resctrl` is the
/// mount, and `topology` has the CPUs of its L3 caches.
#[must_use]
pub fn bandwidth_domains(
    schemata: &Schemata,
    cache: &Cache,
    topology: &Topology,
    sysfs: &Path,
    resctrl: &Path,
) -> BTreeMap<u32, u32> {
    let caches = ids(schemata, &cache.resource);
    let domains = ids(schemata, "MB");
    let have_ids_of_caches = caches == domains;
    if domains.is_empty() || have_ids_of_caches && !cache.is_of_mpam() {
        return domains.iter().map(|&id| (id, id)).collect();
    }
    let described = describes(sysfs, resctrl);
    let nodes = if described { nodes(sysfs) } else { BTreeMap::new() };
    let caches: Vec<(u32, CpuSet)> =
        caches.into_iter().map(|id| (id, topology.cpus_of(id))).collect();
    matched(&caches, &domains, &nodes)
}

/// Like [`bandwidth_domains`], for caches with these CPUs, and these nodes.
fn matched(
    caches: &[(u32, CpuSet)],
    domains: &[u32],
    nodes: &BTreeMap<u32, CpuSet>,
) -> BTreeMap<u32, u32> {
    let have_ids_of_caches = caches.iter().map(|(id, _)| id).eq(domains);
    let may_be_nodes = domains.iter().all(|id| nodes.contains_key(id));
    let mut found = BTreeMap::new();
    for (cache, cpus) in caches {
        let domain = match (have_ids_of_caches, may_be_nodes) {
            (true, false) => Some(cache),
            (true, true) => Some(cache).filter(|&id| has_cpus(nodes, *id, cpus)),
            (false, _) => domains.iter().find(|&id| has_cpus(nodes, *id, cpus)),
        };
        found.extend(domain.map(|&domain| (*cache, domain)));
    }
    found
}

/// Whether a node has exactly these CPUs, and there are any.
fn has_cpus(nodes: &BTreeMap<u32, CpuSet>, node: u32, cpus: &CpuSet) -> bool {
    !cpus.is_empty() && nodes.get(&node).is_some_and(|of_node| of_node == cpus)
}

/// The ids of a line's domains.
fn ids(schemata: &Schemata, resource: &str) -> Vec<u32> {
    let domains = schemata.line(resource).into_iter().flat_map(|line| &line.domains);
    domains.map(|&(id, _)| id).collect()
}

/// A line about caches, by their ids, without a certain domain of `MB`; `None` if there are none.
#[must_use]
pub fn without_domain(schemata: &Schemata, of: &BTreeMap<u32, u32>, cache: &str) -> Option<String> {
    let domains = ids(schemata, "MB");
    let mut caches = ids(schemata, cache);
    caches.retain(|id| !of.contains_key(id));
    if domains.is_empty() || caches.is_empty() {
        return None;
    }
    let [caches, domains] = [caches, domains].map(|ids| {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        ids.join(", ")
    });
    Some(format!(
        "memory bandwidth of L3 {caches} can't be limited: the domains of MB ({domains}) are not certainly caches, and none is a NUMA node with the same CPUs"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &str) -> CpuSet {
        CpuSet::parse_list(list, 64).unwrap()
    }

    #[test]
    fn a_domain_is_matched_by_its_cpus_where_its_id_is_no_caches_for_certain() {
        let caches = [(1, cpus("0-3")), (2, cpus("4-7"))];
        for (domains, nodes, expected) in [
            (&[0, 1][..], &[(0, "0-3"), (1, "4-7")][..], &[(1, 0), (2, 1)][..]),
            (&[0, 1], &[(0, "4-7"), (1, "0-3")], &[(1, 1), (2, 0)]),
            (&[0, 1, 9], &[(0, "0-3"), (1, "4-7"), (9, "")], &[(1, 0), (2, 1)]),
            // A node of both, a part of one, one that is not listed.
            (&[0], &[(0, "0-7")], &[]),
            (&[0, 1, 2], &[(0, "0-1"), (1, "2-3"), (2, "4-7")], &[(2, 2)]),
            (&[0, 1], &[], &[]),
            // Ids of caches: of nodes, too, or not.
            (&[1, 2], &[(1, "0-3"), (2, "0-3")], &[(1, 1)]),
            (&[1, 2], &[(1, "4-7"), (2, "0-3")], &[]),
            (&[1, 2], &[(0, "4-7"), (1, "0-3")], &[(1, 1), (2, 2)]),
            (&[1, 2], &[], &[(1, 1), (2, 2)]),
        ] {
            let nodes = nodes.iter().map(|&(node, list)| (node, cpus(list))).collect();
            let found = matched(&caches, domains, &nodes);
            let found: Vec<(u32, u32)> = found.into_iter().collect();
            assert_eq!(found, expected, "{domains:?} {nodes:?}");
        }
    }

    /// A cache whose CPUs are not known does not match a node without CPUs.
    #[test]
    fn nothing_is_like_nothing() {
        let nodes = BTreeMap::from([(0, CpuSet::new())]);
        assert!(matched(&[(1, CpuSet::new())], &[0], &nodes).is_empty());
    }

    #[test]
    fn it_is_said_which_caches_have_none() {
        let schemata = Schemata::parse("MB:0=100;1=100\nL3:1=f;2=f\n").unwrap();
        let line = without_domain(&schemata, &BTreeMap::from([(2, 1)]), "L3").unwrap();
        assert!(line.starts_with("memory bandwidth of L3 1 can't be limited"), "{line}");
        assert!(line.contains("MB (0, 1)"), "{line}");
        assert_eq!(without_domain(&schemata, &BTreeMap::from([(1, 0), (2, 1)]), "L3"), None);
        let without_mb = Schemata::parse("L3:1=f;2=f\n").unwrap();
        assert_eq!(without_domain(&without_mb, &BTreeMap::new(), "L3"), None);
    }
}
