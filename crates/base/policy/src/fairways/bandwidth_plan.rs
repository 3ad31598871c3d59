//! Adds limits to a plan: a limited program gets its level together with its cluster's ways.

use alloc::vec::Vec;

use fairways_core::{AppId, BandwidthLevel, LimitScope, Llc, Partition, Resources};

use super::bandwidth_user::{BusUser, LimitRank};
use crate::announce::{Announcer, raw_ways};
use crate::lfoc::Class;
use crate::words;

const BEST_EFFORT: &str = "best effort, and memory is the bottleneck: its bandwidth is limited";
const STREAMING: &str = "it streams, and memory is the bottleneck: its bandwidth is limited";

/// Working memory for a plan with limits; reused.
#[derive(Clone, Debug, Default)]
pub(super) struct LimitedPlan {
    unlimited: Partition,
    clusters: Vec<Resources>,
}

impl LimitedPlan {
    /// Sets the levels of limited programs, and announces them. Programs of one cluster with
    /// different levels get clusters with the same ways; if a level limits a class and not each
    /// core, each limited program gets its own. If no class of service is left for a program, its
    /// cluster has no limit.
    pub(super) fn limit(
        &mut self,
        users: &[BusUser],
        scope: LimitScope,
        llc: &Llc,
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) {
        let Self { unlimited, clusters } = self;
        core::mem::swap(partition, unlimited);
        partition.clear();
        clusters.clear();
        clusters.extend_from_slice(unlimited.clusters());
        let count = clusters.len();
        for (cluster, index) in (0..).zip(0..count) {
            let mask = clusters[index].mask;
            // Having no limit counts as the highest level.
            let is_free = unlimited.members(cluster).any(|app| level_of(users, app).is_none());
            let levels = unlimited.members(cluster).filter_map(|app| level_of(users, app));
            let home = levels.max().filter(|_| !is_free);
            clusters[index].bandwidth = home;
            let mut is_taken = false;
            for app in unlimited.members(cluster) {
                let level = level_of(users, app);
                let may_share = scope == LimitScope::Core || level.is_none();
                if level == home && (may_share || !core::mem::replace(&mut is_taken, true)) {
                    partition.place(app, cluster);
                    continue;
                }
                let own = Resources { mask, bandwidth: level };
                let same = clusters[count..].iter().position(|made| *made == own);
                let mut place = index;
                if let Some(same) = same.filter(|_| may_share) {
                    place = count + same;
                } else if clusters.len() < llc.clos as usize {
                    place = clusters.len();
                    clusters.push(own);
                } else {
                    clusters[index].bandwidth = None;
                }
                partition.place(app, u32::try_from(place).unwrap_or(u32::MAX));
            }
        }
        for cluster in clusters {
            partition.add(*cluster);
        }
        for place in partition.placements() {
            let user = users.iter().find(|user| user.app == place.app && user.limit.is_some());
            let (Some(user), Some(mask)) = (user, partition.mask(place.cluster)) else { continue };
            let is_best_effort = user.rank == Some(LimitRank::BestEffort);
            let (class, reason) = if is_best_effort {
                ("best-effort", BEST_EFFORT)
            } else {
                (Class::Streaming.name(), STREAMING)
            };
            announcer.announce_class(place.app, class, reason);
            announcer.announce_numbers(place.app, [words::WAYS], [raw_ways(mask.count())]);
        }
    }
}

fn level_of(users: &[BusUser], app: AppId) -> Option<BandwidthLevel> {
    users.iter().find(|user| user.app == app)?.limit
}
