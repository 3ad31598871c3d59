//! Classes of service that the kernel counts and does not give.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use fairways_core::AppId;
use fairways_emulated::Client;
use fairways_resctrl_client::Refused;
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, plan};

#[test]
fn plans_are_for_as_many_classes_as_can_be_had() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::broadwell().with_domains(1, 4));
    let before = host.snapshot();
    host.group("COS1", "");
    let sleepers = [(); 3].map(|()| Sleeper::start());
    let mut client = host.open();
    for (app, sleeper) in (0..).zip(&sleepers) {
        client.add(AppId(app), "x", &[sleeper.id()]).unwrap();
    }
    assert_eq!((client.domains()[0].llc.clos, client.degraded()), (14, vec![]));
    host.fault("mkdir:/fairways.2=ENOSPC");
    let three = plan(&[(0x1, &[0]), (0x2, &[1]), (0x4, &[2])]);
    let refused = client.apply(&[(0, &three)], "a test").unwrap_err();
    assert!(matches!(refused, Refused::Exhausted(2)), "{refused}");
    assert!(client.look().unwrap().domains);
    assert_eq!(client.domains()[0].llc.clos, 2);
    let degraded = client.degraded().concat();
    assert!(degraded.starts_with("only 2 of 14 classes of service"), "{degraded}");
    assert!(degraded.ends_with("the kernel does not say why"), "{degraded}");
    let two = plan(&[(0x1, &[0]), (0x6, &[1, 2])]);
    assert_eq!(client.apply(&[(0, &two)], "a test").unwrap().placed.len(), 2);
    // Nothing has changed for a look.
    assert!(!client.look().unwrap().domains);
    // It is tried again when another manager's group goes, and what was not available still is not.
    fs::remove_dir(host.path("COS1")).unwrap();
    assert!(!client.look().unwrap().domains);
    assert_eq!((client.domains()[0].llc.clos, host.has("fairways.2")), (2, false));
    Client::connect(host.socket()).unwrap().clear(None).unwrap();
    assert!(!client.look().unwrap().domains, "not at every look");
    host.group("COS1", "");
    client.look().unwrap();
    fs::remove_dir(host.path("COS1")).unwrap();
    assert!(client.look().unwrap().domains);
    assert_eq!((client.domains()[0].llc.clos, client.degraded()), (15, vec![]));
    assert!(!host.has("fairways.2"));
    assert_eq!(client.apply(&[(0, &three)], "a test").unwrap().placed.len(), 3);
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);

    // Or from time to time.
    host.settings.try_again = Duration::ZERO;
    host.fault("mkdir:/fairways.0=ENOSPC");
    let mut client = host.open();
    client.add(AppId(0), "x", &[sleepers[0].id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x1, &[0])]))], "a test").unwrap_err();
    client.look().unwrap();
    assert_eq!(client.domains()[0].llc.clos, 1, "never none");
    Client::connect(host.socket()).unwrap().clear(None).unwrap();
    client.look().unwrap();
    assert_eq!(client.domains()[0].llc.clos, 15);
    assert_eq!(client.close().left, []);
    assert_eq!(host.snapshot(), before);
}

/// Others have every monitoring id, of which a class of service takes one, too.
#[test]
fn what_a_class_lacks_is_what_the_kernel_says() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform::broadwell().with_domains(1, 4));
    host.settings.try_again = Duration::ZERO;
    let sleepers = [(); 2].map(|()| Sleeper::start());
    let mut client = host.open();
    for (app, sleeper) in (0..).zip(&sleepers) {
        client.add(AppId(app), "x", &[sleeper.id()]).unwrap();
    }
    let two = plan(&[(0x1, &[0]), (0x2, &[1])]);
    let theirs = (0..10_000).map(|number| host.path("mon_groups").join(format!("x{number}")));
    let made: Vec<PathBuf> = theirs.take_while(|path| fs::create_dir(path).is_ok()).collect();
    let said = host.read("info/last_cmd_status");
    assert!(said.contains("Out of RMIDs") && made.len() > 10, "{}: {said}", made.len());
    let refused = client.apply(&[(0, &two)], "a test").unwrap_err();
    assert!(matches!(refused, Refused::Exhausted(0)), "{refused}");
    // Tried again, it is the same.
    for _ in 0..2 {
        let degraded = client.degraded().concat();
        assert!(degraded.starts_with("only 0 of 15 classes of service"), "{degraded}");
        assert!(degraded.contains("RMID") && degraded.contains("monitoring groups"), "{degraded}");
        assert!(!degraded.contains("the kernel keeps"), "{degraded}");
        client.look().unwrap();
    }
    for path in &made {
        fs::remove_dir(path).unwrap();
    }
    // The cache has to forget the ids.
    host.advance(Duration::from_secs(2));
    client.look().unwrap();
    assert_eq!((client.domains()[0].llc.clos, client.degraded()), (15, vec![]));
    assert_eq!(client.apply(&[(0, &two)], "a test").unwrap().placed.len(), 2);
    assert_eq!(client.close().left, []);
}

/// A busy kernel, as while ids are in limbo, is no lack of classes: the same plan is tried again.
#[test]
fn a_busy_kernel_is_no_lack_of_classes() {
    if !can_mount() {
        return;
    }
    let host = Host::new(Platform::broadwell().with_domains(1, 4));
    let sleeper = Sleeper::start();
    let mut client = host.open();
    client.add(AppId(0), "x", &[sleeper.id()]).unwrap();
    host.fault("mkdir:/fairways.0=EBUSY@1");
    let one = plan(&[(0x1, &[0])]);
    let refused = client.apply(&[(0, &one)], "a test").unwrap_err();
    assert!(matches!(refused, Refused::Failed(_)), "{refused}");
    assert_eq!(client.degraded(), Vec::<String>::new());
    assert_eq!(client.apply(&[(0, &one)], "a test").unwrap().placed.len(), 1);
    assert_eq!(client.close().left, []);
}
