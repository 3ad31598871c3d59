//! Synthetic programs: profiles computed from memory behaviour.
//!
//! A [`MemoryBehaviour`] describes how often a program accesses the last-level cache, and where:
//! regions that it reuses, at random or in a cycle, and streams that it never reuses.
//! [`ProfilingMachine::table`] computes the counters of such a program when it runs alone with some
//! ways:
//!
//! 1. The cache goes to the regions in the order of references per megabyte, the densest first, as
//!    in a recency-ordered cache. A random region hits in its cached part. A cycle that does not
//!    fit evicts the lines that it is about to use: it hits nowhere until half of it is cached, and
//!    everywhere once all of it is.
//! 2. Every reference costs the latency of a hit, every miss the program's penalty on top (the
//!    latency of memory over the misses in flight): that is IPC, and with it misses per cycle,
//!    bandwidth (64 bytes a miss, and write-backs) and stalls.
//! 3. Noise: up to ±0.3 % on cycles and ±1 % on misses, independent at each way count, so that
//!    curves are as uneven as measured ones (42 of the 55 curves that the LFOC authors measured
//!    are not monotone).
//!
//! Only additions, multiplications and divisions are used, so every machine computes the same
//! bytes. The behaviours are modelled on real programs, and were not adjusted to the results of any
//! policy.

mod library;

use fairways_core::Ways;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::table::{MeasuredProgram, MetricRow, ProfileMetric, ProfileTable, rounded};
use crate::write::write_table;

/// A program's memory behaviour behind its private caches.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryBehaviour {
    /// The name of the program.
    pub name: String,
    /// Cycles per instruction if nothing left the private caches.
    pub base_cpi: f64,
    /// L1 references per 1000 instructions: loads and stores.
    pub l1rpki: f64,
    /// LLC references per 1000 instructions.
    pub llcrpki: f64,
    /// The regions that it reuses. Their shares of references add up to at most 1; the rest
    /// streams.
    pub regions: Vec<ReusedRegion>,
    /// Cycles that a miss costs beyond a hit, on average: less where misses overlap.
    pub penalty_cycles: f64,
    /// Lines written back per miss, 0 to 1.
    pub writebacks: f64,
}

/// Memory that a program uses again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReusedRegion {
    /// Its size, MB.
    pub mb: f64,
    /// The share of the program's LLC references that go to it, 0 to 1.
    pub share: f64,
    /// Whether the program walks through it in a cycle; otherwise references are spread at random.
    pub cyclic: bool,
}

/// The machine that programs are measured on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilingMachine {
    /// Ways of the last-level cache.
    pub ways: Ways,
    /// MB a way.
    pub mb_per_way: f64,
    /// Core clock, MHz.
    pub mhz: f64,
    /// Cycles that a hit in the LLC costs.
    pub hit_cycles: f64,
}

impl ProfilingMachine {
    /// The machine of the embedded profiles: as large an LLC and as fast a core as those of the
    /// LFOC paper's Xeon Gold 6138 (27.5 MB, 2 GHz; §5), in 20 ways.
    pub const EMBEDDED: Self = Self {
        ways: Ways::new(20).expect("20 is from 1 to 32"),
        mb_per_way: 1.375,
        mhz: 2000.0,
        hit_cycles: 14.0,
    };

    /// The counters of `program` at 1 way, 2 ways, and so on.
    fn measure(&self, program: &MemoryBehaviour, noise: &mut Pcg64Mcg) -> Vec<MetricRow> {
        (1..=self.ways.get()).map(|ways| self.row(program, ways, noise)).collect()
    }

    fn row(&self, program: &MemoryBehaviour, ways: u32, noise: &mut Pcg64Mcg) -> MetricRow {
        let mb = f64::from(ways) * self.mb_per_way;
        let (hits, used_mb) = program.hits(mb);
        let missing = (1.0 - hits).max(0.0) * (1.0 + 0.01 * plus_minus_one(noise));
        let llcmpki = (program.llcrpki * missing).min(program.llcrpki);
        let (hit_cpi, miss_cpi) =
            (program.llcrpki * self.hit_cycles / 1000.0, llcmpki * program.penalty_cycles / 1000.0);
        let cpi = (program.base_cpi + hit_cpi + miss_cpi) * (1.0 + 0.003 * plus_minus_one(noise));
        let per_second = self.mhz / cpi;
        let llcm_bandwidth = llcmpki / 1000.0 * per_second * 64.0;
        let store_buf = 0.2 * program.writebacks * miss_cpi / cpi;
        let mut row: MetricRow = [0.0; ProfileMetric::ALL.len()];
        for (metric, value) in [
            (ProfileMetric::Ipc, 1.0 / cpi),
            (ProfileMetric::Llcrpki, program.llcrpki),
            (ProfileMetric::Llcmpki, llcmpki),
            (ProfileMetric::Llcrpkc, program.llcrpki / cpi),
            (ProfileMetric::Llcmpkc, llcmpki / cpi),
            (ProfileMetric::LlcUsageKb, used_mb * 1024.0),
            (ProfileMetric::BandwidthMbps, llcm_bandwidth * (1.0 + program.writebacks)),
            (ProfileMetric::LlcmBandwidth, llcm_bandwidth),
            (ProfileMetric::StallsL2Miss, (hit_cpi + miss_cpi) / cpi),
            (ProfileMetric::StallsL3Miss, miss_cpi / cpi),
            (ProfileMetric::StallsTotal, (0.15 * program.base_cpi + hit_cpi + miss_cpi) / cpi),
            (ProfileMetric::StallsStoreBuf, store_buf),
        ] {
            row[metric as usize] = rounded(value);
        }
        row
    }

    /// The profiles of these programs, with noise from `seed`: the same seed gives the same table.
    #[must_use]
    pub fn table(&self, programs: &[MemoryBehaviour], seed: u64) -> ProfileTable {
        let mut noise = Pcg64Mcg::seed_from_u64(seed);
        let measured = programs.iter().map(|program| MeasuredProgram {
            name: program.name.clone(),
            rows: self.measure(program, &mut noise),
            l1rpki: Some(program.l1rpki),
        });
        ProfileTable::new(self.ways, measured.collect())
    }
}

impl MemoryBehaviour {
    /// The share of references that hit in `mb` megabytes, and the megabytes in use.
    fn hits(&self, mb: f64) -> (f64, f64) {
        let mut regions = self.regions.clone();
        regions.sort_by(|a, b| (b.share / b.mb).total_cmp(&(a.share / a.mb)));
        let (mut left, mut hits) = (mb, 0.0);
        for region in &regions {
            let cached = region.mb.min(left);
            left -= cached;
            let part = cached / region.mb;
            hits += region.share * if region.cyclic { (2.0 * part - 1.0).max(0.0) } else { part };
        }
        let streams = regions.iter().map(|region| region.share).sum::<f64>() < 0.999;
        (hits, if streams { mb } else { mb - left })
    }

    /// A program like the embedded ones of its kind, drawn at random; for tests and benchmarks.
    #[must_use]
    pub fn random(kind: BehaviourKind, rng: &mut Pcg64Mcg) -> Self {
        let (regions, llcrpki, penalty) = match kind {
            BehaviourKind::Streaming => (
                vec![ReusedRegion::random(rng, (0.5, 2.0), (0.02, 0.1))],
                (25.0, 60.0),
                (8.0, 20.0),
            ),
            BehaviourKind::Sensitive => (
                vec![
                    ReusedRegion::random(rng, (3.0, 9.0), (0.4, 0.6)),
                    ReusedRegion::random(rng, (6.0, 24.0), (0.2, 0.35)),
                ],
                (8.0, 40.0),
                (30.0, 120.0),
            ),
            BehaviourKind::Light => {
                (vec![ReusedRegion::random(rng, (0.2, 1.2), (0.9, 0.99))], (0.1, 3.0), (20.0, 60.0))
            }
        };
        Self {
            name: String::new(),
            base_cpi: draw(rng, 0.3, 1.2),
            l1rpki: 300.0,
            llcrpki: draw(rng, llcrpki.0, llcrpki.1),
            regions,
            penalty_cycles: draw(rng, penalty.0, penalty.1),
            writebacks: draw(rng, 0.0, 0.5),
        }
    }
}

/// The intended kind of a random program; LFOC's Table 1 classifies it by its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BehaviourKind {
    /// Misses much with any number of ways.
    Streaming,
    /// Reuses more memory than fits into a few ways.
    Sensitive,
    /// Hardly leaves its private caches.
    Light,
}

/// The profiles of the embedded programs on [`ProfilingMachine::EMBEDDED`], as a file.
#[must_use]
pub fn embedded_csv() -> String {
    /// Any number would do; this one is LFOC's year and month.
    const SEED: u64 = 201_908;
    write_table(&ProfilingMachine::EMBEDDED.table(&library::programs(), SEED))
}

impl ReusedRegion {
    /// A region with a size and a share in these ranges.
    fn random(rng: &mut Pcg64Mcg, mb: (f64, f64), share: (f64, f64)) -> Self {
        let (mb, share) = (draw(rng, mb.0, mb.1), draw(rng, share.0, share.1));
        Self { mb, share, cyclic: draw(rng, 0.0, 1.0) < 0.2 }
    }
}

fn draw(rng: &mut Pcg64Mcg, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(rng)
}

/// A number from 0 to 1, from the generator's upper 32 bits.
fn unit(rng: &mut Pcg64Mcg) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX)
}

fn plus_minus_one(rng: &mut Pcg64Mcg) -> f64 {
    2.0 * unit(rng) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(regions: &[ReusedRegion]) -> MemoryBehaviour {
        MemoryBehaviour {
            name: "p".into(),
            base_cpi: 0.5,
            l1rpki: 300.0,
            llcrpki: 10.0,
            regions: regions.to_vec(),
            penalty_cycles: 50.0,
            writebacks: 0.5,
        }
    }

    #[test]
    fn the_densest_region_is_cached_first() {
        let dense = ReusedRegion { mb: 2.0, share: 0.5, cyclic: false };
        let sparse = ReusedRegion { mb: 4.0, share: 0.4, cyclic: false };
        assert_eq!(
            [1.0, 2.0, 4.0, 6.0, 9.0].map(|mb| program(&[sparse, dense]).hits(mb).0),
            [0.25, 0.5, 0.7, 0.9, 0.9]
        );
    }

    #[test]
    fn a_cycle_hits_nowhere_until_half_of_it_is_cached() {
        let cycle = ReusedRegion { mb: 4.0, share: 1.0, cyclic: true };
        let hits = |mb| program(&[cycle]).hits(mb);
        assert_eq!([1.0, 2.0, 3.0, 4.0].map(|mb| hits(mb).0), [0.0, 0.0, 0.5, 1.0]);
        assert_eq!(hits(9.0).1, 4.0, "what it does not use is not in use");
    }

    #[test]
    fn counters_agree_with_each_other() {
        let region = ReusedRegion { mb: 3.0, share: 0.8, cyclic: false };
        let table = ProfilingMachine::EMBEDDED.table(&[program(&[region])], 7);
        let value = |metric| table.values(0, metric).next().unwrap();
        let per_kilocycle = value(ProfileMetric::Llcmpki) * value(ProfileMetric::Ipc);
        assert!((value(ProfileMetric::Llcmpkc) - per_kilocycle).abs() < 1e-5);
        // 64 bytes a miss, 2 * 10^6 kilocycles a second, and half as much written back.
        let mbps = per_kilocycle * 2e6 * 64.0 / 1e6 * 1.5;
        assert!((value(ProfileMetric::BandwidthMbps) - mbps).abs() < 1e-2);
        assert_eq!(ProfilingMachine::EMBEDDED.table(&[program(&[region])], 7), table);
    }
}
