//! The least time scale for which a policy's windows are longer than filling the ways takes.
//!
//! A time scale shrinks windows, and not the time in which a cache fills. A policy whose windows
//! are shorter than that judges programs that are still filling their ways.

use std::collections::BTreeMap;
use std::time::Duration;

use fairways_chip::Geometry;
use fairways_chip::program::LINE;
use fairways_exec_policy::descriptor;
use fairways_exec_policy::policies::SharedParameters;
use fairways_policy::fairways::LONGER;
use fairways_policy::table::KnowledgeSource;
use fairways_policy::{Descriptor, NAMES, locpart};
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

impl World {
    /// Finds the least time scale of each of these policies, with its parameters.
    pub fn find_least_scales<'a>(
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
    }

    /// Warns of the policies found whose least time scale is larger than this chip's.
    pub fn warn_of_time_scale(&self) {
        if let Some(warning) = self.too_short() {
            fairways_command_kit::warn(&warning);
        }
    }

    /// The same for all policies, with their defaults, where the one that will decide is not known.
    pub fn find_all_least_scales(&mut self) {
        let set = SharedParameters::default();
        let all = NAMES.into_iter().filter_map(|name| Some((name, set.all(name)?)));
        self.find_least_scales(all, None);
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
                // Their ways are decided by Locpart's control.
                let has_services = self.jobs.iter().any(|job| job.wish.objective.is_some());
                let services = locpart::Parameters::default().t_sched;
                if has_services { sampling.min(services) } else { sampling }
            }
            _ => return None,
        };
        Some(WatchSpan::Time(span))
    }
}

/// The seconds, on the chip's own clock, in which a program that waits for each miss fills all
/// ways. One whose misses overlap takes less; none takes less than the bus does.
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

#[cfg(test)]
mod tests {
    use fairways_chip::{Settings, preset};
    use fairways_core::Objective;
    use fairways_policy::POLICIES;
    use fairways_policy::table::DecisionScope;
    use fairways_profiles::embedded_programs;
    use serde_json::json;

    use super::*;

    fn world(chip: &str, time_scale: u32) -> World {
        let settings = Settings { time_scale, ..Settings::new(preset::parse(chip).unwrap()) };
        World::new(chip, settings, embedded_programs().table(), &["mlr:1M".to_owned()]).unwrap()
    }

    /// The least scale of a policy whose parameters have these values.
    fn least(world: &mut World, policy: &'static str, set: Value) -> Option<f64> {
        let mut all = SharedParameters::default().all(policy).unwrap();
        let set = set.as_object().unwrap().clone();
        set.into_iter().for_each(|(name, value)| all[name] = value);
        world.find_least_scales([(policy, all)], None);
        world.least_scale(policy)
    }

    /// What fills the ways: 409,600 lines of 209 cycles at 2.2 GHz take 38.9 ms on a Xeon E5-2630.
    #[test]
    fn windows_are_held_against_the_lines_and_the_latency_of_the_chip() {
        for (chip, policy, set, expected) in [
            ("xeon-e5-2630", "dcat", json!({}), 0.04),
            ("xeon-e5-2630", "fairways", json!({}), 0.0625),
            ("xeon-e5-2630", "lfoc", json!({}), 0.2),
            ("xeon-e5-2630", "locpart", json!({}), 0.1),
            ("xeon-d", "dcat", json!({}), 0.02),
            ("xeon-d", "fairways", json!({}), 0.04),
            ("xeon-e5", "dcat", json!({}), 0.1),
            ("skylake", "dcat", json!({}), 0.05),
            ("skylake", "dunn", json!({}), 0.1),
            // A quarter of the sets, and half of the ways, are filled in as much less time.
            ("xeon-e5-2630:sets=5120", "dcat", json!({}), 0.01),
            ("xeon-e5-2630:ways=10", "dcat", json!({}), 0.02),
            // A memory that answers later takes longer, and so does a slow bus.
            ("xeon-e5-2630:latency=12/45/418", "dcat", json!({}), 0.1),
            ("xeon-e5-2630:mbps=100", "dcat", json!({}), 0.5),
            ("xeon-e5-2630:mbps=unlimited", "dcat", json!({}), 0.04),
            // Longer windows bear a smaller scale; some are too short at any scale.
            ("xeon-e5-2630", "dcat", json!({ "period": 10_000_000_000_u64 }), 0.004),
            ("xeon-e5-2630", "dcat", json!({ "period": 1_000_000 }), 1.0),
            ("xeon-e5-2630", "lfoc", json!({ "sampling_window": 100_000_000 }), 0.02),
            ("xeon-e5-2630", "fairways", json!({ "most_windows": 800 }), 0.00625),
        ] {
            let found = least(&mut world(chip, 1), policy, set.clone());
            assert_eq!(found, Some(expected), "{chip} {policy} {set}");
        }
    }

    #[test]
    fn the_page_shows_the_least_scales() {
        let page = include_str!("../../../../../docs/chip.md");
        let (_, table) = page.split_once("With the defaults that is").unwrap();
        let mut rows = table.lines().skip_while(|line| !line.starts_with('|'));
        let cells = |line: &str| -> Vec<String> {
            line.split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect()
        };
        let chips = cells(rows.next().unwrap());
        let mut count = 0;
        for row in rows.skip(1).take_while(|line| line.starts_with('|')).map(cells) {
            for (chip, shown) in chips.iter().zip(&row).skip(2).filter(|(chip, _)| !chip.is_empty())
            {
                let mut world = world(chip, 1);
                let set = SharedParameters::default();
                let policies: Vec<&str> = row[1].split(", ").collect();
                let with_parameters =
                    policies.iter().map(|policy| (*policy, set.all(policy).unwrap()));
                let span = Duration::from_millis(200);
                world.find_least_scales(with_parameters, Some(Profiling { span, for_all: false }));
                for policy in policies {
                    let least = world.least_scale(policy).unwrap();
                    assert_eq!(least.to_string(), *shown, "{policy} on {chip}");
                    count += 1;
                }
            }
        }
        assert_eq!(count, 11 * 4);
    }

    #[test]
    fn the_least_scale_is_large_enough_and_a_smaller_one_is_not() {
        for (chip, policy, least_times) in [
            ("xeon-e5-2630", "dcat", 25),
            ("xeon-e5-2630", "fairways", 16),
            ("xeon-d", "kpart", 10),
            ("skylake", "parties", 10),
        ] {
            for (times, is_short) in
                [(1, false), (least_times, false), (least_times + 1, true), (1000, true)]
            {
                let mut world = world(chip, times);
                least(&mut world, policy, json!({}));
                let warning = world.too_short();
                assert_eq!(warning.is_some(), is_short, "{chip} {policy} 1/{times}: {warning:?}");
            }
        }
        let mut world = world("xeon-e5-2630", 200);
        world.find_all_least_scales();
        let warning = world.too_short().unwrap();
        for part in
            ["time scale 0.005 ", " 38.9 ms", "dcat (least 0.04)", "fairways (least 0.0625)"]
        {
            assert!(warning.contains(part), "{warning}");
        }
        assert!(!warning.contains("stock"), "{warning}");
    }

    /// A policy that goes by what programs do in the ways that it gives them has a least scale.
    #[test]
    fn no_policy_that_learns_about_ways_is_left_out() {
        let mut world = world("skylake", 1);
        world.find_all_least_scales();
        for policy in POLICIES {
            let divides =
                matches!(policy.decides, DecisionScope::Ways | DecisionScope::WaysAndBandwidth);
            let goes_by_ways = policy.learns() || policy.knows == KnowledgeSource::Latencies;
            let name = policy.name;
            assert_eq!(world.least_scale(name).is_some(), divides && goes_by_ways, "{name}");
        }
    }

    #[test]
    fn a_measured_profile_is_a_window_of_each_policy_that_gets_it() {
        let span = Duration::from_millis(200);
        let set = SharedParameters::default();
        for (for_all, expected) in [
            (
                false,
                [("ucp", Some(0.1)), ("lfoc", Some(0.1)), ("dcat", Some(0.02)), ("equal", None)],
            ),
            (true, [("ucp", Some(0.1)), ("lfoc", Some(0.1)), ("dcat", Some(0.1)), ("equal", None)]),
        ] {
            let mut world = world("xeon-d", 1);
            let policies = expected.map(|(name, _)| (name, set.all(name).unwrap()));
            world.find_least_scales(policies, Some(Profiling { span, for_all }));
            for (name, least) in expected {
                assert_eq!(world.least_scale(name), least, "{name}, {for_all}");
            }
        }
    }

    /// Threads that take turns fill the ways again in each.
    #[test]
    fn a_turn_is_a_window_of_a_policy_that_schedules() {
        for (quantum, expected) in [(None, 0.008), (Some(Duration::from_millis(20)), 0.1)] {
            let mut world = world("t1", 1);
            world.take_turns(quantum, None, true).unwrap();
            assert_eq!(least(&mut world, "casc", json!({})), Some(expected));
        }
    }

    #[test]
    fn services_shorten_the_windows_of_fairways() {
        let mut world = world("xeon-e5-2630", 1);
        assert_eq!(least(&mut world, "fairways", json!({})), Some(0.0625));
        let slo = Duration::from_millis(2);
        let percentile = fairways_core::Q32::from_int(99);
        world.jobs[0].wish.objective = Some(Objective { slo, percentile });
        assert_eq!(least(&mut world, "fairways", json!({})), Some(0.1));
    }
}
