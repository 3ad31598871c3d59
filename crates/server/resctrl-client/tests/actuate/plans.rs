//! Plans on one domain.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use fairways_core::AppId;
use fairways_resctrl::language::Reading;
use fairways_resctrl_client::{Actuator, OpenError, Refused, Restored, restore};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, mask, plan};

fn one_domain() -> Platform {
    Platform::skylake().with_domains(1, 4)
}

#[test]
fn a_plan_is_groups_masks_and_tasks_and_all_goes_again() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let before = host.snapshot();
    let mut client = host.open();
    let domain = client.domains()[0].clone();
    assert_eq!((domain.id, domain.llc.ways.get(), domain.llc.clos), (0, 9, 7), "two are shared");
    assert_eq!(domain.cpus.to_list(), "0-3");
    assert_eq!(host.snapshot(), before, "opening changes nothing");
    let [a, b, c] = [Sleeper::start(), Sleeper::start(), Sleeper::start()];
    for (app, process) in [(1, &a), (2, &b), (3, &c)] {
        let added = client.add(AppId(app), "sleep", &[process.id()]).unwrap();
        assert!(added.monitored);
        assert_eq!(added.tasks.moved, [process.id()]);
        assert_eq!(host.threads(&format!("mon_groups/fairways.{app}-sleep")), [process.id()]);
    }
    let wanted = plan(&[(0x007, &[1, 3]), (0x1f8, &[2])]);
    let applied = client.apply(&[(0, &wanted)], "a test").unwrap();
    assert_eq!((applied.placed.len(), applied.merged), (2, 0));
    let of = |group: &str| applied.placed.iter().find(|of| of.group == group).unwrap();
    assert_eq!(of("fairways.0").masks[&0], mask(0x007));
    assert_eq!(of("fairways.0").programs, [AppId(1), AppId(3)]);
    assert!(host.read("fairways.0/schemata").contains("L3:0=7\n"));
    assert!(host.read("fairways.1/schemata").contains("L3:0=1f8\n"));
    assert_eq!(host.threads("fairways.1"), [b.id()]);
    assert_eq!(host.threads("fairways.0/mon_groups/fairways.3-sleep"), [c.id()]);
    assert_eq!(client.occupancy(AppId(3), 0), Reading::Value(0));
    assert_eq!(client.memory_bytes(AppId(3), 0), Reading::Value(0));
    assert_eq!(client.occupancy(AppId(9), 0), Reading::Unassigned);
    // Program 3 goes over; the others stay, and so do their groups.
    let counted = client.counting_group(AppId(3));
    let wanted = plan(&[(0x003, &[1]), (0x1fc, &[2, 3])]);
    client.apply(&[(0, &wanted)], "a test").unwrap();
    assert_eq!(host.threads("fairways.0"), [a.id()]);
    assert_eq!(host.threads("fairways.1/mon_groups/fairways.3-sleep"), [c.id()]);
    assert_eq!(client.occupancy(AppId(3), 0), Reading::Value(0), "after it was renamed");
    assert_eq!(client.counting_group(AppId(3)), counted, "its lines count on");
    client.remove(AppId(1)).unwrap();
    assert!(!host.has("fairways.0"), "nobody is in it");
    assert!(host.threads("").contains(&a.id()));
    let restored = client.close();
    assert_eq!(restored.left, []);
    assert_eq!(host.snapshot(), before);
    assert!(!host.at("state/resctrl.json").exists());
}

#[test]
fn a_plan_that_breaks_a_rule_changes_nothing() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let mut client = host.open();
    client.add(AppId(1), "a", &[]).unwrap();
    client.apply(&[(0, &plan(&[(0x00f, &[1])]))], "a test").unwrap();
    let before = host.snapshot();
    for (wanted, said) in [
        (plan(&[(0x005, &[1])]), "domain 0: cluster 0: mask 0x5 is not one run of ways"),
        (plan(&[(0x200, &[1])]), "names ways that a cache of 9 ways does not have"),
        (plan(&[(0x001, &[])]), "cluster 0"),
        (plan(&[(0x001, &[7])]), "app 7"),
    ] {
        let refused = client.apply(&[(0, &wanted)], "a test").unwrap_err();
        assert!(refused.to_string().contains(said), "{refused}");
    }
    let refused = client.apply(&[(4, &plan(&[]))], "a test").unwrap_err();
    assert!(matches!(refused, Refused::NoDomain(4)));
    assert_eq!(host.snapshot(), before);
}

#[test]
fn a_dry_run_writes_nothing() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(one_domain());
    host.settings.dry_run = true;
    let before = host.snapshot();
    let sleeper = Sleeper::start();
    let mut client = host.open();
    assert!(client.add(AppId(1), "a", &[sleeper.id()]).unwrap().monitored);
    client.tasks(AppId(1), &mut |list| list.push(sleeper.id())).unwrap();
    let applied = client.apply(&[(0, &plan(&[(0x00f, &[1])]))], "a test").unwrap();
    assert_eq!(applied.partition(0), plan(&[(0x00f, &[1])]));
    assert_eq!(client.in_force(0), Some(applied.partition(0)));
    assert!(!client.look().unwrap().domains);
    client.remove(AppId(1)).unwrap();
    assert_eq!(client.close(), Restored::default());
    assert_eq!(host.snapshot(), before);
    assert!(!host.at("state").exists());
}

/// A dry run says what is most invasive, each thing once.
#[test]
fn a_dry_run_shows_whose_tasks_and_masks_would_change() {
    if !can_mount() {
        return;
    }
    for (take_over, said) in [(true, "would be taken over"), (false, "left to others")] {
        let mut host = Host::new(one_domain());
        host.settings.dry_run = true;
        host.settings.take_over = take_over;
        host.settings.confine_others = Some(2);
        host.group("COS1", "L3:0=1\n");
        let [theirs, free] = [Sleeper::start(), Sleeper::start()];
        host.write("COS1/tasks", &theirs.id().to_string()).unwrap();
        let before = host.snapshot();
        let log = Log::default();
        let writer = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let mut client = host.open();
            let both = [theirs.id(), free.id()];
            let added = client.add(AppId(1), "a", &both).unwrap();
            assert!(added.tasks.moved.is_empty());
            assert_eq!(added.tasks.others.len(), usize::from(!take_over));
            client.tasks(AppId(1), &mut |list| list.extend(both)).unwrap();
            client.apply(&[(0, &plan(&[(0x3, &[1])]))], "a test").unwrap();
            client.remove(AppId(1)).unwrap();
            assert_eq!(client.close(), Restored::default());
        });
        let text = log.text();
        let lines = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!(lines(said), 1, "{text}");
        assert_eq!(lines(&format!("thread={} group=\"COS1\"", theirs.id())), 1, "{text}");
        assert_eq!(lines(&format!("thread={}", free.id())), 0, "{text}");
        assert_eq!(lines("others would be confined"), 1, "{text}");
        assert_eq!(lines("before=0x7ff after=0x6"), 1, "{text}");
        assert_eq!(host.snapshot(), before);
    }
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Threads of a program are moved one by one, and those that it gives up go back.
#[test]
fn threads_that_come_are_taken_in_and_those_that_leave_let_go() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let mut client = host.open();
    let [a, b] = [Sleeper::start(), Sleeper::start()];
    client.add(AppId(1), "a", &[a.id()]).unwrap();
    client.apply(&[(0, &plan(&[(0x00f, &[1])]))], "a test").unwrap();
    let mut times = 0;
    let moved = client.tasks(AppId(1), &mut |list| {
        times += 1;
        // As if it forked while it was listed.
        list.push(a.id());
        list.extend((times > 1).then_some(b.id()));
    });
    assert_eq!((moved.unwrap().moved, times), (vec![], 1), "nothing new in the first pass");
    // One that comes while another is moved is found by the next pass; the third finds none new.
    let c = Sleeper::start();
    let mut times = 0;
    let moved = client.tasks(AppId(1), &mut |list| {
        times += 1;
        list.extend([a.id(), b.id()]);
        list.extend((times > 1).then_some(c.id()));
    });
    assert_eq!((moved.unwrap().moved, times), (vec![b.id(), c.id()], 3));
    client.tasks(AppId(1), &mut |list| list.extend([a.id(), b.id()])).unwrap();
    let mut both = [a.id(), b.id()];
    both.sort_unstable();
    assert_eq!(host.threads("fairways.0/mon_groups/fairways.1-a"), both);
    client.tasks(AppId(1), &mut |list| list.push(b.id())).unwrap();
    assert_eq!(host.threads("fairways.0"), [b.id()]);
    assert!(host.threads("").contains(&a.id()));
    let unknown = client.tasks(AppId(9), &mut |_| {}).unwrap_err();
    assert_eq!(unknown.to_string(), "app 9 is not managed");
}

#[test]
fn one_fairways_has_a_state_directory() {
    if !can_mount() {
        return;
    }
    let host = Host::new(one_domain());
    let client = host.open();
    let busy = Actuator::open(host.settings.clone()).unwrap_err();
    assert!(matches!(&busy, OpenError::Busy(why) if why.contains("another fairways")), "{busy}");
    assert!(matches!(restore(&host.settings), Err(OpenError::Busy(_))));
    drop(client);
    drop(host.open());
}

#[test]
fn what_is_no_resctrl_is_reported_with_the_remedy() {
    if !can_mount() {
        return;
    }
    let mut host = Host::new(Platform { l3: None, ..one_domain() });
    let error = Actuator::open(host.settings.clone()).unwrap_err();
    assert!(matches!(error, OpenError::NotSupported(_)), "{error}");
    assert!(error.to_string().contains("rdt=l3cat"), "{error}");
    for root in [host.at("nowhere"), host.at("sys")] {
        host.settings.root = root;
        let error = Actuator::open(host.settings.clone()).unwrap_err();
        assert!(matches!(error, OpenError::NotSupported(_)), "{error}");
        assert!(error.to_string().contains("mount -t resctrl"), "{error}");
    }
}
