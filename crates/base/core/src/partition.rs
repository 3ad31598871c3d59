//! Which programs may fill which ways.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use crate::{AppId, BandwidthLevel, Levers, Llc, MaskError, WayMask};

/// One program's cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The program.
    pub app: AppId,
    /// The index of its cluster.
    pub cluster: u32,
}

/// The resources of a cluster's members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The ways that they may fill.
    pub mask: WayMask,
    /// Their limit of the domain's memory bandwidth, for a machine whose [`Levers`] have one;
    /// `None`: no limit.
    pub bandwidth: Option<BandwidthLevel>,
}

/// Clusters of programs, each with the ways that its members may fill (LFOC §2.2) and a bandwidth
/// limit.
///
/// A program is in one cluster. The masks of two clusters may overlap: Dunn's do. The default has
/// no clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    clusters: Vec<Resources>,
    placements: Vec<Placement>,
}

impl Partition {
    /// Forgets every cluster and keeps the memory, so that the next plan allocates none.
    pub fn clear(&mut self) {
        self.clusters.clear();
        self.placements.clear();
    }

    /// Forgets the placements after the first `count`, and keeps every cluster.
    pub fn keep_placements(&mut self, count: usize) {
        self.placements.truncate(count);
    }

    /// Adds a cluster without members that may fill `mask`; returns its index.
    pub fn add_cluster(&mut self, mask: WayMask) -> u32 {
        self.add(Resources { mask, bandwidth: None })
    }

    /// Adds a cluster without members with these resources; returns its index.
    pub fn add(&mut self, resources: Resources) -> u32 {
        let index = self.clusters.len();
        self.clusters.push(resources);
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Puts `app` into the cluster with index `cluster`.
    pub fn place(&mut self, app: AppId, cluster: u32) {
        self.placements.push(Placement { app, cluster });
    }

    /// Puts `apps` into these clusters in turn: after the last cluster comes the first again.
    pub fn place_all(
        &mut self,
        apps: impl IntoIterator<Item = AppId>,
        clusters: RangeInclusive<u32>,
    ) {
        let (first, last) = clusters.into_inner();
        let mut cluster = first;
        self.placements.extend(apps.into_iter().map(|app| {
            let place = Placement { app, cluster };
            cluster = if cluster >= last { first } else { cluster + 1 };
            place
        }));
    }

    /// The resources of each cluster.
    #[must_use]
    pub fn clusters(&self) -> &[Resources] {
        &self.clusters
    }

    /// The masks, by cluster.
    pub fn masks(&self) -> impl ExactSizeIterator<Item = WayMask> + Clone + '_ {
        self.clusters.iter().map(|cluster| cluster.mask)
    }

    /// The mask of a cluster; `None` if the cluster does not exist.
    #[must_use]
    pub fn mask(&self, cluster: u32) -> Option<WayMask> {
        self.clusters.get(cluster as usize).map(|cluster| cluster.mask)
    }

    /// Every program's cluster, in the order in which they were placed.
    #[must_use]
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// The programs of a cluster.
    pub fn members(&self, cluster: u32) -> impl Iterator<Item = AppId> + '_ {
        self.placements.iter().filter(move |place| place.cluster == cluster).map(|place| place.app)
    }

    /// The resources of `app`; `None` if it is in no cluster.
    #[must_use]
    pub fn resources_of(&self, app: AppId) -> Option<Resources> {
        let place = self.placements.iter().find(|place| place.app == app)?;
        self.clusters.get(place.cluster as usize).copied()
    }

    /// The ways that `app` may fill; `None` if it is in no cluster.
    #[must_use]
    pub fn mask_of(&self, app: AppId) -> Option<WayMask> {
        self.resources_of(app).map(|resources| resources.mask)
    }

    /// The level of memory bandwidth of `app`; `None` if it has no limit.
    #[must_use]
    pub fn level_of(&self, app: AppId) -> Option<BandwidthLevel> {
        self.resources_of(app)?.bandwidth
    }

    /// Whether every program has the same resources under both, however the clusters are numbered.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self == other || self.resources_by_app() == other.resources_by_app()
    }

    /// The resources of each program, in the order of their ids.
    fn resources_by_app(&self) -> Vec<(AppId, Resources)> {
        let known = self
            .placements
            .iter()
            .filter_map(|place| Some((place.app, *self.clusters.get(place.cluster as usize)?)));
        let mut all: Vec<(AppId, Resources)> = known.collect();
        all.sort_unstable_by_key(|(app, _)| *app);
        all
    }

    /// The clusters that contain some of the chosen programs, with only these programs as members.
    #[must_use]
    pub fn restricted_to(&self, is_one: impl Fn(AppId) -> bool) -> Self {
        let mut only = Self::default();
        for (cluster, resources) in (0..).zip(&self.clusters) {
            let mut members = self.members(cluster).filter(|&app| is_one(app)).peekable();
            if members.peek().is_some() {
                let cluster = only.add(*resources);
                members.for_each(|app| only.place(app, cluster));
            }
        }
        only
    }

    /// The same partition with other bandwidth limits, as a machine's lever rounds them.
    #[must_use]
    pub fn with_bandwidth(&self, round: impl Fn(BandwidthLevel) -> BandwidthLevel) -> Self {
        let mut partition = self.clone();
        let limits = partition.clusters.iter_mut().filter_map(|of| of.bandwidth.as_mut());
        limits.for_each(|limit| *limit = round(*limit));
        partition
    }

    /// The same partition without bandwidth limits, as a machine without that lever carries it out.
    #[must_use]
    pub fn without_bandwidth(&self) -> Self {
        let mut partition = self.clone();
        partition.clusters.iter_mut().for_each(|cluster| cluster.bandwidth = None);
        partition
    }

    /// Whether a machine with this cache and no other lever, on which exactly `running` run, can
    /// carry the partition out.
    ///
    /// # Errors
    /// The first rule that it breaks, in the order of [`PartitionError`].
    pub fn check(
        &self,
        llc: &Llc,
        running: impl IntoIterator<Item = AppId>,
    ) -> Result<(), PartitionError> {
        self.check_levers(Levers::from(*llc), running)
    }

    /// Whether a machine with these levers, on which exactly `running` run, can carry the partition
    /// out.
    ///
    /// # Errors
    /// The first rule that it breaks, in the order of [`PartitionError`].
    pub fn check_levers(
        &self,
        levers: Levers,
        running: impl IntoIterator<Item = AppId>,
    ) -> Result<(), PartitionError> {
        let Levers { llc, bandwidth } = levers;
        let clusters = u32::try_from(self.clusters.len()).unwrap_or(u32::MAX);
        if clusters > llc.clos {
            return Err(PartitionError::TooManyClusters { clusters, clos: llc.clos });
        }
        for (cluster, resources) in (0..).zip(&self.clusters) {
            let legal = resources.mask.check(&llc);
            legal.map_err(|why| PartitionError::Mask { cluster, why })?;
            if let Some(level) = resources.bandwidth {
                let lever = bandwidth.ok_or(PartitionError::NoBandwidthLever { cluster })?;
                if !lever.accepts(level) {
                    let (least, most) = (lever.least, lever.most);
                    return Err(PartitionError::Level { cluster, level, least, most });
                }
            }
            if self.members(cluster).next().is_none() {
                return Err(PartitionError::NoMember { cluster });
            }
        }
        let mut placed = BTreeSet::new();
        for place in &self.placements {
            if place.cluster >= clusters {
                return Err(PartitionError::NoCluster { app: place.app, cluster: place.cluster });
            }
            if !placed.insert(place.app) {
                return Err(PartitionError::PlacedTwice { app: place.app });
            }
        }
        for app in running {
            if !placed.remove(&app) {
                return Err(PartitionError::NotPlaced { app });
            }
        }
        placed.first().map_or(Ok(()), |&app| Err(PartitionError::NotRunning { app }))
    }
}

impl<'a> From<&'a Partition> for Cow<'a, Partition> {
    fn from(partition: &'a Partition) -> Self {
        Self::Borrowed(partition)
    }
}

impl From<Partition> for Cow<'_, Partition> {
    fn from(partition: Partition) -> Self {
        Self::Owned(partition)
    }
}

/// Why a partition can't be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PartitionError {
    /// More clusters than the machine has classes of service.
    TooManyClusters {
        /// Clusters requested.
        clusters: u32,
        /// Classes of service of the machine.
        clos: u32,
    },
    /// The cache does not accept a cluster's mask.
    Mask {
        /// The cluster.
        cluster: u32,
        /// The rule that the mask breaks.
        why: MaskError,
    },
    /// A cluster has a limit of memory bandwidth, and the machine can't limit that.
    NoBandwidthLever {
        /// The cluster.
        cluster: u32,
    },
    /// A cluster's limit of memory bandwidth is not a level of the machine's lever.
    Level {
        /// The cluster.
        cluster: u32,
        /// The level requested.
        level: BandwidthLevel,
        /// The lowest level.
        least: BandwidthLevel,
        /// The highest level.
        most: BandwidthLevel,
    },
    /// A cluster has ways and no programs.
    NoMember {
        /// The cluster.
        cluster: u32,
    },
    /// A program is in a cluster that does not exist.
    NoCluster {
        /// The program.
        app: AppId,
        /// The cluster.
        cluster: u32,
    },
    /// A program is in two clusters.
    PlacedTwice {
        /// The program.
        app: AppId,
    },
    /// A program that runs is in no cluster.
    NotPlaced {
        /// The program.
        app: AppId,
    },
    /// A program that does not run is in a cluster.
    NotRunning {
        /// The program.
        app: AppId,
    },
    /// It breaks no rule, but the machine failed to carry it out; its log has the cause.
    Failed,
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyClusters { clusters, clos } => {
                write!(
                    f,
                    "{clusters} clusters need {clusters} classes of service; the machine has {clos}"
                )
            }
            Self::Mask { cluster, why } => write!(f, "cluster {cluster}: {why}"),
            Self::NoBandwidthLever { cluster } => {
                write!(
                    f,
                    "cluster {cluster} has a limit of memory bandwidth; the machine can't limit that"
                )
            }
            Self::Level { cluster, level, least, most } => write!(
                f,
                "cluster {cluster}: expected a limit of memory bandwidth of {least} to {most}, \
                 found {level}"
            ),
            Self::NoMember { cluster } => write!(f, "cluster {cluster} has no program"),
            Self::NoCluster { app, cluster } => {
                write!(f, "{app} is in cluster {cluster}, which does not exist")
            }
            Self::PlacedTwice { app } => write!(f, "{app} is in two clusters"),
            Self::NotPlaced { app } => write!(f, "{app} runs and is in no cluster"),
            Self::NotRunning { app } => write!(f, "{app} is placed and does not run"),
            Self::Failed => f.write_str("the machine failed to carry it out"),
        }
    }
}

impl core::error::Error for PartitionError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BandwidthLever, BandwidthUnit, LimitScope, Ways};

    const LLC: Llc = Llc { ways: Ways::new(11).unwrap(), min_bits: 1, contiguous: true, clos: 2 };

    fn partition(masks: &[u32], places: &[(u32, u32)]) -> Partition {
        let mut partition = Partition::default();
        for &mask in masks {
            partition.add_cluster(WayMask::from_bits(mask));
        }
        for &(app, cluster) in places {
            partition.place(AppId(app), cluster);
        }
        partition
    }

    fn check(masks: &[u32], places: &[(u32, u32)]) -> Result<(), PartitionError> {
        partition(masks, places).check(&LLC, [AppId(0), AppId(1)])
    }

    #[test]
    fn overlapping_clusters_are_legal() {
        assert_eq!(check(&[0x7ff, 0x001], &[(0, 0), (1, 1)]), Ok(()));
    }

    #[test]
    fn each_rule_has_its_error() {
        use PartitionError as E;
        assert_eq!(check(&[1, 2, 4], &[]), Err(E::TooManyClusters { clusters: 3, clos: 2 }));
        assert_eq!(
            check(&[1, 0], &[(0, 0), (1, 1)]),
            Err(E::Mask { cluster: 1, why: MaskError::Empty })
        );
        assert_eq!(check(&[1, 2], &[(0, 0), (1, 0)]), Err(E::NoMember { cluster: 1 }));
        let no_cluster = E::NoCluster { app: AppId(1), cluster: 1 };
        assert_eq!(check(&[1], &[(0, 0), (1, 1)]), Err(no_cluster));
        assert_eq!(check(&[1], &[(0, 0), (0, 0)]), Err(E::PlacedTwice { app: AppId(0) }));
        assert_eq!(check(&[1], &[(0, 0)]), Err(E::NotPlaced { app: AppId(1) }));
        let stranger = [(0, 0), (1, 0), (7, 0)];
        assert_eq!(check(&[1], &stranger), Err(E::NotRunning { app: AppId(7) }));
    }

    fn level(value: u32) -> BandwidthLevel {
        BandwidthLevel::new(value).unwrap()
    }

    /// Checks a cluster with this level.
    fn check_level(value: u32, bandwidth: Option<BandwidthLever>) -> Result<(), PartitionError> {
        let mut partition = Partition::default();
        let mask = WayMask::from_bits(1);
        partition.add(Resources { mask, bandwidth: Some(level(value)) });
        partition.place(AppId(0), 0);
        partition.check_levers(Levers { llc: LLC, bandwidth }, [AppId(0)])
    }

    #[test]
    fn a_limit_is_a_level_of_the_lever() {
        let [least, most] = [10, 100].map(level);
        let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
        let lever = BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None };
        assert_eq!(check_level(10, Some(lever)), Ok(()));
        for level in [9, 101].map(level) {
            let wrong = PartitionError::Level { cluster: 0, level, least, most };
            assert_eq!(check_level(level.get(), Some(lever)), Err(wrong));
        }
        assert_eq!(check_level(50, None), Err(PartitionError::NoBandwidthLever { cluster: 0 }));
    }

    #[test]
    fn programs_are_dealt_out_in_turn() {
        let mut partition = partition(&[1, 2, 4], &[]);
        partition.place_all([8, 6, 7, 5, 9].map(AppId), 1..=2);
        assert!(partition.members(1).eq([8, 7, 9].map(AppId)));
        assert!(partition.members(2).eq([6, 5].map(AppId)));
    }

    #[test]
    fn partitions_agree_however_their_clusters_are_numbered() {
        let one = partition(&[0x700, 0x0ff], &[(3, 1), (5, 0), (9, 1)]);
        assert!(one.agrees_with(&partition(&[0x0ff, 0x700, 0x0ff], &[(9, 0), (3, 2), (5, 1)])));
        assert!(!one.agrees_with(&partition(&[0x0ff, 0x700], &[(3, 0), (5, 1)])));
        assert!(!one.agrees_with(&partition(&[0x0ff, 0x300], &[(3, 0), (5, 1), (9, 0)])));
        let mut limited = Partition::default();
        for cluster in one.clusters() {
            limited.add(Resources { bandwidth: BandwidthLevel::new(50), ..*cluster });
        }
        one.placements().iter().for_each(|place| limited.place(place.app, place.cluster));
        assert!(!one.agrees_with(&limited) && one.agrees_with(&limited.without_bandwidth()));
    }

    #[test]
    fn members_and_masks_agree() {
        let partition = partition(&[0x700, 0x0ff], &[(3, 1), (5, 0), (9, 1)]);
        assert!(partition.members(1).eq([AppId(3), AppId(9)]));
        assert_eq!(partition.mask_of(AppId(5)), Some(WayMask::from_bits(0x700)));
        assert_eq!(partition.mask_of(AppId(4)), None);
    }
}
