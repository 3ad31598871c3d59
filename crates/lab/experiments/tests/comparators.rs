//! LFOC beside its competitors: Dunn, KPart and LFOC+ (LFOC §5; `fairways-lab paper lfoc` runs
//! all of it).

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod common;

use std::time::Duration;

use fairways_core::{Action, AppId, Event, Llc, Partition, Policy, Time, WayMask, Ways};
use fairways_experiments::{ComparisonSettings, classes, compare, job, watch};
use fairways_model::Model;
use fairways_policy::by_name;
use fairways_policy::kpart::{KPart, Parameters, SAMPLING};
use fairways_policy::lfoc::Class;
use fairways_profiles::{FairnessMetrics, Mix, ProfileTable, Scorer, embedded_programs};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Mixes of `size` different programs of which at least half stream and a quarter are sensitive.
fn streaming_heavy(table: &ProfileTable, size: usize, count: usize) -> Vec<Mix> {
    let classes = classes(table, table.ways());
    let mut rng = Pcg64Mcg::seed_from_u64(size as u64);
    (0..count)
        .map(|_| {
            let mut left: Vec<usize> = (0..classes.len()).collect();
            let mut programs = Vec::new();
            for (class, count) in [
                (Some(Class::Streaming), size / 2),
                (Some(Class::Sensitive), size / 4),
                (None, size - size / 2 - size / 4),
            ] {
                for _ in 0..count {
                    let fits =
                        |&place: &usize| class.is_none_or(|class| classes[left[place]] == class);
                    let places: Vec<usize> = (0..left.len()).filter(fits).collect();
                    let place = usize::try_from(rng.next_u32()).unwrap() % places.len();
                    programs.push(left.remove(places[place]));
                }
            }
            Mix { name: String::new(), programs }
        })
        .collect()
}

#[test]
fn lfoc_is_fairer_than_kpart_where_much_streams() {
    let Some(shared) = common::shared("streaming-heavy mixes") else { return };
    let (table, _) = common::spec(&shared);
    let llc = Llc::with_ways(table.ways());
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    for size in [8, 12, 16] {
        let mixes = streaming_heavy(&table, size, 20);
        let mut means = [0.0; 3];
        for mix in &mixes {
            let policies = ["kpart", "lfoc", "lfoc-plus"].map(|name| by_name(name).unwrap());
            let found = compare(&table, mix, &settings, policies).unwrap();
            for (mean, outcome) in means.iter_mut().zip(&found.outcomes) {
                *mean += outcome.metrics.unfairness / mixes.len() as f64;
            }
        }
        let [kpart, lfoc, plus] = means;
        println!("{size} programs: kpart {kpart:.3}, lfoc {lfoc:.3}, lfoc-plus {plus:.3}");
        assert!(lfoc < kpart && plus <= 1.01 * lfoc, "{size}: {means:?}");
    }
}

/// A policy, and the plans it makes.
struct Spy(KPart, Vec<(String, Partition)>);

impl Policy for Spy {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn handle(&mut self, at: Time, event: &Event, act: &mut dyn FnMut(Action<'_>)) {
        self.0.handle(at, event, &mut |action| {
            if let Action::Partition { partition, reason, .. } = &action {
                self.1.push((reason.to_string(), (**partition).clone()));
            }
            act(action);
        });
    }
}

/// DynaWay measures one program after the other, from nearly the whole cache down; KPart's decision
/// after that is nearly as good as with the profiles.
#[test]
fn kpart_measures_every_program_and_then_decides() {
    let programs = embedded_programs();
    let ways = Ways::new(11).unwrap();
    let names = ["triad", "hash-join", "btree-lookup", "graph-walk", "chess", "lattice-flow"];
    let of = |name: &str| programs.table().find(name).unwrap();
    let mix = Mix { name: "six".into(), programs: names.map(of).to_vec() };
    let llc = Llc::with_ways(ways);
    let jobs = mix.programs.iter().map(|&index| job(programs, index, ways, 1.0));
    let mut model = Model::new(fairways_model::Settings::new(llc), jobs);
    model.stop_at(Time::ZERO.after(Duration::from_secs(10)));
    // Measured once only.
    let once = Parameters { profile_period: u64::MAX, ..Parameters::default() };
    let mut spy = Spy(KPart::new(once), Vec::new());
    let activity = watch(&mut model, &mut spy);
    assert_eq!((activity.samplings, activity.refused), (6, 0));
    let mut sizes = vec![Vec::new(); 6];
    for (_, partition) in spy.1.iter().filter(|(reason, _)| *reason == SAMPLING) {
        // The first cluster is that of the sampled program; the others have the other ways.
        let alone: Vec<AppId> = partition.members(0).collect();
        let [own, rest] = [0, 1].map(|cluster| partition.mask(cluster).unwrap());
        assert_eq!(
            (alone.len(), partition.members(1).count() + 1),
            (1, partition.placements().len())
        );
        assert!(
            partition.clusters().len() == 2
                && !own.overlaps(rest)
                && own.count() + rest.count() == 11
        );
        sizes[alone[0].0 as usize].push(own.count());
    }
    for sizes in &mut sizes {
        // The start of another program makes the same plan again.
        sizes.dedup();
        assert_eq!(*sizes, [10, 8, 6, 4, 2, 1]);
    }
    let (reason, learned) = spy.1.last().unwrap();
    assert_ne!(*reason, SAMPLING);
    let masks: Vec<WayMask> = (0..6).map(|app| learned.mask_of(AppId(app)).unwrap()).collect();
    let mut scorer = Scorer::new(programs.table(), &mix.programs, ways, None);
    let learned = FairnessMetrics::from_slowdowns(scorer.score(&masks).unwrap());
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let with_profiles =
        compare(programs.table(), &mix, &settings, [by_name("kpart").unwrap()]).unwrap();
    let with_profiles = &with_profiles.outcomes[0].metrics;
    println!("STP: learned {:.3}, with profiles {:.3}", learned.stp, with_profiles.stp);
    assert!(learned.stp > 0.98 * with_profiles.stp, "{learned:?} {with_profiles:?}");
}

/// A program alone is not measured: no other program could use the ways.
#[test]
fn kpart_leaves_a_program_alone_in_peace() {
    let programs = embedded_programs();
    let settings = fairways_model::Settings::new(Llc::with_ways(Ways::new(11).unwrap()));
    let mut model = Model::new(settings, [job(programs, 0, settings.llc.ways, 1.0)]);
    model.stop_at(Time::ZERO.after(Duration::from_secs(30)));
    let activity = watch(&mut model, &mut KPart::default());
    assert_eq!((activity.samplings, activity.plans), (0, 1));
}
