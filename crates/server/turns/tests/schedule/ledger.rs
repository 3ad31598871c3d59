//! What is recorded, and when.

use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_ledger::Thing;
use fairways_testing::needs::{Need, has as meets};
use fairways_turns::ledger::{Ledger, restore};
use fairways_turns::{Scheduler as _, TurnReport};
use rustix::fs::inotify;

use crate::common::{Crew, has, is_clean, open, own, settings, turn};

#[test]
fn threads_that_are_moved_together_are_recorded_once() {
    if !meets("threads_that_are_moved_together_are_recorded_once", &[Need::Root]) {
        return;
    }
    let (folder, settings) = settings();
    let crew = Crew::start(64, |_| std::thread::sleep(Duration::from_millis(20)));
    let usual = has(crew.ids[0]);
    let mut affinity = open(&settings);
    crew.apps().for_each(|(app, id)| affinity.begin(app, id).unwrap());
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, folder.path(), inotify::WatchFlags::MOVED_TO).unwrap();
    let writes = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&watch, &mut buffer);
        let mut written = 0;
        while let Ok(event) = reader.next() {
            written += usize::from(event.file_name() == Some(c"schedule.json"));
        }
        written
    };
    let one = [own()[0]].into_iter().collect();
    for (app, _) in crew.apps() {
        affinity.allow(app, &one).unwrap();
        affinity.order(app, affinity.quantum() * 2).unwrap();
    }
    assert_eq!(writes(), 0);
    let began = Instant::now();
    affinity.settle().unwrap();
    let settled = began.elapsed();
    assert!(crew.ids.iter().all(|&id| has(id).cpus == own()[0].to_string()));
    assert_eq!(writes(), 1);
    // Weights that were recorded come and go without another write.
    affinity.settle().unwrap();
    let mut timed = |after: u64, times: u32| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            std::thread::sleep(Duration::from_millis(after));
            let began = Instant::now();
            affinity.turns(&mut TurnReport::default()).unwrap();
            took += began.elapsed();
        }
        took / times
    };
    let [calls, turns, looks] = [timed(0, 50), timed(11, 20), timed(210, 10)];
    eprintln!(
        "64 threads moved in {settled:?}; a call takes {calls:?}, each 10 ms {turns:?}, each 200 ms {looks:?}"
    );
    // The threads leave together.
    let _ = writes();
    (1..=60).for_each(|app| affinity.end(AppId(app)));
    assert_eq!(writes(), 0);
    affinity.settle().unwrap();
    assert_eq!(writes(), 1);
    assert!(crew.ids[..60].iter().all(|&id| has(id) == usual));
    assert!(crew.ids[60..].iter().all(|&id| has(id) != usual));
    assert_eq!(affinity.close().failed, []);
    assert!(is_clean(folder.path()));
}

#[test]
fn a_thread_made_by_one_that_has_ended_is_put_back_too() {
    let test = "a_thread_made_by_one_that_has_ended_is_put_back_too";
    if !meets(test, &[Need::Root]) || own().len() < 2 {
        return;
    }
    let (folder, settings) = settings();
    let (go, gone) = channel::<()>();
    let (ids, made_ids) = channel();
    // A thread that makes another at the first signal, and ends at the second.
    let (end, ended) = channel::<()>();
    let first = std::thread::spawn(move || {
        let id = || rustix::thread::gettid().as_raw_nonzero().get();
        ids.send(id()).unwrap();
        gone.recv().unwrap();
        let second = std::thread::spawn(move || {
            ids.send(id()).unwrap();
            let _ = ended.recv();
        });
        gone.recv().unwrap();
        second
    });
    let maker = made_ids.recv().unwrap();
    let before = has(maker);
    let mut affinity = open(&settings);
    affinity.begin(AppId(1), maker).unwrap();
    affinity.allow(AppId(1), &[own()[1]].into_iter().collect()).unwrap();
    affinity.raise(AppId(1), true).unwrap();
    affinity.settle().unwrap();
    go.send(()).unwrap();
    let made = made_ids.recv().unwrap();
    let ours = has(made);
    assert_eq!((ours.cpus.as_str(), ours.nice), (own()[1].to_string().as_str(), before.nice));
    // The maker has another nice value when it ends.
    affinity.raise(AppId(1), false).unwrap();
    affinity.settle().unwrap();
    go.send(()).unwrap();
    let second = first.join().unwrap();
    let began = Instant::now();
    while std::fs::metadata(format!("/proc/{maker}")).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(300));
        turn(&mut affinity, &mut TurnReport::default());
    }
    affinity.end(AppId(1));
    affinity.begin(AppId(2), made).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(made), before);
    assert_eq!(affinity.close().failed, []);
    assert_eq!(has(made), before);
    assert!(is_clean(folder.path()));
    end.send(()).unwrap();
    second.join().unwrap();
}

#[test]
fn a_policy_is_put_back_and_what_children_have_of_it() {
    let test = "a_policy_is_put_back_and_what_children_have_of_it";
    if !meets(test, &[Need::Root, Need::Program("chrt")]) {
        return;
    }
    // `SCHED_BATCH` in the place of `SCHED_EXT`, which not every kernel has.
    const OTHER: i32 = 0;
    const BATCH: i32 = 3;
    let (folder, settings) = settings();
    let mut shells = [(); 3].map(|()| {
        Command::new("sh")
            .args(["-c", "read x; sleep 1000 & echo $!; wait"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    });
    let ids = shells.each_ref().map(|shell| i32::try_from(shell.id()).unwrap());
    let policy = |id: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap().parse::<i32>().unwrap()
    };
    let chrt = |how: &str, id: i32| {
        assert!(
            Command::new("chrt")
                .args([how, "-p", "0", &id.to_string()])
                .status()
                .unwrap()
                .success()
        );
    };
    let (mut ledger, _) = Ledger::open(&settings).unwrap();
    ledger.policy(&ids.map(|id| (id, OTHER, BATCH))).unwrap();
    ids[..2].iter().for_each(|&id| chrt("-b", id));
    // Another program changes the third before we do.
    chrt("-i", ids[2]);
    let mut children = Vec::new();
    for shell in &mut shells {
        use std::io::{BufRead as _, Write as _};
        writeln!(shell.stdin.as_mut().unwrap()).unwrap();
        let mut line = String::new();
        std::io::BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        children.push(line.trim().parse::<i32>().unwrap());
    }
    assert_eq!(children.iter().map(|&id| policy(id)).collect::<Vec<_>>(), [BATCH, BATCH, 5]);
    assert_eq!(ledger.policy_before(ids[0], 1, BATCH), Some(OTHER));
    assert_eq!(ledger.policy_before(ids[0], 1, 5), None);
    let restored = ledger.end(&ids[..1]).unwrap();
    // It is the last of its process, and its child goes with it.
    assert_eq!(restored.done, [ids[0], children[0]].map(Thing::Policy));
    assert_eq!(ids.map(policy), [OTHER, BATCH, 5]);
    assert_eq!(children.iter().map(|&id| policy(id)).collect::<Vec<_>>(), [OTHER, BATCH, 5]);
    // As if it were killed here.
    drop(ledger);
    let restored = restore(&settings).unwrap();
    let back = [ids[1], children[1]].map(Thing::Policy);
    assert!(
        restored.done.len() == 2 && back.iter().all(|thing| restored.done.contains(thing)),
        "{restored}"
    );
    assert_eq!(restored.left.len(), 1, "{restored}");
    assert_eq!(ids.map(policy), [OTHER, OTHER, 5]);
    assert_eq!(children.iter().map(|&id| policy(id)).collect::<Vec<_>>(), [OTHER, OTHER, 5]);
    assert!(is_clean(folder.path()));
    for id in children {
        let pid = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    for shell in &mut shells {
        let _ = shell.kill();
        shell.wait().unwrap();
    }
}
