//! Mounting and unmounting.

use super::{Errno, Group, GroupId, Options, Resctrl, World, schema};
use crate::platform::{Event, Resource};
use fairways_resctrl::language::Mode;

/// Options that belong to any filesystem (fs/fs_context.c, `vfs_parse_sb_flag`).
const GENERAL: [&str; 11] = [
    "dirsync",
    "lazytime",
    "mand",
    "ro",
    "sync",
    "async",
    "nolazytime",
    "nomand",
    "rw",
    "source",
    "",
];

impl Resctrl {
    /// Whether resctrl is mounted.
    #[must_use]
    pub const fn is_mounted(&self) -> bool {
        self.mounted.is_some()
    }

    /// The options that /proc/mounts shows after the general ones: `,cdp,debug`
    /// (`rdtgroup_show_options`).
    #[must_use]
    pub fn show_options(&self) -> String {
        let options = self.options();
        let shown = [
            (options.cdp, ",cdp"),
            (options.cdpl2, ",cdpl2"),
            (options.mba_mbps, ",mba_MBps"),
            (options.debug, ",debug"),
        ];
        shown.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect()
    }

    /// Mounts with options as mount(2) takes them: `cdp,debug`.
    ///
    /// # Errors
    /// EINVAL for an option that does not exist or that the machine can't have; EBUSY if it is
    /// mounted already (`rdt_parse_param`, `rdt_get_tree`).
    pub fn mount(&mut self, options: &str, world: &mut dyn World) -> Result<(), Errno> {
        let options = self.parse_options(options)?;
        // `rdt_get_tree` clears the last message before it checks whether it can mount.
        if !self.platform.kernel.status_is_of_last_access {
            self.status.clear();
        }
        if self.mounted.is_some() {
            return Err(Errno::Ebusy);
        }
        self.check_cdp(options)?;
        self.mounted = Some(options);
        self.schemas = schema::schemas(&self.platform, options);
        self.rename_root();
        if options.mba_mbps {
            let event = self.default_mbps_event();
            self.group_mut(self.root).mbps_event = event;
        }
        let class = self.group(self.root).class;
        self.start_counters(class, world);
        self.assign_new(self.root, class, world);
        self.status.clear();
        self.changed();
        Ok(())
    }

    /// Unmounts: every group goes, every thread and CPU comes back to the root, all limits are
    /// lifted; the cache that ids still occupy is waited for as always (`rdt_kill_sb`,
    /// `rmdir_all_sub`).
    pub fn unmount(&mut self) {
        if self.mounted.take().is_none() {
            return;
        }
        self.controls.reset(&self.platform);
        self.other_values.clear();
        self.is_io_class_reserved = false;
        self.tasks.clear();
        for id in std::mem::take(&mut self.order) {
            for child in std::mem::take(&mut self.group_mut(id).children) {
                self.free_group(child);
            }
            if id == self.root {
                self.order.push(id);
            } else {
                let group = self.free_group(id);
                let root = self.group_mut(self.root);
                root.cpus = root.cpus.union(&group.cpus);
            }
        }
        self.assigned.group_gone(self.root);
        let root = self.group_mut(self.root);
        root.mode = Mode::Shareable;
        root.mbps_event = None;
        self.schemas.clear();
        self.overrides.clear();
        self.generation += 1;
    }

    fn parse_options(&self, text: &str) -> Result<Options, Errno> {
        let mut options = Options::default();
        for word in text.split(',') {
            match word {
                "cdp" => options.cdp = true,
                "cdpl2" => options.cdpl2 = true,
                "mba_MBps" if self.supports_mbps() => options.mba_mbps = true,
                "debug" if self.platform.kernel.debug_option => options.debug = true,
                word if GENERAL.contains(&word) => {}
                _ => return Err(Errno::Einval),
            }
        }
        Ok(options)
    }

    /// `resctrl_arch_set_cdp_enabled`.
    fn check_cdp(&self, options: Options) -> Result<(), Errno> {
        let can = |resource| self.platform.cache(resource).is_some_and(|cache| cache.cdp);
        let wrong = (options.cdp && !can(Resource::L3)) || (options.cdpl2 && !can(Resource::L2));
        if wrong { Err(Errno::Einval) } else { Ok(()) }
    }

    /// Bandwidth must be counted, and limited linearly, by the same cache, with a counter for each
    /// group (`supports_mba_mbps`).
    fn supports_mbps(&self) -> bool {
        if self.has_assignable_counters() {
            return false;
        }
        let linear = self.platform.mb.as_ref().is_some_and(|mb| mb.linear);
        let is_cache_counted = self.platform.nodes_per_known_cache() == 1;
        linear && is_cache_counted && self.default_mbps_event().is_some()
    }

    /// Local bandwidth if it is counted (`mba_mbps_default_event`); older kernels know no other.
    pub(super) fn default_mbps_event(&self) -> Option<Event> {
        let events = &self.platform.monitoring.as_ref()?.events;
        let known: &[Event] = if self.platform.kernel.bandwidth_event_file {
            &[Event::MbmLocalBytes, Event::MbmTotalBytes]
        } else {
            &[Event::MbmLocalBytes]
        };
        known.iter().copied().find(|event| events.contains(event))
    }

    /// Files of an earlier mount are not those of this one, not even the root's.
    fn rename_root(&mut self) {
        let id = GroupId(self.next_group);
        self.next_group += 1;
        let group =
            self.groups.remove(&self.root).unwrap_or_else(|| Group::root(self.online.clone()));
        self.groups.insert(id, group);
        self.order = vec![id];
        self.root = id;
    }
}
