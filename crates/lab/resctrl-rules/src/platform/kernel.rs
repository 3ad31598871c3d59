//! Differences between kernels.

/// A kernel, by the points in which its resctrl differs from the others'.
///
/// Each field states since which version a kernel behaves so, by the commit that changed fs/resctrl
/// (before 6.16: arch/x86/kernel/cpu/resctrl). Everything else is the same from 6.1 to 7.2, the
/// older two with the fixes of their stable releases: crates/proof/kernel-lab/tests/fidelity
/// compares with Debian's builds of all three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name: `6.1`, `6.12`, `7.2`, `next`.
    pub name: &'static str,
    /// MON groups can be renamed; otherwise rename(2) gives EPERM. Since 6.5.
    pub renames_groups: bool,
    /// The mount option `debug`, with `ctrl_hw_id` and `mon_hw_id`. Since 6.7.
    pub debug_option: bool,
    /// `tasks` takes several ids with commas. Since 6.7.
    pub task_lists: bool,
    /// `info/L3/sparse_masks`. Since 6.7.
    pub sparse_masks_file: bool,
    /// Masks may have gaps on Intel's processors that allow it; they always might on AMD's, where a
    /// mask may also be empty. Since 6.7.
    pub intel_sparse_masks: bool,
    /// Events can be configured (`mbm_total_bytes_config`), where hardware can. Since 6.3.
    pub event_configuration: bool,
    /// SMBA. Since 6.3.
    pub slow_memory_bandwidth: bool,
    /// `mba_MBps_event`, and `mba_MBps` where only traffic with all memory is counted. Since 6.14.
    pub bandwidth_event_file: bool,
    /// Masks and percentages in `schemata` are padded to one width, masks with zeros. Until 6.14.
    pub padded_schemata: bool,
    /// `info/L3_MON/mbm_assign_mode`, and counters that are assigned to groups where hardware has
    /// them (`mbm_event`). Since 6.18.
    pub assign_mode_file: bool,
    /// Nodes that share a last-level cache are monitored apart (`mon_sub_L3_*`). Since 6.11.
    pub sub_numa_clusters: bool,
    /// `info/L3/io_alloc` and `io_alloc_cbm`, where hardware can. Since 6.19; `*` for all domains
    /// since 7.1.
    pub io_alloc: bool,
    /// Energy of groups by package (`PERF_PKG_MON`), where hardware reports it. Since 7.0.
    pub telemetry: bool,
    /// The mask of a new group keeps all free ways where masks may have gaps, not only the first
    /// run. Since 6.19.
    pub sparse_defaults: bool,
    /// mkdir(2) below `info` looks for the group first, and gives ENODEV; otherwise EPERM. Not yet
    /// in 6.12.
    pub finds_group_first: bool,
    /// mkdir(2) and writes to `cpus` and `cpus_list` clear `last_cmd_status`, as other commands do.
    /// Not yet in 6.12.
    pub clears_status: bool,
    /// `last_cmd_status` is cleared whenever a file of a group is read or written, and by rmdir(2).
    /// After 7.2.
    pub status_is_of_last_access: bool,
    /// `last_cmd_status` reports a missing line end, and a bad `max_threshold_occupancy`. After
    /// 7.2.
    pub explains_bad_input: bool,
    /// `last_cmd_status` ends with `[truncated]` if it ran over. After 7.2.
    pub marks_truncation: bool,
}

impl Kernel {
    /// Linux 7.2, the one that this crate is compared with.
    #[must_use]
    pub const fn v7_2() -> Self {
        Self {
            name: "7.2",
            renames_groups: true,
            debug_option: true,
            task_lists: true,
            sparse_masks_file: true,
            intel_sparse_masks: true,
            event_configuration: true,
            slow_memory_bandwidth: true,
            bandwidth_event_file: true,
            padded_schemata: false,
            assign_mode_file: true,
            sub_numa_clusters: true,
            io_alloc: true,
            telemetry: true,
            sparse_defaults: true,
            finds_group_first: true,
            clears_status: true,
            status_is_of_last_access: false,
            explains_bad_input: false,
            marks_truncation: false,
        }
    }

    /// Linux 6.12.
    #[must_use]
    pub const fn v6_12() -> Self {
        Self {
            name: "6.12",
            bandwidth_event_file: false,
            padded_schemata: true,
            assign_mode_file: false,
            telemetry: false,
            sparse_defaults: false,
            io_alloc: false,
            finds_group_first: false,
            clears_status: false,
            ..Self::v7_2()
        }
    }

    /// Linux 6.1.
    #[must_use]
    pub const fn v6_1() -> Self {
        Self {
            name: "6.1",
            renames_groups: false,
            debug_option: false,
            task_lists: false,
            sparse_masks_file: false,
            intel_sparse_masks: false,
            event_configuration: false,
            slow_memory_bandwidth: false,
            sub_numa_clusters: false,
            ..Self::v6_12()
        }
    }

    /// The changes queued for the kernel after 7.2: `last_cmd_status` is of the last access.
    #[must_use]
    pub const fn next() -> Self {
        Self {
            name: "next",
            status_is_of_last_access: true,
            explains_bad_input: true,
            marks_truncation: true,
            ..Self::v7_2()
        }
    }

    /// The known kernels, oldest first.
    #[must_use]
    pub fn all() -> [Self; 4] {
        [Self::v6_1(), Self::v6_12(), Self::v7_2(), Self::next()]
    }

    /// The kernel with that [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|kernel| kernel.name == name)
    }
}
