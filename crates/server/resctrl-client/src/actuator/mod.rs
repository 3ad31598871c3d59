//! The client itself: what its users call, and what that does to the groups.

pub(crate) mod dry_run;
pub(crate) mod enforcement;
pub(crate) mod look;
pub(crate) mod managed;
pub(crate) mod plans;
pub(crate) mod tasks;

use std::collections::BTreeMap;

use dry_run::DryRun;
use enforcement::{Enforced, Enforcement};
use fairways_core::{AppId, CpuSet, WayMask};
use fairways_ledger::{OpenError, Restored};
use fairways_linux::topology::Topology;
use fairways_resctrl::language::{CountedTraffic, Monitoring, Reading};
use managed::ManagedResctrl;
use rustix::io::Errno;

use crate::counts::packages::PackageCounts;
use crate::error::Error;
use crate::groups::programs::{Program, sum};
use crate::ledger::mount::Mount;
use crate::offer::domain::{Cap, Domain};
use crate::offer::findings::Findings;
use crate::offer::survey::Survey;
use crate::settings::Settings;
use crate::tally::{Errors, Ids};
use crate::tree::mon_data::{COUNTED, CountedPlace, OCCUPANCY};
use crate::tree::schemata::masks_in;
use crate::tree::{Tree, apart};

/// A client of one mounted resctrl, of which it is the only Fairways manager.
///
/// [`close`](Self::close) puts everything back. If it is dropped without that, everything stays as
/// it is until the next [`open`](Self::open), or [`restore`](crate::restore()).
#[derive(Debug)]
pub struct Actuator {
    enforcement: &'static dyn Enforcement,
    managed: ManagedResctrl,
    /// Whether it has looked for others' changes at least once.
    has_looked: bool,
}

impl Actuator {
    /// Claims the state directory, restores what a killed fairways left, and surveys this host. It
    /// changes nothing else.
    ///
    /// # Errors
    /// If this host has no resctrl with an L3 or L2 to share out; if another fairways, or other
    /// managers, have it; if this user may not.
    pub fn open(mut settings: Settings) -> Result<Self, OpenError> {
        let tree = Tree::open(&settings.root).map_err(|error| not_mounted(&settings, error))?;
        // If nothing is mounted, sysfs shows an empty directory.
        tree.file("info").map_err(|error| not_mounted(&settings, error))?;
        let enforcement: &'static dyn Enforcement = if settings.dry_run {
            // Adopting a group means renaming it.
            settings.adopt_monitors = false;
            &DryRun
        } else {
            &Enforced
        };
        let state = enforcement.open(&tree, &settings)?;
        let mut topology = Topology::default();
        topology.refresh(&settings.sysfs);
        let survey = Survey::read(&tree, &settings, &topology, None, &|_| false).map_err(
            |error| match tree.inode("info") {
                // A group came or went during the reading: resctrl is mounted.
                Ok(Some(_)) => OpenError::from(error),
                _ => not_mounted(&settings, error),
            },
        )?;
        let Some(survey) = survey else {
            let root = settings.root.display();
            return Err(OpenError::NotSupported(format!(
                "{root}/info: expected L3 or L2: ways of this host's caches can't be shared out (Intel CAT, AMD QoS \
                 or Arm MPAM; \"rdt=l3cat\" on the kernel's command line where it is left out)"
            )));
        };
        let found = Findings::new(survey, topology, &settings, &tree)?;
        if let Some(line) = found.nothing_free() {
            tracing::warn!(target: "fairways::actuate", "{line}");
        }
        let mount = Mount { settings, tree, state, errors: Errors::default() };
        Ok(Self { enforcement, managed: ManagedResctrl::new(mount, found), has_looked: false })
    }

    /// The domains on line that have something to offer, ascending.
    #[must_use]
    pub fn domains(&self) -> &[Domain] {
        &self.managed.found.domains
    }

    /// Whether ways of a domain can be assigned. Otherwise others have all of them, and its
    /// programs are only watched: a plan for it leaves them in the root's group.
    #[must_use]
    pub fn gives_out(&self, domain: u32) -> bool {
        self.managed
            .found
            .cache_of(domain)
            .is_some_and(|cache| self.managed.found.offers.are_free(cache))
    }

    /// Why no ways can be assigned in some domains, in a line.
    #[must_use]
    pub fn nothing_free(&self) -> Option<String> {
        self.managed.found.nothing_free()
    }

    /// The CPUs of each NUMA node, if several share a last-level cache (sub-NUMA clusters), and the
    /// CPUs of all are known.
    #[must_use]
    pub fn nodes(&self) -> Vec<CpuSet> {
        self.managed.found.node_cpus()
    }

    /// Makes each NUMA node that shares a cache a domain, or each cache. A node's ways are its part
    /// of the cache's: the node counts its own lines, and fills only its part. If that changes, the
    /// plans in force end. Returns whether it did.
    pub fn divide(&mut self, by_node: bool) -> bool {
        let changed = self.managed.found.divide(by_node, &self.managed.mount.tree);
        if changed {
            self.managed.plans.by_domain.clear();
        }
        changed
    }

    /// What this host can monitor.
    #[must_use]
    pub fn monitoring(&self) -> Option<&Monitoring> {
        self.managed.found.survey.monitoring.as_ref()
    }

    /// Whether this host counts the occupancy of the partitioned caches.
    #[must_use]
    pub fn counts_occupancy(&self) -> bool {
        self.counts(OCCUPANCY)
    }

    /// Whether this host counts the traffic of programs through these caches.
    #[must_use]
    pub fn counts_memory(&self) -> bool {
        self.counts(COUNTED)
    }

    /// Whether this host counts an event; no event of an L2 is counted.
    fn counts(&self, event: &str) -> bool {
        let monitoring = self.monitoring().filter(|_| self.managed.found.survey.level() == 3);
        monitoring.is_some_and(|of| of.events.iter().any(|name| name == event))
    }

    /// The bytes that a program occupies in a domain (`llc_occupancy`). `Unassigned`: it, or one of
    /// its threads, is not monitored, or this host does not count occupancy; `Unavailable`: not at
    /// the moment; `Error`: it can't be read.
    pub fn occupancy(&mut self, app: AppId, domain: u32) -> Reading {
        self.event(app, domain, OCCUPANCY, Program::occupancy)
    }

    /// The number of the groups that count a program. It changes when
    /// [`occupancy`](Self::occupancy) begins to leave out lines that the program occupies.
    #[must_use]
    pub fn counting_group(&self, app: AppId) -> u32 {
        self.managed.programs.by_id.get(&app).map_or(0, |program| program.groups_before)
    }

    /// The bytes that a program has moved from and to memory through a domain since it was first
    /// monitored (`mbm_total_bytes`). They never decrease, but some may be missing if a group had
    /// to be made again. Missing counts are reported as by [`occupancy`](Self::occupancy).
    pub fn memory_bytes(&mut self, app: AppId, domain: u32) -> Reading {
        self.event(app, domain, COUNTED, Program::memory)
    }

    /// The offered ways of a domain that threads in these groups of others may fill, with those of
    /// the root's group if some threads are in it; `None` if these are all ways, or none.
    #[must_use]
    pub fn limit<'g>(
        &self,
        groups: impl Iterator<Item = &'g String>,
        are_in_root: bool,
        domain: u32,
    ) -> Option<WayMask> {
        let survey = &self.managed.found.survey;
        let domain = self.managed.found.domain(domain)?;
        let root = masks_in(&survey.root, survey.sides);
        let root = root.iter().filter(|((_, id), _)| *id == domain.cache_id);
        let root = root.fold(0, |all, (_, mask)| all | mask.bits());
        let mut mask = if are_in_root { root } else { 0 };
        for group in groups {
            let (class, _) = apart(group);
            let foreign = survey.foreign.iter().find(|foreign| foreign.name == class);
            mask |= match foreign {
                Some(foreign) => foreign.masks.get(&domain.cache_id).map_or(0, |of| of.bits()),
                None => root,
            };
        }
        let offered = domain.offered(WayMask::from_bits(mask));
        (!offered.is_empty() && offered.count() < domain.llc.ways.get()).then_some(offered)
    }

    /// How many of a program's threads no group counts, because they stay in groups of others, or
    /// could not be moved to its own.
    #[must_use]
    pub fn uncounted(&self, app: AppId) -> usize {
        self.managed.programs.by_id.get(&app).map_or(0, |program| program.uncounted.len())
    }

    fn event(
        &mut self,
        app: AppId,
        domain: u32,
        event: &'static str,
        read: fn(&mut Program, &Tree, CountedPlace) -> Reading,
    ) -> Reading {
        let counted = self.managed.found.survey.monitoring.as_ref();
        let counted = counted.is_some_and(|of| of.events.iter().any(|name| name == event));
        let program = self.managed.programs.by_id.get_mut(&app).filter(|_| counted);
        let (Some(program), Some(place)) = (program, self.managed.found.counted(domain)) else {
            return Reading::Unassigned;
        };
        let tree = &self.managed.mount.tree;
        let reading = match self.managed.found.nodes_of(place) {
            [] => read(program, tree, place),
            // The kernel's own sum leaves out nodes that can't be read.
            nodes => sum(
                0,
                nodes.iter().map(|&(node, _)| {
                    read(program, tree, CountedPlace { node: Some(node), ..place })
                }),
            ),
        };
        program.read(event, domain, reading);
        reading
    }

    /// Puts everything back, and returns what could not be.
    #[must_use]
    pub fn close(self) -> Restored {
        self.enforcement.close(self.managed)
    }

    /// Problems that do not prevent managing programs, a line each; usually none.
    #[must_use]
    pub fn degraded(&self) -> Vec<String> {
        let mut lines: Vec<String> =
            self.managed.mount.tree.locked.borrow().iter().cloned().collect();
        lines.extend(self.nothing_free());
        if let Some(Cap { held, lacks, .. }) = self.managed.found.cap {
            let counted = self.managed.found.offers.counted;
            lines.push(format!(
                "only {held} of {counted} classes of service are available: {lacks}"
            ));
        }
        if self.managed.plans.applied.merged > 0 {
            lines.push(format!(
                "too few classes of service: of the plan's, two were made one {} times, and their programs may have more ways or bandwidth than planned",
                self.managed.plans.applied.merged
            ));
        }
        let root = self.managed.found.root_limits();
        for class in &self.managed.classes.list {
            let limits = self.managed.found.stricter(&root, &class.set_by_others);
            let limits = limits.changed_bandwidths(&root);
            if !limits.is_empty() {
                let (name, limits) = (&class.name, limits.shown());
                lines.push(format!("somebody else limits {name} to {limits}: that stays"));
            }
        }
        for class in self.managed.classes.list.iter().filter(|class| !class.tightened.is_empty()) {
            let name =
                |app| self.managed.programs.by_id.get(app).map(|program| program.name.as_str());
            let programs: Vec<&str> = class.tightened.iter().filter_map(name).collect();
            lines.push(format!(
                "too few classes of service: in {} ({}) limits are stricter than where these came from: {}",
                class.name,
                class.limits.shown(),
                programs.join(", ")
            ));
        }
        lines.extend(self.managed.found.without_bandwidth());
        self.managed.programs.traffic_warnings(&self.managed.found.traffic, &mut lines);
        self.managed.programs.unreadable(&mut lines);
        lines
    }

    /// How the counters of memory traffic are used in each domain, if they are assigned to groups
    /// (`mbm_assign_mode`); empty if hardware assigns them.
    #[must_use]
    pub fn traffic_counters(&self) -> Vec<(u32, Ids)> {
        self.managed.programs.counters(&self.managed.found.traffic)
    }

    /// The ways that devices fill under a class of their own (`io_alloc_cbm`), by resctrl's id of
    /// the cache, as of the last look; `None` if they have no such class.
    #[must_use]
    pub fn io_masks(&self) -> Option<&BTreeMap<u32, WayMask>> {
        self.managed.found.survey.io.as_ref()
    }

    /// The events that packages count for groups, such as `core_energy`; empty if they count none.
    #[must_use]
    pub fn package_events(&self) -> &[String] {
        &self.managed.found.survey.package_events
    }

    /// The counts of packages for a program, as of the last [`look`](Self::look).
    #[must_use]
    pub fn package_counts(&self, app: AppId) -> PackageCounts {
        self.managed.programs.package_counts(app)
    }

    /// How memory traffic is counted.
    #[must_use]
    pub const fn traffic(&self) -> &CountedTraffic {
        &self.managed.found.traffic
    }

    /// Classes of service, as far as every domain has them: a task has one class for all domains.
    #[must_use]
    pub fn closids(&self) -> Ids {
        let Findings { survey, offers, .. } = &self.managed.found;
        let (all, offered) = (survey.closids.into(), u64::from(offers.classes));
        Ids::new(all, self.managed.classes.list.len() as u64, u64::saturating_sub(all, offered))
    }

    /// Monitoring ids; `None` if this host has none, or does not show how many. The kernel does not
    /// show which ids it reserves until their lines are gone; those count as free.
    #[must_use]
    pub fn rmids(&self) -> Option<Ids> {
        let survey = &self.managed.found.survey;
        let others = 1 + survey.foreign.len() + survey.monitors.len();
        let used = self.managed.programs.made_monitors() + self.managed.classes.list.len();
        let all = survey.rmids()?;
        Some(Ids::new(all.into(), used as u64, others as u64))
    }

    /// How often plans, masks, monitoring groups and removals failed. Each failed attempt counts.
    #[must_use]
    pub const fn errors(&self) -> &Errors {
        &self.managed.mount.errors
    }

    /// Counts a failure.
    pub fn erred(&mut self, error: &Error) {
        self.managed.mount.errors.came(error);
    }
}

/// Nothing is mounted there, or something other than resctrl.
fn not_mounted(settings: &Settings, error: Error) -> OpenError {
    match error.errno() {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => OpenError::NotSupported(format!(
            "{}: expected resctrl; mount it with `mount -t resctrl resctrl /sys/fs/resctrl`",
            settings.root.display()
        )),
        _ => error.into(),
    }
}
