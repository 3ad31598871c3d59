//! `cpus` and `cpus_list`.

use super::text;
use super::{Errno, GroupId, Resctrl};
use fairways_core::CpuError;
use fairways_core::CpuSet;

impl Resctrl {
    /// `rdtgroup_cpus_show`.
    pub(super) fn show_cpus(&self, group: GroupId, list: bool) -> Vec<u8> {
        let cpus = &self.group(group).cpus;
        let text = if list { cpus.to_list() } else { cpus.to_mask(self.platform.cpu_limit()) };
        (text + "\n").into_bytes()
    }

    /// `rdtgroup_cpus_write`.
    pub(super) fn write_cpus(
        &mut self,
        group: GroupId,
        bytes: &[u8],
        list: bool,
    ) -> Result<(), Errno> {
        self.clear_status();
        let text = text::ascii(text::string(bytes));
        let limit = self.platform.cpu_limit();
        let cpus =
            if list { CpuSet::parse_list(&text, limit) } else { CpuSet::parse_mask(&text, limit) };
        let cpus = match cpus {
            Ok(cpus) => cpus,
            Err(error) => return self.fail("Bad CPU list/mask\n", error.into()),
        };
        if !cpus.is_subset(&self.online) {
            return self.fail("Can only assign online CPUs\n", Errno::Einval);
        }
        match self.group(group).parent {
            None => self.give_control_cpus(group, cpus)?,
            Some(parent) => self.give_monitor_cpus(group, parent, cpus)?,
        }
        self.changed();
        Ok(())
    }

    /// CPUs of a CTRL_MON group: dropped ones fall to the root, added ones leave where they were,
    /// and its MON groups lose all of theirs (`cpus_ctrl_write`).
    fn give_control_cpus(&mut self, group: GroupId, cpus: CpuSet) -> Result<(), Errno> {
        let dropped = self.group(group).cpus.difference(&cpus);
        if !dropped.is_empty() {
            if group == self.root {
                return self.fail("Can't drop CPUs from default group\n", Errno::Einval);
            }
            let root = self.group_mut(self.root);
            root.cpus = root.cpus.union(&dropped);
        }
        let added = cpus.difference(&self.group(group).cpus);
        for other in self.order.clone().into_iter().filter(|&other| other != group) {
            let lost = self.group(other).cpus.intersection(&added);
            if lost.is_empty() {
                continue;
            }
            let left = self.group(other).cpus.difference(&lost);
            for child in self.group(other).children.clone() {
                let child = self.group_mut(child);
                child.cpus = child.cpus.intersection(&left);
            }
            self.group_mut(other).cpus = left;
        }
        for child in self.group(group).children.clone() {
            self.group_mut(child).cpus = CpuSet::new();
        }
        self.group_mut(group).cpus = cpus;
        Ok(())
    }

    /// CPUs of a MON group: some of its parent's, which no other MON group there keeps
    /// (`cpus_mon_write`).
    fn give_monitor_cpus(
        &mut self,
        group: GroupId,
        parent: GroupId,
        cpus: CpuSet,
    ) -> Result<(), Errno> {
        if !cpus.is_subset(&self.group(parent).cpus) {
            let message = "Can only add CPUs to mongroup that belong to parent\n";
            return self.fail(message, Errno::Einval);
        }
        let added = cpus.difference(&self.group(group).cpus);
        for other in self.group(parent).children.clone() {
            let other = self.group_mut(other);
            other.cpus = other.cpus.difference(&added);
        }
        self.group_mut(group).cpus = cpus;
        Ok(())
    }
}

impl From<CpuError> for Errno {
    fn from(error: CpuError) -> Self {
        match error {
            CpuError::Malformed => Self::Einval,
            CpuError::OutOfRange => Self::Erange,
            CpuError::TooLarge => Self::Eoverflow,
        }
    }
}
