//! The kernel's rules, as one state machine.
//!
//! [`Resctrl`] is the state of fs/resctrl: groups, classes of service (CLOSIDs), monitoring ids
//! (RMIDs), masks, CPUs and threads. It does no I/O, reads no clock and draws no random numbers. A
//! stand-in for the kernel hands it every operation on the tree ([`mkdir`](Resctrl::mkdir),
//! [`write`](Resctrl::write), ...) and events of threads and CPUs ([`forked`](Resctrl::forked),
//! [`cpu_offline`](Resctrl::cpu_offline), ...), answers its questions ([`World`]), and makes a
//! machine obey its decisions ([`class_of`](Resctrl::class_of), [`mask`](Resctrl::mask)). Files are
//! [`Node`]s, not paths.
//!
//! Each file here is one of the kernel's subjects; a rule names the kernel's function that it
//! follows. The text of messages is the kernel's, because clients read it.

mod assign;
mod bandwidth;
mod controls;
mod cpus;
mod errno;
mod files;
mod groups;
mod hotplug;
mod info;
mod io_alloc;
mod mode;
mod monitor;
mod mount;
mod node;
mod other_lines;
mod rename;
mod rmids;
mod schema;
mod schemata;
mod status;
mod tasks;
mod telemetry;
mod text;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

pub use errno::Errno;
pub use node::{Attributes, ControlFile, GroupFile, GroupId, MonitoringFile, Node};
pub use schema::{SchemaId, Side};

use crate::platform::{Event, PackageEvent, Platform, Resource};
use assign::Assigned;
use controls::Controls;
use fairways_core::CpuSet;
use fairways_resctrl::language::{Mode, Reading};
use monitor::Counters;
use other_lines::OtherValues;
use rmids::Rmids;
use schema::{Options, Schema};
use status::Status;

/// Bytes of a page, the most that one write may have (`atomic_write_len`).
pub const PAGE_BYTES: usize = 4096;

/// A new group's limit under `mba_MBps`: everything (`MBA_MAX_MBPS`).
pub const UNLIMITED_MBPS: u32 = u32::MAX;

/// The caller of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The thread, by the world's id.
    pub thread: i32,
    /// Its effective user, which owns what it makes.
    pub uid: u32,
    /// Its effective group, likewise.
    pub gid: u32,
}

/// The users of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its real user.
    pub uid: u32,
    /// Its saved user.
    pub suid: u32,
}

/// A class of service and a monitoring id, which go to hardware with every access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// CLOSID: whose masks and limits apply.
    pub closid: u32,
    /// RMID: whose counters count.
    pub rmid: u32,
}

/// The rules' questions to their surroundings.
///
/// Threads are named by the ids that the world gives them. A world that serves several PID
/// namespaces translates those that a caller [writes](World::named) and [reads](World::numbers).
pub trait World {
    /// The owner of a thread; none if there is no such thread.
    fn owner(&mut self, thread: i32) -> Option<Owner>;

    /// All threads, in the order in which `tasks` lists them: the kernel's is by age of the
    /// processes.
    fn threads(&mut self) -> Vec<i32>;

    /// The existing ones of these threads, in the order of [`threads`](World::threads).
    fn existing(&mut self, threads: Vec<i32>) -> Vec<i32> {
        let threads: BTreeSet<i32> = threads.into_iter().collect();
        let mut all = self.threads();
        all.retain(|thread| threads.contains(thread));
        all
    }

    /// The thread that the caller names by this number, which is one of its PID namespace
    /// (`find_task_by_vpid`); none if there is no such thread there.
    fn named(&mut self, _: &Caller, number: i32) -> Option<i32> {
        Some(number)
    }

    /// The numbers of threads in the caller's PID namespace, without those that have none there
    /// (`task_pid_vnr`).
    fn numbers(&mut self, _: &Caller, threads: Vec<i32>) -> Vec<i32> {
        threads
    }

    /// The count of hardware under `class` in the monitored domain `domain` (an L3 cache, or a node
    /// where several share one), in bytes: since the beginning
    /// for bandwidth, never less than before; at this moment for occupancy.
    fn counter(&mut self, class: Class, domain: u32, event: Event) -> Reading;

    /// The count of a package under `class` since the beginning, in units of 2^-18 joules or
    /// farads; none if it has none yet.
    fn telemetry(&mut self, _: Class, _package: u32, _: PackageEvent) -> Option<u64> {
        None
    }
}

/// A group (`struct rdtgroup`).
#[derive(Clone, Debug)]
struct Group {
    name: String,
    /// The CTRL_MON group that a MON group is in.
    parent: Option<GroupId>,
    /// MON groups, in the order of their making.
    children: Vec<GroupId>,
    mode: Mode,
    class: Class,
    cpus: CpuSet,
    /// The event that `mba_MBps` uses.
    mbps_event: Option<Event>,
    owner: (u32, u32),
    /// Permission bits that mkdir(2) requested.
    directory_mode: u16,
}

/// The kernel's resctrl on one machine. See the [module](self).
#[derive(Clone, Debug)]
pub struct Resctrl {
    platform: Platform,
    mounted: Option<Options>,
    schemas: Vec<Schema>,
    root: GroupId,
    groups: BTreeMap<GroupId, Group>,
    /// CTRL_MON groups, the newest first and the root last (`rdt_all_groups`).
    order: Vec<GroupId>,
    next_group: u64,
    /// Threads that are not of class 0, monitored by id 0.
    tasks: BTreeMap<i32, Class>,
    online: CpuSet,
    controls: Controls,
    other_values: OtherValues,
    /// Whether devices fill the L3 under a class of their own.
    io_alloc: bool,
    /// Whether no group can have that class.
    is_io_class_reserved: bool,
    /// L3 domains that have a CPU online.
    monitored: BTreeSet<u32>,
    rmids: Rmids,
    counters: Counters,
    assigned: Assigned,
    status: Status,
    /// Attributes set by chmod(2) and chown(2).
    overrides: BTreeMap<Node, Attributes>,
    generation: u64,
}

impl Resctrl {
    /// The machine just booted, resctrl not mounted, all CPUs online.
    #[must_use]
    pub fn new(platform: Platform) -> Self {
        let root = GroupId(0);
        let online = platform.all_cpus();
        let mut resctrl = Self {
            mounted: None,
            schemas: Vec::new(),
            root,
            groups: BTreeMap::new(),
            order: vec![root],
            next_group: 1,
            tasks: BTreeMap::new(),
            controls: Controls::default(),
            other_values: OtherValues::new(),
            io_alloc: false,
            is_io_class_reserved: false,
            monitored: BTreeSet::new(),
            rmids: Rmids::new(&platform),
            counters: Counters::default(),
            assigned: Assigned::new(&platform),
            status: Status::default(),
            overrides: BTreeMap::new(),
            generation: 0,
            online: CpuSet::new(),
            platform,
        };
        resctrl.groups.insert(root, Group::root(CpuSet::new()));
        for cpu in online.iter() {
            resctrl.bring_online(cpu, None);
        }
        resctrl
    }

    /// The machine.
    #[must_use]
    pub const fn platform(&self) -> &Platform {
        &self.platform
    }

    /// CPUs that are online.
    #[must_use]
    pub const fn online(&self) -> &CpuSet {
        &self.online
    }

    /// Changes whenever anything may have changed that a machine must obey: classes of threads and
    /// CPUs, masks, limits.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The class in hardware while `thread` runs on `cpu`: the thread's own if it is not the
    /// default, otherwise the CPU's (x86's `__resctrl_sched_in`; resctrl.rst, "Resource allocation
    /// rules"). MPAM has both ids in one value (`mpam_thread_switch`), so that they never belong to
    /// two groups.
    #[must_use]
    pub fn class_of(&self, thread: i32, cpu: u32) -> Class {
        self.class_beside(thread, self.class_of_cpu(cpu))
    }

    /// The same on a CPU whose [own class](Self::class_of_cpu) is known.
    #[must_use]
    pub fn class_beside(&self, thread: i32, own: Class) -> Class {
        let task = self.tasks.get(&thread).copied().unwrap_or_default();
        if self.platform.has_rmids_per_class() {
            return if task == Class::default() { own } else { task };
        }
        Class {
            closid: if task.closid == 0 { own.closid } else { task.closid },
            rmid: if task.rmid == 0 { own.rmid } else { task.rmid },
        }
    }

    /// The class that `cpu` uses for a thread without its own.
    #[must_use]
    pub fn class_of_cpu(&self, cpu: u32) -> Class {
        let group = self.order.iter().find(|&&id| self.group(id).cpus.contains(cpu));
        let Some(&group) = group else { return Class::default() };
        let child = self.group(group).children.iter();
        let child = child.copied().find(|&id| self.group(id).cpus.contains(cpu));
        self.group(child.unwrap_or(group)).class
    }

    /// The mask of class `closid` in a cache; none if there is no such class, domain, or mask.
    #[must_use]
    pub fn mask(&self, resource: Resource, side: Side, closid: u32, domain: u32) -> Option<u32> {
        let parted = self.options().parts(resource);
        let side = match side {
            _ if !parted => Side::Both,
            Side::Both => Side::Data,
            side => side,
        };
        self.platform.cache(resource)?;
        self.controls.value(resource, domain, side, closid)
    }

    /// The bandwidth that class `closid` is limited to, in the units of
    /// [`crate::platform::BandwidthAllocation`].
    #[must_use]
    pub fn bandwidth(&self, resource: Resource, closid: u32, domain: u32) -> Option<u32> {
        self.platform.bandwidth(resource)?;
        self.controls.value(resource, domain, Side::Both, closid)
    }

    /// The class of a group; none once it is gone.
    #[must_use]
    pub fn class_of_group(&self, group: GroupId) -> Option<Class> {
        self.groups.get(&group).map(|group| group.class)
    }

    fn options(&self) -> Options {
        self.mounted.unwrap_or_default()
    }

    /// A group that is known to exist.
    fn group(&self, id: GroupId) -> &Group {
        &self.groups[&id]
    }

    fn group_mut(&mut self, id: GroupId) -> &mut Group {
        self.groups.get_mut(&id).expect("a group that is listed is kept")
    }

    /// A file of that group is accessed (`kernfs_get_active`, `rdtgroup_kn_lock_live`).
    fn access(&mut self, group: GroupId) -> Result<(), Errno> {
        if self.mounted.is_none() || !self.groups.contains_key(&group) {
            return Err(Errno::Enodev);
        }
        if self.platform.kernel.status_is_of_last_access {
            self.status.clear();
        }
        Ok(())
    }

    /// Not every kernel clears the last message at every command.
    fn clear_status(&mut self) {
        if self.platform.kernel.clears_status {
            self.status.clear();
        }
    }

    /// The line that was written to `file`, without its end; EINVAL if it has none.
    ///
    /// The kernels differ in `last_cmd_status` then: nothing new, or that input is invalid.
    fn line<'a>(&mut self, file: &str, bytes: &'a [u8]) -> Result<&'a [u8], Errno> {
        let line = text::line(bytes);
        if line.is_some() || self.platform.kernel.explains_bad_input {
            self.status.clear();
        }
        line.ok_or_else(|| {
            if self.platform.kernel.explains_bad_input {
                self.status.put(file);
                self.status.put(": Invalid input\n");
            }
            Errno::Einval
        })
    }

    fn fail<T>(&mut self, message: &str, errno: Errno) -> Result<T, Errno> {
        self.status.put(message);
        Err(errno)
    }

    fn changed(&mut self) {
        self.generation += 1;
    }

    fn is_mba_sc(&self, resource: Resource) -> bool {
        self.options().is_mbps(resource)
    }
}

impl Group {
    fn root(cpus: CpuSet) -> Self {
        Self {
            name: String::new(),
            parent: None,
            children: Vec::new(),
            mode: Mode::Shareable,
            class: Class::default(),
            cpus,
            mbps_event: None,
            owner: (0, 0),
            directory_mode: 0o555,
        }
    }
}
