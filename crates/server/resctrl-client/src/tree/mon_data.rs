//! Where resctrl counts: which directory of `mon_data` has a domain's events.

use fairways_core::CpuSet;

use super::Tree;

/// The event of occupied bytes.
pub(crate) const OCCUPANCY: &str = "llc_occupancy";

/// The event that is counted for policies; local traffic is a part of it.
pub(crate) const COUNTED: &str = "mbm_total_bytes";

/// A counted cache, or a NUMA node's part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountedPlace {
    /// The cache's id.
    pub(crate) cache: u32,
    /// The node, if nodes share the cache and are counted separately (`mon_sub_L3_*`, since Linux
    /// 6.11).
    pub(crate) node: Option<u32>,
}

/// The NUMA nodes that share a last-level cache (sub-NUMA clusters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DividedCache {
    pub(crate) cache: u32,
    /// Each node with its CPUs on line; none of these if sysfs does not list them.
    pub(crate) nodes: Vec<(u32, CpuSet)>,
}

impl CountedPlace {
    /// The paths at which an event of a group may be. The directories are found by listing: their
    /// numbers have no fixed width, and events may be elsewhere than below the L3 (resctrl.rst,
    /// "mon_data").
    pub(crate) fn files(self, tree: &Tree, group: &str, event: &str) -> Vec<String> {
        let mut files = Vec::new();
        for place in numbered(tree, &format!("{group}/mon_data"), "mon_", self.cache) {
            match self.node {
                None => files.push(format!("{place}/{event}")),
                Some(node) => {
                    let parts = numbered(tree, &place, "mon_sub_", node);
                    files.extend(parts.into_iter().map(|part| format!("{part}/{event}")));
                }
            }
        }
        // The L3's count comes first: it is the cache's own.
        files.sort_by_key(|file| !file.contains("/mon_L3_"));
        files
    }
}

/// The directories named after a resource and this number.
fn numbered(tree: &Tree, folder: &str, prefix: &str, number: u32) -> Vec<String> {
    let names = tree.directories(folder).unwrap_or_default();
    let wanted = names.iter().filter(|name| number_of(name, prefix) == Some(number));
    wanted.map(|name| format!("{folder}/{name}")).collect()
}

/// The number at the end of a name such as `mon_L3_00`.
fn number_of(name: &str, prefix: &str) -> Option<u32> {
    let (_resource, number) = name.strip_prefix(prefix)?.rsplit_once('_')?;
    number.parse().ok()
}

/// The caches that several nodes share, from the root's `mon_data`; their CPUs are not known yet.
pub(crate) fn shared_caches(tree: &Tree) -> Vec<DividedCache> {
    let mut found = Vec::new();
    for name in tree.directories("mon_data").unwrap_or_default() {
        let Some(cache) = number_of(&name, "mon_").filter(|_| name.starts_with("mon_L3_")) else {
            continue;
        };
        let parts = tree.directories(&format!("mon_data/{name}")).unwrap_or_default();
        let nodes = parts.iter().filter_map(|part| number_of(part, "mon_sub_"));
        let nodes: Vec<(u32, CpuSet)> = nodes.map(|node| (node, CpuSet::new())).collect();
        if !nodes.is_empty() {
            found.push(DividedCache { cache, nodes });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn numbers_have_any_width() {
        for (name, prefix, number) in [
            ("mon_L3_00", "mon_", Some(0)),
            ("mon_L3_7", "mon_", Some(7)),
            ("mon_L3_131072", "mon_", Some(131_072)),
            ("mon_PERF_PKG_01", "mon_", Some(1)),
            ("mon_sub_L3_05", "mon_sub_", Some(5)),
            ("mon_groups", "mon_", None),
            ("mon_L3_x", "mon_", None),
            ("info", "mon_", None),
        ] {
            assert_eq!(number_of(name, prefix), number, "{name}");
        }
    }
}
