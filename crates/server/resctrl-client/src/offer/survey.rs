//! What exists: the cache, its domains, and others' groups.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::Path;

use fairways_core::BandwidthLever;
use fairways_linux::mounts;
use fairways_linux::topology::Topology;
use fairways_resctrl::language::{
    Bandwidth, Cache, IN_MBPS_FILE, IN_MBPS_OPTION, Info, Line, Monitoring, Schemata, Value,
};
use rustix::fs::{major, minor};

use super::bandwidth_domains::bandwidth_domains;
use super::claims::Claims;
use super::foreign::{Foreign, Groups, groups};
use crate::error::Error;
use crate::settings::Settings;
use crate::tree::Tree;
use crate::tree::io_alloc::{self, IoMasks};
use crate::tree::mon_data::{DividedCache, shared_caches};
use crate::tree::schemata::SIDES;

/// All findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    shape: Shape,
    fixed: FixedSurvey,
    /// The root's `schemata`.
    pub(crate) root: Schemata,
    /// The domains on line, ascending.
    pub(crate) domains: Vec<Found>,
    /// The domain of `MB` that each L3 has, where it is certain.
    pub(crate) bandwidth_domains: BTreeMap<u32, u32>,
    /// What devices fill, by domain, where they have a class of their own.
    pub(crate) io: Option<IoMasks>,
    /// Groups that Fairways did not make.
    pub(crate) foreign: Vec<Foreign>,
    /// MON groups that Fairways did not make, wherever they are.
    pub(crate) monitors: Vec<String>,
    /// The paths of the MON groups that it made.
    pub(crate) ours: BTreeSet<String>,
}

/// One cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: u32,
    /// Bytes of a way.
    pub(crate) way_bytes: u64,
}

impl Survey {
    /// Reads everything again; reads `info` only if the mount or the domains differ from the survey
    /// `before`. `None` if no cache can be partitioned. `ours` says whether a name is one of our
    /// groups, and `topology` has the CPUs of caches.
    pub(crate) fn read(
        tree: &Tree,
        settings: &Settings,
        topology: &Topology,
        before: Option<&Self>,
        ours: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Self>, Error> {
        let text = tree.read("schemata")?;
        let root = Schemata::parse(&text).map_err(|why| tree.misread("schemata", why))?;
        let shape = Shape::of(tree, &root)?;
        // A node that shares a cache comes and goes with its CPUs, but the cache stays.
        let known = before.filter(|before| {
            before.shape == shape
                && (before.shared.is_empty() || before.shared == shared_caches(tree))
        });
        let fixed = match known {
            Some(before) => Some(before.fixed.clone()),
            None => fixed(tree, &settings.proc)?,
        };
        let Some(fixed) = fixed else { return Ok(None) };
        // Monitoring ids belong to their class there.
        tree.set_rmids_per_class(fixed.cache.is_of_mpam());
        let sides = fixed.sides;
        let last = sides[sides.len() - 1];
        let domains = domains(tree, &root, last)?;
        let mut certain = before.map(|of| of.bandwidth_domains.clone()).unwrap_or_default();
        // A certain domain stays certain while CPUs come and go.
        certain.retain(|cache, domain| {
            has_domain(&root, last, *cache) && has_domain(&root, "MB", *domain)
        });
        if level(sides) == 3 && domains.iter().any(|found| !certain.contains_key(&found.id)) {
            let Settings { sysfs, .. } = settings;
            let found = bandwidth_domains(&root, &fixed.cache, topology, sysfs, tree.root());
            certain = found.into_iter().chain(certain).collect();
        }
        let io = if fixed.has_io_alloc { io_alloc::read(tree, last)? } else { None };
        let taken = settings.take_over.then_some(&settings.to_take);
        let Groups { foreign, monitors, ours } = groups(tree, ours, taken)?;
        let bandwidth_domains = certain;
        Ok(Some(Self {
            shape,
            fixed,
            root,
            domains,
            bandwidth_domains,
            io,
            foreign,
            monitors,
            ours,
        }))
    }

    /// The level of the cache whose ways are shared out: 3, or 2.
    pub(crate) fn level(&self) -> u32 {
        level(self.sides)
    }

    /// Does not count ways of groups that became idle after the survey `before`: plans were made
    /// for that one.
    pub(crate) fn idle_only_as_in(&mut self, before: &Self) {
        for group in &mut self.foreign {
            let known = before.foreign.iter().find(|known| known.name == group.name);
            group.is_idle &= known.is_none_or(|known| known.is_idle);
        }
    }

    /// How memory bandwidth can be limited for a cache, if it can: only by L3.
    pub(crate) fn bandwidth(&self, cache: u32) -> Option<BandwidthLever> {
        self.lever(*self.bandwidth_domains.get(&cache)?)
    }

    /// How memory bandwidth can be limited in the first domain of `MB`, whichever cache has it.
    pub(crate) fn any_bandwidth(&self) -> Option<BandwidthLever> {
        self.lever(self.root.line("MB")?.domains.first()?.0)
    }

    /// The lever for a domain of `MB`.
    pub(crate) fn lever(&self, domain: u32) -> Option<BandwidthLever> {
        self.bandwidth.as_ref()?.lever(&self.root, domain, self.is_in_mbps)
    }

    /// The names of unknown resources in `schemata`, each once.
    pub(crate) fn unknown_resources(&self) -> BTreeSet<String> {
        self.root.unknown.iter().map(|line| line.resource.clone()).collect()
    }

    /// The number of monitoring ids, if known. Early MPAM kernels always show 1, since each class
    /// has its own ids: the root's group alone has one.
    pub(crate) fn rmids(&self) -> Option<u32> {
        self.monitoring.as_ref().map(|of| of.rmids).filter(|&rmids| rmids > 1)
    }

    /// What others use.
    pub(crate) fn claims(&self) -> Claims<'_> {
        Claims {
            cache: &self.cache,
            domains: self.domains.iter().map(|found| found.id).collect(),
            closids: self.closids,
            io: self.io.as_ref(),
            groups: &self.foreign,
        }
    }
}

impl Deref for Survey {
    type Target = FixedSurvey;

    fn deref(&self) -> &FixedSurvey {
        &self.fixed
    }
}

/// What `info` and the mount show; it does not change while the shape is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FixedSurvey {
    /// The cache; with CDP, its data.
    pub(crate) cache: Cache,
    /// Its lines in `schemata`.
    pub(crate) sides: &'static [&'static str],
    /// Classes of service that every resource has (`closid_init`), the root's among them.
    pub(crate) closids: u32,
    pub(crate) monitoring: Option<Monitoring>,
    /// The caches that several NUMA nodes share.
    pub(crate) shared: Vec<DividedCache>,
    /// Whether devices can have a class of their own.
    has_io_alloc: bool,
    /// The events that packages count for groups.
    pub(crate) package_events: Vec<String>,
    /// The fewest bits that a mask of any cache must have.
    pub(crate) least_bits: u32,
    /// Memory bandwidth, if it can be limited.
    bandwidth: Option<Bandwidth>,
    /// Whether values of `MB` are MiB/s that the kernel keeps to: the option `mba_MBps`.
    is_in_mbps: bool,
}

/// The level of the cache with these lines.
fn level(sides: &[&str]) -> u32 {
    if sides[0].starts_with("L2") { 2 } else { 3 }
}

/// Whether a line has a domain.
fn has_domain(schemata: &Schemata, resource: &str, id: u32) -> bool {
    schemata.line(resource).is_some_and(|line| line.value(id).is_some())
}

fn fixed(tree: &Tree, proc: &Path) -> Result<Option<FixedSurvey>, Error> {
    let info = info(tree)?;
    let closids = info.caches.iter().map(|cache| cache.closids);
    let closids = closids.chain(info.bandwidths.iter().map(|bandwidth| bandwidth.closids)).min();
    let has = |name: &str| info.caches.iter().any(|cache| cache.resource == name);
    let sides = SIDES.into_iter().find(|sides| sides.iter().all(|side| has(side)));
    let (Some(sides), Some(closids)) = (sides, closids) else { return Ok(None) };
    let last = sides[sides.len() - 1];
    let least_bits = info.caches.iter().map(|cache| cache.min_bits).max().unwrap_or(1);
    let cache = info.caches.into_iter().find(|cache| cache.resource == last);
    let Some(cache) = cache else { return Ok(None) };
    let bandwidth = info.bandwidths.into_iter().find(|bandwidth| bandwidth.resource == "MB");
    let is_in_mbps = bandwidth.is_some() && mounted_in_mbps(tree, proc)?;
    let (monitoring, package_events) = (info.monitoring, info.package_events);
    let shared = shared_caches(tree);
    let has_io_alloc = tree.inode(&format!("info/{last}/io_alloc"))?.is_some();
    Ok(Some(FixedSurvey {
        cache,
        sides,
        closids,
        monitoring,
        shared,
        has_io_alloc,
        package_events,
        least_bits,
        bandwidth,
        is_in_mbps,
    }))
}

/// Whether the mount has the option `mba_MBps`.
fn mounted_in_mbps(tree: &Tree, proc: &Path) -> Result<bool, Error> {
    if tree.inode(IN_MBPS_FILE)?.is_some() {
        return Ok(true);
    }
    let number = format!("{}:{}", major(tree.device()), minor(tree.device()));
    // Without knowing this, a percentage could be written as MiB/s.
    let mounts = mounts::all(proc)
        .map_err(|why| Error::Mounts { path: proc.join("self/mountinfo"), why: why.to_string() })?;
    let mut own = mounts.iter().filter(|mount| mount.device == number);
    Ok(own.any(|mount| mount.options.split(',').any(|option| option == IN_MBPS_OPTION)))
}

/// If this changes, `info` has to be read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// `st_ino` of `info`, which may change with a new mount.
    info: Option<u64>,
    /// The lines of the root's `schemata`, each with its domains: with CDP there are others.
    lines: Vec<(String, Vec<u32>)>,
}

impl Shape {
    fn of(tree: &Tree, root: &Schemata) -> Result<Self, Error> {
        let ids = |line: &Line| line.domains.iter().map(|&(id, _)| id).collect();
        let lines = root.lines.iter().map(|line| (line.resource.clone(), ids(line))).collect();
        Ok(Self { info: tree.inode("info")?, lines })
    }
}

fn info(tree: &Tree) -> Result<Info, Error> {
    let entries = tree.directories("info")?;
    let refused = RefCell::new(None);
    let file = |path: &str| match tree.read(&format!("info/{path}")) {
        Ok(text) => Some(text),
        Err(error) if error.is_gone() => None,
        Err(error) => {
            refused.borrow_mut().get_or_insert(error);
            None
        }
    };
    let info = Info::read(entries.iter().map(String::as_str), file);
    if let Some(error) = refused.into_inner() {
        return Err(error);
    }
    info.map_err(|why| tree.misread("info", why))
}

/// The domains of a line; the bytes of a way are those in `size` divided by the ways of the root's
/// mask.
fn domains(tree: &Tree, schemata: &Schemata, line: &str) -> Result<Vec<Found>, Error> {
    let text = tree.read("size")?;
    let sizes = Schemata::parse_sizes(&text).map_err(|why| tree.misread("size", why))?;
    let (Some(masks), Some(sizes)) = (schemata.line(line), sizes.line(line)) else {
        return Ok(Vec::new());
    };
    let found = masks.domains.iter().filter_map(|&(id, value)| {
        let (Value::Mask(mask), Value::Number(bytes)) = (value, sizes.value(id)?) else {
            return None;
        };
        // An empty mask, which AMD allows, shows no size: skip the domain.
        let way_bytes = u64::from(bytes).checked_div(u64::from(mask.count()))?;
        Some(Found { id, way_bytes })
    });
    Ok(found.collect())
}
