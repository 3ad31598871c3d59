//! Chips that the papers measured on.
//!
//! Sizes are from the papers and the makers. Latencies are from LMBench runs on machines of the
//! same kind (De Gelas and Cutress, AnandTech 2017) at the chip's clock. Bandwidths are four fifths
//! of the memory channels' peak, which reads reach in those runs.

use fairways_core::{Llc, Ways};
use thiserror::Error;

use crate::bus::BusWait;
use crate::geometry::{CacheShape, Geometry, MissLatency, Replacement, StorePath};
use crate::throttle::{CapUnit, SKYLAKE_GAPS, SiblingGap, Throttle};

/// A preset's name, its description, and the chip.
pub type Preset = (&'static str, &'static str, Geometry);

const fn llc(ways: u32, clos: u32) -> Llc {
    match Ways::new(ways) {
        Some(ways) => Llc { clos, ..Llc::with_ways(ways) },
        None => panic!("1 to 32 ways"),
    }
}

/// The common parts of CASC's chip and cache-fair's. L1 lines are 64 bytes, too; the T1's are 16
/// bytes for data and 32 for instructions.
const T1: Geometry = Geometry {
    cores: 8,
    threads: 4,
    mhz: 992,
    l1: CacheShape::from_kb(8, 4),
    l1i: Some(CacheShape::from_kb(16, 4)),
    // Write-through without allocation, by eight entries for each thread.
    stores: StorePath::Through { buffer: 8 },
    l2: None,
    sets: 4096,
    banks: 4,
    llc: llc(12, 16),
    inclusive: false,
    replacement: Replacement::Nru,
    latency: MissLatency { l2: 23, llc: 23, memory: 110 },
    // Cache-fair Table 1.
    bandwidth_mbps: 4000.0,
    bus: BusWait::Queue,
    throttle: None,
};

/// Skylake's limits of memory bandwidth.
const MBA: Throttle = Throttle::Spacing { gaps: SKYLAKE_GAPS, siblings: SiblingGap::Max };

/// Every preset.
pub const PRESETS: [Preset; 6] = [
    (
        "xeon-d",
        "Xeon D-1540, 8 cores, 12 MB of 12 ways (dCat §2.1)",
        Geometry {
            cores: 8,
            threads: 1,
            mhz: 2000,
            l1: CacheShape::from_kb(32, 8),
            l1i: None,
            stores: StorePath::Back,
            l2: Some(CacheShape::from_kb(256, 8)),
            sets: 16_384,
            banks: 1,
            llc: llc(12, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: MissLatency { l2: 12, llc: 42, memory: 170 },
            // Two channels of DDR4-2133.
            bandwidth_mbps: 27_300.0,
            bus: BusWait::Queue,
            throttle: None,
        },
    ),
    (
        "xeon-e5",
        "Xeon E5-2697 v4, 18 cores, 45 MB of 20 ways (dCat §5.1)",
        Geometry {
            cores: 18,
            threads: 1,
            mhz: 2300,
            l1: CacheShape::from_kb(32, 8),
            l1i: None,
            stores: StorePath::Back,
            l2: Some(CacheShape::from_kb(256, 8)),
            sets: 36_864,
            banks: 1,
            llc: llc(20, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: MissLatency { l2: 12, llc: 47, memory: 219 },
            // Four channels of DDR4-2400.
            bandwidth_mbps: 61_400.0,
            bus: BusWait::Queue,
            throttle: None,
        },
    ),
    (
        "xeon-e5-2630",
        "Xeon E5-2630 v4, 10 cores, 25 MB of 20 ways (Locpart)",
        Geometry {
            cores: 10,
            threads: 1,
            mhz: 2200,
            l1: CacheShape::from_kb(32, 8),
            l1i: None,
            stores: StorePath::Back,
            l2: Some(CacheShape::from_kb(256, 8)),
            sets: 20_480,
            banks: 1,
            llc: llc(20, 16),
            inclusive: true,
            replacement: Replacement::Lru,
            latency: MissLatency { l2: 12, llc: 45, memory: 209 },
            // Four channels of DDR4-2133.
            bandwidth_mbps: 54_600.0,
            bus: BusWait::Queue,
            throttle: None,
        },
    ),
    (
        "skylake",
        "Xeon Gold 6138, 20 cores, 27.5 MB of 11 ways (LFOC §5)",
        Geometry {
            cores: 20,
            threads: 1,
            mhz: 2000,
            l1: CacheShape::from_kb(32, 8),
            l1i: None,
            stores: StorePath::Back,
            l2: Some(CacheShape::from_kb(1024, 16)),
            sets: 40_960,
            banks: 1,
            llc: llc(11, 16),
            inclusive: false,
            replacement: Replacement::Lru,
            latency: MissLatency { l2: 14, llc: 55, memory: 180 },
            // Six channels of DDR4-2666.
            bandwidth_mbps: 102_000.0,
            bus: BusWait::Queue,
            throttle: Some(MBA),
        },
    ),
    (
        "t1",
        "UltraSPARC T1, 2 cores of 4 threads, 768 KB of 12 ways (CASC §5.1)",
        Geometry { cores: 2, threads: 4, sets: 1024, llc: llc(12, 16), ..T1 },
    ),
    (
        "t1-single",
        "UltraSPARC T1, 2 single-threaded cores, 256 KB of 8 ways (Cache-fair Table 1)",
        Geometry { cores: 2, threads: 1, sets: 512, llc: llc(8, 16), ..T1 },
    ),
];

/// The chip with this name.
#[must_use]
pub fn preset(name: &str) -> Option<Geometry> {
    PRESETS.iter().find(|(other, ..)| *other == name).map(|&(.., chip)| chip)
}

/// A text that is not a chip.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("chip {text:?}: {what}")]
pub struct PresetError {
    text: String,
    what: String,
}

/// Parses a chip: a preset's name, and changes to it, such as `xeon-e5:ways=8:sets=4096`.
///
/// Known are `cores`, `threads` of each, `mhz`, `sets`, `ways` and `banks` of the last-level cache,
/// `l1`, `l1i` and `l2` as KB and ways (`l2=256/8`, `l2=none`), `stores` (`back`, or `through/8` by
/// a buffer of eight), `latency` of L2, last-level cache and memory in cycles
/// (`latency=12/47/219`), `mbps` (or `unlimited`), `bus` (`queue`, `cascade-lake`, `ice-lake`:
/// [`BusWait`]), `throttle` (`mba`, `mba-per-thread`, `cap`, `cap-percent`, `none`:
/// [`Throttle`]), `inclusive` (`true`, `false`) and `replacement` (`lru`, `bit-plru`, `nru`).
///
/// # Errors
/// If no preset has the name, or such a chip can't be simulated: [`PresetError`].
pub fn parse(text: &str) -> Result<Geometry, PresetError> {
    chip_of(text).map_err(|what| PresetError { text: text.to_owned(), what })
}

fn chip_of(text: &str) -> Result<Geometry, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut chip = preset(name).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|(name, ..)| *name).collect();
        format!("expected one of {}", known.join(", "))
    })?;
    for part in parts {
        change(&mut chip, part)?;
    }
    chip.check().map_err(|why| why.to_string())?;
    Ok(chip)
}

/// Parses a whole number, in the part `part` of a chip's text.
fn number(part: &str, text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("{part}: expected a whole number, found {text:?}"))
}

/// Parses KB and ways of a private cache, such as `256/8`.
fn shape(part: &str, text: &str) -> Result<CacheShape, String> {
    let (kb, ways) = text
        .split_once('/')
        .ok_or_else(|| format!("{part}: expected KB and ways, such as 256/8"))?;
    let (kb, ways) = (number(part, kb)?, number(part, ways)?);
    let lines = kb.checked_mul(1024 / 64).filter(|_| ways > 0);
    let lines = lines.filter(|lines| lines.is_multiple_of(ways) && *lines > 0);
    let lines = lines.ok_or_else(|| format!("{part}: expected sets of {ways} lines each"))?;
    Ok(CacheShape { sets: lines / ways, ways })
}

fn change(chip: &mut Geometry, part: &str) -> Result<(), String> {
    let (key, value) = part.split_once('=').unwrap_or((part, ""));
    match key {
        "cores" => chip.cores = number(part, value)?,
        "threads" => chip.threads = number(part, value)?,
        "banks" => chip.banks = number(part, value)?,
        "mhz" => chip.mhz = number(part, value)?,
        "sets" => chip.sets = number(part, value)?,
        "ways" => {
            let ways = Ways::new(number(part, value)?);
            chip.llc.ways = ways.ok_or_else(|| format!("{part}: expected 1 to 32 ways"))?;
        }
        "l1" => chip.l1 = shape(part, value)?,
        "l1i" => chip.l1i = if value == "none" { None } else { Some(shape(part, value)?) },
        "stores" => {
            chip.stores = match value.split_once('/') {
                None if value == "back" => StorePath::Back,
                Some(("through", buffer)) => StorePath::Through { buffer: number(part, buffer)? },
                _ => {
                    return Err(format!("{part}: expected back or through/8, found {value:?}"));
                }
            };
        }
        "l2" => chip.l2 = if value == "none" { None } else { Some(shape(part, value)?) },
        "latency" => {
            let cycles: Vec<u32> =
                value.split('/').map(|cycles| number(part, cycles)).collect::<Result<_, _>>()?;
            let [l2, llc, memory] = cycles[..] else {
                return Err(format!("{part}: expected three numbers, such as 12/47/219"));
            };
            chip.latency = MissLatency { l2, llc, memory };
        }
        "mbps" if value == "unlimited" => chip.bandwidth_mbps = f64::INFINITY,
        "mbps" => {
            let mbps: f64 =
                value.parse().map_err(|_| format!("{part}: expected a number, found {value:?}"))?;
            if mbps.is_infinite() {
                return Err(format!("{part}: expected a number or unlimited"));
            }
            chip.bandwidth_mbps = mbps;
        }
        "bus" => {
            chip.bus = match value {
                "queue" => BusWait::Queue,
                "cascade-lake" => BusWait::CascadeLake,
                "ice-lake" => BusWait::IceLake,
                _ => {
                    let known = "queue, cascade-lake or ice-lake";
                    return Err(format!("{part}: expected {known}, found {value:?}"));
                }
            };
        }
        "throttle" => {
            chip.throttle = match value {
                "none" => None,
                "mba" => Some(MBA),
                "mba-per-thread" => {
                    Some(Throttle::Spacing { gaps: SKYLAKE_GAPS, siblings: SiblingGap::PerThread })
                }
                "cap" => Some(Throttle::Cap(CapUnit::EighthGbps)),
                "cap-percent" => Some(Throttle::Cap(CapUnit::Percent)),
                _ => {
                    let known = "mba, mba-per-thread, cap, cap-percent or none";
                    return Err(format!("{part}: expected {known}, found {value:?}"));
                }
            };
        }
        "inclusive" => {
            chip.inclusive = value
                .parse()
                .map_err(|_| format!("{part}: expected true or false, found {value:?}"))?;
        }
        "replacement" => {
            chip.replacement = match value {
                "lru" => Replacement::Lru,
                "bit-plru" => Replacement::BitPlru,
                "nru" => Replacement::Nru,
                _ => return Err(format!("{part}: expected lru, bit-plru or nru, found {value:?}")),
            };
        }
        _ => {
            let known = "cores, threads, mhz, sets, ways, banks, l1, l1i, l2, stores, latency, mbps, \
                         bus, throttle, inclusive or replacement";
            return Err(format!("expected {known}, found {part:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_otherwise_is_so() {
        let text = "xeon-e5:threads=2:l1i=16/4:stores=through/8:banks=4:cores=4:ways=8:sets=4096:l1=16/4:l2=none:latency=1/2/3:mbps=1000.5\
                    :inclusive=false:replacement=bit-plru:mhz=1000:bus=ice-lake:throttle=cap-percent";
        let chip = parse(text).expect("a chip");
        let caches = (chip.cores, chip.llc.ways.get(), chip.sets, chip.l1, chip.l2);
        assert_eq!(caches, (4, 8, 4096, CacheShape::from_kb(16, 4), None));
        assert_eq!(chip.latency, MissLatency { l2: 1, llc: 2, memory: 3 });
        assert_eq!((chip.threads, chip.banks, chip.cpus()), (2, 4, 8));
        let front = (chip.l1i, chip.stores);
        assert_eq!(front, (Some(CacheShape::from_kb(16, 4)), StorePath::Through { buffer: 8 }));
        let back = parse("t1:stores=back:l1i=none:mbps=unlimited").expect("a chip");
        assert_eq!((back.stores, back.l1i), (StorePath::Back, None));
        assert!(back.bandwidth_mbps.is_infinite());
        let rest = (chip.mhz, chip.bandwidth_mbps, chip.inclusive, chip.replacement);
        assert_eq!(rest, (1000, 1000.5, false, Replacement::BitPlru));
        assert_eq!(
            (chip.bus, chip.throttle),
            (BusWait::IceLake, Some(Throttle::Cap(CapUnit::Percent)))
        );
        assert_eq!(parse("t1"), Ok(preset("t1").expect("a preset")));
    }

    #[test]
    fn a_text_that_is_no_chip_is_refused_in_a_line() {
        for (text, expected) in [
            ("nonesuch", "expected one of xeon-d, "),
            ("t1:ways=33", "ways=33: expected 1 to 32 ways"),
            ("t1:ways=0", "1 to 32 ways"),
            ("t1:ways=many", "expected a whole number, found \"many\""),
            ("t1:sets=0", "sets of the last-level cache: expected 1 to 2^20, found 0"),
            ("t1:sets=9999999", "sets of the last-level cache"),
            ("t1:cores=64", "cores: expected 1 to 63, found 64"),
            ("t1:threads=0", "hardware threads: expected 1 to 63 of all cores, found 0"),
            ("t1:cores=16", "hardware threads: expected 1 to 63 of all cores, found 4"),
            ("t1:banks=3", "banks: expected 1, 2, 4 or 8, found 3"),
            ("t1:stores=sideways", "back or through/8"),
            ("t1:stores=through/99", "entries of a store buffer: expected 1 to 64"),
            ("t1:l2=64/4", "a store buffer: expected no L2 behind it"),
            ("t1:mhz=0", "clock"),
            ("t1:l1=32", "such as 256/8"),
            ("t1:l1=32/0", "sets of 0 lines"),
            ("t1:l1=48/8", "sets of a private cache: expected a power of two"),
            ("t1:l1=4096/2", "more sets than the last-level cache"),
            ("t1:latency=9/8/7", "each at least the one before"),
            ("t1:latency=9", "three numbers"),
            ("t1:mbps=0", "more than 0 MB/s"),
            ("t1:mbps=inf", "a number or unlimited"),
            ("t1:bus=full", "expected queue, cascade-lake or ice-lake, found \"full\""),
            ("t1:throttle=some", "expected mba, mba-per-thread, cap, cap-percent or none"),
            ("t1:inclusive=perhaps", "true or false"),
            ("t1:replacement=fifo", "lru, bit-plru or nru"),
            ("t1:colour=red", "found \"colour=red\""),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    fn mb(name: &str) -> f64 {
        let chip = preset(name).expect("a preset");
        chip.check().expect("a chip");
        (chip.way_bytes() * u64::from(chip.llc.ways.get())) as f64 / f64::from(1 << 20)
    }

    #[test]
    fn presets_are_as_large_as_they_say_and_can_be() {
        let names = ["xeon-d", "xeon-e5", "xeon-e5-2630", "skylake", "t1", "t1-single"];
        assert_eq!(names.map(mb), [12.0, 45.0, 25.0, 27.5, 0.75, 0.25]);
        assert_eq!(preset("nonesuch"), None);
    }
}
