//! A chip behind the emulator's files.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_chip::{
    AfterRun, BandwidthLimit, CacheShape, CapUnit, Chip, ChipError, FillClass, Geometry, Job,
    PausePoint, SKYLAKE_GAPS, Settings, SiblingGap, Throttle,
};
use fairways_core::{Counters, Event, LatencyBin, Machine, NoPolicy, Time, run};
use fairways_emulator::hardware::{
    CacheSize, ClassLimit, CpuClass, Hardware, ProcessorShape, Until,
};
use fairways_resctrl_rules::platform::{Caches, Platform, Resource, ThrottleMode};

/// A [`Chip`] behind the files. Its programs start at once.
///
/// A program's lines leave the cache when it ends. MB values limit as the chip's throttle does
/// ([`throttle_of`]); all memory is near, so SMBA values have no effect. On a chip with instruction
/// fetches, they fill the ways of data (`L3DATA` where CDP is on).
pub struct ChipMachine {
    chip: Chip,
    geometry: Geometry,
    names: Vec<String>,
    now: Time,
    /// How many times as fast as the chip's own clock this one goes.
    time_scale: u64,
    /// By program: requests by latency in nanoseconds; `None`: it is no service.
    answered: Vec<Option<BTreeMap<u64, u64>>>,
}

impl ChipMachine {
    /// A chip on which these jobs run, each under its name. No job starts again when its run ends,
    /// and all start at once.
    ///
    /// # Errors
    /// If there can't be such a chip: [`ChipError`].
    pub fn new(
        settings: Settings,
        jobs: impl IntoIterator<Item = (String, Job)>,
    ) -> Result<Self, ChipError> {
        let (names, jobs): (Vec<String>, Vec<Job>) = jobs.into_iter().unzip();
        let answered = jobs.iter().map(|job| job.requests().map(|_| BTreeMap::new())).collect();
        let chip = Chip::new(
            settings,
            jobs.into_iter().map(|job| Job { then: AfterRun::Exit, at: Time::ZERO, ..job }),
        )?;
        let (geometry, time_scale) = (settings.chip, u64::from(settings.time_scale));
        let mut machine = Self { chip, geometry, names, now: Time::ZERO, time_scale, answered };
        // Programs start.
        machine.advance(&Until::time(Time::ZERO));
        Ok(machine)
    }

    /// The chip's geometry.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}

/// A platform as large as a chip: its CPUs (those of a core share an L2), one last-level cache, and
/// its ways. Where only ways of an L2 can be shared out, the last-level cache is that L2. Of its
/// ways the two uppermost are shared with other agents where the platform's are.
#[must_use]
pub fn platform_of(chip: &Geometry, platform: Platform) -> Platform {
    let ways = chip.llc.ways.get();
    let last = platform.last_shared_cache();
    let shares = platform.cache(last).is_some_and(|cache| cache.shareable_bits != 0);
    let shared = if shares && ways > 2 { 0b11 << (ways - 2) } else { 0 };
    let bytes = chip.way_bytes() * u64::from(ways);
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let cpus = (0..chip.cpus()).map(|cpu| {
        let own = cpu / chip.threads.max(1);
        (cpu, Caches { l3: 0, l2: if last == Resource::L2 { 0 } else { own } })
    });
    let mut platform = platform.with_cpus(cpus).with_ways(ways, shared).with_llc_bytes(bytes);
    if let Some(l2) = platform.l2.as_mut().filter(|_| last == Resource::L2) {
        (l2.cbm_len, l2.shareable_bits, l2.cache_bytes) = (ways, shared, bytes);
    }
    platform
}

/// A chip's CPUs and caches, for the files that show them. Where fetches cost nothing, the
/// instruction cache is as large as that of data.
#[must_use]
pub fn processor_of(chip: &Geometry) -> ProcessorShape {
    let Geometry { cores, threads, mhz, .. } = *chip;
    let llc = CacheSize { sets: chip.sets, ways: chip.llc.ways.get() };
    ProcessorShape {
        cores,
        threads,
        mhz,
        l1: size(chip.l1),
        l1i: size(chip.l1i.unwrap_or(chip.l1)),
        l2: chip.l2.map(size),
        llc,
    }
}

fn size(CacheShape { sets, ways }: CacheShape) -> CacheSize {
    CacheSize { sets, ways }
}

/// A class, as the chip has it.
fn fill_class(CpuClass { mask, mark, limit }: CpuClass) -> FillClass {
    let limit = limit.map(|ClassLimit { class, value }| BandwidthLimit { class, value });
    FillClass { mask, mark, limit }
}

/// How a platform limits memory bandwidth: by spacing requests (Intel), or by a cap in 1/8 GB/s
/// (AMD) or in percent (MPAM); `None` if it can't.
#[must_use]
pub fn throttle_of(platform: &Platform) -> Option<Throttle> {
    let mb = platform.mb.as_ref()?;
    let is_mpam = platform.monitoring.as_ref().is_some_and(|of| of.rmids_per_class);
    Some(if !mb.linear {
        Throttle::Cap(CapUnit::EighthGbps)
    } else if is_mpam {
        Throttle::Cap(CapUnit::Percent)
    } else {
        let siblings = match mb.throttle_mode {
            Some(ThrottleMode::PerThread) => SiblingGap::PerThread,
            Some(ThrottleMode::Max) | None => SiblingGap::Max,
        };
        Throttle::Spacing { gaps: SKYLAKE_GAPS, siblings }
    })
}

impl ChipMachine {
    /// Whether any of these has been reached.
    fn has_run(&self, instructions: &[(Vec<usize>, u64)]) -> bool {
        instructions.iter().any(|(jobs, count)| {
            let each = jobs.iter().filter_map(|&job| self.chip.counters(job).instructions);
            each.fold(0, u64::saturating_add) >= *count
        })
    }
}

impl Hardware for ChipMachine {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn now(&self) -> Time {
        self.now
    }

    fn tick(&self) -> Duration {
        Duration::from_nanos(self.time_scale)
    }

    fn advance(&mut self, until: &Until) -> bool {
        let Until { to, about, exit, instructions } = until;
        let mut pause = PausePoint { at: Some(*about), instructions: instructions.clone() };
        self.chip.stop_at((*to).max(self.now));
        self.chip.pause_at(pause.clone());
        let mut ended = false;
        while let Some((at, event)) = self.chip.next_event() {
            if matches!(event, Event::Exited { .. }) && *exit {
                // Other events at that time still happen.
                ended = true;
                pause.at = Some(at);
                self.chip.pause_at(pause.clone());
            }
        }
        let reached = self.chip.now();
        let is_met = ended || self.has_run(instructions);
        // A chip with nothing left to run goes no further, but its clock does.
        let to = if is_met || reached >= *about { reached } else { *to.min(about) };
        self.now = self.now.max(to);
        is_met
    }

    fn runs(&self, program: usize) -> bool {
        self.chip.is_running(program)
    }

    fn kill(&mut self, program: usize) {
        self.chip.kill(program);
        self.chip.stop_at(self.now);
        run(&mut self.chip, &mut NoPolicy, &mut []);
    }

    fn cpu(&self, program: usize) -> Option<u32> {
        self.chip.cpu(program)
    }

    fn set_classes(&mut self, program: usize, by_cpu: Vec<CpuClass>) {
        self.chip.set_classes(program, by_cpu.into_iter().map(fill_class).collect());
    }

    fn counters(&self, program: usize) -> Counters {
        self.chip.counters(program)
    }

    fn latencies(&mut self, program: usize) -> Option<Vec<LatencyBin>> {
        let all = self.answered[program].as_mut()?;
        for step in self.chip.take_latencies(program).iter_recorded() {
            *all.entry(step.value_iterated_to()).or_default() += step.count_at_value();
        }
        Some(
            all.iter()
                .map(|(&nanos, &requests)| {
                    let latency = Duration::from_nanos(nanos);
                    LatencyBin { latency, requests }
                })
                .collect(),
        )
    }

    fn occupancy_bytes(&self, mark: u16) -> u64 {
        self.chip.marked_bytes(mark)
    }

    fn failure(&self) -> Option<String> {
        self.chip.failure().map(|why| why.to_string())
    }
}

impl Drop for ChipMachine {
    fn drop(&mut self) {
        self.chip.end_live_programs();
    }
}
