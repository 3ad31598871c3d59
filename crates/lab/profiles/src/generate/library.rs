//! The embedded programs' memory behaviour.

use super::{MemoryBehaviour, ReusedRegion};

/// Regions reused at random: sizes in MB and shares of the LLC references.
const fn random(mb: f64, share: f64) -> ReusedRegion {
    ReusedRegion { mb, share, cyclic: false }
}

/// A region walked through in a cycle.
const fn cycle(mb: f64, share: f64) -> ReusedRegion {
    ReusedRegion { mb, share, cyclic: true }
}

/// Name, CPI without LLC references, LLC references per 1000 instructions, cycles a miss costs,
/// lines written back a miss, L1 references per 1000 instructions, regions.
type LibraryLine = (&'static str, f64, f64, f64, f64, f64, &'static [ReusedRegion]);

#[rustfmt::skip]
const PROGRAMS: [LibraryLine; 30] = [
    // Streams: arrays far larger than any cache, fetched ahead, so that a miss costs little.
    ("triad",            0.55, 42.0, 12.0, 0.50, 640.0, &[]),
    ("copy-large",       0.45, 48.0, 11.0, 0.95, 560.0, &[]),
    ("stencil-3d",       0.60, 36.0, 14.0, 0.40, 470.0, &[random(0.9, 0.12)]),
    ("column-scan",      0.50, 30.0, 10.0, 0.02, 330.0, &[random(0.4, 0.03)]),
    ("lattice-flow",     0.70, 45.0, 13.0, 0.55, 420.0, &[random(0.7, 0.05)]),
    ("fft-out-of-core",  0.65, 28.0, 16.0, 0.50, 380.0, &[random(1.1, 0.15)]),
    ("video-transcode",  0.48, 22.0, 12.0, 0.30, 290.0, &[random(1.0, 0.10)]),
    // Working sets of some or all of the LLC, and misses that must be waited for.
    ("hash-join",        0.60, 30.0, 55.0, 0.15, 310.0, &[random(10.0, 0.70), random(1.0, 0.15)]),
    ("btree-lookup",     0.70, 18.0, 90.0, 0.05, 350.0, &[random(4.0, 0.45), random(16.0, 0.40)]),
    ("graph-walk",       0.80, 40.0, 45.0, 0.10, 390.0, &[random(6.0, 0.35), random(22.0, 0.40)]),
    ("sparse-solve",     0.55, 34.0, 30.0, 0.20, 520.0, &[cycle(9.0, 0.45), random(3.0, 0.25)]),
    ("event-simulation", 0.75, 24.0, 80.0, 0.30, 340.0, &[random(8.0, 0.80), random(1.0, 0.10)]),
    ("key-value-store",  0.65, 14.0, 75.0, 0.20, 410.0, &[random(5.0, 0.50), random(18.0, 0.30)]),
    ("lp-simplex",       0.60, 26.0, 35.0, 0.15, 450.0, &[cycle(13.0, 0.50), random(2.5, 0.30)]),
    ("speech-decode",    0.50, 16.0, 50.0, 0.05, 370.0, &[random(7.0, 0.60), random(14.0, 0.25)]),
    ("xml-transform",    0.45, 20.0, 40.0, 0.20, 300.0, &[random(3.5, 0.65), random(9.0, 0.25)]),
    ("route-search",     0.85, 12.0, 85.0, 0.10, 280.0, &[random(6.0, 0.70), random(12.0, 0.20)]),
    ("place-anneal",     0.80, 11.0, 70.0, 0.25, 320.0, &[random(3.0, 0.75), random(1.0, 0.20)]),
    // Working sets that fit into the private caches, or into a way.
    ("chess",            0.60,  0.4, 60.0, 0.10, 260.0, &[random(1.0, 0.80)]),
    ("aes-gcm",          0.35,  0.1, 30.0, 0.20, 180.0, &[]),
    ("ray-trace",        0.50,  1.2, 45.0, 0.05, 400.0, &[random(1.2, 0.93)]),
    ("json-parse",       0.40,  1.0, 25.0, 0.30, 340.0, &[random(0.6, 0.60)]),
    ("gzip-block",       0.62,  0.3, 40.0, 0.30, 250.0, &[random(0.5, 0.70)]),
    ("matrix-tile",      0.30,  2.0, 15.0, 0.30, 480.0, &[random(1.0, 0.75)]),
    ("regex-scan",       0.38,  0.8, 12.0, 0.02, 230.0, &[random(0.3, 0.10)]),
    ("protein-align",    0.42,  0.6, 35.0, 0.05, 360.0, &[random(1.1, 0.95)]),
    ("molecule-md",      0.48,  1.5, 30.0, 0.15, 430.0, &[random(1.3, 0.96)]),
    ("monte-carlo",      0.55,  0.2, 50.0, 0.05, 220.0, &[random(0.8, 0.85)]),
    ("interpreter",      0.70,  2.2, 40.0, 0.10, 460.0, &[random(1.2, 0.92)]),
    ("packet-filter",    0.45,  1.8, 30.0, 0.10, 270.0, &[random(0.9, 0.90)]),
];

/// The behaviours of the embedded programs.
pub(super) fn programs() -> Vec<MemoryBehaviour> {
    PROGRAMS
        .iter()
        .map(|&(name, base_cpi, llcrpki, penalty_cycles, writebacks, l1rpki, regions)| {
            MemoryBehaviour {
                name: name.into(),
                base_cpi,
                l1rpki,
                llcrpki,
                regions: regions.to_vec(),
                penalty_cycles,
                writebacks,
            }
        })
        .collect()
}
