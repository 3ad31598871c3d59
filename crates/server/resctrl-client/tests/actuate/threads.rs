//! Threads of others that are taken over, each put back to where it was.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, plan};

/// A host with another manager's group, whose threads are taken over.
fn host() -> Host {
    let mut host = Host::new(Platform::broadwell().with_domains(1, 4));
    host.settings.take_over = true;
    host.group("COS1", "L3:0=f\n");
    host
}

/// What procfs is made to say of a thread.
fn made_up(host: &Host, thread: i32, started: u32, cpus: &str) -> PathBuf {
    let dir = host.at(&format!("proc/{thread}"));
    fs::create_dir_all(&dir).unwrap();
    let stat = format!("{thread} (sleep) S {}{started} 0\n", "0 ".repeat(18));
    fs::write(dir.join("stat"), stat).unwrap();
    let status = format!("Tgid:\t{thread}\nPPid:\t1\nCpus_allowed_list:\t{cpus}\n");
    fs::write(dir.join("status"), status).unwrap();
    dir
}

/// Where a thread was taken from is known as long as any program has it.
#[test]
fn a_thread_that_two_programs_had_is_put_back_in_the_end() {
    if !can_mount() {
        return;
    }
    let host = host();
    let thread = Sleeper::start();
    host.write("COS1/tasks", &thread.id().to_string()).unwrap();
    let mut client = host.open();
    client.add(AppId(1), "a", &[thread.id()]).unwrap();
    client.add(AppId(2), "b", &[thread.id()]).unwrap();
    client.tasks(AppId(1), &mut |_| {}).unwrap();
    client.tasks(AppId(2), &mut |list| list.push(thread.id())).unwrap();
    let restored = client.close();
    assert_eq!((restored.left, restored.failed), (vec![], vec![]));
    assert_eq!(host.threads("COS1"), [thread.id()]);
}

/// A thread's id is another's once it has ended.
#[test]
fn another_thread_of_that_id_goes_to_the_root() {
    if !can_mount() {
        return;
    }
    let mut host = host();
    host.settings.proc = host.at("proc");
    let thread = Sleeper::start();
    let dir = made_up(&host, thread.id(), 100, "0");
    host.write("COS1/tasks", &thread.id().to_string()).unwrap();
    let mut client = host.open();
    client.add(AppId(1), "a", &[thread.id()]).unwrap();
    // It has ended: it is in no group of ours, and not in procfs.
    fs::remove_dir_all(&dir).unwrap();
    host.write("tasks", &thread.id().to_string()).unwrap();
    client.remove(AppId(1)).unwrap();
    client.look().unwrap();
    let ledger = fs::read_to_string(host.at("state/resctrl.json")).unwrap_or_default();
    assert!(!ledger.contains("COS1"), "{ledger}");
    made_up(&host, thread.id(), 200, "0");
    client.add(AppId(2), "b", &[thread.id()]).unwrap();
    // Seen at once, it is another all the same.
    made_up(&host, thread.id(), 300, "0");
    client.remove(AppId(2)).unwrap();
    assert!(host.threads("COS1").is_empty());
    assert!(host.threads("").contains(&thread.id()));
}

/// A reused id that is released while the old one's origin is still written down.
#[test]
fn an_origin_is_of_one_thread_only() {
    if !can_mount() {
        return;
    }
    let mut host = host();
    host.settings.proc = host.at("proc");
    let thread = Sleeper::start();
    made_up(&host, thread.id(), 100, "0");
    host.write("COS1/tasks", &thread.id().to_string()).unwrap();
    let mut client = host.open();
    client.add(AppId(1), "a", &[thread.id()]).unwrap();
    made_up(&host, thread.id(), 200, "0");
    client.tasks(AppId(1), &mut |_| {}).unwrap();
    assert!(host.threads("COS1").is_empty());
    assert!(host.threads("").contains(&thread.id()));
}

/// A shell and its children, which end with it.
struct Family(Child);

impl Family {
    fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        Self(
            command
                .args(["-c", "read go; sleep 600 & wait"])
                .process_group(0)
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap(),
        )
    }

    fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn children(&self) -> Vec<i32> {
        let path = format!("/proc/{0}/task/{0}/children", self.0.id());
        let text = fs::read_to_string(path).unwrap();
        text.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

/// It is in its parent's group, and was never in the one that its parent was taken from.
#[test]
fn a_child_of_a_thread_that_was_taken_goes_where_that_was() {
    if !can_mount() {
        return;
    }
    let host = host();
    let mut family = Family::start();
    let parent = family.id();
    host.write("COS1/tasks", &parent.to_string()).unwrap();
    let mut client = host.open();
    client.add(AppId(1), "a", &[parent]).unwrap();
    client.apply(&[(0, &plan(&[(0x10, &[1])]))], "a test").unwrap();
    drop(family.0.stdin.take());
    let began = Instant::now();
    let child = loop {
        let inside = host.threads("fairways.0");
        if let Some(child) = family.children().into_iter().find(|child| inside.contains(child)) {
            break child;
        }
        assert!(began.elapsed() < Duration::from_secs(300), "no child in the group: {inside:?}");
        sleep(Duration::from_millis(20));
    };
    client.tasks(AppId(1), &mut |list| list.extend([parent, child])).unwrap();
    let restored = client.close();
    assert_eq!((restored.left, restored.failed), (vec![], vec![]));
    let mut both = [parent, child];
    both.sort_unstable();
    assert_eq!(host.threads("COS1"), both);
}

/// Threads of the root's group have the class of the CPU that they run on.
#[test]
fn threads_on_cpus_of_others_are_theirs() {
    if !can_mount() {
        return;
    }
    let mut host = host();
    host.settings.take_over = false;
    host.settings.proc = host.at("proc");
    host.write("COS1/cpus_list", "0-1\n").unwrap();
    let [theirs, free] = [Sleeper::start(), Sleeper::start()];
    made_up(&host, theirs.id(), 100, "0-1");
    made_up(&host, free.id(), 100, "1-2");
    let both = [theirs.id(), free.id()];
    let mut client = host.open();
    let added = client.add(AppId(1), "a", &both).unwrap();
    assert_eq!(added.tasks.others, [(theirs.id(), "COS1".to_owned())]);
    assert_eq!(added.tasks.moved, [free.id()]);
    client.apply(&[(0, &plan(&[(0x10, &[1])]))], "a test").unwrap();
    assert_eq!(host.threads("fairways.0"), [free.id()]);
    // What is ours stays so wherever it may run.
    made_up(&host, free.id(), 100, "0");
    client.look().unwrap();
    let moved = client.tasks(AppId(1), &mut |list| list.extend(both)).unwrap();
    assert_eq!((moved.moved, moved.others), (vec![], vec![(theirs.id(), "COS1".to_owned())]));
    drop(client.close());
    // With leave, they are taken, and go back to the root.
    host.settings.take_over = true;
    let mut client = host.open();
    let added = client.add(AppId(1), "a", &both).unwrap();
    assert_eq!((added.tasks.moved.len(), added.tasks.others.len()), (2, 0));
    client.apply(&[(0, &plan(&[(0x10, &[1])]))], "a test").unwrap();
    assert_eq!(client.close().failed, []);
    assert!(host.threads("").contains(&theirs.id()) && host.threads("COS1").is_empty());
}
