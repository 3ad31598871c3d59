//! What an attribution finds in a mix's windows, beside two other methods.

use fairways_attribution::{Attribution, Bounds, MemoryLatency, WatchedPolicy};
use fairways_chip::{Chip, ChipError, Geometry, preset};
use fairways_core::{Action, AppId, Counters, Event, Policy, Q32, Sample, Time, run};
use fairways_policy::by_name;

use super::cpi2::CpuUse;
use super::mixes::{MixOnChip, PROTOCOL};
use super::truth::VictimTruth;

/// What is found about a program.
#[derive(Clone, Debug, PartialEq)]
pub struct VictimEstimate {
    /// Its slowdown: at least, likely, at most.
    pub slowdown: [f64; 3],
    /// Whether the likely one is shown.
    pub is_known: bool,
    /// The parts that it loses to lines, ways and the bus.
    pub parts: [f64; 3],
    /// The neighbour that costs it most, and how much; `None` if none is blamed.
    pub culprit: Option<(usize, f64)>,
    /// CPI²'s suspect.
    pub cpi2: Option<usize>,
    /// The neighbour with the most misses.
    pub most_misses: Option<usize>,
    /// Its lines at the end, in ways' worth: as the attribution has it, and in truth.
    pub occupancy: [f64; 2],
}

/// The latencies of an idle chip.
#[must_use]
pub const fn memory_latency(chip: &Geometry) -> MemoryLatency {
    MemoryLatency { llc: chip.latency.llc, memory: chip.latency.memory }
}

/// The latencies of a machine of this kind in a journal, if it is an idle chip's.
#[must_use]
pub fn memory_latency_of(kind: &str) -> Option<MemoryLatency> {
    preset::parse(kind.strip_prefix("chip:")?).ok().as_ref().map(memory_latency)
}

/// What is read of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readings {
    /// Counters, occupancies and memory traffic; and the latencies of the idle machine are known.
    All,
    /// The same, but the latencies are not known, as on a host.
    Host,
    /// A processor's counters alone, as on a virtual machine: occupancies are estimated.
    Counters,
}

/// A policy whose events others take in, too.
struct WatchedMix {
    watched: WatchedPolicy,
    used: CpuUse,
    readings: Readings,
    /// By program, its lines at the end of its last window, in ways' worth.
    occupancies: Vec<f64>,
}

impl Policy for WatchedMix {
    fn name(&self) -> &'static str {
        self.watched.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.used.handle(event, at > Time::ZERO.after(PROTOCOL.warm_up));
        if let Event::Sampled(Sample { app, occupancy: Some(of), .. }) = event
            && let Some(one) =
                self.occupancies.get_mut(usize::try_from(app.0).unwrap_or(usize::MAX))
        {
            *one = number(*of);
        }
        match event {
            Event::Sampled(sample) if self.readings == Readings::Counters => {
                let counters = Counters { memory_bytes: None, ..sample.counters };
                let (occupancy, occupancy_at_least) = (None, None);
                let sample = Sample { counters, occupancy, occupancy_at_least, ..*sample };
                self.watched.handle(at, &Event::Sampled(sample), act);
            }
            _ => self.watched.handle(at, event, act),
        }
    }
}

/// Runs a mix under a policy, and names what each program loses, and to which neighbour. `truth` is
/// of the same mix and policy; CPI² gets the programs' CPI alone from it.
///
/// # Errors
/// If the chip has too few cores: [`ChipError`].
///
/// # Panics
/// If no policy has the name, or a program has no counters.
pub fn estimate(
    mix: &MixOnChip,
    policy: &str,
    readings: Readings,
    truth: &[VictimTruth],
) -> Result<Vec<VictimEstimate>, ChipError> {
    let since = Time::ZERO.after(PROTOCOL.warm_up);
    let chip = &mix.settings.chip;
    let attribution = match readings {
        Readings::All => Attribution::new(Some(memory_latency(chip)), since),
        Readings::Host => Attribution::new(None, since),
        Readings::Counters => {
            // Counters are those of the policy's clock, in which the chip's time is longer.
            let lines = u64::from(chip.sets) * u64::from(mix.settings.time_scale);
            Attribution::new(None, since).estimating(lines)
        }
    };
    let watched = WatchedPolicy::new(by_name(policy).expect("a policy's name"), attribution);
    let occupancies = vec![0.0; mix.jobs.len()];
    let mut policy =
        WatchedMix { watched, used: CpuUse::new(mix.jobs.len()), readings, occupancies };
    let mut machine = Chip::new(mix.settings, mix.jobs.clone())?;
    machine.stop_at(since.after(PROTOCOL.span));
    run(&mut machine, &mut policy, &mut []);
    let WatchedMix { watched, used, occupancies, .. } = policy;
    let found =
        watched.attribution.losses().zip(truth).enumerate().map(|(victim, (loss, truth))| {
            assert_eq!(
                loss.app,
                AppId(u32::try_from(victim).unwrap_or(0)),
                "every program has counters"
            );
            let Bounds { least, likely, most } = loss.slowdown;
            let culprit = watched.attribution.worst_culprit(loss);
            let culprit = culprit
                .and_then(|one| Some((usize::try_from(one.culprit.0).ok()?, number(one.total()))));
            let others = (0..mix.jobs.len()).filter(|&other| other != victim);
            VictimEstimate {
                slowdown: [least, likely, most].map(number),
                is_known: loss.is_known(),
                parts: [loss.lines, loss.ways, loss.bus].map(number),
                culprit,
                cpi2: used.suspect(victim, truth.alone_cpi),
                most_misses: others.max_by_key(|&other| used.misses[other]),
                occupancy: [
                    watched.attribution.occupancy(loss.app).map_or(0.0, number),
                    occupancies[victim],
                ],
            }
        });
    Ok(found.collect())
}

fn number(value: Q32) -> f64 {
    value.raw() as f64 / Q32::ONE.raw() as f64
}
