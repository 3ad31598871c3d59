//! The tree: what is where, who may, and which rule reads or writes it.
//!
//! What the kernel's VFS and kernfs refuse before resctrl is asked is here too.

use super::{
    Attributes, Caller, ControlFile, Errno, GroupFile, GroupId, MonitoringFile, Node, PAGE_BYTES,
    Resctrl, Side, World,
};
use crate::platform::{Event, Resource};

impl Resctrl {
    /// The root, while mounted; of each mount another one.
    #[must_use]
    pub const fn root(&self) -> Node {
        Node::Group(self.root)
    }

    /// Whether that node is in the tree now.
    #[must_use]
    pub fn exists(&self, node: Node) -> bool {
        if !self.is_mounted() || !node.group().is_none_or(|group| self.groups.contains_key(&group))
        {
            return false;
        }
        let monitoring = self.platform.monitoring.is_some();
        match node {
            Node::Group(_) | Node::Info | Node::LastCmdStatus => true,
            Node::File(group, file) => self.has_file(group, file),
            Node::MonGroups(group) => monitoring && self.group(group).parent.is_none(),
            Node::MonData(_) | Node::Monitoring => monitoring,
            Node::MonDomain(_, domain) => monitoring && self.monitored.contains(&domain),
            Node::MonEvent(_, domain, event) => {
                self.monitored.contains(&domain) && self.events().contains(&event)
            }
            Node::Control(id) => self.schemas.iter().any(|schema| schema.id == id),
            Node::ControlFile(id, file) => {
                self.exists(Node::Control(id)) && self.has_control_file(id.resource, file)
            }
            Node::MonitoringFile(file) => monitoring && self.has_monitoring_file(file),
        }
    }

    fn events(&self) -> &[Event] {
        self.platform.monitoring.as_ref().map_or(&[], |monitoring| &monitoring.events)
    }

    /// `rdtgroup_add_files` with the flags of a group.
    fn has_file(&self, group: GroupId, file: GroupFile) -> bool {
        let control = self.group(group).parent.is_none();
        let monitoring = self.platform.monitoring.is_some();
        let options = self.options();
        match file {
            GroupFile::Cpus | GroupFile::CpusList | GroupFile::Tasks => true,
            GroupFile::Schemata | GroupFile::Mode | GroupFile::Size => control,
            GroupFile::CtrlHwId => control && options.debug,
            GroupFile::MonHwId => monitoring && options.debug,
            GroupFile::MbaMbpsEvent => {
                let known = self.platform.kernel.bandwidth_event_file;
                control && monitoring && options.mba_mbps && known
            }
        }
    }

    fn has_control_file(&self, resource: Resource, file: ControlFile) -> bool {
        let throttles =
            |of| self.platform.bandwidth(of).is_some_and(|of| of.throttle_mode.is_some());
        match file {
            ControlFile::NumClosids => true,
            ControlFile::CbmMask
            | ControlFile::MinCbmBits
            | ControlFile::ShareableBits
            | ControlFile::BitUsage => resource.is_cache(),
            ControlFile::SparseMasks => {
                resource.is_cache() && self.platform.kernel.sparse_masks_file
            }
            ControlFile::MinBandwidth | ControlFile::BandwidthGran | ControlFile::DelayLinear => {
                !resource.is_cache()
            }
            ControlFile::ThreadThrottleMode => {
                !resource.is_cache() && (throttles(Resource::Mb) || throttles(Resource::Smba))
            }
        }
    }

    fn has_monitoring_file(&self, file: MonitoringFile) -> bool {
        match file {
            MonitoringFile::MonFeatures
            | MonitoringFile::NumRmids
            | MonitoringFile::MaxThresholdOccupancy => true,
            MonitoringFile::MbmTotalBytesConfig => self.configures(Event::MbmTotalBytes),
            MonitoringFile::MbmLocalBytesConfig => self.configures(Event::MbmLocalBytes),
            MonitoringFile::MbmAssignMode => self.platform.kernel.assign_mode_file,
        }
    }

    /// Whether it can be chosen what an event counts (`mon_evt.configurable`).
    pub(super) fn configures(&self, event: Event) -> bool {
        let monitoring = self.platform.monitoring.as_ref();
        self.platform.kernel.event_configuration
            && event.is_bandwidth()
            && monitoring.is_some_and(|of| of.configurable.is_some() && of.events.contains(&event))
    }

    /// What is in a directory, by name: files in the kernel's order of making, then directories. readdir(3) shows the
    /// kernel's by a hash; nobody can rely on any order.
    #[must_use]
    pub fn children(&self, node: Node) -> Vec<(String, Node)> {
        if !self.exists(node) {
            return Vec::new();
        }
        let mut children: Vec<Node> = Vec::new();
        match node {
            Node::Group(group) => {
                children.extend(GroupFile::ALL.map(|file| Node::File(group, file)));
                if group == self.root {
                    children.push(Node::Info);
                }
                children.extend([Node::MonGroups(group), Node::MonData(group)]);
                if group == self.root {
                    let groups = self.order.iter().rev().filter(|&&other| other != group);
                    children.extend(groups.map(|&group| Node::Group(group)));
                }
            }
            Node::MonGroups(group) => {
                children.extend(self.group(group).children.iter().map(|&child| Node::Group(child)));
            }
            Node::MonData(group) => {
                children
                    .extend(self.monitored.iter().map(|&domain| Node::MonDomain(group, domain)));
            }
            Node::MonDomain(group, domain) => {
                children.extend(Event::ALL.map(|event| Node::MonEvent(group, domain, event)));
            }
            Node::Info => {
                children.push(Node::LastCmdStatus);
                children.extend(self.schemas.iter().map(|schema| Node::Control(schema.id)));
                children.push(Node::Monitoring);
            }
            Node::Control(id) => {
                children.extend(ControlFile::ALL.map(|file| Node::ControlFile(id, file)));
            }
            Node::Monitoring => {
                children.extend(MonitoringFile::ALL.map(Node::MonitoringFile));
            }
            _ => {}
        }
        let there = children.into_iter().filter(|&child| self.exists(child));
        there.map(|child| (self.name(child), child)).collect()
    }

    /// The node of that name in a directory.
    #[must_use]
    pub fn lookup(&self, node: Node, name: &str) -> Option<Node> {
        self.children(node).into_iter().find(|(child, _)| child == name).map(|(_, child)| child)
    }

    /// The name of a node; the root has none.
    #[must_use]
    pub fn name(&self, node: Node) -> String {
        match node {
            Node::Group(group) => {
                self.groups.get(&group).map(|group| group.name.clone()).unwrap_or_default()
            }
            Node::File(_, file) => file.name().to_owned(),
            Node::MonGroups(_) => "mon_groups".to_owned(),
            Node::MonData(_) => "mon_data".to_owned(),
            Node::MonDomain(_, domain) => format!("mon_L3_{domain:02}"),
            Node::MonEvent(.., event) => event.name().to_owned(),
            Node::Info => "info".to_owned(),
            Node::LastCmdStatus => "last_cmd_status".to_owned(),
            Node::Control(id) => id.name().to_owned(),
            Node::ControlFile(_, file) => file.name().to_owned(),
            Node::Monitoring => "L3_MON".to_owned(),
            Node::MonitoringFile(file) => file.name().to_owned(),
        }
    }

    /// The directory that a node is in; none for the root and for what is gone.
    #[must_use]
    pub fn parent(&self, node: Node) -> Option<Node> {
        if !self.exists(node) {
            return None;
        }
        match node {
            Node::Group(group) if group == self.root => None,
            Node::Group(group) => {
                Some(self.group(group).parent.map_or(self.root(), Node::MonGroups))
            }
            Node::File(group, _) | Node::MonGroups(group) | Node::MonData(group) => {
                Some(Node::Group(group))
            }
            Node::MonDomain(group, _) => Some(Node::MonData(group)),
            Node::MonEvent(group, domain, _) => Some(Node::MonDomain(group, domain)),
            Node::Info => Some(self.root()),
            Node::LastCmdStatus | Node::Control(_) | Node::Monitoring => Some(Node::Info),
            Node::ControlFile(id, _) => Some(Node::Control(id)),
            Node::MonitoringFile(_) => Some(Node::Monitoring),
        }
    }

    /// Permissions and owner. What is in a group belongs to who made the group, what is in the root to root
    /// (`rdtgroup_kn_set_ugid`), until chown(2).
    #[must_use]
    pub fn attributes(&self, node: Node) -> Option<Attributes> {
        if !self.exists(node) {
            return None;
        }
        if let Some(&changed) = self.overrides.get(&node) {
            return Some(changed);
        }
        let group = node.group().map(|group| self.group(group));
        let (uid, gid) = group.map_or((0, 0), |group| group.owner);
        let mode = match (node, group) {
            (_, Some(group)) if node.is_directory() => group.directory_mode,
            _ => node.first_mode(),
        };
        Some(Attributes { directory: node.is_directory(), mode, uid, gid })
    }

    /// chmod(2) and chown(2), by who may do so; this is how a tree is handed to a user who is not root.
    ///
    /// # Errors
    /// ENOENT if it is gone.
    pub fn set_attributes(
        &mut self,
        node: Node,
        mode: Option<u16>,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> Result<(), Errno> {
        let mut attributes = self.attributes(node).ok_or(Errno::Enoent)?;
        attributes.mode = mode.map_or(attributes.mode, |mode| mode & 0o7777);
        attributes.uid = uid.unwrap_or(attributes.uid);
        attributes.gid = gid.unwrap_or(attributes.gid);
        self.overrides.insert(node, attributes);
        Ok(())
    }

    /// Whether a file can be opened so by anybody, root included (`kernfs_fop_open` with
    /// `KERNFS_ROOT_EXTRA_OPEN_PERM_CHECK`); whether this caller may is for the VFS to say.
    ///
    /// # Errors
    /// ENODEV if it is gone, EISDIR for writing to a directory, EACCES.
    pub fn open(&self, node: Node, read: bool, write: bool) -> Result<(), Errno> {
        let attributes = self.attributes(node).ok_or(Errno::Enodev)?;
        if attributes.directory {
            return if write { Err(Errno::Eisdir) } else { Ok(()) };
        }
        let readable = attributes.mode & 0o444 != 0;
        let writable = attributes.mode & 0o222 != 0 && node.takes_writes();
        if (read && !readable) || (write && !writable) { Err(Errno::Eacces) } else { Ok(()) }
    }

    /// What open(2) with `O_CREAT` and others that make files answer, where there is no such file: resctrl has no way to
    /// make one (`lookup_open`).
    #[must_use]
    pub const fn create_error(&self) -> Errno {
        Errno::Eacces
    }

    /// What unlink(2), symlink(2), link(2) and mknod(2) answer (`vfs_unlink` and its like).
    #[must_use]
    pub const fn unlink_error(&self) -> Errno {
        Errno::Eperm
    }

    pub(super) fn check_directory(&self, node: Node) -> Result<(), Errno> {
        if !self.exists(node) {
            Err(Errno::Enoent)
        } else if !node.is_directory() {
            Err(Errno::Enotdir)
        } else {
            Ok(())
        }
    }

    /// The whole of a file, as one read(2) from its start gives it.
    ///
    /// # Errors
    /// ENODEV if it is gone, EISDIR.
    pub fn read(
        &mut self,
        node: Node,
        _caller: &Caller,
        world: &mut dyn World,
    ) -> Result<Vec<u8>, Errno> {
        if !self.exists(node) {
            return Err(Errno::Enodev);
        }
        if node.is_directory() {
            return Err(Errno::Eisdir);
        }
        if let Some(group) = node.group() {
            self.access(group)?;
        }
        Ok(match node {
            Node::File(group, file) => match file {
                GroupFile::Cpus => self.show_cpus(group, false),
                GroupFile::CpusList => self.show_cpus(group, true),
                GroupFile::Tasks => self.show_tasks(group, world),
                GroupFile::MonHwId => number(self.group(group).class.rmid),
                GroupFile::Schemata => self.show_schemata(group),
                GroupFile::MbaMbpsEvent => self.show_mbps_event(group)?,
                GroupFile::Mode => self.show_mode(group),
                GroupFile::Size => self.show_size(group),
                GroupFile::CtrlHwId => number(self.group(group).class.closid),
            },
            Node::MonEvent(group, domain, event) => self.show_event(group, domain, event, world)?,
            Node::LastCmdStatus => self.status.show(self.platform.kernel.marks_truncation),
            Node::ControlFile(id, file) => self.show_control(id, file),
            Node::MonitoringFile(file) => self.show_monitoring(file),
            _ => return Err(Errno::Eisdir),
        })
    }

    /// One write(2); where it is written to does not matter, and it is taken whole or not at all.
    ///
    /// # Errors
    /// ENODEV if it is gone, EISDIR, EACCES for what cannot be opened to be written, E2BIG for more than a page, and what
    /// the file's rule says.
    pub fn write(
        &mut self,
        node: Node,
        bytes: &[u8],
        caller: &Caller,
        world: &mut dyn World,
    ) -> Result<(), Errno> {
        self.open(node, false, true)?;
        if bytes.len() > PAGE_BYTES {
            return Err(Errno::E2big);
        }
        match node {
            Node::File(group, file) => {
                // `rdtgroup_file_write`: a file made writable by chmod(2) has still nobody who takes it.
                if !file.is_writable() {
                    return Err(Errno::Einval);
                }
                self.access(group)?;
                match file {
                    GroupFile::Cpus => self.write_cpus(group, bytes, false),
                    GroupFile::CpusList => self.write_cpus(group, bytes, true),
                    GroupFile::Tasks => self.write_tasks(group, bytes, caller, world),
                    GroupFile::Schemata => self.write_schemata(group, bytes),
                    GroupFile::Mode => self.write_mode(group, bytes),
                    GroupFile::MbaMbpsEvent => self.write_mbps_event(group, bytes),
                    _ => Err(Errno::Einval),
                }
            }
            Node::MonitoringFile(file) => self.write_monitoring(file, bytes, world),
            _ => Err(Errno::Einval),
        }
    }

    /// The node at a path from the root, such as `g1/mon_groups/m1/tasks`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Node> {
        let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
        let root = Some(self.root()).filter(|&root| self.exists(root));
        names.fold(root, |node, name| self.lookup(node?, name))
    }

    /// The mask that `side` of a class has in use by that name; see [`Resctrl::mask`].
    pub(super) fn side_mask(&self, resource: Resource, side: Side, closid: u32, at: u32) -> u32 {
        self.controls.value(resource, at, side, closid).unwrap_or(0)
    }
}

pub(super) fn number(value: u32) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
