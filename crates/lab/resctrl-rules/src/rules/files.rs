//! Files: permissions, and the rule that reads or writes each.
//!
//! The errors of the kernel's VFS and kernfs from before resctrl is called are here, too.

use super::{Attributes, Caller, ControlFile, Errno, GroupFile, Node, PAGE_BYTES, Resctrl, World};

impl Resctrl {
    /// Permissions and owner. The files of a group belong to its maker, those in the root to root
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

    /// chmod(2) and chown(2), by a caller that may do so; this hands a tree to a user other than
    /// root.
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

    /// Whether any user, root included, can open a file this way (`kernfs_fop_open` with
    /// `KERNFS_ROOT_EXTRA_OPEN_PERM_CHECK`); the VFS decides whether this caller may.
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

    /// The error of open(2) with `O_CREAT`, and of other calls that make files, where there is no
    /// such file: resctrl has no way to make one (`lookup_open`).
    #[must_use]
    pub const fn create_error(&self) -> Errno {
        Errno::Eacces
    }

    /// The error of unlink(2), symlink(2), link(2) and mknod(2) (`vfs_unlink` and its like).
    #[must_use]
    pub const fn unlink_error(&self) -> Errno {
        Errno::Eperm
    }

    /// The whole of a file, as one read(2) from its start gives it.
    ///
    /// # Errors
    /// ENODEV if it is gone, EISDIR.
    pub fn read(
        &mut self,
        node: Node,
        caller: &Caller,
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
                GroupFile::MbmL3Assignments => self.show_assignments(group)?,
                GroupFile::Cpus => self.show_cpus(group, false),
                GroupFile::CpusList => self.show_cpus(group, true),
                GroupFile::Tasks => self.show_tasks(group, caller, world),
                GroupFile::MonHwId => number(self.group(group).class.rmid),
                GroupFile::Schemata => self.show_schemata(group),
                GroupFile::MbaMbpsEvent => self.show_mbps_event(group)?,
                GroupFile::Mode => self.show_mode(group),
                GroupFile::Size => self.show_size(group),
                GroupFile::CtrlHwId => number(self.group(group).class.closid),
            },
            Node::MonEvent(group, cache, event) => {
                self.show_event(group, &self.monitored_in(cache), event, world)?
            }
            Node::MonNodeEvent(group, node, event) => {
                self.show_event(group, &[node], event, world)?
            }
            Node::LastCmdStatus => self.status.show(self.platform.kernel.marks_truncation),
            Node::ControlFile(id, ControlFile::IoAllocCbm) => self.show_io_alloc_cbm(id)?,
            Node::ControlFile(id, file) => self.show_control(id, file),
            Node::MonitoringFile(file) => self.show_monitoring(file)?,
            Node::EventFilter(event) => self.show_filter(event)?,
            Node::MonPackageEvent(group, package, event) => {
                self.show_package_event(group, package, event, world)?
            }
            Node::TelemetryFeatures => self.show_package_features(),
            Node::TelemetryRmids => number(self.platform.telemetry().unwrap_or(0)),
            _ => return Err(Errno::Eisdir),
        })
    }

    /// One write(2); its offset does not matter, and it is taken whole or not at all.
    ///
    /// # Errors
    /// ENODEV if it is gone, EISDIR, EACCES for a file that can't be opened for writing, E2BIG for
    /// more than a page, and the errors of the file's rule.
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
                // `rdtgroup_file_write`: a file made writable by chmod(2) still has no function for
                // it.
                if !file.is_writable() {
                    return Err(Errno::Einval);
                }
                self.access(group)?;
                match file {
                    GroupFile::MbmL3Assignments => self.write_assignments(group, bytes, world),
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
            Node::ControlFile(id, ControlFile::IoAlloc) => self.write_io_alloc(id, bytes),
            Node::ControlFile(id, ControlFile::IoAllocCbm) => self.write_io_alloc_cbm(id, bytes),
            Node::EventFilter(event) => self.write_filter(event, bytes, world),
            _ => Err(Errno::Einval),
        }
    }
}

pub(super) fn number(value: u32) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
