//! What could not be put back stays ours, and is tried again, whatever is made meanwhile; a group
//! is not given up because of one answer.

use std::fs;

use fairways_core::AppId;
use fairways_emulated::Client;
use fairways_resctrl_client::{Actuator, restore};
use fairways_resctrl_rules::platform::{Kernel, Platform};

use crate::common::{Host, Sleeper, can_mount, plan};

fn host() -> Host {
    Host::new(Platform::broadwell().with_domains(1, 4))
}

/// A client with two programs in classes of their own.
fn managed(host: &Host, processes: &[Sleeper; 2]) -> Actuator {
    let mut client = host.open();
    for (app, process) in (1..).zip(processes) {
        client.add(AppId(app), "x", &[process.id()]).unwrap();
    }
    client.apply(&[(0, &plan(&[(0x3, &[1]), (0xc, &[2])]))], "a test").unwrap();
    client
}

fn clear(host: &Host) {
    Client::connect(host.socket()).unwrap().clear(None).unwrap();
}

/// Whatever fails once while what a killed client left is put back: programs of the same names are
/// managed again, and in the end nothing is left.
#[test]
fn a_leftover_that_stayed_once_goes_at_the_end() {
    if !can_mount() {
        return;
    }
    for fault in [
        "rmdir:*mon_groups*=EIO@1",
        "rmdir:*mon_groups*=EBUSY@2",
        "rmdir:*mon_groups*=ENOENT@1",
        "rmdir:/fairways.0=EIO@1",
        "rmdir:/fairways.1=ENOENT@1",
        "list:/fairways.0/mon_groups=EIO@1",
        "list:/fairways.0/mon_groups=ENOENT@1",
        "list:/fairways.1/mon_groups=ENOENT@2",
    ] {
        let host = host();
        let original = host.snapshot();
        let processes = [(); 2].map(|()| Sleeper::start());
        drop(managed(&host, &processes));
        host.fault(fault);
        let client = managed(&host, &processes);
        let met = Client::connect(host.socket()).unwrap().faults().unwrap()[0].met;
        assert!(met > 0, "{fault} was not met");
        for process in &processes {
            assert!(!host.threads("").contains(&process.id()), "{fault}: managed again");
        }
        let restored = client.close();
        assert_eq!((&restored.left[..], &restored.failed[..]), (&[][..], &[][..]), "{fault}");
        assert_eq!(host.snapshot(), original, "{fault}");
    }
}

/// As long as it fails, it is reported as a failure, and a client that comes and goes meanwhile
/// does not make it another's.
#[test]
fn a_leftover_that_stays_is_reported_each_time() {
    if !can_mount() {
        return;
    }
    for fault in ["rmdir:*mon_groups*=EIO", "rmdir:/fairways.0=EBUSY", "rmdir:*=ENOENT"] {
        let host = host();
        let original = host.snapshot();
        let processes = [(); 2].map(|()| Sleeper::start());
        drop(managed(&host, &processes));
        host.fault(fault);
        for _ in 0..2 {
            let restored = managed(&host, &processes).close();
            assert_eq!(restored.left, [], "{fault}: {restored}");
            assert!(!restored.failed.is_empty(), "{fault}: {restored}");
            let restored = restore(&host.settings).unwrap();
            assert_eq!(restored.left, [], "{fault}: {restored}");
            assert!(!restored.failed.is_empty(), "{fault}: {restored}");
            for process in &processes {
                assert!(host.threads("").contains(&process.id()), "{fault}: confined by nothing");
            }
        }
        clear(&host);
        let restored = restore(&host.settings).unwrap();
        assert_eq!((&restored.left[..], &restored.failed[..]), (&[][..], &[][..]), "{fault}");
        assert_eq!(host.snapshot(), original, "{fault}");
    }
}

/// Others monitor in a class of ours beside a group of ours that stays: only theirs is theirs.
#[test]
fn what_others_have_beside_a_leftover_stays() {
    if !can_mount() {
        return;
    }
    let host = host();
    let processes = [(); 2].map(|()| Sleeper::start());
    drop(managed(&host, &processes));
    fs::create_dir(host.path("fairways.0/mon_groups/theirs")).unwrap();
    host.fault("rmdir:/fairways.0/mon_groups*=EIO@1");
    let restored = managed(&host, &processes).close();
    assert_eq!(restored.failed, [], "{restored}");
    let [(_, why)] = &restored.left[..] else { panic!("{restored}") };
    assert_eq!(why, "others monitor in it: theirs");
    fs::remove_dir(host.path("fairways.0/mon_groups/theirs")).unwrap();
    assert_eq!(restore(&host.settings).unwrap().failed, []);
    assert!(!host.has("fairways.0"));
}

/// One answer that a group is not there, of a kernel that can rename groups or can't, gives up
/// neither a group of ours nor what another manager has.
#[test]
fn one_missing_answer_gives_up_no_group() {
    if !can_mount() {
        return;
    }
    for kernel in [Kernel::v7_2(), Kernel::v6_1()] {
        for fault in [
            "read:/fairways.0/schemata=ENOENT@1",
            "read:/fairways.1/schemata=ENODEV@1",
            "open:/fairways.0/schemata=ENOENT@1",
            "open:/fairways.1/schemata=ENOENT@2",
            "read:/COS1/mode=ENOENT@1",
            "read:/COS1/schemata=ENOENT@1",
            "list:/fairways.0/mon_groups=ENOENT@1",
            "list:/COS1/mon_groups=ENOENT@1",
            "rename:*=ENOENT@1",
            "rmdir:*=ENOENT@1",
            "read:/schemata=ENOENT@1",
        ] {
            let platform = Platform::broadwell().with_domains(1, 4);
            let host = Host::new(platform.with_kernel(kernel.clone()));
            host.group("COS1", "L3:0=ff000\n");
            let original = host.snapshot();
            let processes = [(); 2].map(|()| Sleeper::start());
            let mut client = managed(&host, &processes);
            let ways = client.domains()[0].ways.clone();
            host.fault(fault);
            for number in 0..3 {
                // What was refused or not seen is done by a later one.
                let _ = client.look();
                assert_eq!(client.domains()[0].ways, ways, "{fault}: COS1 has the others");
                let clusters: &[(u32, &[u32])] =
                    if number == 1 { &[(0x3, &[1, 2])] } else { &[(0x3, &[1]), (0xc, &[2])] };
                let _ = client.apply(&[(0, &plan(clusters))], "a test");
            }
            client.look().unwrap_or_else(|why| panic!("{fault}: {why}"));
            for (app, process) in (1..).zip(&processes) {
                client.tasks(AppId(app), &mut |list| list.push(process.id())).unwrap();
            }
            for process in &processes {
                assert!(!host.threads("").contains(&process.id()), "{fault}");
            }
            let restored = client.close();
            assert_eq!((&restored.left[..], &restored.failed[..]), (&[][..], &[][..]), "{fault}");
            assert_eq!(host.snapshot(), original, "{fault}");
        }
    }
}
