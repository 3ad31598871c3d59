//! Named programs: models of SPEC CPU2000 programs and of a database, as [`Workload`]s for an
//! UltraSPARC T1 and similar chips.
//!
//! They are models *like* the programs in their names: guesses of where references go, chosen
//! before any policy ran on them and fitted to published facts about the programs, in this order:
//!
//! 1. L2 misses per 1000 instructions with 1 MB: between those of an ISCA 2007 paper (Qureshi et
//!    al.) and the measured references behind a private L2 of 1 MB (PBBCache's `metrics.csv`),
//!    which are an upper bound. For this, the shares of regions above 1 MB and of streams were
//!    scaled together, as the rows note; rows without a note are unscaled.
//! 2. With half of 256 KB, vortex misses 85 % more than with all of it beside vpr or crafty
//!    (Cache-fair §5.2; LRU sharing only), where it misses some 12 times, as the slowdown implies;
//!    gzip misses more than vpr. Regions with equally likely lines reach +40 % at most, so vortex
//!    sweeps some of its lines, in one of some 40 shapes that were tried. This is an input of the
//!    model, not a result.
//! 3. Nothing else.
//!
//! The figures are in docs/workloads.md. Known deviations:
//!
//! - mcf misses 136 times with 1 MB, the older figure; 202 were measured. At 128 KB it should miss
//!   about as often as art, and misses 2.5 times as often.
//! - twolf at 128 KB should miss far less than art, and misses 0.7 times as often.
//!
//! An instruction takes a cycle, and a load two more until its use (the T1's load takes 3, GCC's
//! `niagara_costs`); in floating-point programs, whose cores share a unit, an instruction takes two
//! cycles. A program waits for misses one after the other.

use super::accesses::{Accesses, SimulatedProgram};
use super::tailbench::{self, SERVICE_NAMES};
use super::workload::{CodeRegion, DataRegion, VisitOrder, Workload};

/// The program with this name.
#[must_use]
pub fn named(name: &str) -> Option<SimulatedProgram> {
    let Some(known) = PROGRAMS.iter().find(|program| program.name == name) else {
        return tailbench::service(name);
    };
    let NamedProgram { per_instruction, stores, data, code, .. } = *known;
    let base_cpi = match known.waits {
        LoadWaits::Loads => 1.0 + 2.0 * per_instruction * (1.0 - stores),
        LoadWaits::FloatingPoint => 2.0,
    };
    let workload = Workload { per_instruction, stores, data: data.to_vec(), code };
    Some(SimulatedProgram::new(Accesses::Workload(workload), base_cpi, 1.0))
}

/// The names that [`named`] knows.
pub const NAMES: [&str; PROGRAMS.len() + SERVICE_NAMES.len()] = {
    let mut names = [""; PROGRAMS.len() + SERVICE_NAMES.len()];
    let mut program = 0;
    while program < names.len() {
        let is_program = program < PROGRAMS.len();
        names[program] = if is_program {
            PROGRAMS[program].name
        } else {
            SERVICE_NAMES[program - PROGRAMS.len()]
        };
        program += 1;
    }
    names
};

struct NamedProgram {
    name: &'static str,
    per_instruction: f64,
    stores: f64,
    data: &'static [DataRegion],
    code: CodeRegion,
    waits: LoadWaits,
}

/// The waits of instructions other than misses.
#[derive(Clone, Copy)]
enum LoadWaits {
    Loads,
    FloatingPoint,
}

use LoadWaits::{FloatingPoint, Loads};

/// A row: name, references per instruction, stores among them, regions with their share of
/// references in % and their KB, code, and the waits of instructions.
const fn row(
    name: &'static str,
    per_instruction: f64,
    stores: f64,
    data: &'static [DataRegion],
    code: CodeRegion,
    waits: LoadWaits,
) -> NamedProgram {
    NamedProgram { name, per_instruction, stores, data, code, waits }
}

/// A MB in KB.
const MB: u32 = 1 << 10;

/// Lines of a KB.
const PER_KB: u32 = 1024 / 64;

#[rustfmt::skip]
const PROGRAMS: [NamedProgram; 11] = [
    // Sweeps scaled by 1.09, of 32 bytes: 65 misses.
    row("art-like", 0.35, 0.15,
        &[hot(62.9, 4), sweep(28.4, 2253, 2), sweep(8.7, 1126, 2)],
        code(8), FloatingPoint),
    // Scaled by 1.05: 136 misses.
    row("mcf-like", 0.38, 0.25,
        &[hot(55.8, 4), random(18.9, 1280), random(15.8, 2560), random(7.4, 10 * MB), random(2.1, 100 * MB)],
        code(8), Loads),
    row("twolf-like", 0.34, 0.20,
        &[hot(80.0, 6), random(14.0, 96), random(4.5, 700), random(1.5, 1536)],
        code(48), Loads),
    // Scaled by 0.63: 5.4 misses.
    row("gcc-like", 0.36, 0.35,
        &[hot(82.74, 6), random(12.0, 64), random(4.0, 600), random(0.63, 5 * MB), stream(0.63)],
        code_of(512, 0.90, 24), Loads),
    // Scaled by 0.125: 0.1 misses. The window; the heads and chains of hashes.
    row("gzip-like", 0.32, 0.20,
        &[hot(81.75, 4), random(6.0, 64), random(12.0, 256), stream(0.25)],
        code(12), Loads),
    // Scaled by 0.91: 5.1 misses.
    row("parser-like", 0.34, 0.25,
        &[hot(85.09, 6), random(11.0, 100), random(3.0, 700), random(0.55, 2560), random(0.36, 16 * MB)],
        code(48), Loads),
    // Scaled by 0.6: 1.2 misses. For (2), 64 of the 96 KB are swept, with 4.8 of their 10 %, and
    // 384 KB have 1 % instead of 3 %.
    row("vortex-like", 0.38, 0.35,
        &[hot(88.82, 6), random(5.2, 32), sweep(4.8, 64, 1), random(1.0, 384), random(0.12, 2560),
          random(0.06, 24 * MB)],
        code_of(400, 0.90, 32), Loads),
    row("vpr-like", 0.36, 0.20,
        &[hot(86.0, 6), random(12.4, 48), random(0.6, MB), random(1.0, 5 * MB)],
        code(32), Loads),
    row("crafty-like", 0.33, 0.15,
        &[hot(93.0, 6), random(6.95, 80), random(0.05, 1536)],
        code_of(160, 0.95, 24), Loads),
    row("apsi-like", 0.36, 0.30,
        &[hot(86.0, 6), random(8.0, 96), sweep(6.0, 190 * MB, 8)],
        code(8), FloatingPoint),
    // Tables and locks; interior pages; leaves, 80 % of whose references go to 30 of 100 MB (CASC
    // §5.2).
    row("berkeley-db-like", 0.36, 0.25,
        &[hot(90.0, 6), random(6.0, 64), random(2.5, 400), random(1.2, 30 * MB), random(0.3, 70 * MB)],
        code_of(150, 0.85, 24), Loads),
];

/// Lines of KB.
const fn lines(kb: u32) -> u32 {
    kb * PER_KB
}

const fn random(share: f64, kb: u32) -> DataRegion {
    DataRegion { share, lines: lines(kb), order: VisitOrder::Random, run: 1 }
}

/// A region that is used all the time, with four references in a row: one by one, they would mostly
/// miss an L1 that is hardly larger and has other lines too, unlike in any real program.
const fn hot(share: f64, kb: u32) -> DataRegion {
    DataRegion { run: 4, ..random(share, kb) }
}

/// A region that is swept, `run` words of each line in turn: 8 of 8 bytes, 2 of 32 bytes.
const fn sweep(share: f64, kb: u32, run: u16) -> DataRegion {
    DataRegion { share, lines: lines(kb), order: VisitOrder::Sweep, run }
}

/// A stream of words of 8 bytes.
const fn stream(share: f64) -> DataRegion {
    DataRegion { share, lines: 0, order: VisitOrder::Stream, run: 8 }
}

/// Instructions from a new line of code to the next: of the 16 in a line, 12 run before a branch
/// that is taken, and loops run four times. Lines of a loop that are fetched again hit.
const EVERY: u32 = 4 * 12;

/// Code of `kb` KB, all equally likely.
const fn code(kb: u32) -> CodeRegion {
    CodeRegion { hot: lines(kb), cold: 0, share: 1.0, every: EVERY }
}

/// Code of `kb` KB, with a share of the fetches in `hot` KB.
const fn code_of(kb: u32, share: f64, hot: u32) -> CodeRegion {
    CodeRegion { hot: lines(hot), cold: lines(kb - hot), share, every: EVERY }
}

#[cfg(test)]
mod tests {
    use super::super::functional::{alone, beside};
    use super::*;

    fn workload(name: &str) -> (Workload, f64) {
        match named(name) {
            Some(SimulatedProgram { accesses: Accesses::Workload(workload), base_cpi, .. }) => {
                (workload, base_cpi)
            }
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn shares_are_percent_and_names_are_known() {
        assert_eq!(NAMES.len(), 17);
        for name in PROGRAMS.iter().map(|program| program.name) {
            let (workload, base_cpi) = workload(name);
            let percent: f64 = workload.data.iter().map(|region| region.share).sum();
            assert!((percent - 100.0).abs() < 1e-9, "{name}: {percent}");
            assert!((1.3..=2.0).contains(&base_cpi), "{name}: {base_cpi}");
        }
        assert_eq!(named("art"), None);
    }

    /// `cargo test -p fairways-chip --lib figures_of -- --ignored --nocapture`: docs/workloads.md.
    #[test]
    #[ignore = "prints docs/workloads.md's figures, in a minute"]
    fn figures_of_all() {
        const KBS: [u32; 9] = [48, 96, 128, 192, 256, 384, 768, 1024, 1536];
        for name in PROGRAMS.iter().map(|program| program.name) {
            let (workload, base_cpi) = workload(name);
            let counts = alone(&workload, &KBS, 200_000_000, 100_000_000);
            let kilo = counts.instructions as f64 / 1000.0;
            let references = (counts.loads + counts.stores) as f64;
            print!(
                "| {name} | {:.2} | {:.0} % | {base_cpi:.2} | {:.0} | {:.1} |",
                references / kilo / 1000.0,
                counts.stores as f64 * 100.0 / references,
                counts.l2 as f64 / kilo,
                counts.l2_fetches as f64 / kilo,
            );
            (0..KBS.len())
                .for_each(|l2| print!(" {:.1} / {:.1} |", counts.mpki(l2), counts.ratio(l2)));
            println!();
        }
    }

    fn mpki_of_half(name: &str) -> f64 {
        alone(&workload(name).0, &[128], 30_000_000, 10_000_000).mpki(0)
    }

    #[test]
    fn at_128_kb_programs_miss_in_the_order_they_should() {
        let groups: [&[&str]; 4] = [
            &["art-like", "mcf-like"],
            &["gcc-like", "gzip-like", "twolf-like", "parser-like"],
            &["vpr-like", "vortex-like"],
            &["crafty-like"],
        ];
        let mut before = f64::INFINITY;
        for group in groups {
            let of_group: Vec<f64> = group.iter().map(|name| mpki_of_half(name)).collect();
            let most = of_group.iter().copied().fold(0.0, f64::max);
            assert!(most < before, "{group:?}: {of_group:?}, before: {before}");
            before = of_group.into_iter().fold(f64::INFINITY, f64::min);
        }
    }

    #[test]
    fn at_1_mb_programs_miss_as_published() {
        // From the figure of Qureshi et al. to that of PBBCache's measurements, with the deviation
        // of a finite run.
        for (name, least, most) in [
            ("art-like", 64.0, 66.0),
            ("mcf-like", 134.0, 202.5),
            ("twolf-like", 3.6, 7.9),
            ("gcc-like", 5.0, 5.8),
            ("gzip-like", 0.05, 0.15),
            ("parser-like", 1.6, 5.3),
            ("vortex-like", 1.0, 1.4),
            ("vpr-like", 2.2, 11.2),
            ("crafty-like", 0.03, 0.15),
            ("apsi-like", 0.3, 4.4),
        ] {
            let mpki = alone(&workload(name).0, &[1024], 100_000_000, 40_000_000).mpki(0);
            assert!((least..=most).contains(&mpki), "{name}: {mpki}");
        }
    }

    #[test]
    fn vortex_misses_beside_light_programs_as_cache_fair_implies() {
        let (vortex, cpi) = workload("vortex-like");
        let half = alone(&vortex, &[128], 20_000_000, 10_000_000).mpki(0);
        for name in ["vpr-like", "crafty-like"] {
            let (other, other_cpi) = workload(name);
            let pair = [(&vortex, cpi), (&other, other_cpi)];
            let fast = beside(pair, 256, 20_000_000, 10_000_000).mpki(0);
            assert!((11.0..=15.0).contains(&fast), "beside {name}: {fast}");
            let more = half / fast;
            assert!((1.75..=1.95).contains(&more), "{half} beside {name}'s {fast}: {more}");
        }
    }

    #[test]
    fn casc_s_programs_miss_as_unequally_as_it_says() {
        // CASC §5.4.1: 56 %, for six threads of each program. With 192 KB each, the one of its five
        // sizes at which this is true; the paper does not name the size.
        let ratios = ["art-like", "twolf-like", "berkeley-db-like"]
            .map(|name| alone(&workload(name).0, &[192], 30_000_000, 10_000_000).ratio(0));
        let mean = ratios.iter().sum::<f64>() / 3.0;
        let variance = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 3.0;
        let variation = variance.sqrt() / mean;
        assert!((0.53..0.59).contains(&variation), "{ratios:?}: {variation}");
        let others = f64::midpoint(ratios[1], ratios[2]);
        assert!((2.7..3.3).contains(&(ratios[0] / others)), "{ratios:?}");
    }
}
