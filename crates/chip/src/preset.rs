//! Chips that the papers measured on.
//!
//! Sizes are those of the papers and of the makers; latencies and bandwidths are from LMBench runs on
//! machines of the same kind (De Gelas and Cutress, AnandTech 2017) at the chip's clock, and bandwidths are
//! four fifths of what the memory channels could move, which is what reads come to.

use fairways_core::{Llc, Ways};

use crate::cache::Replacement;
use crate::geometry::{Geometry, Latency, Shape};

/// A preset's name, what it is, and the chip.
pub type Preset = (&'static str, &'static str, Geometry);

const fn llc(ways: u32, clos: u32) -> Llc {
    match Ways::new(ways) {
        Some(ways) => Llc { clos, ..Llc::with_ways(ways) },
        None => panic!("1 to 32 ways"),
    }
}

/// Every preset.
pub const PRESETS: [Preset; 5] = [
    (
        "xeon-d",
        "Xeon D-1540, 8 cores, 12 MB of 12 ways (dCat §2.1)",
        Geometry {
            cores: 8,
            mhz: 2000,
            l1: Shape::of_kb(32, 8),
            l2: Some(Shape::of_kb(256, 8)),
            sets: 16_384,
            llc: llc(12, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: Latency { l2: 12, llc: 42, memory: 170 },
            // Two channels of DDR4-2133.
            bandwidth_mbps: 27_300.0,
        },
    ),
    (
        "xeon-e5",
        "Xeon E5-2697 v4, 18 cores, 45 MB of 20 ways (dCat §5.1)",
        Geometry {
            cores: 18,
            mhz: 2300,
            l1: Shape::of_kb(32, 8),
            l2: Some(Shape::of_kb(256, 8)),
            sets: 36_864,
            llc: llc(20, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: Latency { l2: 12, llc: 47, memory: 219 },
            // Four channels of DDR4-2400.
            bandwidth_mbps: 61_400.0,
        },
    ),
    (
        "xeon-e5-2630",
        "Xeon E5-2630 v4, 10 cores, 25 MB of 20 ways (Locpart)",
        Geometry {
            cores: 10,
            mhz: 2200,
            l1: Shape::of_kb(32, 8),
            l2: Some(Shape::of_kb(256, 8)),
            sets: 20_480,
            llc: llc(20, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: Latency { l2: 12, llc: 45, memory: 209 },
            // Four channels of DDR4-2133.
            bandwidth_mbps: 54_600.0,
        },
    ),
    (
        "skylake",
        "Xeon Gold 6138, 20 cores, 27.5 MB of 11 ways (LFOC §5)",
        Geometry {
            cores: 20,
            mhz: 2000,
            l1: Shape::of_kb(32, 8),
            l2: Some(Shape::of_kb(1024, 16)),
            sets: 40_960,
            llc: llc(11, 16),
            inclusive: false,
            replacement: Replacement::Lru,
            latency: Latency { l2: 14, llc: 55, memory: 180 },
            // Six channels of DDR4-2666.
            bandwidth_mbps: 102_000.0,
        },
    ),
    (
        "t1",
        "UltraSPARC T1, 8 strands, 768 KB of 12 ways (CASC)",
        Geometry {
            cores: 8,
            mhz: 992,
            l1: Shape::of_kb(8, 4),
            l2: None,
            sets: 1024,
            llc: llc(12, 16),
            inclusive: false,
            replacement: Replacement::Lru,
            latency: Latency { l2: 23, llc: 23, memory: 110 },
            // Cache-fair: 4 GB/s.
            bandwidth_mbps: 4000.0,
        },
    ),
];

/// The chip with this name.
#[must_use]
pub fn preset(name: &str) -> Option<Geometry> {
    PRESETS.iter().find(|(other, ..)| *other == name).map(|&(.., chip)| chip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_as_large_as_they_say_and_can_be() {
        let mb = |name: &str| {
            let chip = preset(name).expect("a preset");
            chip.check().expect("a chip");
            (chip.way_bytes() * u64::from(chip.llc.ways.get())) as f64 / f64::from(1 << 20)
        };
        let names = ["xeon-d", "xeon-e5", "xeon-e5-2630", "skylake", "t1"];
        assert_eq!(names.map(mb), [12.0, 45.0, 25.0, 27.5, 0.75]);
        assert_eq!(preset("nonesuch"), None);
    }
}
