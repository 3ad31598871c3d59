//! What resctrl offers: ways, classes, RMIDs, bandwidth, domains.

use std::fs;

use fairways_core::{CpuSet, LevelInUnit, LimitScope, WayMask};
use fairways_linux::topology::Topology;
use fairways_resctrl::language::{
    Bandwidth, Cache, IN_MBPS_FILE, IN_MBPS_OPTION, Monitoring, Value,
};
use fairways_resctrl_client::bandwidth_domains::{bandwidth_domains, without_domain};

use super::facts::{Facts, SHARED_CACHES, io_alloc_state};
use super::files::folders;
use super::{Finding, FindingState, promised};

/// The finding that is missing where no group can be made.
pub(super) const CLASSES: &str = "classes";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.resctrl.is_none() {
        return;
    }
    if let Some(why) = &facts.unreadable {
        let matters = "no way is given out before these are known";
        findings.push(Finding::new("info", FindingState::Unknown, why.clone(), matters));
        return;
    }
    match facts.shared_cache() {
        Some(cache) => {
            findings.push(ways(cache));
            findings.extend(io_alloc(facts, cache));
            findings.push(classes(facts, cache));
        }
        None => {
            let why = "policies share out the last-level cache";
            let finding = Finding::new("ways", FindingState::Missing, "info has no L3 or L2", why);
            let left_out = promised::see(facts, &promised::WAYS);
            let remedy = left_out.unwrap_or_else(|| "see cpu-allocation".to_owned());
            findings.push(finding.remedy(remedy));
        }
    }
    let monitoring = facts.info.as_ref().and_then(|info| info.monitoring.as_ref());
    findings.push(rmids(facts, monitoring));
    findings.push(bandwidth(facts));
    findings.extend(unknown_lines(facts));
    if facts.shared_cache().is_some() {
        findings.push(domains(facts));
    }
    findings.push(hyper_threads(facts));
}

fn ways(cache: &Cache) -> Finding {
    let why = "a mask has one bit a way; shareable ways are filled by devices too, and avoided unless all are";
    let gaps = match cache.sparse {
        Some(true) => "masks may have gaps",
        Some(false) => "masks have no gaps",
        None => "the kernel does not say whether masks may have gaps",
    };
    let shareable = match cache.shareable.count() {
        0 => "none shareable".to_owned(),
        count => format!("{count} shareable with devices ({})", cache.shareable),
    };
    let found = format!(
        "{} of {}, at least {} a mask, {shareable}; {gaps}",
        cache.mask.count(),
        cache.resource,
        cache.min_bits.max(1)
    );
    Finding::new("ways", FindingState::Ok, found, why)
}

/// What devices fill under a class of their own, where the kernel has the files for it.
fn io_alloc(facts: &Facts, cache: &Cache) -> Option<Finding> {
    let state = io_alloc_state(facts, cache)?;
    let folder = facts.resctrl.as_ref()?.root.join("info").join(&cache.resource);
    let why = "devices can fill the cache under a class of their own, the highest";
    if state != "enabled" {
        return Some(Finding::new("io-alloc", FindingState::Ok, state, why));
    }
    Some(match fs::read_to_string(folder.join("io_alloc_cbm")) {
        Ok(masks) => {
            let found = format!("devices fill the ways {}", masks.trim_end());
            let remedy = "resctrl.confine_io = N in the configuration lets them fill N ways alone";
            Finding::new("io-alloc", FindingState::Limited, found, why).remedy(remedy)
        }
        Err(error) => {
            Finding::new("io-alloc", FindingState::Unknown, format!("io_alloc_cbm: {error}"), why)
        }
    })
}

fn classes(facts: &Facts, cache: &Cache) -> Finding {
    let why =
        "each cluster of programs needs a class of service (CLOS), and so does the root group";
    let claims = facts.claims_of(cache);
    let (all, theirs, free) = (claims.closids, claims.groups.len(), claims.classes());
    let devices = if claims.io.is_some() { ", one of devices" } else { "" };
    let found =
        format!("{all} classes: the root's{devices}, {theirs} of others, {free} for Fairways");
    match free {
        0 => Finding::new(CLASSES, FindingState::Missing, found, why)
            .remedy("remove groups that are not needed (see others-groups): rmdir"),
        1..=2 => Finding::new(CLASSES, FindingState::Limited, found, why).remedy(
            "policies that make more clusters are refused; remove groups that are not needed",
        ),
        _ => Finding::new(CLASSES, FindingState::Ok, found, why),
    }
}

fn rmids(facts: &Facts, monitoring: Option<&Monitoring>) -> Finding {
    let why = "a program is watched by a monitoring group, each of which takes an RMID";
    let Some(monitoring) = monitoring else {
        let found = "info has no L3_MON: neither occupancy nor bandwidth can be read";
        return Finding::new("monitoring", FindingState::Missing, found, why)
            .remedy(remedy_of_monitors(facts, "policies that need no occupancy run without it"));
    };
    let own = facts.monitored.len();
    let below: usize = facts.groups.iter().map(|group| group.monitored).sum();
    let taken = u32::try_from(1 + own + below + facts.groups.len()).unwrap_or(u32::MAX);
    let free = monitoring.rmids.saturating_sub(taken);
    let events = monitoring.events.join(", ");
    // Early MPAM kernels show 1, whatever each class has.
    let is_known = monitoring.rmids > 1;
    let found = match is_known {
        true => format!("{} RMIDs, {free} not in a group; {events}", monitoring.rmids),
        false => format!("the kernel does not say how many RMIDs each class has; {events}"),
    };
    let occupancy = monitoring.events.iter().any(|event| event == "llc_occupancy");
    if (free > 0 || !is_known) && occupancy {
        return Finding::new("monitoring", FindingState::Ok, found, why);
    }
    let remedy = if occupancy {
        "remove monitoring groups that are not needed; programs without an RMID are not watched"
            .to_owned()
    } else {
        let without = "there is no llc_occupancy: policies that need it decide by counters alone";
        remedy_of_monitors(facts, without)
    };
    Finding::new("monitoring", FindingState::Limited, found, why).remedy(remedy)
}

/// The findings about monitors that the kernel leaves out; otherwise how it goes without them.
fn remedy_of_monitors(facts: &Facts, without: &str) -> String {
    promised::see(facts, &promised::MONITORS).unwrap_or_else(|| without.to_owned())
}

fn bandwidth(facts: &Facts) -> Finding {
    let why = "policies may limit clusters; what others limit stays limited";
    let bandwidths = facts.info.iter().flat_map(|info| &info.bandwidths);
    let mut parts: Vec<String> = bandwidths.map(|mb| lever(facts, mb)).collect();
    if parts.is_empty() {
        parts.push("none can be given out".to_owned());
    }
    let (domains, without) = memory_of_caches(facts);
    parts.extend(domains);
    let Some(without) = without else {
        return Finding::new("bandwidth", FindingState::Ok, parts.join("; "), why);
    };
    parts.push(without);
    let remedy = "policies give out ways as usual; there they limit no memory bandwidth";
    Finding::new("bandwidth", FindingState::Limited, parts.join("; "), why).remedy(remedy)
}

/// Which domain of `MB` is which L3's where the ids differ, and the L3s of which that is not known.
fn memory_of_caches(facts: &Facts) -> (Option<String>, Option<String>) {
    let resctrl = facts.resctrl.as_ref();
    let schemata = resctrl.and_then(|resctrl| resctrl.schemata.as_ref());
    let cache = facts.shared_cache().filter(|cache| cache.resource.starts_with("L3"));
    let (Some(resctrl), Some(schemata), Some(cache)) = (resctrl, schemata, cache) else {
        return (None, None);
    };
    let sysfs = facts.files.path("sys");
    let mut topology = Topology::default();
    topology.refresh(&sysfs);
    let of = bandwidth_domains(schemata, cache, &topology, &sysfs, &resctrl.root);
    let each = of.iter().map(|(cache, domain)| format!("domain {domain} is of L3 {cache}"));
    let each = each.collect::<Vec<_>>().join(", ");
    let do_differ = of.iter().any(|(cache, domain)| cache != domain);
    (do_differ.then_some(each), without_domain(schemata, &of, &cache.resource))
}

/// Lines of `schemata` that mean nothing to this version.
fn unknown_lines(facts: &Facts) -> Option<Finding> {
    let why = "their values are kept as they are, and never divided, raised or lowered";
    let schemata = facts.resctrl.as_ref()?.schemata.as_ref()?;
    let names = schemata.unknown.iter().map(|line| line.resource.escape_debug().to_string());
    let names: Vec<String> = names.collect();
    let found = format!("schemata has lines that are not known: {}", names.join(", "));
    (!names.is_empty()).then(|| Finding::new("unknown-lines", FindingState::Ok, found, why))
}

/// A line of bandwidth: the levels that it has, and what they limit.
fn lever(facts: &Facts, mb: &Bandwidth) -> String {
    let resctrl = facts.resctrl.as_ref();
    let root = resctrl.and_then(|resctrl| resctrl.schemata.as_ref());
    let domain = root.and_then(|root| root.line(&mb.resource)?.domains.first());
    let mounted = resctrl.and_then(|resctrl| resctrl.mounted.as_ref());
    let is_in_mbps = mounted.is_some_and(|(_, given)| given.iter().any(|of| of == IN_MBPS_OPTION))
        || resctrl.is_some_and(|resctrl| resctrl.root.join(IN_MBPS_FILE).exists());
    let lever = root.zip(domain).and_then(|(root, (id, _))| mb.lever(root, *id, is_in_mbps));
    let Some(lever) = lever else {
        return format!("{}: at least {}, steps of {}", mb.resource, mb.min, mb.step);
    };
    let [least, step] = [lever.least, lever.step].map(|level| LevelInUnit(level, lever.unit));
    let of = match (lever.scope, mb.throttle.as_deref()) {
        (LimitScope::Core, Some("per-thread")) => "each hardware thread",
        (LimitScope::Core, _) => "each core; of two hardware threads, the stricter level holds",
        (LimitScope::Class, _) => "a class as a whole",
    };
    format!("{}: at least {least}, steps of {step}, of {of}", mb.resource)
}

fn domains(facts: &Facts) -> Finding {
    let why = "each cache is shared out by itself, among the programs on its CPUs";
    let resctrl = facts.resctrl.as_ref();
    let schemata = resctrl.and_then(|resctrl| resctrl.schemata.as_ref());
    let resource = facts.shared_cache().map_or("L3", |cache| cache.resource.as_str());
    let Some(line) = schemata.and_then(|schemata| schemata.line(resource)) else {
        return Finding::new(
            "domains",
            FindingState::Unknown,
            "schemata has no line of the cache",
            why,
        );
    };
    let ways = facts.shared_cache().map_or(0, |cache| cache.mask.count());
    let level = if resource.starts_with("L2") { "2" } else { "3" };
    let known = caches(facts, level);
    let parts: Vec<String> = line
        .domains
        .iter()
        .map(|&(id, _)| {
            let cache = known.iter().find(|cache| cache.id == id);
            let cpus = cache.map_or("unknown".to_owned(), |cache| cache.cpus.to_list());
            let way = cache.and_then(|cache| cache.kibibytes).and_then(|all| all.checked_div(ways));
            let way = way.map(|way| format!(", {way} KiB a way")).unwrap_or_default();
            let nodes = match nodes_of(facts, id) {
                0 => String::new(),
                nodes => format!(", shared by {nodes} NUMA nodes"),
            };
            format!("{id}: CPUs {cpus}{way}{nodes}")
        })
        .collect();
    let found = format!("{} L{level} cache(s): {}", parts.len(), parts.join("; "));
    let unknown = line.domains.iter().any(|(id, _)| known.iter().all(|cache| cache.id != *id));
    Finding::new(
        "domains",
        if unknown { FindingState::Unknown } else { FindingState::Ok },
        found,
        why,
    )
}

/// How many NUMA nodes share an L3 (sub-NUMA clusters), where the kernel counts them apart.
fn nodes_of(facts: &Facts, cache: u32) -> usize {
    let Some(resctrl) = &facts.resctrl else { return 0 };
    let folder = resctrl.root.join(format!("mon_data/mon_L3_{cache:02}"));
    folders(&folder).iter().filter(|name| name.starts_with("mon_sub_L3_")).count()
}

/// A cache, as sysfs describes it (sysfs-devices-system-cpu: `cache/index*`).
pub(super) struct ListedCache {
    pub(super) id: u32,
    pub(super) cpus: CpuSet,
    pub(super) kibibytes: Option<u32>,
}

/// The caches of a level.
pub(super) fn caches(facts: &Facts, level: &str) -> Vec<ListedCache> {
    let mut caches: Vec<ListedCache> = Vec::new();
    for cpu in facts.cpus() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        for index in facts.files.names(&folder) {
            let index = format!("{folder}/{index}");
            if facts.files.line(&format!("{index}/level")).as_deref() != Some(level) {
                continue;
            }
            let id = facts.files.line(&format!("{index}/id"));
            let Some(id) = id.and_then(|id| id.parse().ok()) else { continue };
            match caches.iter_mut().find(|cache| cache.id == id) {
                Some(cache) => cache.cpus.insert(cpu),
                None => {
                    let size = facts.files.line(&format!("{index}/size"));
                    let size = size.as_deref().and_then(|size| size.strip_suffix('K'));
                    let kibibytes = size.and_then(|size| size.parse().ok());
                    caches.push(ListedCache { id, cpus: CpuSet::from_iter([cpu]), kibibytes });
                }
            }
        }
    }
    caches
}

fn hyper_threads(facts: &Facts) -> Finding {
    let why =
        "hardware threads of a core share its L1, L2 and throttle; each has an L3 mask of its own";
    match facts.files.line("sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => {
            Finding::new("hyper-threads", FindingState::Ok, "on: siblings share a core", why)
        }
        Some("0") => Finding::new("hyper-threads", FindingState::Ok, "off", why),
        _ => Finding::new("hyper-threads", FindingState::Unknown, "smt/active cannot be read", why),
    }
}

/// The ways that a group may fill in any domain.
pub(super) fn filled(schemata: &fairways_resctrl::language::Schemata) -> WayMask {
    let line = SHARED_CACHES.iter().find_map(|name| schemata.line(name));
    let masks = line.iter().flat_map(|line| &line.domains).filter_map(|(_, value)| match value {
        Value::Mask(mask) => Some(mask.bits()),
        Value::Number(_) => None,
    });
    WayMask::from_bits(masks.fold(0, |all, bits| all | bits))
}
