//! The example of docs/own-policy.md prints what the page shows, and makes refused plans again.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use fairways_core::{
    Action, AppId, Counters, Event, Llc, PartitionError, PlanId, Policy, Sample, Time, Ways, Wish,
};

#[allow(dead_code)]
#[path = "../examples/climb/main.rs"]
mod climb;

#[test]
fn the_page_shows_what_the_example_prints() {
    let page = include_str!("../../../../docs/own-policy.md");
    let plans = climb::plans();
    assert!(page.contains(&format!("--example climb\n```\n\n```text\n{plans}```")), "{plans}");
}

/// `climb` with two programs on eight ways, and its plans.
#[derive(Default)]
struct Asked {
    policy: climb::policy::Climb,
    plans: Vec<(PlanId, Vec<u32>, String)>,
}

impl Asked {
    /// Programs that have started on a machine.
    fn begun() -> Self {
        let mut asked = Self::default();
        asked.report(&Event::Machine(Llc::with_ways(Ways::new(8).unwrap()).into()));
        for app in [0, 1] {
            asked.report(&Event::Started { app: AppId(app), wish: Wish::default(), profile: None });
        }
        asked
    }

    fn report(&mut self, event: &Event) {
        self.policy.handle(Time::ZERO, event, &mut |action| {
            if let Action::Partition { plan, partition, reason } = action {
                let ways = partition.masks().map(|mask| mask.count()).collect();
                self.plans.push((plan, ways, reason.into_owned()));
            }
        });
    }

    /// A window of each program; the second has this many misses.
    fn round(&mut self, misses: u64) {
        for (app, misses) in [(0, 1000), (1, misses)] {
            let counters = Counters {
                cycles: Some(1_000_000),
                llc_misses: Some(misses),
                ..Counters::default()
            };
            self.report(&Event::Sampled(Sample {
                plan: Some(self.last().0),
                ..Sample::new(AppId(app), counters, Duration::from_millis(500))
            }));
        }
    }

    /// The last plan is refused.
    fn refuse(&mut self) {
        let why = PartitionError::TooManyClusters { clusters: 2, clos: 1 };
        self.report(&Event::Refused { plan: self.last().0, why });
    }

    fn last(&self) -> &(PlanId, Vec<u32>, String) {
        self.plans.last().unwrap()
    }
}

#[test]
fn a_first_division_that_is_refused_is_asked_for_again() {
    let mut asked = Asked::begun();
    for _ in 0..2 {
        asked.refuse();
        let plans = asked.plans.len();
        asked.round(9000);
        assert_eq!(asked.plans.len(), plans + 1);
        let (_, ways, reason) = asked.last();
        assert_eq!(
            (&ways[..], &reason[..]),
            (&[4, 4][..], "the last plan was refused: it is made again")
        );
    }
    asked.round(9000);
    assert_eq!(asked.last().1, [3, 5]);
}

#[test]
fn a_way_back_that_is_refused_is_asked_for_again() {
    let mut asked = Asked::begun();
    asked.round(9000);
    asked.round(9000);
    assert_eq!(
        (&asked.last().1[..], &asked.last().2[..]),
        (&[4, 4][..], "it did not help: the way goes back")
    );
    asked.refuse();
    asked.round(9000);
    assert_eq!(
        (&asked.last().1[..], &asked.last().2[..]),
        (&[4, 4][..], "the last plan was refused: it is made again")
    );
    // It is not judged as a trial: the program that got the way still rests.
    asked.round(9000);
    assert_eq!(asked.last().1, [5, 3]);
}

#[test]
fn a_trial_that_is_refused_was_none() {
    let mut asked = Asked::begun();
    asked.round(9000);
    assert_eq!(asked.last().1, [3, 5]);
    asked.refuse();
    // The plan before is in force: nothing is undone, and another program is tried, as the second
    // rests.
    asked.round(9000);
    assert_eq!(
        (&asked.last().1[..], &asked.last().2[..]),
        (&[5, 3][..], "one more way is tried for the program that misses most")
    );
}
