//! Killed at any system call, it leaves what the next start can put back.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fairways_core::AppId;
use fairways_ledger::Restored;
use fairways_testing::needs::{Need, has as meets};
use fairways_turns::ledger::restore;
use fairways_turns::{Affinity, Scheduler as _, Settings, TurnReport};

use crate::common::{Crew, Has, has, is_clean, own, settings};
use crate::sealed::sealed;

/// Where the process that is killed finds its state directory, and the threads to manage.
const FOLDER: &str = "FAIRWAYS_CRASH_FOLDER";
const THREADS: &str = "FAIRWAYS_CRASH_THREADS";

/// System calls that change anything, and how many of each are tried. Between two of them, the
/// state is that after the first. Not every architecture has all of them.
const CHANGES: [(&str, usize); 5] = [
    ("sched_setaffinity", 40),
    ("setpriority", 40),
    ("?rename,renameat,renameat2", 20),
    ("?unlink,unlinkat", 5),
    ("write", 10),
];

/// Everything that a daemon does with threads.
fn everything(settings: Settings, threads: &[i32]) {
    let cpus = own();
    let (mut affinity, _) = Affinity::open(settings).unwrap();
    let apps = || (1..).map(AppId).zip(threads.iter().copied());
    for (app, thread) in apps() {
        affinity.begin(app, thread).unwrap();
        affinity.allow(app, &[cpus[0]].into_iter().collect()).unwrap();
    }
    affinity.settle().unwrap();
    for (app, _) in apps() {
        affinity.allow(app, &cpus.iter().copied().skip(1).collect()).unwrap();
        affinity.order(app, affinity.quantum() * app.0).unwrap();
    }
    affinity.turns(&mut TurnReport::default()).unwrap();
    affinity.raise(AppId(2), true).unwrap();
    affinity.settle().unwrap();
    affinity.raise(AppId(2), false).unwrap();
    affinity.end(AppId(1));
    affinity.turns(&mut TurnReport::default()).unwrap();
    assert_eq!(affinity.close().failed, []);
}

/// This test is killed, in a process of its own; the environment says where it works. It tests
/// nothing by itself.
#[test]
#[ignore = "the test that kills it runs it"]
fn scenario() {
    let (Ok(folder), Ok(threads)) = (std::env::var(FOLDER), std::env::var(THREADS)) else { return };
    let threads: Vec<i32> = threads.split(',').map(|id| id.parse().unwrap()).collect();
    everything(Settings { state: folder.into(), ..Settings::default() }, &threads);
}

/// Runs it and kills it at the call with number `at` of these system calls; returns whether it came
/// to its end.
fn killed(folder: &Path, threads: &[i32], call: &str, at: usize) -> bool {
    let ids: Vec<String> = threads.iter().map(ToString::to_string).collect();
    let done = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")])
        .args(["-e", &format!("inject={call}:signal=KILL:when={at}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "crash::scenario", "--ignored", "--test-threads", "1"])
        .env(FOLDER, folder)
        .env(THREADS, ids.join(","))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    done.success()
}

#[test]
fn killed_anywhere_it_is_put_right() {
    let test = "killed_anywhere_it_is_put_right";
    if !meets(test, &[Need::Root, Need::Program("strace")]) {
        return;
    }
    let (folder, settings) = settings();
    let crew = Crew::start(3, |_| std::thread::sleep(Duration::from_millis(20)));
    let now = || crew.ids.iter().map(|&id| has(id)).collect::<Vec<Has>>();
    let before = now();
    let (mut times, mut middle) = (0, 0);
    for (call, most) in CHANGES {
        for at in 1..=most {
            let ended = killed(folder.path(), &crew.ids, call, at);
            let left = now();
            let restored: Restored = if at % 2 == 0 {
                restore(&settings).unwrap()
            } else {
                Affinity::open(settings.clone()).unwrap().1
            };
            assert_eq!(
                (&restored.left, &restored.failed),
                (&vec![], &vec![]),
                "killed at {call} {at}"
            );
            assert_eq!(now(), before, "killed at {call} {at}");
            assert!(is_clean(folder.path()), "killed at {call} {at}");
            times += 1;
            middle += usize::from(left != before);
            if ended {
                assert_eq!(left, before);
                break;
            }
        }
    }
    eprintln!("killed {times} times, {middle} of them with threads changed");
    assert!(middle > 10, "{middle} times in the middle");
}

#[test]
fn a_ledger_of_another_boot_is_put_aside() {
    let (folder, mut settings) = settings();
    let crew = Crew::start(1, |_| std::thread::sleep(Duration::from_millis(20)));
    let before = has(crew.ids[0]);
    settings.boot_id = folder.path().join("boot_id");
    std::fs::write(&settings.boot_id, "this\n").unwrap();
    let thread = crew.ids[0];
    let ledger = format!(
        r#"{{
  "version": 2,
  "boot": "another",
  "threads": [
    {{
      "thread": {thread},
      "process": {thread},
      "started": 1,
      "since": 1,
      "affinity": null,
      "nice": {{
        "before": 5,
        "ours": [
          {}
        ],
        "past": []
      }},
      "policy": null,
      "ended": false
    }}
  ]
}}"#,
        before.nice
    );
    std::fs::write(folder.path().join("schedule.json"), sealed(&ledger)).unwrap();
    assert_eq!(restore(&settings).unwrap(), Restored::default());
    assert_eq!(has(thread), before);
    assert!(is_clean(folder.path()) && folder.path().join("schedule.json.stale").exists());
}
