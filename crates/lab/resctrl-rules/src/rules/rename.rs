//! Renaming: MON groups only, within `mon_groups` or from one to another.

use super::groups::MON_GROUPS;
use super::{Class, Errno, Node, Resctrl, World};

impl Resctrl {
    /// rename(2). A MON group that goes to another CTRL_MON group takes its threads there; its
    /// counters go on.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EISDIR, EINVAL and ENOTEMPTY as for any filesystem; EEXIST, because nothing
    /// is replaced; EPERM for anything but a MON group, for a place that is no `mon_groups`, and
    /// for a group with CPUs that would change its parent (`rdtgroup_rename`).
    pub fn rename(
        &mut self,
        from: Node,
        name: &str,
        to: Node,
        new_name: &str,
        _world: &mut dyn World,
    ) -> Result<(), Errno> {
        self.check_directory(from)?;
        self.check_directory(to)?;
        let source = self.lookup(from, name).ok_or(Errno::Enoent)?;
        let target = self.lookup(to, new_name);
        if self.is_within(to, source) {
            return Err(Errno::Einval);
        }
        if let Some(target) = target {
            if self.is_within(from, target) {
                return Err(Errno::Enotempty);
            }
            if target == source {
                return Ok(());
            }
            if source.is_directory() && !target.is_directory() {
                return Err(Errno::Enotdir);
            }
            if !source.is_directory() && target.is_directory() {
                return Err(Errno::Eisdir);
            }
        }
        if !self.platform.kernel.renames_groups {
            return Err(Errno::Eperm);
        }
        // The kernel does not know nodes without a group; it takes a file of `info/L3` for a
        // group's.
        if is_groupless(source) {
            return Err(Errno::Enoent);
        }
        let parent = to.group().ok_or(Errno::Enoent)?;
        self.status.clear();
        if !source.is_directory() {
            return self.fail("Source and destination must be directories", Errno::Eperm);
        }
        let moved = match source {
            Node::Group(id) => self.group(id).parent.map(|parent| (id, parent)),
            _ => None,
        };
        let Some((id, old_parent)) = moved else {
            return self.fail("Source must be a MON group\n", Errno::Eperm);
        };
        if to != Node::MonGroups(parent) || new_name == MON_GROUPS {
            return self.fail("Destination must be a mon_groups subdirectory\n", Errno::Eperm);
        }
        if !self.group(id).cpus.is_empty() && old_parent != parent {
            return self.fail("Cannot move a MON group that monitors CPUs\n", Errno::Eperm);
        }
        if self.platform.has_rmids_per_class() && old_parent != parent {
            // `mongrp_reparent` takes the RMID along, which in the other class may be another
            // group's.
            return Err(Errno::Eperm);
        }
        if target.is_some() {
            return Err(Errno::Eexist);
        }
        new_name.clone_into(&mut self.group_mut(id).name);
        if old_parent != parent {
            let closid = self.group(parent).class.closid;
            let class = Class { closid, ..self.group(id).class };
            self.move_tasks(id, class);
            self.group_mut(old_parent).children.retain(|&child| child != id);
            self.group_mut(parent).children.push(id);
            let group = self.group_mut(id);
            group.parent = Some(parent);
            group.class = class;
        }
        self.changed();
        Ok(())
    }

    /// Whether `node` is `above`, or somewhere below it.
    fn is_within(&self, node: Node, above: Node) -> bool {
        std::iter::successors(Some(node), |&node| self.parent(node)).any(|node| node == above)
    }
}

const fn is_groupless(node: Node) -> bool {
    matches!(
        node,
        Node::Info | Node::LastCmdStatus | Node::Control(_) | Node::Monitoring | Node::Telemetry
    )
}
