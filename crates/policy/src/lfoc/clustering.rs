//! Algorithm 1: from classes and slowdown tables to clusters.

use alloc::vec::Vec;

use fairways_core::{AppId, Curve, Llc, Partition, WayMask};

use super::{Class, Parameters};
use crate::lookahead::lookahead;
use crate::sharing::Sharing;
use crate::split::{Stack, evenly};

/// What a decision computes with; reused, so that a decision allocates nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clustering {
    owned: Vec<u32>,
    sharing: Sharing,
}

/// The clusters of streaming programs, which come first.
struct Streaming {
    /// How many clusters there are, and how many ways they hold together.
    clusters: u32,
    ways: u32,
    /// `r`: up to how many streaming programs each takes.
    each: u32,
}

impl Streaming {
    /// `ways_for_streaming = min(2, |ST| / max_streaming_way)`, and `r`.
    ///
    /// The printed division has no rounding. Decision LFOC 3: upward, so that one streaming
    /// program is enough for a way. Decision LFOC 4: a cluster a way, as printed; the published
    /// simulator pools the ways in one. Where the cache or its classes of service leave no room
    /// beside them for a sensitive cluster, there are fewer.
    fn plan(p: &Parameters, llc: &Llc, count: u32) -> Self {
        let room = llc.ways.get() / llc.unit() - 1;
        let units = count
            .div_ceil(p.max_streaming_way.max(1))
            .min(p.max_ways_streaming)
            .min(room);
        let clusters = units.min(llc.max_clusters() - 1);
        Self {
            clusters,
            ways: units * llc.unit(),
            each: count.div_ceil(clusters.max(1)),
        }
    }

    /// How many light programs each cluster takes, `gaps_available`.
    ///
    /// As printed (`r - |C| * gaps_per_streaming`) there would never be a gap. Decision LFOC 5:
    /// `gaps_per_streaming` lights for each streaming program that a cluster could still take.
    /// Decision LFOC 6: cluster after cluster, though the printed loop never advances `idx`.
    fn gaps(&self, p: &Parameters, llc: &Llc, count: u32) -> impl Iterator<Item = u32> {
        let (each, most, gaps) = (self.each, p.max_streaming_way, p.gaps_per_streaming);
        let unit = llc.unit();
        evenly(self.ways, self.clusters).scan(count, move |left, ways| {
            let members = each.min(*left);
            *left -= members;
            Some(((ways / unit) * most).saturating_sub(members) * gaps)
        })
    }
}

impl Clustering {
    /// Clusters the programs `apps`, in order. `slowdowns` and `pressures` are the tables of the
    /// sensitive ones, in that order, for the ways of `llc`. Returns the reason.
    pub(crate) fn cluster(
        &mut self,
        p: &Parameters,
        llc: &Llc,
        apps: impl Iterator<Item = (AppId, Class)> + Clone,
        slowdowns: &[Curve],
        pressures: &[Curve],
        partition: &mut Partition,
    ) -> &'static str {
        if slowdowns.is_empty() || llc.max_clusters() == 1 {
            let cluster = partition.add_cluster(WayMask::full(llc.ways));
            apps.for_each(|(app, _)| partition.place(app, cluster));
            return if slowdowns.is_empty() {
                "no sensitive program: one cluster with every way"
            } else {
                "no room for a second cluster"
            };
        }

        let count = apps
            .clone()
            .filter(|&(_, class)| class == Class::Streaming)
            .map(|_| 1)
            .sum();
        let streaming = Streaming::plan(p, llc, count);
        let mut stack = Stack::new(llc);
        for ways in evenly(streaming.ways, streaming.clusters) {
            partition.add_cluster(stack.next(ways));
        }

        let ways = llc.ways.get() - streaming.ways;
        let limit = (llc.max_clusters() - streaming.clusters).min(ways / llc.unit());
        let crowded = slowdowns.len() > limit as usize;
        if crowded {
            // Decision LFOC 7: the flattest tables share a cluster, the rest is as printed.
            self.sharing.gather(slowdowns, pressures, llc.ways, limit);
            lookahead(&self.sharing.curves, ways, llc.unit(), &mut self.owned);
        } else {
            lookahead(slowdowns, ways, llc.unit(), &mut self.owned);
        }
        for &ways in &self.owned {
            partition.add_cluster(stack.next(ways));
        }

        self.place(p, llc, apps, &streaming, count, crowded, partition);
        match (crowded, streaming.clusters) {
            (true, _) => "more sensitive programs than clusters: the flattest share one",
            (false, 0) => "sensitive programs own ways by lookahead; none streams",
            (false, _) => "streaming programs confined, sensitive ones own ways by lookahead",
        }
    }

    /// Puts every program into its cluster: the streaming ones first.
    #[expect(
        clippy::too_many_arguments,
        reason = "the second half of one algorithm"
    )]
    fn place(
        &self,
        p: &Parameters,
        llc: &Llc,
        apps: impl Iterator<Item = (AppId, Class)>,
        streaming: &Streaming,
        count: u32,
        crowded: bool,
        partition: &mut Partition,
    ) {
        let mut gaps = streaming.gaps(p, llc, count);
        let (mut gap_cluster, mut gap) = (0, gaps.next().unwrap_or(0));
        let first = streaming.clusters;
        let others = u32::try_from(self.owned.len()).unwrap_or(1).max(1);
        // Decision LFOC 8: a program of unknown class joins the largest cluster that does not
        // stream (the first of equals), and owns none.
        let largest = first + largest(&self.owned);
        let (mut streamed, mut sensitive, mut in_turn) = (0, 0, 0);
        for (app, class) in apps {
            let cluster = match class {
                Class::Streaming => {
                    streamed += 1;
                    (streamed - 1) / streaming.each
                }
                Class::Sensitive => {
                    sensitive += 1;
                    let own = sensitive - 1;
                    first
                        + if crowded {
                            self.sharing.cluster_of[own as usize]
                        } else {
                            own
                        }
                }
                Class::Unknown => largest,
                Class::Light => {
                    while gap == 0 && gap_cluster < first {
                        gap_cluster += 1;
                        gap = gaps.next().unwrap_or(0);
                    }
                    if gap_cluster < first {
                        gap -= 1;
                        gap_cluster
                    } else {
                        in_turn = if in_turn == others { 1 } else { in_turn + 1 };
                        first + in_turn - 1
                    }
                }
            };
            partition.place(app, cluster);
        }
    }
}

/// The index of the largest number; the first of equals.
fn largest(owned: &[u32]) -> u32 {
    let mut best = (0, 0);
    for (index, &ways) in (0..).zip(owned) {
        if ways > best.1 {
            best = (index, ways);
        }
    }
    best.0
}
