//! Without the right to schedule.

use fairways_core::AppId;
use fairways_turns::{Affinity, Scheduler as _, TurnReport};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::common::{Crew, has, own, settings};

/// Runs something without a capability, in a thread of its own.
fn without<T: Send + 'static>(
    capability: CapabilitySet,
    what: impl FnOnce() -> T + Send + 'static,
) -> T {
    let thread = std::thread::spawn(move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(capability);
        set_capabilities(None, sets).unwrap();
        what()
    });
    thread.join().unwrap()
}

#[test]
fn without_the_right_it_says_which() {
    let refused = without(CapabilitySet::SYS_NICE, || {
        let (folder, settings) = settings();
        let why = Affinity::open(settings).unwrap_err().to_string();
        (why, std::fs::read_dir(folder.path()).unwrap().count())
    });
    let expected = "threads of others can't be scheduled: expected root, or CAP_SYS_NICE";
    assert_eq!(refused, (expected.to_owned(), 0));
}

#[test]
fn a_dry_run_needs_no_right_and_changes_nothing() {
    let crew = Crew::start(1, |_| std::thread::sleep(std::time::Duration::from_millis(5)));
    let thread = crew.ids[0];
    let before = has(thread);
    let files = without(CapabilitySet::SYS_NICE, move || {
        let (folder, mut settings) = settings();
        settings.dry_run = true;
        let (mut affinity, _) = Affinity::open(settings).unwrap();
        affinity.begin(AppId(1), thread).unwrap();
        affinity.allow(AppId(1), &[own()[0]].into_iter().collect()).unwrap();
        affinity.raise(AppId(1), true).unwrap();
        affinity.order(AppId(1), affinity.quantum() * 2).unwrap();
        affinity.settle().unwrap();
        affinity.turns(&mut TurnReport::default()).unwrap();
        assert_eq!(has(thread), has(thread));
        std::fs::read_dir(folder.path()).unwrap().count()
    });
    assert_eq!((has(thread), files), (before, 0));
}

#[test]
fn another_has_the_state_directory() {
    if !fairways_testing::needs::has(
        "another_has_the_state_directory",
        &[fairways_testing::needs::Need::Root],
    ) {
        return;
    }
    let (folder, settings) = settings();
    let _one = Affinity::open(settings.clone()).unwrap();
    let why = Affinity::open(settings).unwrap_err().to_string();
    assert_eq!(why, format!("{}: another fairways manages this host", folder.path().display()));
}
