//! Threads and processes that managed threads make meanwhile.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairways_core::AppId;
use fairways_testing::needs::{Need, has as meets, withheld};
use fairways_turns::{Scheduler as _, TurnReport};

use crate::common::{Has, has, is_clean, open, own, settings, turn};

/// A shell that starts processes of its own.
struct Shell(Child);

impl Shell {
    fn start(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn children(&self) -> Vec<i32> {
        let id = self.id();
        let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        text.split_ascii_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    fn child(&self) -> i32 {
        let began = Instant::now();
        loop {
            if let [child, ..] = self.children()[..] {
                return child;
            }
            assert!(began.elapsed() < Duration::from_secs(300), "it starts nothing");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        for child in self.children() {
            let _ = rustix::process::Pid::from_raw(child)
                .map(|child| rustix::process::kill_process(child, rustix::process::Signal::KILL));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_was_inherited_is_not_the_owners() {
    let test = "what_was_inherited_is_not_the_owners";
    if !meets(test, &[Need::Root]) {
        return;
    }
    let cpus = own();
    if cpus.len() < 2 {
        withheld(test, "it takes two CPUs");
        return;
    }
    let (folder, settings) = settings();
    // Each shell waits for a file, and then starts a child, which inherits the shell's state.
    let signals = tempfile::tempdir().unwrap();
    let script = |at: &str| {
        let file = signals.path().join(at);
        format!(
            "until [ -e {} ]; do sleep 0.02; done; sleep 1000 & exec sleep 1000",
            file.display()
        )
    };
    let shells = ["taken", "not"].map(|at| Shell::start(&script(at)));
    let before = has(shells[0].id());
    let mut affinity = open(&settings);
    for (app, shell) in (1..).zip(&shells) {
        affinity.begin(AppId(app), shell.id()).unwrap();
        affinity.allow(AppId(app), &[cpus[0]].into_iter().collect()).unwrap();
        affinity.raise(AppId(app), true).unwrap();
    }
    affinity.settle().unwrap();
    let ours = Has { cpus: cpus[0].to_string(), nice: -20 };
    assert!(shells.iter().all(|shell| has(shell.id()) == ours));
    fs::write(signals.path().join("taken"), "").unwrap();
    fs::write(signals.path().join("not"), "").unwrap();
    let sleeps = |id: i32| {
        fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n")
    };
    let began = Instant::now();
    // Waits until both shells have become sleep, and have their child.
    while !shells.iter().all(|shell| sleeps(shell.id()) && sleeps(shell.child())) {
        assert!(began.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = shells.each_ref().map(Shell::child);
    // A child has its maker's CPUs, and not its priority.
    let inherited = Has { cpus: ours.cpus.clone(), nice: before.nice };
    assert_eq!(children.map(has), [inherited.clone(), inherited], "inherited");
    affinity.begin(AppId(3), children[0]).unwrap();
    affinity.settle().unwrap();
    assert_eq!(
        has(children[0]),
        before,
        "one that is taken in begins with what its owner lets it have"
    );
    affinity.allow(AppId(3), &[cpus[1]].into_iter().collect()).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(children[0]).cpus, cpus[1].to_string());
    let restored = affinity.close();
    assert_eq!((restored.left, restored.failed), (vec![], vec![]));
    let all = shells.iter().map(Shell::id).chain(children);
    assert!(
        all.map(has).all(|has| has == before),
        "and all of them are as before, taken in or not"
    );
    assert!(is_clean(folder.path()));
}

/// A shell that starts two processes when a file appears, and waits; and that file.
fn maker() -> (Shell, tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("go");
    let until = format!("until [ -e {} ]; do sleep 0.02; done", file.display());
    (Shell::start(&format!("{until}; sleep 1000 & sleep 1000 & wait")), folder, file)
}

/// The two that it started.
fn made(shell: &Shell, file: &std::path::Path) -> Vec<i32> {
    fs::write(file, "").unwrap();
    let began = Instant::now();
    loop {
        let children = shell.children();
        let is_sleep = |id: &&i32| {
            fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        if children.iter().filter(is_sleep).count() == 2 {
            return children;
        }
        assert!(began.elapsed() < Duration::from_secs(300), "it starts nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn children_of_a_raised_thread_are_not_raised() {
    let test = "children_of_a_raised_thread_are_not_raised";
    if !meets(test, &[Need::Root]) {
        return;
    }
    let (folder, settings) = settings();
    let (shell, _keep, file) = maker();
    // The kernel gives children 0 then: one that its owner wants at 5 gets that back.
    rustix::process::setpriority_process(rustix::process::Pid::from_raw(shell.id()), 5).unwrap();
    let before = has(shell.id());
    let mut affinity = open(&settings);
    affinity.begin(AppId(1), shell.id()).unwrap();
    affinity.raise(AppId(1), true).unwrap();
    affinity.settle().unwrap();
    let children = made(&shell, &file);
    assert!(children.iter().all(|&id| has(id).nice == 0), "no child is raised");
    affinity.raise(AppId(1), false).unwrap();
    affinity.settle().unwrap();
    assert_eq!(has(shell.id()), before);
    assert_eq!(affinity.close().failed, []);
    assert!(children.iter().all(|&id| has(id) == before));
    assert!(is_clean(folder.path()));
}

#[test]
fn what_a_program_that_leaves_has_made_is_put_back_at_once() {
    let test = "what_a_program_that_leaves_has_made_is_put_back_at_once";
    if !meets(test, &[Need::Root]) {
        return;
    }
    let (folder, settings) = settings();
    let (shell, _keep, file) = maker();
    let (stays, _stays_too, _) = maker();
    let before = has(shell.id());
    let mut affinity = open(&settings);
    for (app, shell) in (1..).zip([&shell, &stays]) {
        affinity.begin(AppId(app), shell.id()).unwrap();
        affinity.allow(AppId(app), &[own()[0]].into_iter().collect()).unwrap();
        affinity.raise(AppId(app), true).unwrap();
    }
    affinity.settle().unwrap();
    let ours = has(stays.id());
    let children = made(&shell, &file);
    let inherited = Has { nice: before.nice, ..ours.clone() };
    assert!(children.iter().all(|&id| has(id) == inherited), "inherited");
    affinity.end(AppId(1));
    affinity.settle().unwrap();
    assert_eq!(has(shell.id()), before);
    assert!(children.iter().all(|&id| has(id) == before));
    assert_eq!(has(stays.id()), ours, "another program's are not touched");
    assert_eq!(affinity.close().failed, []);
    assert_eq!(has(stays.id()), before);
    assert!(is_clean(folder.path()));
}

#[test]
fn threads_that_come_and_go_all_the_time_are_no_trouble() {
    let test = "threads_that_come_and_go_all_the_time_are_no_trouble";
    if !meets(test, &[Need::Root]) {
        return;
    }
    let cpus = own();
    let (folder, settings) = settings();
    // Processes that start processes that end at once.
    let shells =
        [(); 2].map(|()| Shell::start("while :; do sleep 0.003 & true & sleep 0.001; done"));
    let before = has(shells[0].id());
    let mut affinity = open(&settings);
    for (app, shell) in (1..).zip(&shells) {
        affinity.begin(AppId(app), shell.id()).unwrap();
        affinity.allow(AppId(app), &[cpus[0]].into_iter().collect()).unwrap();
    }
    let (mut app, mut known) = (10, Vec::<(u32, i32)>::new());
    let began = Instant::now();
    let mut inherited = 0;
    while began.elapsed() < Duration::from_secs(5) {
        for child in shells.iter().flat_map(Shell::children).collect::<Vec<_>>() {
            if known.iter().all(|&(_, id)| id != child) {
                app += 1;
                affinity.begin(AppId(app), child).unwrap();
                let cpu = cpus[app as usize % cpus.len()];
                affinity.allow(AppId(app), &[cpu].into_iter().collect()).unwrap();
                affinity.order(AppId(app), affinity.quantum() * 2).unwrap();
                known.push((app, child));
                inherited += 1;
            }
        }
        turn(&mut affinity, &mut TurnReport::default());
        known.retain(|&(app, id)| {
            let lives = fs::metadata(format!("/proc/{id}")).is_ok();
            if !lives {
                affinity.end(AppId(app));
            }
            lives
        });
    }
    eprintln!("{inherited} processes came and went");
    assert!(inherited > 50);
    assert_eq!(affinity.close().failed, []);
    assert!(shells.iter().all(|shell| has(shell.id()) == before));
    assert!(is_clean(folder.path()));
}
