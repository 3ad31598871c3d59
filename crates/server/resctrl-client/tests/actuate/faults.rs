//! Operations that fail.

use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_emulated::Client;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, Refused};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, levelled, plan};

fn client(host: &Host) -> Client {
    Client::connect(host.socket()).unwrap()
}

/// Three programs and a plan, from which the next one is two classes and three moves away.
fn arranged(host: &Host, processes: &[Sleeper]) -> Actuator {
    let mut client = host.open();
    // So that monitoring ids leave limbo.
    host.advance(Duration::from_secs(2));
    for (app, process) in (1..).zip(processes) {
        client.add(AppId(app), "x", &[process.id()]).unwrap();
    }
    let level = if client.domains()[0].bandwidth.is_some() { 30 } else { 0 };
    let before = levelled(&[(0x0f, level, &[1, 2]), (0xf0, 0, &[3])]);
    client.apply(&[(0, &before)], "before").unwrap();
    client.look().unwrap();
    client
}

/// Whichever operation of a plan fails, the arrangement before it is in force, and all is restored
/// on exit.
#[test]
fn a_plan_of_which_a_step_fails_leaves_the_one_before_in_force() {
    if !can_mount() {
        return;
    }
    let every = ["mkdir:*=ENOSPC", "write:*=EBUSY", "rename:*=EIO", "read:*=EIO", "open:*=EMFILE"];
    // The older one differs in what it does, not in what it reads.
    for (kernel, faults) in [(Kernel::v7_2(), &every[..]), (Kernel::v6_1(), &every[..2])] {
        let platform = Platform { mb: Platform::skylake().mb, ..Platform::broadwell() };
        let mut host = Host::new(platform.with_domains(1, 2).with_kernel(kernel));
        host.settings.confine_others = Some(2);
        let original = host.snapshot();
        let processes = [(); 3].map(|()| Sleeper::start());
        let mut refusals = 0;
        for fault in faults {
            for nth in 1.. {
                let mut of = arranged(&host, &processes);
                let before = host.snapshot();
                host.fault(&format!("{fault}@{nth}"));
                let after = levelled(&[(0x3, 20, &[3, 2]), (0xc, 80, &[1])]);
                let done = of.apply(&[(0, &after)], "after");
                let met = client(&host).faults().unwrap()[0].met >= nth;
                client(&host).clear(None).unwrap();
                match done {
                    // A monitoring group that can't be made is done without.
                    Ok(_) => {}
                    Err(Refused::Failed(why)) => {
                        assert_eq!(host.snapshot(), before, "{fault}@{nth}: {why}");
                        refusals += 1;
                    }
                    Err(why) => panic!("{fault}@{nth}: {why}"),
                }
                assert_eq!(of.close().left, [], "{fault}@{nth}");
                assert_eq!(host.snapshot(), original, "{fault}@{nth}");
                if !met {
                    break;
                }
            }
        }
        assert!(refusals > 4, "{refusals}");
    }
}

#[test]
fn what_can_not_be_undone_is_reported() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let processes = [(); 3].map(|()| Sleeper::start());
    let original = host.snapshot();
    let mut of = arranged(&host, &processes);
    // The second write fails, and so does everything that undoes the first.
    for nth in 2..9 {
        host.fault(&format!("write:*/schemata=EBUSY@{nth}"));
    }
    let refused = of.apply(&[(0, &plan(&[(0x3, &[1, 2]), (0xc, &[3])]))], "after").unwrap_err();
    let Refused::Halfway { why, left } = &refused else { panic!("{refused}") };
    assert!(why.to_string().contains("fairways.1/schemata: EBUSY"), "{why}");
    assert_eq!(left.len(), 1);
    client(&host).clear(None).unwrap();
    // The next one finds out what there is.
    of.apply(&[(0, &plan(&[(0x3, &[1, 2]), (0xc, &[3])]))], "after").unwrap();
    assert!(host.read("fairways.1/schemata").contains("L3:0=c\n"));
    assert_eq!(of.close().left, []);
    assert_eq!(host.snapshot(), original);
}

/// What restoring could not do, the next start does.
#[test]
fn restoring_that_fails_is_done_by_the_next_start() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::broadwell().with_domains(1, 2));
    host.settings.confine_others = Some(2);
    let processes = [(); 3].map(|()| Sleeper::start());
    let original = host.snapshot();
    let of = arranged(&host, &processes);
    host.fault("rmdir:/fairways.1=EBUSY@1");
    host.fault("write:/schemata=EBUSY@1");
    let restored = of.close();
    assert_eq!((restored.left.len(), restored.failed.len()), (0, 2), "{restored}");
    assert!(restored.failed[0].1.contains("fairways.1: EBUSY"), "{restored}");
    client(&host).clear(None).unwrap();
    drop(host.open());
    assert_eq!(host.snapshot(), original);
}

#[test]
fn an_error_says_what_where_and_why() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let mut of = host.open();
    of.add(AppId(1), "x", &[]).unwrap();
    of.apply(&[(0, &plan(&[(0xf, &[1])]))], "before").unwrap();
    // A group of others' that is exclusive came since, and the file says so.
    host.fault("mkdir:/fairways.1=EBUSY");
    of.add(AppId(2), "x", &[]).unwrap();
    let refused = of.apply(&[(0, &plan(&[(0xf, &[1]), (0x10, &[2])]))], "after").unwrap_err();
    let expected = format!("mkdir {}: EBUSY", host.path("fairways.1").display());
    assert_eq!(refused.to_string(), expected);
    let bad = [i32::MAX - 1];
    assert!(of.add(AppId(3), "y", &bad).unwrap().tasks.moved.is_empty(), "it has ended");
}

#[test]
fn readings_that_are_missing_are_no_numbers() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let mut of = host.open();
    of.add(AppId(1), "x", &[]).unwrap();
    for (fault, reading) in [
        ("read:*/llc_occupancy=Unavailable@1", Reading::Unavailable),
        ("read:*/llc_occupancy=Error@1", Reading::Error),
        ("read:*/llc_occupancy=ENODEV", Reading::Unavailable),
        ("read:*/llc_occupancy=ENODEV@1", Reading::Value(0)),
    ] {
        host.fault(fault);
        assert_eq!(of.occupancy(AppId(1), 0), reading, "{fault}");
        client(&host).clear(None).unwrap();
        assert_eq!(of.occupancy(AppId(1), 0), Reading::Value(0));
    }
    assert_eq!(of.occupancy(AppId(1), 5), Reading::Unavailable, "there is no such domain");
}

/// Reading counters waits for nobody's lock.
#[test]
fn counters_are_read_while_another_has_the_lock() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let mut of = host.open();
    of.add(AppId(1), "x", &[]).unwrap();
    let held = std::fs::File::open(&host.settings.root).unwrap();
    held.lock().unwrap();
    let began = Instant::now();
    assert_eq!(of.occupancy(AppId(1), 0), Reading::Value(0));
    assert_eq!(of.memory_bytes(AppId(1), 0), Reading::Value(0));
    assert!(began.elapsed() < host.settings.patience);
}

/// A group that goes just before something is done with it.
#[test]
fn groups_that_vanish_in_the_middle_are_no_more_than_a_refusal() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 2));
    let original = host.snapshot();
    for fault in [
        "write:/fairways.0/schemata=vanish@1",
        "write:/fairways.1/schemata=vanish@1",
        "rename:/fairways.0/*=vanish@1",
        "rename:/fairways.1/*=vanish@1",
        "read:/fairways.0/schemata=vanish@2",
        "open:/fairways.1/schemata=vanish@1",
    ] {
        let processes = [(); 3].map(|()| Sleeper::start());
        let mut of = arranged(&host, &processes);
        host.fault(fault);
        let next = plan(&[(0x3, &[3, 2]), (0xc, &[1])]);
        let refused = of.apply(&[(0, &next)], "after").is_err();
        client(&host).clear(None).unwrap();
        of.look().unwrap();
        for (app, process) in (1..).zip(&processes) {
            of.tasks(AppId(app), &mut |list| list.push(process.id())).unwrap();
        }
        let plans: &[_] = if refused { &[(0, &next)] } else { &[] };
        of.apply(plans, "again").unwrap_or_else(|why| panic!("{fault}: {why}"));
        let group = if host.read("fairways.0/schemata").contains("0=c\n") {
            "fairways.0"
        } else {
            "fairways.1"
        };
        assert_eq!(host.threads(group), [processes[0].id()], "{fault}");
        assert_eq!(of.close().left, [], "{fault}");
        assert_eq!(host.snapshot(), original, "{fault}");
    }
}
