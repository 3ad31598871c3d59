//! Policies on a machine that rounds masks, merges clusters and loses ways: they decide by the ways
//! that programs had.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fairways_core::{
    Action, AppId, Event, Llc, Machine, Observer, Partition, Policy, Time, WayMask, run,
};
use fairways_experiments::{classes, job};
use fairways_model::{Model, Settings};
use fairways_policy::lfoc::{Class, Lfoc};
use fairways_policy::table::{DecisionScope, KnowledgeSource};
use fairways_policy::{POLICIES, by_name};
use fairways_profiles::embedded_programs;

/// The ways of this machine that can be used; the highest ones belong to others.
const LEFT: u32 = 10;

/// What is in force of a plan: two classes of service, the first with an even number of ways, and
/// without the highest ways.
fn rough(planned: &Partition) -> Partition {
    let mut actual = Partition::default();
    let masks: Vec<WayMask> = planned.masks().collect();
    let own = match masks[..] {
        [] => return actual,
        [_] => LEFT,
        [own, ..] => own.count().next_multiple_of(2).min(LEFT - 2),
    };
    actual.add_cluster(WayMask::span(0, own));
    if own < LEFT {
        actual.add_cluster(WayMask::span(own, LEFT - own));
    }
    for place in planned.placements() {
        actual.place(place.app, place.cluster.min(1));
    }
    actual
}

/// The model, with plans rounded that way.
struct Rough(Model);

impl Machine for Rough {
    fn next_event(&mut self) -> Option<(Time, Event)> {
        self.0.next_event()
    }

    fn carry_out(&mut self, action: Action<'_>) {
        self.0.carry_out(match action {
            Action::Partition { plan, partition, reason } => {
                Action::Partition { plan, partition: rough(&partition).into(), reason }
            }
            action => action,
        });
    }
}

const MIX: [&str; 6] =
    ["triad", "hash-join", "btree-lookup", "graph-walk", "chess", "lattice-flow"];

/// The last plan of a policy, and the partition in force.
#[derive(Default)]
struct LastPlan {
    planned: Partition,
    actual: Partition,
}

impl<M: ?Sized, P: Policy + ?Sized> Observer<M, P> for LastPlan {
    fn event(&mut self, _: Time, event: &Event, _: &M) {
        if let Event::Applied { actual, .. } = event {
            self.actual.clone_from(actual);
        }
    }

    fn action(&mut self, _: Time, action: &Action<'_>, _: &M) {
        if let Action::Partition { partition, .. } = action {
            self.planned.clone_from(partition);
        }
    }

    fn handled(&mut self, _: Time, event: &Event, _: &M, policy: &P) {
        if let Event::Refused { why, .. } = event {
            panic!("{}: {why}", policy.name());
        }
    }
}

/// The last plan after half a minute, and the partition in force then.
fn last(policy: &mut dyn Policy, with_profiles: bool) -> LastPlan {
    let programs = embedded_programs();
    let ways = programs.table().ways();
    let jobs = MIX.map(|name| {
        let index = programs.table().find(name).unwrap();
        let mut job = job(programs, index, ways, 1.0);
        job.profile = with_profiles.then(|| Arc::new(programs.table().profile(index)));
        job
    });
    let mut machine = Rough(Model::new(Settings::new(Llc::with_ways(ways)), jobs));
    machine.0.stop_at(Time::ZERO.after(Duration::from_secs(30)));
    let mut last = LastPlan::default();
    run(&mut machine, policy, &mut [&mut last]);
    last
}

#[test]
fn every_policy_continues_with_the_ways_in_force() {
    for policy in POLICIES.iter().filter(|descriptor| {
        descriptor.decides != DecisionScope::Nothing && !descriptor.schedules()
    }) {
        let mut policy_under_test = by_name(policy.name).unwrap();
        let LastPlan { planned, actual } =
            last(policy_under_test.as_mut(), policy.knows == KnowledgeSource::Profiles);
        assert_eq!(actual, rough(&planned), "{}", policy.name);
        assert_eq!(planned.placements().len(), MIX.len(), "{}", policy.name);
    }
}

/// LFOC's tables are of the ways that programs had: it finds the true classes.
#[test]
fn lfoc_finds_the_classes_of_programs_on_it() {
    let mut lfoc = Lfoc::default();
    last(&mut lfoc, false);
    let table = embedded_programs().table();
    let classes = classes(table, table.ways());
    for (app, name) in (0..).map(AppId).zip(MIX) {
        let is = classes[table.find(name).unwrap()];
        assert_eq!(lfoc.class(app).map(Class::name), Some(is.name()), "{name}");
    }
}
