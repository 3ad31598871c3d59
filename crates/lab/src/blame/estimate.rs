//! What an attribution finds in a mix's windows, beside two other methods.

use fairways_attribution::{Attribution, Bounds, MemoryLatency, WatchedPolicy};
use fairways_chip::{Chip, ChipError, Geometry};
use fairways_core::{Action, AppId, Event, Policy, Q32, Time, run};
use fairways_policy::by_name;

use super::cpi2::CpuUse;
use super::mixes::{MixOnChip, PROTOCOL};
use super::truth::VictimTruth;

/// What is found about a program.
#[derive(Clone, Debug, PartialEq)]
pub struct VictimEstimate {
    /// Its slowdown: at least, likely, at most.
    pub slowdown: [f64; 3],
    /// The parts that it loses to lines, ways and the bus.
    pub parts: [f64; 3],
    /// The neighbour that costs it most, and how much; `None` if none is blamed.
    pub culprit: Option<(usize, f64)>,
    /// CPI²'s suspect.
    pub cpi2: Option<usize>,
    /// The neighbour with the most misses.
    pub most_misses: Option<usize>,
}

/// The latencies of an idle chip.
#[must_use]
pub const fn memory_latency(chip: &Geometry) -> MemoryLatency {
    MemoryLatency { llc: chip.latency.llc, memory: chip.latency.memory }
}

/// A policy whose events others take in, too.
struct WatchedMix {
    watched: WatchedPolicy,
    used: CpuUse,
}

impl Policy for WatchedMix {
    fn name(&self) -> &'static str {
        self.watched.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.used.handle(event, at > Time::ZERO.after(PROTOCOL.warm_up));
        self.watched.handle(at, event, act);
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
    truth: &[VictimTruth],
) -> Result<Vec<VictimEstimate>, ChipError> {
    let since = Time::ZERO.after(PROTOCOL.warm_up);
    let latency = memory_latency(&mix.settings.chip);
    let watched = WatchedPolicy::new(
        by_name(policy).expect("a policy's name"),
        Attribution::new(Some(latency), since),
    );
    let mut policy = WatchedMix { watched, used: CpuUse::new(mix.jobs.len()) };
    let mut machine = Chip::new(mix.settings, mix.jobs.clone())?;
    machine.stop_at(since.after(PROTOCOL.span));
    run(&mut machine, &mut policy);
    let WatchedMix { watched, used } = policy;
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
                parts: [loss.lines, loss.ways, loss.bus].map(number),
                culprit,
                cpi2: used.suspect(victim, truth.alone_cpi),
                most_misses: others.max_by_key(|&other| used.misses[other]),
            }
        });
    Ok(found.collect())
}

fn number(value: Q32) -> f64 {
    value.raw() as f64 / Q32::ONE.raw() as f64
}
