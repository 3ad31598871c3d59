//! Making and removing groups.

use super::{Caller, Class, Errno, Group, GroupId, Node, Resctrl, World};
use fairways_core::CpuSet;
use fairways_resctrl::language::Mode;

/// The directory that MON groups are made in; none of them may have this name.
pub(super) const MON_GROUPS: &str = "mon_groups";

impl Resctrl {
    /// mkdir(2) with the usual permissions (0755).
    ///
    /// # Errors
    /// As [`mkdir_with_mode`](Self::mkdir_with_mode).
    pub fn mkdir(
        &mut self,
        parent: Node,
        name: &str,
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<Node, Errno> {
        self.mkdir_with_mode(parent, name, 0o755, caller, world)
    }

    /// mkdir(2): a CTRL_MON group in the root, a MON group in a `mon_groups`. `mode` is the
    /// caller's, less its umask.
    ///
    /// # Errors
    /// ENOTDIR, EEXIST; EINVAL for a name with a line's end; ENODEV under `info`; EPERM elsewhere;
    /// ENOSPC if there is no class, id or way left, EBUSY if ids are in limbo (`rdtgroup_mkdir`).
    pub fn mkdir_with_mode(
        &mut self,
        parent: Node,
        name: &str,
        mode: u16,
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<Node, Errno> {
        self.check_directory(parent)?;
        if self.lookup(parent, name).is_some() {
            return Err(Errno::Eexist);
        }
        if name.contains('\n') {
            return Err(Errno::Einval);
        }
        if !self.platform.allocates() && self.platform.monitoring.is_none() {
            return Err(Errno::Eperm);
        }
        let control = self.platform.allocates() && parent == Node::Group(self.root);
        if !control && self.platform.monitoring.is_none() {
            return Err(Errno::Eperm);
        }
        // `mkdir_rdt_prepare`: directories under `info` have no group.
        let nowhere =
            if self.platform.kernel.finds_group_first { Errno::Enodev } else { Errno::Eperm };
        let above = parent.group().ok_or(nowhere)?;
        self.clear_status();
        if !control && (parent != Node::MonGroups(above) || name == MON_GROUPS) {
            return Err(Errno::Eperm);
        }
        let group = Group {
            name: name.to_owned(),
            parent: (!control).then_some(above),
            children: Vec::new(),
            mode: Mode::Shareable,
            class: Class::default(),
            cpus: CpuSet::new(),
            mbps_event: None,
            owner: (caller.uid, caller.gid),
            directory_mode: mode & 0o1777,
        };
        let id = if control {
            self.make_control(group, world)
        } else {
            self.make_monitor(above, group, world)
        };
        self.changed();
        id.map(Node::Group)
    }

    fn insert(&mut self, group: Group) -> GroupId {
        let id = GroupId(self.next_group);
        self.next_group += 1;
        self.groups.insert(id, group);
        id
    }

    /// `closid_alloc`.
    fn free_class(&self) -> Option<u32> {
        let used = self.classes_in_use();
        let mut free =
            (0..self.closids_supported()).filter(|id| !used.iter().any(|(used, _)| used == id));
        let monitoring = self.platform.monitoring.as_ref();
        if monitoring.is_some_and(|of| of.rmids_per_class && of.reports_occupancy()) {
            self.rmids.cleanest(free)
        } else {
            free.next()
        }
    }

    /// `rdtgroup_mkdir_ctrl_mon`: class, then id, then masks; a failure undoes the steps before.
    fn make_control(&mut self, mut group: Group, world: &mut dyn World) -> Result<GroupId, Errno> {
        let Some(closid) = self.free_class() else {
            return self.fail("Out of CLOSIDs\n", Errno::Enospc);
        };
        group.class = Class { closid, rmid: self.take_rmid(closid)? };
        self.start_counters(group.class, world);
        let id = GroupId(self.next_group);
        self.assign_new(id, group.class, world);
        if let Err(errno) = self.initialise(closid) {
            self.assigned.group_gone(id);
            self.free_rmid(group.class);
            return Err(errno);
        }
        if self.options().mba_mbps {
            group.mbps_event = self.default_mbps_event();
        }
        let id = self.insert(group);
        self.order.insert(0, id);
        Ok(id)
    }

    /// `rdtgroup_mkdir_mon`.
    fn make_monitor(
        &mut self,
        parent: GroupId,
        mut group: Group,
        world: &mut dyn World,
    ) -> Result<GroupId, Errno> {
        let closid = self.group(parent).class.closid;
        group.class = Class { closid, rmid: self.take_rmid(closid)? };
        self.start_counters(group.class, world);
        self.assign_new(GroupId(self.next_group), group.class, world);
        let id = self.insert(group);
        self.group_mut(parent).children.push(id);
        Ok(id)
    }

    /// `mkdir_rdt_prepare_rmid_alloc`.
    fn take_rmid(&mut self, closid: u32) -> Result<u32, Errno> {
        if self.platform.monitoring.is_none() {
            return Ok(0);
        }
        match self.rmids.take(closid) {
            Ok(rmid) => Ok(rmid),
            Err(errno) => self.fail("Out of RMIDs\n", errno),
        }
    }

    /// rmdir(2): a group goes, with everything in it. Threads and CPUs of a CTRL_MON group go to
    /// the root, those of a MON group to the group that it is in.
    ///
    /// # Errors
    /// ENOENT if it is gone, ENOTDIR, and EPERM if it is no group, and for the root
    /// (`rdtgroup_rmdir`).
    pub fn rmdir(&mut self, node: Node, _world: &mut dyn World) -> Result<(), Errno> {
        if !self.exists(node) {
            return Err(Errno::Enoent);
        }
        if !node.is_directory() {
            return Err(Errno::Enotdir);
        }
        if let Some(group) = node.group() {
            self.access(group)?;
        }
        let Node::Group(id) = node else { return Err(Errno::Eperm) };
        if id == self.root {
            return Err(Errno::Eperm);
        }
        let group = self.group(id);
        match group.parent {
            Some(parent) => {
                let to = self.group(parent).class;
                self.move_tasks(id, to);
                self.group_mut(parent).children.retain(|&child| child != id);
                self.free_group(id);
            }
            None => {
                self.move_tasks(id, Class::default());
                let cpus = self.group(id).cpus.clone();
                let root = self.group_mut(self.root);
                root.cpus = root.cpus.union(&cpus);
                self.order.retain(|&other| other != id);
                let group = self.free_group(id);
                for child in group.children {
                    self.free_group(child);
                }
            }
        }
        self.changed();
        Ok(())
    }

    /// Takes a group out of the tree and gives its id back.
    pub(super) fn free_group(&mut self, id: GroupId) -> Group {
        let group = self.groups.remove(&id).unwrap_or_else(|| Group::root(CpuSet::new()));
        self.free_rmid(group.class);
        self.assigned.group_gone(id);
        self.overrides.retain(|node, _| node.group() != Some(id));
        group
    }

    /// Members of a group other than the root get another class, also those that the world does not
    /// list (`rdt_move_group_tasks`).
    pub(super) fn move_tasks(&mut self, from: GroupId, to: Class) {
        let members: Vec<i32> =
            self.tasks.keys().copied().filter(|&thread| self.is_member(thread, from)).collect();
        for thread in members {
            self.assign(thread, to);
        }
    }
}
