//! Measures a program alone.

use std::time::Duration;

use fairways_chip::{Account, AfterRun, ChipError, Job, Settings};
use fairways_core::{
    Action, Curve, Event, Partition, PlanId, Policy, Profile, Q32, Time, WayMask, run,
};
use rayon::prelude::*;

use super::observed::ObservedChip;
use super::served::ServiceSummary;
use super::work_curve::WorkCurve;

/// The rates of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Instructions per cycle.
    pub ipc: f64,
    /// LLC references per 1000 instructions.
    pub llcrpki: f64,
    /// LLC misses per 1000 instructions.
    pub llcmpki: f64,
    /// Memory bandwidth, MB/s.
    pub bandwidth_mbps: f64,
    /// Share of cycles stalled for L2 misses, 0 to 1.
    pub stalls_l2_miss: f64,
    /// Instructions per second.
    pub instructions_per_second: f64,
}

/// The results of a program alone.
#[derive(Clone, Debug, PartialEq)]
pub struct SoloRun {
    /// Its rates.
    pub rate: Rate,
    /// How it answers, if it is a service.
    pub service: Option<ServiceSummary>,
    /// How long it took for its instructions, if it is a stream or a real program.
    pub curve: Option<WorkCurve>,
    /// Whether it is a real program that slept for long: for more than 5 % of the time.
    pub slept_long: bool,
}

/// The points of a [`WorkCurve`] in the warm-up, and after it.
const POINTS: u32 = 64;

impl Rate {
    /// The rates between two accounts that are `seconds` apart. If nothing ran, instructions per
    /// cycle and misses and references per instruction are NaN, and all else is 0.
    pub(super) fn between(from: &Account, to: &Account, seconds: f64) -> Self {
        let count = |counter: fn(&Account) -> u64| (counter(to) - counter(from)) as f64;
        let (instructions, cycles) = (count(|a| a.instructions), to.cycles() - from.cycles());
        if instructions == 0.0 || cycles == 0.0 {
            let [ipc, llcrpki, llcmpki] = [f64::NAN; 3];
            return Self { ipc, llcrpki, llcmpki, ..Self::default() };
        }
        Self {
            ipc: instructions / cycles,
            llcrpki: 1000.0 * count(|a| a.llc_references) / instructions,
            llcmpki: 1000.0 * count(|a| a.llc_misses) / instructions,
            bandwidth_mbps: 64.0 * count(|a| a.lines) / seconds / 1e6,
            stalls_l2_miss: (to.stall_cycles() - from.stall_cycles()) / cycles,
            instructions_per_second: instructions / seconds,
        }
    }
}

/// Calls `what`, which starts runs in parallel; if a real program is among the jobs, the runs come
/// one after the other, because they share ports and files.
pub fn one_by_one_if_live<T: Send>(jobs: &[Job], what: impl FnOnce() -> T + Send) -> T {
    let has_live = jobs.iter().any(|job| job.live().next().is_some());
    match has_live.then(|| rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()).flatten() {
        Some(pool) => pool.install(what),
        None => what(),
    }
}

/// Gives each program that starts this number of ways.
struct FixedWays(u32);

impl Policy for FixedWays {
    fn name(&self) -> &'static str {
        "fixed-ways"
    }

    fn handle(&mut self, _: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        let Event::Started { app, .. } = event else { return };
        let mut partition = Partition::default();
        let own = partition.add_cluster(WayMask::span(0, self.0));
        partition.place(*app, own);
        let (plan, reason) = (PlanId::default(), "a fixed number of ways".into());
        act(Action::Partition { plan, partition: (&partition).into(), reason });
    }
}

/// The rates of a program alone with `ways` ways, in the `span` after `warm_up`; times are on the
/// policy's clock.
///
/// # Errors
/// If the chip is not possible, or a real program fails: [`ChipError`].
pub fn measure(
    settings: Settings,
    job: &Job,
    ways: u32,
    warm_up: Duration,
    span: Duration,
) -> Result<Rate, ChipError> {
    Ok(measure_alone(settings, job, ways, warm_up, span)?.rate)
}

/// Like [`measure`], with the summary of a service.
///
/// # Errors
/// If the chip is not possible, or a real program fails: [`ChipError`].
pub fn measure_alone(
    settings: Settings,
    job: &Job,
    ways: u32,
    warm_up: Duration,
    span: Duration,
) -> Result<SoloRun, ChipError> {
    let mut curve = WorkCurve::for_job(job, &settings);
    let job = Job { at: Time::ZERO, then: AfterRun::Restart, ..job.clone() };
    let mut machine = ObservedChip::new(settings, [job])?;
    let mut until = |end: Time| {
        machine.forget();
        machine.stop_at(end);
        run(&mut machine, &mut FixedWays(ways), &mut []);
        machine.chip.account(0)
    };
    let warm = Time::ZERO.after(warm_up);
    if let Some(curve) = &mut curve {
        for point in 1..POINTS {
            let at = warm_up * point / POINTS;
            curve.note(at, &until(Time::ZERO.after(at)));
        }
    }
    let before = until(warm);
    if let Some(curve) = &mut curve {
        curve.note(warm_up, &before);
        for point in 1..POINTS {
            let at = warm_up + span * point / POINTS;
            curve.note(at, &until(Time::ZERO.after(at)));
        }
    }
    let after = until(warm.after(span));
    if let Some(curve) = &mut curve {
        curve.note(warm_up + span, &after);
    }
    machine.chip.failure().map_or(Ok(()), Err)?;
    let seconds = span.as_secs_f64() / f64::from(settings.time_scale);
    let slept_long = curve.as_ref().is_some_and(|curve| curve.slept_long(&before, &after, span));
    Ok(SoloRun {
        rate: Rate::between(&before, &after, seconds),
        service: machine.service_summary(0),
        curve,
        slept_long,
    })
}

/// A program's profile, measured with every number of ways.
///
/// # Errors
/// If the chip is not possible, or a real program fails: [`ChipError`].
pub fn profile(
    settings: Settings,
    job: &Job,
    warm_up: Duration,
    span: Duration,
) -> Result<Profile, ChipError> {
    let ways = settings.chip.llc.ways;
    let rates: Vec<Rate> = (1..=ways.get())
        .into_par_iter()
        .map(|ways| measure(settings, job, ways, warm_up, span))
        .collect::<Result<_, ChipError>>()?;
    let curve =
        |of: fn(&Rate) -> f64| Curve::from_fn(ways, |ways| q32(of(&rates[ways as usize - 1])));
    Ok(Profile {
        ipc: curve(|rate| rate.ipc),
        llcmpki: curve(|rate| rate.llcmpki),
        llcmpkc: curve(|rate| rate.llcmpki * rate.ipc),
        bandwidth_mbps: curve(|rate| rate.bandwidth_mbps),
        stalls_l2_miss: curve(|rate| rate.stalls_l2_miss.min(1.0)),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rates are not negative; the cast saturates"
)]
fn q32(value: f64) -> Q32 {
    Q32::from_raw((value * (1u64 << 32) as f64) as u64).min(Q32::MAX_IN_CURVE)
}
