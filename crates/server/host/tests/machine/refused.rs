//! Plans that the kernel refuses again and again.

use std::time::{Duration, Instant};

use fairways_core::{Event, PartitionError};
use fairways_host::machine::Host;
use fairways_programs::Selector;

use crate::real::{
    Bench, LOOK, Sleeper, all_started, applied, await_one, managed, partition, plan,
};

/// How often the kernel was asked in vain.
fn refusals(host: &Host) -> u64 {
    host.errors().iter().find(|(name, _)| *name == "EINVAL").map_or(0, |(_, times)| times)
}

fn refused(_: u32, event: &Event) -> Option<PartitionError> {
    match event {
        Event::Refused { why, .. } => Some(*why),
        _ => None,
    }
}

fn asked(_: u32, event: &Event) -> Option<()> {
    matches!(event, Event::Machine(_)).then_some(())
}

#[test]
fn after_two_refusals_plans_are_tried_after_pauses_that_grow() {
    let Some(bench) = Bench::new() else { return };
    let sleeper = Sleeper::start(0);
    let mut host = bench.host_of(
        bench.parts(Box::new(fairways_perf::NoCounters), fairways_programs::Roots::default()),
        vec![managed("a", Selector::Pid(sleeper.id()))],
        LOOK,
    );
    let [(0, app)] = all_started(&mut host, 1)[..] else { panic!("it is in domain 0") };
    let wanted = partition(&[(0x3, &[app])]);
    for nth in 1..=3 {
        bench.emulator.arm(format!("write:/fairways.*/schemata=EINVAL@{nth}").parse().unwrap());
    }
    // The first two are tried at once, and the others not.
    for number in 0..50 {
        plan(&mut host, 0, number, &wanted);
        assert_eq!(await_one(&mut host, refused), PartitionError::Failed);
        assert_eq!(refusals(&host), u64::from(number + 1).min(2));
    }
    let said = host.degraded();
    let expected = "domain 0: no plan is in force, since 2 in a row could not be carried out: ";
    assert!(said.len() == 1 && said[0].starts_with(expected), "{said:?}");
    assert!(said[0].contains("EINVAL"), "{said:?}");
    let began = Instant::now();
    await_one(&mut host, asked);
    assert!(began.elapsed() >= Duration::from_millis(1500), "{:?}", began.elapsed());
    plan(&mut host, 0, 50, &wanted);
    assert_eq!(await_one(&mut host, refused), PartitionError::Failed);
    assert_eq!(refusals(&host), 3);
    let began = Instant::now();
    await_one(&mut host, asked);
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    plan(&mut host, 0, 51, &wanted);
    await_one(&mut host, applied);
    assert_eq!((refusals(&host), host.degraded()), (3, Vec::new()));
    // All is forgotten: the next two are tried at once again.
    bench.emulator.arm("write:/fairways.*/schemata=EINVAL".parse().unwrap());
    for number in 52..60 {
        plan(&mut host, 0, number, &partition(&[(0x30, &[app])]));
        assert_eq!(await_one(&mut host, refused), PartitionError::Failed);
    }
    assert_eq!(refusals(&host), 5);
    let said = host.degraded();
    assert!(said[0].contains("an earlier plan stays in force, since 2 in a row"), "{said:?}");
}
