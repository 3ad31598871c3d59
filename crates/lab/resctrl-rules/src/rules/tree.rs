//! The tree of nodes.

use std::collections::BTreeSet;

use super::{ControlFile, Errno, GroupFile, GroupId, MonitoringFile, Node, Resctrl};
use crate::platform::{Event, PackageEvent, Resource};

impl Resctrl {
    /// The root, while mounted; each mount has another one.
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
            Node::MonDomain(_, cache) => monitoring && !self.monitored_in(cache).is_empty(),
            Node::MonEvent(_, cache, event) => {
                !self.monitored_in(cache).is_empty() && self.events().contains(&event)
            }
            Node::MonNode(_, node) => self.are_nodes_monitored() && self.monitored.contains(&node),
            Node::MonNodeEvent(group, node, event) => {
                self.exists(Node::MonNode(group, node)) && self.events().contains(&event)
            }
            Node::Control(id) => self.schemas.iter().any(|schema| schema.id == id),
            Node::ControlFile(id, file) => {
                self.exists(Node::Control(id)) && self.has_control_file(id.resource, file)
            }
            Node::MonitoringFile(file) => monitoring && self.has_monitoring_file(file),
            Node::MonPackage(_, package) | Node::MonPackageEvent(_, package, _) => {
                self.has_telemetry() && self.monitored.contains(&package)
            }
            Node::Telemetry | Node::TelemetryFeatures | Node::TelemetryRmids => {
                self.has_telemetry()
            }
            Node::EventConfigs => self.has_assignable_counters(),
            Node::EventConfig(event) | Node::EventFilter(event) => {
                self.has_assignable_counters() && self.bandwidth_events().contains(&event)
            }
        }
    }

    /// Whether nodes that share a cache are monitored apart (`mon_scope` `RESCTRL_L3_NODE`).
    fn are_nodes_monitored(&self) -> bool {
        self.platform.monitoring.is_some() && self.platform.nodes_per_known_cache() > 1
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
            GroupFile::MbmL3Assignments => self.has_assignable_counters(),
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
            ControlFile::IoAlloc | ControlFile::IoAllocCbm => {
                resource.is_cache() && self.io_alloc_is_known()
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
            MonitoringFile::MbmAssignOnMkdir
            | MonitoringFile::AvailableMbmCntrs
            | MonitoringFile::NumMbmCntrs => self.has_assignable_counters(),
        }
    }

    /// Whether the transactions that an event counts can be chosen (`mon_evt.configurable`), by
    /// `mbm_*_bytes_config`, which is hidden while counters are assigned
    /// (`resctrl_bmec_files_show`).
    pub(super) fn configures(&self, event: Event) -> bool {
        let monitoring = self.platform.monitoring.as_ref();
        self.platform.kernel.event_configuration
            && !self.assigns_counters()
            && event.is_bandwidth()
            && monitoring.is_some_and(|of| of.configurable.is_some() && of.events.contains(&event))
    }

    /// The entries of a directory, by name: files in the order in which the kernel makes them, then
    /// directories. readdir(3) shows the kernel's by a hash; clients can't rely on any order.
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
                let monitored = self.monitored.iter();
                let caches = monitored.filter_map(|&of| self.platform.cache_of_monitored(of));
                let caches: BTreeSet<u32> = caches.collect();
                children.extend(caches.iter().map(|&cache| Node::MonDomain(group, cache)));
                children.extend(caches.iter().map(|&package| Node::MonPackage(group, package)));
            }
            Node::MonDomain(group, cache) => {
                children.extend(Event::ALL.map(|event| Node::MonEvent(group, cache, event)));
                let nodes = self.monitored_in(cache).into_iter();
                children.extend(nodes.map(|node| Node::MonNode(group, node)));
            }
            Node::MonNode(group, node) => {
                children.extend(Event::ALL.map(|event| Node::MonNodeEvent(group, node, event)));
            }
            Node::MonPackage(group, package) => {
                let events = PackageEvent::ALL;
                children.extend(events.map(|event| Node::MonPackageEvent(group, package, event)));
            }
            Node::Telemetry => children.extend([Node::TelemetryFeatures, Node::TelemetryRmids]),
            Node::Info => {
                children.push(Node::LastCmdStatus);
                children.extend(self.schemas.iter().map(|schema| Node::Control(schema.id)));
                children.extend([Node::Monitoring, Node::Telemetry]);
            }
            Node::Control(id) => {
                children.extend(ControlFile::ALL.map(|file| Node::ControlFile(id, file)));
            }
            Node::Monitoring => {
                children.extend(MonitoringFile::ALL.map(Node::MonitoringFile));
                children.push(Node::EventConfigs);
            }
            Node::EventConfigs => children.extend(Event::ALL.map(Node::EventConfig)),
            Node::EventConfig(event) => children.push(Node::EventFilter(event)),
            _ => {}
        }
        let there = children.into_iter().filter(|&child| self.exists(child));
        there.map(|child| (self.name(child), child)).collect()
    }

    /// The node with that name in a directory.
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
            Node::MonNode(_, node) => format!("mon_sub_L3_{node:02}"),
            Node::MonEvent(.., event) | Node::MonNodeEvent(.., event) => event.name().to_owned(),
            Node::MonPackage(_, package) => format!("mon_PERF_PKG_{package:02}"),
            Node::MonPackageEvent(.., event) => event.name().to_owned(),
            Node::Telemetry => "PERF_PKG_MON".to_owned(),
            Node::TelemetryFeatures => MonitoringFile::MonFeatures.name().to_owned(),
            Node::TelemetryRmids => MonitoringFile::NumRmids.name().to_owned(),
            Node::Info => "info".to_owned(),
            Node::LastCmdStatus => "last_cmd_status".to_owned(),
            Node::Control(id) => id.name().to_owned(),
            Node::ControlFile(_, file) => file.name().to_owned(),
            Node::Monitoring => "L3_MON".to_owned(),
            Node::MonitoringFile(file) => file.name().to_owned(),
            Node::EventConfigs => "event_configs".to_owned(),
            Node::EventConfig(event) => event.name().to_owned(),
            Node::EventFilter(_) => "event_filter".to_owned(),
        }
    }

    /// The directory of a node; none for the root and for nodes that are gone.
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
            Node::MonDomain(group, _) | Node::MonPackage(group, _) => Some(Node::MonData(group)),
            Node::MonPackageEvent(group, package, _) => Some(Node::MonPackage(group, package)),
            Node::MonEvent(group, cache, _) => Some(Node::MonDomain(group, cache)),
            Node::MonNode(group, node) => {
                Some(Node::MonDomain(group, self.platform.cache_of_monitored(node)?))
            }
            Node::MonNodeEvent(group, node, _) => Some(Node::MonNode(group, node)),
            Node::Info => Some(self.root()),
            Node::LastCmdStatus | Node::Control(_) | Node::Monitoring | Node::Telemetry => {
                Some(Node::Info)
            }
            Node::TelemetryFeatures | Node::TelemetryRmids => Some(Node::Telemetry),
            Node::ControlFile(id, _) => Some(Node::Control(id)),
            Node::MonitoringFile(_) | Node::EventConfigs => Some(Node::Monitoring),
            Node::EventConfig(_) => Some(Node::EventConfigs),
            Node::EventFilter(event) => Some(Node::EventConfig(event)),
        }
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

    /// The node at a path from the root, such as `g1/mon_groups/m1/tasks`.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<Node> {
        let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
        let root = Some(self.root()).filter(|&root| self.exists(root));
        names.fold(root, |node, name| self.lookup(node?, name))
    }
}
