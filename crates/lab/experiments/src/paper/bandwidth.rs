//! Measured limits and latencies of memory bandwidth, repeated on the chip.
//!
//! There is no paper for this. The kernel's self-test for resctrl printed the speed of one stream
//! at each step of Intel's limit on three machines, two reports state the traffic of many cores at
//! the lowest step, and the Memory Latency Checker measured latency under load on two machines.

pub(super) mod claims;

use std::time::Duration;

use fairways_chip::preset::parse;
use fairways_chip::program::{Accesses, Pattern};
use fairways_chip::{
    BandwidthLimit, Chip, ChipError, FillClass, Geometry, Job, Settings, SimulatedProgram,
};
use fairways_core::{NoPolicy, Time, WayMask};
use rayon::prelude::*;

use super::figures::{FigureError, Line, lines};
use super::published::FigureFolder;
use super::{ClaimName, Findings};

/// Lines of 128 MB, of which a cache holds little.
const LARGE: u32 = 1 << 21;

/// The machines of the self-test: the speed of one stream without a limit, MiB/s, and the claims
/// about its speed at some percentages.
const SELF_TEST: [(f64, &[(u32, ClaimName)]); 3] = [
    (
        6929.0,
        &[
            (40, claims::MACHINE_1_AT_40),
            (30, claims::MACHINE_1_AT_30),
            (20, claims::MACHINE_1_AT_20),
            (10, claims::MACHINE_1_AT_10),
        ],
    ),
    (
        14179.0,
        &[
            (90, claims::MACHINE_2_AT_90),
            (60, claims::MACHINE_2_AT_60),
            (40, claims::MACHINE_2_AT_40),
            (30, claims::MACHINE_2_AT_30),
            (20, claims::MACHINE_2_AT_20),
            (10, claims::MACHINE_2_AT_10),
        ],
    ),
    (
        6874.0,
        &[
            (40, claims::MACHINE_3_AT_40),
            (30, claims::MACHINE_3_AT_30),
            (20, claims::MACHINE_3_AT_20),
            (10, claims::MACHINE_3_AT_10),
        ],
    ),
];

/// The machines whose latency under load was measured: the bus, and the claims about its latency at
/// some percentages of its bandwidth.
const LOADED: [(&str, [(u32, ClaimName); 3]); 2] = [
    (
        "cascade-lake",
        [
            (50, claims::CASCADE_LAKE_AT_50),
            (82, claims::CASCADE_LAKE_AT_82),
            (98, claims::CASCADE_LAKE_AT_98),
        ],
    ),
    (
        "ice-lake",
        [(50, claims::ICE_LAKE_AT_50), (82, claims::ICE_LAKE_AT_82), (93, claims::ICE_LAKE_AT_93)],
    ),
];

/// The number of streams beside a chase, and the bandwidth of the bus that they fill, MB/s.
const STREAMS: usize = 8;
const BUS_MBPS: f64 = 40_000.0;

/// The intervals between the requests of such a stream, ns.
const NANOS: [f64; 18] = [
    400.0, 120.0, 60.0, 40.0, 30.0, 24.0, 20.0, 18.0, 16.0, 14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0,
    6.0, 4.3,
];

/// The measurements, repeated.
#[derive(Clone, Copy, Debug)]
pub struct BandwidthTables {
    /// The milliseconds of each run that are counted.
    millis: u64,
}

/// Latency under load, by bus: the use of the bandwidth, and the latency relative to an idle bus.
#[derive(Clone, Debug)]
pub struct LoadedLatencies(Vec<(String, Vec<(f64, f64)>)>);

impl LoadedLatencies {
    /// Draws them into a folder, as `latency.svg`.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn draw(&self, folder: &FigureFolder<'_>) -> Result<(), FigureError> {
        let by_bus = self.0.iter().cloned();
        let by_bus: Vec<Line> = by_bus.map(|(name, points)| Line { name, points }).collect();
        let axes = ["use of the bandwidth", "latency over that of an idle bus"];
        lines(folder.svg("latency"), "Latency under load", axes, &by_bus)
    }
}

/// A program, and the percentage that it is limited to, if any.
type LimitedJob = (Job, Option<u32>);

impl BandwidthTables {
    /// The full repetition; if `quick`, with shorter runs.
    #[must_use]
    pub fn new(quick: bool) -> Self {
        Self { millis: if quick { 1 } else { 8 } }
    }

    /// Runs all measurements. `progress` is called with the current one, the steps done, and all
    /// steps.
    ///
    /// # Errors
    /// If the chip is not possible.
    pub fn run(
        self,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<(Findings, LoadedLatencies), ChipError> {
        let mut findings = Findings::default();
        for (step, (mibps, percents)) in SELF_TEST.into_iter().enumerate() {
            progress("one stream", step, SELF_TEST.len());
            self.one_stream(mibps, percents, &mut findings)?;
        }
        progress("many cores", 0, 1);
        for (claim, cores) in [(claims::SIX_CORES, 6), (claims::TWENTY_CORES, 20)] {
            let jobs = vec![(stream(4.3), Some(10)); cores];
            let moved = self.moved(&chip("queue", 200_000.0), &jobs)?;
            findings.add(claim, moved.iter().map(|one| one.gbps).sum());
        }
        let mut loaded = vec![("queue".to_owned(), self.loaded_latencies("queue")?)];
        for (step, (bus, percents)) in LOADED.into_iter().enumerate() {
            progress("latency under load", step, LOADED.len());
            let points = self.loaded_latencies(bus)?;
            for (percent, claim) in percents {
                findings.add_if(claim, at(&points, percent));
            }
            for (percent, ClaimName { item, case }) in percents {
                let case = format!("{case}, bus=queue");
                findings.add_beside(item, &case, "ratio", at(&loaded[0].1, percent));
            }
            loaded.push((bus.to_owned(), points));
        }
        progress("a chase beside throttled streams", 0, 1);
        self.throttled(&mut findings)?;
        Ok((findings, LoadedLatencies(loaded)))
    }

    /// The speed of one stream at each percentage, relative to that without a limit.
    fn one_stream(
        self,
        mibps: f64,
        percents: &[(u32, ClaimName)],
        findings: &mut Findings,
    ) -> Result<(), ChipError> {
        let nanos = 64e9 / (mibps * f64::from(1 << 20));
        let limits = [None].into_iter().chain(percents.iter().map(|(percent, _)| Some(*percent)));
        let limits: Vec<Option<u32>> = limits.collect();
        let chip = chip("queue", 102_000.0);
        let moved: Vec<f64> = limits
            .par_iter()
            .map(|&limit| Ok(self.moved(&chip, &[(stream(nanos), limit)])?[0].gbps))
            .collect::<Result<_, ChipError>>()?;
        for ((_, claim), gbps) in percents.iter().zip(&moved[1..]) {
            findings.add(*claim, gbps / moved[0]);
        }
        Ok(())
    }

    /// How long a chase waits for a line while streams use more and more of the bandwidth. Their
    /// requests begin far apart and come closer, as with the checker's injected delays.
    fn loaded_latencies(self, bus: &str) -> Result<Vec<(f64, f64)>, ChipError> {
        let chip = chip(bus, BUS_MBPS);
        let idle = self.moved(&chip, &[(chase(), None)])?[0].instructions;
        let mut points: Vec<(f64, f64)> = NANOS
            .par_iter()
            .map(|&nanos| {
                let mut jobs = vec![(stream(nanos), None); STREAMS];
                jobs.push((chase(), None));
                let moved = self.moved(&chip, &jobs)?;
                let gbps: f64 = moved.iter().map(|one| one.gbps).sum();
                Ok((gbps * 1e3 / BUS_MBPS, idle / moved[STREAMS].instructions))
            })
            .collect::<Result<_, ChipError>>()?;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(points)
    }

    /// A chase beside limited streams, on a bus that they would fill without limits.
    fn throttled(self, findings: &mut Findings) -> Result<(), ChipError> {
        for bus in ["queue", "cascade-lake", "ice-lake"] {
            let chip = chip(bus, BUS_MBPS);
            let idle = self.moved(&chip, &[(chase(), None)])?[0].instructions;
            for percent in [100, 60, 30, 20, 10] {
                let mut jobs = vec![(stream(4.3), Some(percent)); STREAMS];
                jobs.push((chase(), None));
                let moved = self.moved(&chip, &jobs)?;
                let item = format!("{STREAMS} streams on a bus of 40 GB/s, bus={bus}");
                let ratio = idle / moved[STREAMS].instructions;
                let case = format!("latency of a chase over idle, streams at {percent} %");
                findings.add_beside(&item, &case, "ratio", Some(ratio));
                let gbps = moved.iter().map(|one| one.gbps).sum();
                let case = format!("moved by all, streams at {percent} %");
                findings.add_beside(&item, &case, "GB/s", Some(gbps));
            }
        }
        Ok(())
    }

    /// What each program does in the second half of a run.
    fn moved(self, chip: &Geometry, jobs: &[LimitedJob]) -> Result<Vec<MovedLines>, ChipError> {
        let mut machine = Chip::new(Settings::new(*chip), jobs.iter().map(|(job, _)| job.clone()))?;
        let mask = WayMask::full(chip.llc.ways);
        for (job, &(_, percent)) in jobs.iter().enumerate() {
            let limit = percent.map(|value| BandwidthLimit { class: 0, value });
            machine
                .set_classes(job, vec![FillClass { mask, mark: 0, limit }; chip.cpus() as usize]);
        }
        let [before, after] = [1, 2].map(|times| {
            machine.stop_at(Time::ZERO.after(Duration::from_millis(times * self.millis)));
            fairways_core::run(&mut machine, &mut NoPolicy, &mut []);
            (0..jobs.len()).map(|job| machine.account(job)).collect::<Vec<_>>()
        });
        let counted = before.iter().zip(&after).map(|(before, after)| {
            let counts = after.minus(before);
            let gbps = counts.lines as f64 * 64.0 / (self.millis as f64 * 1e6);
            MovedLines { instructions: counts.instructions as f64, gbps }
        });
        Ok(counted.collect())
    }
}

/// What a program did.
#[derive(Clone, Copy, Debug)]
struct MovedLines {
    instructions: f64,
    gbps: f64,
}

/// Skylake's chip with this bus.
fn chip(bus: &str, mbps: f64) -> Geometry {
    parse(&format!("skylake:bus={bus}:mbps={mbps}")).expect("a chip of this project")
}

/// A program at 2 GHz that requests a line every `nanos` ns when it is alone. It is slowed down by
/// having fewer misses under way, and then by computing more.
pub(super) fn stream(nanos: f64) -> Job {
    let (instructions, latency, cycles) = (32.0, 180.0, nanos * 2.0);
    let cpi = f64::max(0.1, (cycles - latency) / instructions);
    let overlap = latency / (cycles - instructions * cpi).min(latency);
    let accesses = Accesses::Pattern(Pattern::Sequential { lines: LARGE });
    Job::new(SimulatedProgram::new(accesses, cpi, overlap))
}

/// A program that waits for each line before it requests the next, and does nothing else.
fn chase() -> Job {
    let accesses = Accesses::Pattern(Pattern::Chase { lines: LARGE });
    Job::new(SimulatedProgram::new(accesses, 0.01, 1.0))
}

/// The latency at a percentage of the bandwidth, interpolated between points; `None` outside them.
fn at(points: &[(f64, f64)], percent: u32) -> Option<f64> {
    let x = f64::from(percent) / 100.0;
    let pair = points.windows(2).find(|pair| (pair[0].0..=pair[1].0).contains(&x))?;
    let [(from, low), (to, high)] = [pair[0], pair[1]];
    Some(low + (high - low) * (x - from) / (to - from).max(f64::MIN_POSITIVE))
}
