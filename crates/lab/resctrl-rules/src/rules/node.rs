//! Files and directories.

use std::collections::BTreeSet;

use super::schema::SchemaId;
use crate::platform::{Event, PackageEvent, Platform};

/// A group, over all of its life; never that of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub(super) u64);

/// A file in a group's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupFile {
    /// `mbm_L3_assignments`.
    MbmL3Assignments,
    /// `cpus`: a mask.
    Cpus,
    /// `cpus_list`: a list.
    CpusList,
    /// `tasks`: thread ids.
    Tasks,
    /// `mon_hw_id`: the RMID.
    MonHwId,
    /// `schemata`.
    Schemata,
    /// `mba_MBps_event`.
    MbaMbpsEvent,
    /// `mode`.
    Mode,
    /// `size`.
    Size,
    /// `ctrl_hw_id`: the CLOSID.
    CtrlHwId,
}

impl GroupFile {
    /// All of them, in the order of `res_common_files`.
    pub const ALL: [Self; 10] = [
        Self::MbmL3Assignments,
        Self::Cpus,
        Self::CpusList,
        Self::Tasks,
        Self::MonHwId,
        Self::Schemata,
        Self::MbaMbpsEvent,
        Self::Mode,
        Self::Size,
        Self::CtrlHwId,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MbmL3Assignments => "mbm_L3_assignments",
            Self::Cpus => "cpus",
            Self::CpusList => "cpus_list",
            Self::Tasks => "tasks",
            Self::MonHwId => "mon_hw_id",
            Self::Schemata => "schemata",
            Self::MbaMbpsEvent => "mba_MBps_event",
            Self::Mode => "mode",
            Self::Size => "size",
            Self::CtrlHwId => "ctrl_hw_id",
        }
    }

    /// Whether it can be written.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        !matches!(self, Self::MonHwId | Self::Size | Self::CtrlHwId)
    }
}

/// A file in `info/L3` and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlFile {
    /// `num_closids`.
    NumClosids,
    /// `cbm_mask`.
    CbmMask,
    /// `min_cbm_bits`.
    MinCbmBits,
    /// `shareable_bits`.
    ShareableBits,
    /// `bit_usage`.
    BitUsage,
    /// `min_bandwidth`.
    MinBandwidth,
    /// `bandwidth_gran`.
    BandwidthGran,
    /// `delay_linear`.
    DelayLinear,
    /// `thread_throttle_mode`.
    ThreadThrottleMode,
    /// `sparse_masks`.
    SparseMasks,
    /// `io_alloc`.
    IoAlloc,
    /// `io_alloc_cbm`.
    IoAllocCbm,
}

impl ControlFile {
    /// All of them, in the order of `res_common_files`.
    pub const ALL: [Self; 12] = [
        Self::NumClosids,
        Self::CbmMask,
        Self::MinCbmBits,
        Self::ShareableBits,
        Self::BitUsage,
        Self::MinBandwidth,
        Self::BandwidthGran,
        Self::DelayLinear,
        Self::ThreadThrottleMode,
        Self::SparseMasks,
        Self::IoAlloc,
        Self::IoAllocCbm,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NumClosids => "num_closids",
            Self::CbmMask => "cbm_mask",
            Self::MinCbmBits => "min_cbm_bits",
            Self::ShareableBits => "shareable_bits",
            Self::BitUsage => "bit_usage",
            Self::MinBandwidth => "min_bandwidth",
            Self::BandwidthGran => "bandwidth_gran",
            Self::DelayLinear => "delay_linear",
            Self::ThreadThrottleMode => "thread_throttle_mode",
            Self::SparseMasks => "sparse_masks",
            Self::IoAlloc => "io_alloc",
            Self::IoAllocCbm => "io_alloc_cbm",
        }
    }

    /// Whether it can be written.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        matches!(self, Self::IoAlloc | Self::IoAllocCbm)
    }
}

/// A file in `info/L3_MON`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MonitoringFile {
    /// `mbm_assign_on_mkdir`.
    MbmAssignOnMkdir,
    /// `mon_features`.
    MonFeatures,
    /// `available_mbm_cntrs`.
    AvailableMbmCntrs,
    /// `num_rmids`.
    NumRmids,
    /// `num_mbm_cntrs`.
    NumMbmCntrs,
    /// `max_threshold_occupancy`.
    MaxThresholdOccupancy,
    /// `mbm_total_bytes_config`.
    MbmTotalBytesConfig,
    /// `mbm_local_bytes_config`.
    MbmLocalBytesConfig,
    /// `mbm_assign_mode`.
    MbmAssignMode,
}

impl MonitoringFile {
    /// All of them, in the order of `res_common_files`.
    pub const ALL: [Self; 9] = [
        Self::MbmAssignOnMkdir,
        Self::MonFeatures,
        Self::AvailableMbmCntrs,
        Self::NumRmids,
        Self::NumMbmCntrs,
        Self::MaxThresholdOccupancy,
        Self::MbmTotalBytesConfig,
        Self::MbmLocalBytesConfig,
        Self::MbmAssignMode,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MbmAssignOnMkdir => "mbm_assign_on_mkdir",
            Self::MonFeatures => "mon_features",
            Self::AvailableMbmCntrs => "available_mbm_cntrs",
            Self::NumRmids => "num_rmids",
            Self::NumMbmCntrs => "num_mbm_cntrs",
            Self::MaxThresholdOccupancy => "max_threshold_occupancy",
            Self::MbmTotalBytesConfig => "mbm_total_bytes_config",
            Self::MbmLocalBytesConfig => "mbm_local_bytes_config",
            Self::MbmAssignMode => "mbm_assign_mode",
        }
    }

    /// Whether it can be written.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        !matches!(
            self,
            Self::MonFeatures | Self::AvailableMbmCntrs | Self::NumRmids | Self::NumMbmCntrs
        )
    }
}

/// A file or directory. It stays the same over a rename, and names nothing any more once it is
/// gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A group's directory; the root group's is the root.
    Group(GroupId),
    /// A file of a group.
    File(GroupId, GroupFile),
    /// A group's `mon_groups`.
    MonGroups(GroupId),
    /// A group's `mon_data`.
    MonData(GroupId),
    /// `mon_data/mon_L3_NN`, by the domain's id.
    MonDomain(GroupId, u32),
    /// An event's file in it.
    MonEvent(GroupId, u32, Event),
    /// `mon_data/mon_L3_NN/mon_sub_L3_NN`, by the node.
    MonNode(GroupId, u32),
    /// An event's file in it.
    MonNodeEvent(GroupId, u32, Event),
    /// `mon_data/mon_PERF_PKG_NN`, by the package's id.
    MonPackage(GroupId, u32),
    /// An event's file in it.
    MonPackageEvent(GroupId, u32, PackageEvent),
    /// `info`.
    Info,
    /// `info/last_cmd_status`.
    LastCmdStatus,
    /// `info/L3` and its like.
    Control(SchemaId),
    /// A file in it.
    ControlFile(SchemaId, ControlFile),
    /// `info/L3_MON`.
    Monitoring,
    /// A file in it.
    MonitoringFile(MonitoringFile),
    /// `info/L3_MON/event_configs`.
    EventConfigs,
    /// An event's directory in it.
    EventConfig(Event),
    /// `event_filter` of an event.
    EventFilter(Event),
    /// `info/PERF_PKG_MON`.
    Telemetry,
    /// `mon_features` in it.
    TelemetryFeatures,
    /// `num_rmids` in it.
    TelemetryRmids,
}

impl Node {
    /// Whether it is a directory.
    #[must_use]
    pub const fn is_directory(self) -> bool {
        matches!(
            self,
            Self::Group(_)
                | Self::MonGroups(_)
                | Self::MonData(_)
                | Self::MonDomain(..)
                | Self::MonNode(..)
                | Self::Info
                | Self::Control(_)
                | Self::Monitoring
                | Self::EventConfigs
                | Self::EventConfig(_)
                | Self::MonPackage(..)
                | Self::Telemetry
        )
    }

    /// The group that it belongs to; none under `info`.
    #[must_use]
    pub const fn group(self) -> Option<GroupId> {
        match self {
            Self::Group(group)
            | Self::File(group, _)
            | Self::MonGroups(group)
            | Self::MonData(group)
            | Self::MonDomain(group, _)
            | Self::MonNode(group, _)
            | Self::MonEvent(group, ..)
            | Self::MonNodeEvent(group, ..)
            | Self::MonPackage(group, _)
            | Self::MonPackageEvent(group, ..) => Some(group),
            _ => None,
        }
    }

    /// Its first permission bits; a directory in a group has those requested by mkdir(2) instead.
    #[must_use]
    pub const fn first_mode(self) -> u16 {
        match self {
            _ if self.is_directory() => 0o555,
            Self::File(_, file) if file.is_writable() => 0o644,
            Self::MonitoringFile(file) if file.is_writable() => 0o644,
            Self::ControlFile(_, file) if file.is_writable() => 0o644,
            Self::EventFilter(_) => 0o644,
            _ => 0o444,
        }
    }

    /// Whether it belongs to no domain, or to one of these that are monitored.
    pub(super) fn is_monitored(self, monitored: &BTreeSet<u32>, platform: &Platform) -> bool {
        match self {
            Self::MonDomain(_, cache)
            | Self::MonEvent(_, cache, _)
            | Self::MonPackage(_, cache)
            | Self::MonPackageEvent(_, cache, _) => {
                monitored.iter().any(|&of| platform.cache_of_monitored(of) == Some(cache))
            }
            Self::MonNode(_, node) | Self::MonNodeEvent(_, node, _) => monitored.contains(&node),
            _ => true,
        }
    }

    /// Whether the kernel has a function for writes to it.
    pub(super) const fn takes_writes(self) -> bool {
        let is_event =
            matches!(self, Self::MonEvent(..) | Self::MonNodeEvent(..) | Self::MonPackageEvent(..));
        !self.is_directory() && !is_event
    }
}

/// The permissions of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Whether it is a directory.
    pub directory: bool,
    /// Permission bits.
    pub mode: u16,
    /// Owner: at first, the maker of the group.
    pub uid: u32,
    /// Group of the owner.
    pub gid: u32,
}
