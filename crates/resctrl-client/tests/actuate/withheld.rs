//! Classes of service that the kernel counts and does not give.

use std::fs;
use std::time::Duration;

use fairways_core::AppId;
use fairways_emulator::Client;
use fairways_resctrl::platform::Platform;
use fairways_resctrl_client::Refused;

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
    assert_eq!(client.degraded().len(), 1, "{:?}", client.degraded());
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
