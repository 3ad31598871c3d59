//! Where programs run, decided together with how the caches are divided: against the golden optima
//! of `shared/placement`.

#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use fairways_core::{Llc, MachineCache, Ways};
use fairways_experiments::PlacedSettings;
use fairways_optimum::{Goal, PlacedProblem, SharingKind, place};
use fairways_policy::fairways::{Objective, Parameters};
use fairways_profiles::{Mix, ProfileTable, read_table};
use serde_json::Value;

/// The folder `shared` beside the project, or the one that `FAIRWAYS_SHARED` names.
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let folder = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from);
    if folder.join("placement/golden").is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("FAIRWAYS_REQUIRE_SHARED").is_none(), "placement/golden is missing");
    let _ = writeln!(std::io::stderr(), "SKIPPED golden placements: set FAIRWAYS_SHARED");
    None
}

/// A mix on several caches, and what was found of it.
struct Golden {
    row: Value,
    table: ProfileTable,
    mix: Mix,
    settings: PlacedSettings,
}

impl Golden {
    fn read(row: &str) -> Self {
        let row: Value = serde_json::from_str(row).unwrap();
        let file = format!("{}.csv", row["profiles"].as_str().unwrap());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/profiles");
        let table = read_table(&std::fs::read(path.join(&file)).unwrap(), &file).unwrap();
        let names = row["mix"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        let programs = names.map(|name| table.find(name).unwrap()).collect();
        let mix = Mix { name: row["seed"].to_string(), programs };
        let [ways, cpus] = ["ways", "cpus"].map(|of| {
            let all = row[of].as_array().unwrap().iter();
            all.map(|number| u32::try_from(number.as_u64().unwrap()).unwrap()).collect::<Vec<u32>>()
        });
        let caches = ways.into_iter().zip(cpus);
        let caches = caches.map(|(ways, cpus)| MachineCache {
            llc: Llc::with_ways(Ways::new(ways).unwrap()),
            cpus,
        });
        let settings = PlacedSettings {
            caches: caches.collect(),
            wishes: Vec::new(),
            fairways: Parameters::default(),
        };
        Self { row, table, mix, settings }
    }

    fn number(&self, of: &str) -> f64 {
        self.row[of].as_f64().unwrap()
    }
}

/// The golden mixes of every shape.
fn golden() -> Vec<Golden> {
    let Some(shared) = shared() else { return Vec::new() };
    let mut all = Vec::new();
    for shape in ["2x11-8", "2x6-8", "2x7-12", "16+6-10"] {
        let file = shared.join(format!("placement/golden/{shape}.jsonl"));
        let text = std::fs::read_to_string(file).unwrap();
        all.extend(text.lines().map(Golden::read));
    }
    assert_eq!(all.len(), 24);
    all
}

#[test]
fn every_golden_optimum_is_found_and_proven() {
    for golden in golden() {
        let Golden { table, mix, settings, .. } = &golden;
        let problem = PlacedProblem {
            profiles: table,
            mix: &mix.programs,
            caches: &settings.caches,
            kind: SharingKind::Clustering,
            goal: Goal::Unfairness,
        };
        let found = place(&problem, None, |_, _| ()).unwrap();
        assert!(found.is_proven);
        let off = (found.value - golden.number("joint_exact")).abs();
        assert!(off < 1e-9, "{}: {} {:?}", golden.row, found.value, found.plans);
    }
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn fairways_places_nearly_as_well_as_possible() {
    let (mut ratios, mut gone) = (Vec::new(), Vec::new());
    for golden in golden() {
        let Golden { table, mix, settings, .. } = &golden;
        let outcome = settings.placed(table, mix).unwrap();
        let exact = golden.number("joint_exact");
        let ratio = outcome.metrics.unfairness / exact;
        let divided = golden.number("partitioned_mean");
        ratios.push(ratio);
        gone.push((divided - outcome.metrics.unfairness) / (divided - 1.0));
    }
    let Some(worst) = ratios.iter().copied().reduce(f64::max) else { return };
    println!("{:.5} times the optimum in the mean, {worst:.5} at worst", mean(&ratios));
    println!("{:.3} of what is left when dividing alone is gone", mean(&gone));
    assert!(mean(&ratios) <= 1.005 && worst <= 1.02);
    assert!(mean(&gone) >= 0.25);
}

/// By the other objectives, too; nothing is given away for throughput.
#[test]
fn fairways_places_by_each_objective() {
    for (objective, goal) in
        [(Objective::Stp, Goal::Stp), (Objective::MaxSlowdown, Goal::MaxSlowdown)]
    {
        let mut ratios = Vec::new();
        for Golden { table, mix, settings, .. } in &mut golden() {
            settings.fairways.objective = objective;
            settings.fairways.fairness_tolerance_percent = 0;
            let found = settings.placed(table, mix).unwrap();
            let (profiles, kind) = (&*table, SharingKind::Clustering);
            let (mix, caches) = (&*mix.programs, &*settings.caches);
            let best = place(&PlacedProblem { profiles, mix, caches, kind, goal }, None, |_, _| ());
            let best = best.unwrap();
            ratios.push(match goal {
                Goal::Stp => best.value / found.metrics.stp,
                _ => found.slowdowns.iter().copied().fold(0.0, f64::max) / best.value,
            });
        }
        let Some(worst) = ratios.iter().copied().reduce(f64::max) else { return };
        println!("{objective:?}: {:.5} in the mean, {worst:.5} at worst", mean(&ratios));
        assert!(mean(&ratios) <= 1.005 && worst <= 1.02, "{objective:?}: {ratios:?}");
    }
}
