//! Algorithm 1: from classes and slowdown tables to clusters.

use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Llc, Partition};

use super::Parameters;
use super::announce::withdraw_division;
use super::monitor::Learners;
use super::pairing::Pairing;
use super::sets::Sets;
use crate::announce::{Announcer, raw, raw_ways};
use crate::lookahead::Lookahead;
use crate::program::RunningProgram;
use crate::running::leave_unpartitioned;
use crate::sharing::Sharing;
use crate::split::Stack;
use crate::words;

/// The working memory of a decision. It is reused, so that a decision allocates nothing once it has
/// seen as many programs of each class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clustering {
    lookahead: Lookahead,
    sharing: Sharing,
    pairing: Pairing,
    pressures: Vec<Curve>,
    kept: Option<LastDivision>,
}

/// What the last division left, as long as the same programs are sensitive: their ways, and what
/// was announced about them.
#[derive(Clone, Copy, Debug)]
struct LastDivision {
    /// Of which sensitive programs it is: [`Sets::version`].
    version: u64,
    streaming: StreamingClusters,
    sensitive: SensitiveClusters,
    /// How many placements are of programs that are not light.
    placed: usize,
}

/// How the sensitive programs are put into clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SensitiveClusters {
    /// Each has one of its own.
    Alone,
    /// There are more of them than clusters: some share one.
    Crowded,
    /// LFOC+ pairs them.
    Paired,
}

/// The clusters of streaming programs, which come first.
#[derive(Clone, Copy, Debug)]
struct StreamingClusters {
    /// How many streaming programs there are.
    count: u32,
    /// How many clusters they have.
    clusters: u32,
    /// How many ways each cluster has; the last gets what a shortage of clusters leaves over.
    ways_each: u32,
    ways_last: u32,
    /// `r`: up to how many streaming programs each cluster takes.
    each: u32,
}

impl StreamingClusters {
    /// `ways_for_streaming = min(2, |ST| / max_streaming_way)`, and `r`, in a cache where
    /// `sensitive` programs need clusters of their own.
    ///
    /// The printed division has no rounding. Decision LFOC 3: it rounds up, so that a way is
    /// reserved even for a single streaming program. Decision LFOC 4: each way is a cluster, as
    /// printed. The published simulator pools the ways in one cluster; so does this where classes
    /// of service are short, since streaming programs lose least by it. A cluster is at least as
    /// wide as a mask must be, and something is left for the sensitive programs.
    fn plan(p: &Parameters, llc: &Llc, count: u32, sensitive: u32) -> Self {
        // Nearly every mix and cache takes the first case of each, which avoids divisions.
        let wanted = match count {
            0 => 0,
            _ if count <= p.max_streaming_way => 1,
            _ => count.div_ceil(p.max_streaming_way.max(1)),
        };
        let reserved = wanted.min(p.max_ways_streaming);
        let ways_each = llc.min_ways();
        let fit = if ways_each == 1 { reserved } else { reserved.div_ceil(ways_each) };
        let fit = fit.min(llc.max_disjoint_clusters() - 1);
        let others = sensitive.min(llc.max_disjoint_clusters() - fit).min(llc.max_clusters() - 1);
        let clusters = fit.min(llc.max_clusters() - others);
        let each = if clusters > 1 { count.div_ceil(clusters) } else { count };
        // As `r` is rounded up, the last clusters may have no program.
        let clusters = if clusters > 1 { count.div_ceil(each) } else { clusters };
        let ways_last = (fit + 1 - clusters) * ways_each;
        Self { count, clusters, ways_each, ways_last, each }
    }

    /// Whether its clusters have the same ways.
    fn has_masks_of(&self, other: Self) -> bool {
        (self.clusters, self.ways_each, self.ways_last)
            == (other.clusters, other.ways_each, other.ways_last)
    }

    fn ways_of(&self, cluster: u32) -> u32 {
        if cluster + 1 == self.clusters { self.ways_last } else { self.ways_each }
    }

    fn ways(&self) -> u32 {
        if self.clusters == 0 { 0 } else { (self.clusters - 1) * self.ways_each + self.ways_last }
    }

    /// How many light programs a cluster takes, `gaps_available`.
    ///
    /// As printed (`r - |C| * gaps_per_streaming`), there is never a gap; a `gaps_per_streaming` of
    /// 0 has that effect here. Decision LFOC 5: `gaps_per_streaming` light programs for each
    /// streaming program that the cluster could still take.
    fn gaps(&self, p: &Parameters, cluster: u32) -> u32 {
        let members = self.each.min(self.count.saturating_sub(self.each * cluster));
        let room = self.ways_of(cluster).saturating_mul(p.max_streaming_way);
        room.saturating_sub(members).saturating_mul(p.gaps_per_streaming)
    }
}

impl Clustering {
    /// Places the other programs again in the partition of the last division, if it would divide
    /// the ways among the sensitive ones as before. Returns the reason.
    pub(crate) fn place_again(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        sets: &Sets,
        partition: &mut Partition,
    ) -> Option<&'static str> {
        let mut kept = self.kept.filter(|kept| kept.version == sets.version)?;
        if sets.streaming.len() == kept.streaming.count as usize {
            partition.keep_placements(kept.placed);
        } else {
            let before = kept.streaming;
            kept.streaming =
                StreamingClusters::plan(p, llc, count(&sets.streaming), count(&sets.sensitive));
            if !kept.streaming.has_masks_of(before) {
                return None;
            }
            partition.keep_placements(0);
            self.place(kept.streaming, kept.sensitive, sets, partition);
            kept.placed = partition.placements().len();
            self.kept = Some(kept);
        }
        place_light(p, kept.streaming, &sets.light, partition);
        Some(reason(kept.sensitive, kept.streaming))
    }

    /// Another plan took the place of the last division.
    pub(crate) const fn forget_division(&mut self) {
        self.kept = None;
    }

    /// Clusters the programs that run, which are those of `sets`, and announces the numbers of the
    /// sensitive ones. Returns the reason.
    pub(crate) fn cluster(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        (programs, sets, learners): (&[RunningProgram], &Sets, &Learners),
        partition: &mut Partition,
        announcer: &mut Announcer<'_>,
    ) -> &'static str {
        self.kept = None;
        if sets.sensitive.is_empty() || llc.max_clusters() == 1 {
            leave_unpartitioned(llc, programs, partition);
            withdraw_division(&sets.sensitive, announcer);
            return if sets.sensitive.is_empty() {
                "no sensitive program: one cluster with every way"
            } else {
                "no room for a second cluster"
            };
        }

        let streaming =
            StreamingClusters::plan(p, llc, count(&sets.streaming), count(&sets.sensitive));
        let mut stack = Stack::new(llc);
        for cluster in 0..streaming.clusters {
            partition.add_cluster(stack.next(streaming.ways_of(cluster)));
        }

        let ways = llc.ways.get() - streaming.ways();
        let room = if llc.min_ways() == 1 { ways } else { ways / llc.min_ways() };
        let limit = (llc.max_clusters() - streaming.clusters).min(room);
        let sensitive = if sets.sensitive.len() > limit as usize {
            SensitiveClusters::Crowded
        } else if p.pair_clustering && sets.sensitive.len() > 1 && llc.min_ways() == 1 {
            SensitiveClusters::Paired
        } else {
            SensitiveClusters::Alone
        };
        if sensitive != SensitiveClusters::Crowded {
            self.lookahead.divide(&sets.slowdowns, ways, llc.min_ways());
        }
        if sensitive != SensitiveClusters::Alone {
            self.read_pressures(llc, programs, sets, learners);
            if sensitive == SensitiveClusters::Crowded {
                self.sharing.gather(&sets.slowdowns, &self.pressures, llc.ways, limit);
                let owned = self.lookahead.divide(&self.sharing.curves, ways, llc.min_ways());
                self.sharing.settle(&self.pressures, owned.last().copied().unwrap_or(0));
            } else {
                let owned = self.lookahead.owned();
                self.pairing.divide(p, &sets.slowdowns, &self.pressures, owned);
            }
        }
        for &ways in self.ways(sensitive) {
            partition.add_cluster(stack.next(ways));
        }

        self.place(streaming, sensitive, sets, partition);
        let placed = partition.placements().len();
        place_light(p, streaming, &sets.light, partition);
        // Decision LFOC 8: a program of unknown class joins the largest cluster that does not
        // stream (the first of equals), and has none of its own.
        if !sets.unknown.is_empty() {
            let largest = streaming.clusters + largest(self.ways(sensitive));
            partition.place_all(sets.unknown.iter().copied(), largest..=largest);
        }
        self.announce(sensitive, sets, announcer);
        // The others follow light programs in the partition.
        if sets.unknown.is_empty() {
            self.kept = Some(LastDivision { version: sets.version, streaming, sensitive, placed });
        }
        reason(sensitive, streaming)
    }

    /// Announces for each sensitive program its critical size, the ways that lookahead gave, and
    /// the slowdown to expect by its table.
    fn announce(&self, sensitive: SensitiveClusters, sets: &Sets, announcer: &mut Announcer<'_>) {
        let owned = self.lookahead.owned();
        let each = sets.sensitive.iter().zip(&sets.critical).zip(&sets.slowdowns);
        for (index, ((&app, &critical), slowdowns)) in each.enumerate() {
            let cluster = match sensitive {
                SensitiveClusters::Alone | SensitiveClusters::Paired => index,
                SensitiveClusters::Crowded => self.sharing.cluster_of[index] as usize,
            };
            let owned = owned[cluster];
            let slowdown = match sensitive {
                SensitiveClusters::Alone => None,
                SensitiveClusters::Paired => Some(self.pairing.slowdown(index)),
                SensitiveClusters::Crowded => self.sharing.shared(&sets.slowdowns, index),
            };
            let slowdown = slowdown.unwrap_or_else(|| slowdowns.at(owned));
            let what = [words::CRITICAL_SIZE, words::LOOKAHEAD, words::SLOWDOWN];
            announcer.announce_numbers(
                app,
                what,
                [raw_ways(critical), raw_ways(owned), raw(slowdown)],
            );
        }
    }

    /// The ways of the clusters of sensitive programs.
    fn ways(&self, sensitive: SensitiveClusters) -> &[u32] {
        match sensitive {
            SensitiveClusters::Alone | SensitiveClusters::Crowded => self.lookahead.owned(),
            SensitiveClusters::Paired => &self.pairing.ways,
        }
    }

    /// Reads how hard each sensitive program presses on ways that it shares. Decision LFOC 7: if
    /// there are more of them than clusters, those with the flattest tables share one; the rest is
    /// as printed.
    #[inline(never)]
    fn read_pressures(
        &mut self,
        llc: &Llc,
        programs: &[RunningProgram],
        sets: &Sets,
        learners: &Learners,
    ) {
        self.pressures.clear();
        for &app in &sets.sensitive {
            let program = programs.iter().find(|program| program.app == app);
            let profile = program.and_then(|program| program.profile.as_deref());
            let curve = profile.map(|profile| &profile.llcmpkc).or_else(|| learners.pressure(app));
            self.pressures.extend(curve.map(|curve| curve.resized(llc.ways)));
        }
    }

    /// Puts streaming and sensitive programs into their clusters; the streaming clusters come
    /// first.
    fn place(
        &self,
        streaming: StreamingClusters,
        sensitive: SensitiveClusters,
        sets: &Sets,
        partition: &mut Partition,
    ) {
        let first = streaming.clusters;
        let end = u32::try_from(partition.clusters().len()).unwrap_or(u32::MAX);
        for (cluster, members) in (0..).zip(sets.streaming.chunks(streaming.each.max(1) as usize)) {
            partition.place_all(members.iter().copied(), cluster..=cluster);
        }
        let shared = match sensitive {
            SensitiveClusters::Alone => None,
            SensitiveClusters::Crowded => Some(&self.sharing.cluster_of),
            SensitiveClusters::Paired => Some(&self.pairing.cluster_of),
        };
        if let Some(cluster_of) = shared {
            for (&app, cluster) in sets.sensitive.iter().zip(cluster_of) {
                partition.place(app, first + cluster);
            }
        } else {
            partition.place_all(sets.sensitive.iter().copied(), first..=end - 1);
        }
    }
}

fn count(apps: &[AppId]) -> u32 {
    u32::try_from(apps.len()).unwrap_or(u32::MAX)
}

fn reason(sensitive: SensitiveClusters, streaming: StreamingClusters) -> &'static str {
    match (sensitive, streaming.count) {
        (SensitiveClusters::Paired, _) => {
            "streaming programs confined, sensitive ones paired where fairer"
        }
        (SensitiveClusters::Crowded, _) => {
            "more sensitive programs than clusters: the flattest share one"
        }
        (SensitiveClusters::Alone, 0) => "sensitive programs own ways by lookahead; none streams",
        (SensitiveClusters::Alone, _) => {
            "streaming programs confined, sensitive ones own ways by lookahead"
        }
    }
}

/// Puts the light programs into clusters: of streaming programs while there is room, then of
/// sensitive ones in turn.
fn place_light(
    p: &Parameters,
    streaming: StreamingClusters,
    mut light: &[AppId],
    partition: &mut Partition,
) {
    let first = streaming.clusters;
    let end = u32::try_from(partition.clusters().len()).unwrap_or(u32::MAX);
    // Decision LFOC 6: one cluster after the other, though the printed loop never advances `idx`.
    for cluster in 0..first {
        let gaps = streaming.gaps(p, cluster) as usize;
        let (members, rest) = light.split_at(gaps.min(light.len()));
        partition.place_all(members.iter().copied(), cluster..=cluster);
        light = rest;
    }
    partition.place_all(light.iter().copied(), first..=end - 1);
}

/// The index of the largest number; of equals, the first.
fn largest(owned: &[u32]) -> u32 {
    let mut best = (0, 0);
    for (index, &ways) in (0..).zip(owned) {
        if ways > best.1 {
            best = (index, ways);
        }
    }
    best.0
}
