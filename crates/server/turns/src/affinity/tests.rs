use std::path::PathBuf;
use std::time::Duration;

use fairways_testing::needs::{Need, has, withheld};
use rustix::thread::gettid;

use super::*;

/// Settings with a state directory and a sysfs of their own, in which these CPUs are on line.
fn settings(online: &str) -> (tempfile::TempDir, Settings) {
    let folder = tempfile::tempdir().unwrap();
    let (state, sysfs) = (folder.path().join("state"), folder.path().join("sys"));
    std::fs::create_dir_all(sysfs.join("devices/system/cpu")).unwrap();
    let settings = Settings { state, sysfs, ..Settings::default() };
    write_online(&settings, online);
    (folder, settings)
}

fn write_online(settings: &Settings, online: &str) {
    std::fs::write(settings.sysfs.join("devices/system/cpu/online"), online).unwrap();
}

fn own() -> CpuSet {
    thread::affinity("/proc".as_ref(), gettid().as_raw_nonzero().get()).unwrap()
}

/// Runs something in a thread of its own, whose CPUs may change.
fn apart(what: impl FnOnce(i32) + Send + 'static) {
    let done = std::thread::spawn(|| what(gettid().as_raw_nonzero().get())).join();
    done.unwrap_or_else(|why| std::panic::resume_unwind(why));
}

#[test]
fn a_cpu_that_was_off_line_between_two_looks_is_watched_again() {
    let test = "a_cpu_that_was_off_line_between_two_looks_is_watched_again";
    if !has(test, &[Need::Root]) {
        return;
    }
    let (_folder, settings) = settings(&own().to_list());
    let (mut affinity, _) = Affinity::open(settings).unwrap();
    if let Err(why) = affinity.watch(None) {
        withheld(test, &why.to_string());
        return;
    }
    let watched = |affinity: &Affinity| affinity.switches.as_ref().unwrap().descriptors().len();
    assert_eq!(watched(&affinity), own().len());
    // As if it had gone, and come back before the next check.
    let first = own().iter().take(1).collect();
    affinity.switches.as_mut().unwrap().set_cpus(&first).unwrap();
    assert_eq!(watched(&affinity), 1);
    std::thread::sleep(Duration::from_nanos(LOOK));
    affinity.turns(&mut TurnReport::default()).unwrap();
    assert_eq!(watched(&affinity), own().len());
}

#[test]
fn a_cpu_that_went_since_the_last_look_is_not_requested() {
    let test = "a_cpu_that_went_since_the_last_look_is_not_requested";
    if !has(test, &[Need::Root]) {
        return;
    }
    if own().len() < 2 {
        withheld(test, "it takes two CPUs");
        return;
    }
    let all = own();
    let (_folder, settings) = settings(&all.to_list());
    apart(move |thread| {
        let (mut affinity, _) = Affinity::open(settings.clone()).unwrap();
        let cpus = || thread::affinity("/proc".as_ref(), thread).unwrap();
        affinity.begin(AppId(1), thread).unwrap();
        let last: CpuSet = all.iter().last().into_iter().collect();
        affinity.allow(AppId(1), &last).unwrap();
        let rest: CpuSet = all.iter().filter(|&cpu| !last.contains(cpu)).collect();
        write_online(&settings, &rest.to_list());
        affinity.settle().unwrap();
        assert_eq!(cpus(), all, "none that is wanted is on line");
        write_online(&settings, &all.to_list());
        affinity.allow(AppId(1), &last).unwrap();
        std::thread::sleep(Duration::from_nanos(LOOK));
        affinity.turns(&mut TurnReport::default()).unwrap();
        assert_eq!(cpus(), last, "and it is again");
        assert_eq!(Affinity::close(affinity).failed, []);
        assert_eq!(cpus(), all);
    });
}

#[test]
fn a_thread_that_cant_be_read_has_not_ended() {
    let (_folder, mut settings) = settings(&own().to_list());
    settings.dry_run = true;
    let (mut affinity, _) = Affinity::open(settings.clone()).unwrap();
    let thread = gettid().as_raw_nonzero().get();
    affinity.begin(AppId(1), thread).unwrap();
    affinity.settings.proc = PathBuf::from("/nowhere");
    let why = affinity.begin(AppId(2), thread).unwrap_err().to_string();
    assert!(why.starts_with(&format!("/nowhere/{thread}/schedstat: No such file")), "{why}");
    // A thread that has ended is not taken in, and that is no error.
    let ended = std::thread::spawn(|| gettid().as_raw_nonzero().get()).join().unwrap();
    affinity.settings.proc = settings.proc;
    while std::path::Path::new(&format!("/proc/{ended}")).exists() {
        std::thread::yield_now();
    }
    affinity.begin(AppId(3), ended).unwrap();
    assert_eq!(affinity.threads.keys().copied().collect::<Vec<_>>(), [AppId(1)]);
}

#[test]
fn a_reused_thread_number_stays_with_the_later_thread() {
    let (_folder, mut settings) = settings(&own().to_list());
    settings.dry_run = true;
    let (mut affinity, _) = Affinity::open(settings).unwrap();
    let thread = gettid().as_raw_nonzero().get();
    affinity.begin(AppId(1), thread).unwrap();
    affinity.begin(AppId(2), thread).unwrap();
    affinity.end(AppId(1));
    assert_eq!(affinity.by_thread.get(&thread), Some(&AppId(2)));
    affinity.end(AppId(2));
    assert_eq!(affinity.by_thread.get(&thread), None);
}
