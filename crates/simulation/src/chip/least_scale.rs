//! The least time scale for which a policy's windows are longer than filling the ways takes.
//!
//! A time scale shrinks windows, and not the time in which a cache fills. A policy whose windows
//! are shorter than that judges programs that are still filling their ways.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_chip::Geometry;
use fairways_chip::program::LINE;
use fairways_command_kit::policies::SharedParameters;
use fairways_exec_policy::descriptor;
use fairways_policy::table::KnowledgeSource;
use fairways_policy::{Descriptor, NAMES};
use serde_json::Value;

use super::{TimeScale, World};

/// Profiles that are measured before a run.
#[derive(Clone, Copy, Debug)]
pub struct Profiling {
    /// The time for a program with one number of ways.
    pub span: Duration,
    /// Whether policies that learn get them, too.
    pub for_all: bool,
}

impl Profiling {
    /// Whether a policy gets the profiles.
    #[must_use]
    pub fn is_for(self, policy: &Descriptor) -> bool {
        policy.knows == KnowledgeSource::Profiles || (self.for_all && policy.learns())
    }
}

/// How long a policy watches a program that fills its ways before it judges it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WatchSpan {
    Time(Duration),
    Instructions(u64),
}

/// Instructions for each line of the program that fills the ways: MLR's loop.
const INSTRUCTIONS_PER_LINE: u64 = 4;

/// Sampling under `fairways` goes on for so many times `most_windows` while ways are being filled.
const LONGER: u32 = 8;

/// How often `fairways` decides on the ways of services.
const SERVICES: Duration = Duration::from_millis(500);

impl World {
    /// Finds the least time scale of each of these policies, with its parameters, and warns of
    /// those for which this chip's is smaller.
    pub fn check_time_scale<'a>(
        &mut self,
        policies: impl IntoIterator<Item = (&'a str, Value)>,
        profiling: Option<Profiling>,
    ) {
        let policies = policies.into_iter();
        let least = policies.filter_map(|(name, parameters)| {
            let span = self.watch_span(descriptor(name)?, &parameters, profiling)?;
            Some((name.to_owned(), least_scale(&self.settings.chip, span)))
        });
        self.least_scales = least.collect();
        if let Some(warning) = self.too_short() {
            fairways_command_kit::warn(&warning);
        }
    }

    /// The same for all policies, with their defaults, where the one that will decide is not known.
    pub fn check_time_scale_of_all(&mut self) {
        let set = SharedParameters::default();
        let all = NAMES.into_iter().filter_map(|name| Some((name, set.all(name)?)));
        self.check_time_scale(all, None);
    }

    /// The least time scale of a policy whose scales were found; `None` if it has none, because it
    /// does not go by what programs do in their ways, or is a program of its own.
    #[must_use]
    pub fn least_scale(&self, policy: &str) -> Option<f64> {
        let mut scales = self.least_scales.iter();
        scales.find(|(name, _)| name == policy).map(|(_, scale)| scale.share())
    }

    /// The least time scales that were found, by policy.
    #[must_use]
    pub fn least_scales(&self) -> BTreeMap<String, f64> {
        self.least_scales.iter().map(|(name, scale)| (name.clone(), scale.share())).collect()
    }

    fn too_short(&self) -> Option<String> {
        let scale = TimeScale(self.settings.time_scale);
        let short = self.least_scales.iter().filter(|(_, least)| scale.0 > least.0);
        let short: Vec<String> =
            short.map(|(name, least)| format!("{name} (least {least})")).collect();
        if short.is_empty() {
            return None;
        }
        let fill = 1e3 * fill_seconds(&self.settings.chip);
        Some(format!(
            "time scale {scale} is too small for {}: filling all ways takes up to {fill:.1} ms, \
             longer than a window, so results differ from unscaled ones",
            short.join(", ")
        ))
    }

    fn watch_span(
        &self,
        policy: &Descriptor,
        parameters: &Value,
        profiling: Option<Profiling>,
    ) -> Option<WatchSpan> {
        if let Some(profiling) = profiling.filter(|profiling| profiling.is_for(policy)) {
            return Some(WatchSpan::Time(profiling.span));
        }
        if policy.schedules() {
            // Programs fill the ways again after each turn.
            return self.settings.scheduler.map(|how| WatchSpan::Time(how.quantum));
        }
        let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
        let time = |name| number(name).map(Duration::from_nanos);
        let span = match policy.name {
            "dcat" | "parties" => time("period")?,
            "locpart" => time("t_sched")?,
            "dunn" => time("decision_period")?,
            "lfoc" | "lfoc-plus" | "kpart" => {
                return number("sampling_window").map(WatchSpan::Instructions);
            }
            "fairways" => {
                let windows = u32::try_from(number("most_windows")?).unwrap_or(u32::MAX);
                let sampling =
                    time("sampling_window")?.saturating_mul(windows.saturating_mul(LONGER));
                let has_services = self.jobs.iter().any(|job| job.wish.objective.is_some());
                if has_services { sampling.min(SERVICES) } else { sampling }
            }
            _ => return None,
        };
        Some(WatchSpan::Time(span))
    }
}

/// The seconds, on the chip's own clock, in which a program that waits for each miss fills all ways.
/// One whose misses overlap takes less; none takes less than the bus does.
fn fill_seconds(chip: &Geometry) -> f64 {
    let hertz = f64::from(chip.mhz) * 1e6;
    let latency = f64::from(chip.latency.memory) / hertz;
    let on_the_bus = LINE as f64 / (chip.bandwidth_mbps * 1e6);
    lines(chip) * latency.max(on_the_bus)
}

fn lines(chip: &Geometry) -> f64 {
    f64::from(chip.sets) * f64::from(chip.llc.ways.get())
}

fn least_scale(chip: &Geometry, span: WatchSpan) -> TimeScale {
    TimeScale::at_most(match span {
        WatchSpan::Time(span) => span.as_secs_f64() / fill_seconds(chip),
        WatchSpan::Instructions(count) => {
            count as f64 / (lines(chip) * INSTRUCTIONS_PER_LINE as f64)
        }
    })
}
