use fairways_core::{Counters, Levers, LimitScope, Ways, Wish};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn level(value: u32) -> BandwidthLevel {
    BandwidthLevel::new(value).unwrap()
}

fn levers(clos: u32, capacity_mbps: Option<u32>) -> Levers {
    let llc = Llc { clos, ..Llc::with_ways(Ways::new(11).unwrap()) };
    let [least, most] = [10, 100].map(level);
    let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
    Levers {
        llc,
        bandwidth: Some(BandwidthLever { unit, least, step: least, most, scope, capacity_mbps }),
    }
}

struct SteeredBench {
    policy: MbaFeedback,
    partition: Partition,
    levers: Levers,
    programs: u32,
}

impl SteeredBench {
    /// Reports an event after these seconds; the programs' levels then.
    fn handle(&mut self, seconds: u32, event: &Event) -> Vec<u32> {
        let Self { policy, partition, levers, .. } = self;
        policy.handle(Time::ZERO.after(SECOND * seconds), event, &mut |action| {
            if let Action::Partition { partition: planned, .. } = action {
                let placed = planned.placements().iter().map(|at| at.app);
                assert_eq!(planned.check_levers(*levers, placed), Ok(()));
                *partition = planned.into_owned();
            }
        });
        let levels = (0..self.programs).map(|app| self.partition.level_of(AppId(app)));
        levels.map(|level| level.map_or(100, BandwidthLevel::get)).collect()
    }
}

/// Programs on a machine that move what `moved` says at their levels, MB a second. Returns the
/// levels after each second.
fn run(
    levers: Levers,
    programs: u32,
    seconds: u32,
    moved: impl Fn(u32, u32) -> u64,
) -> Vec<Vec<u32>> {
    let mut bench = SteeredBench {
        policy: MbaFeedback::default(),
        partition: Partition::default(),
        levers,
        programs,
    };
    bench.handle(0, &Event::Machine(levers));
    let mut last = Vec::new();
    for app in (0..programs).map(AppId) {
        last = bench.handle(0, &Event::Started { app, wish: Wish::default(), profile: None });
    }
    let mut found = Vec::new();
    for second in 1..=seconds {
        for (app, level) in (0..).zip(last.clone()) {
            let memory_bytes = Some(moved(app, level) * 1_000_000);
            let counters = Counters { memory_bytes, ..Counters::default() };
            let app = AppId(app);
            let sample = Sample::new(app, counters, SECOND);
            bench.handle(second, &Event::Sampled(sample));
        }
        last = bench.handle(second, &Event::Woke);
        found.push(last.clone());
    }
    found
}

/// bandwidth.md §1.4: from 100 to 10 takes 9 s, whether memory has room or not.
#[test]
fn a_target_out_of_reach_takes_nine_seconds_to_the_lowest_level() {
    let levels = run(levers(16, Some(1000)), 1, 12, |_, _| 5000);
    let own: Vec<u32> = levels.iter().map(|of| of[0]).collect();
    assert_eq!(own, [90, 80, 70, 60, 50, 40, 30, 20, 10, 10, 10, 10]);
}

/// One step up if the target is beyond what it would move then, in proportion.
#[test]
fn a_program_that_falls_far_below_its_target_is_let_go_step_by_step() {
    // 5000 MB/s at 100 %, in proportion below; a target of 2500.
    let levels = run(levers(16, Some(2500)), 1, 9, |_, level| u64::from(level) * 50);
    // Once it moves no more than its target, a step up would be beyond it.
    assert_eq!(levels.last().unwrap()[0], 50);
    let idle = run(levers(16, Some(2500)), 1, 12, |_, level| if level <= 60 { 0 } else { 5000 });
    let own: Vec<u32> = idle.iter().map(|of| of[0]).collect();
    assert_eq!(own, [90, 80, 70, 60, 70, 60, 70, 60, 70, 60, 70, 60]);
}

#[test]
fn equal_shares_are_of_the_programs_that_run() {
    let levels = run(levers(16, Some(4000)), 4, 2, |app, _| if app == 0 { 1500 } else { 500 });
    assert_eq!(levels.last().unwrap(), &[80, 100, 100, 100]);
}

/// Three levels and two classes: the lowest level gives way.
#[test]
fn without_classes_enough_the_lowest_levels_are_raised() {
    let levels = run(levers(2, Some(3000)), 3, 8, |app, level| match app {
        0 => 5000,
        1 if level > 90 => 1001,
        1 => 1000,
        _ => 1,
    });
    assert_eq!(levels.last().unwrap(), &[90, 90, 100]);
}

#[test]
fn without_a_capacity_or_a_percent_nothing_is_limited() {
    let rate = {
        let mut levers = levers(16, Some(1000));
        if let Some(lever) = &mut levers.bandwidth {
            (lever.unit, lever.least, lever.step) = (BandwidthUnit::EighthGbps, level(1), level(1));
        }
        levers
    };
    for levers in [levers(16, None), levers(16, None).llc.into(), rate] {
        let levels = run(levers, 1, 5, |_, _| 5000);
        assert!(levels.iter().all(|of| of[0] == 100), "{levels:?}");
    }
}
