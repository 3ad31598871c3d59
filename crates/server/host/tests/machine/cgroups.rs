//! Programs that are cgroups, in a hierarchy of plain files.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use fairways_core::{Action, AppId, Counters, Event, WindowLength};
use fairways_host::machine::Managed;
use fairways_perf::{NoCounters, Source, Target};
use fairways_programs::{Roots, Selector};

use crate::real::{
    Bench, LOOK, Sleeper, all_started, applied, await_one, exited, managed, partition, plan,
    started, until, until_showing,
};

/// Where nothing is in, yet.
fn hierarchy(bench: &Bench) -> Roots {
    let roots = Roots { proc: bench.at("proc"), cgroup: bench.at("cgroup"), ..Roots::default() };
    fs::create_dir_all(roots.proc.join("self")).unwrap();
    let mount = format!("30 22 0:1 / {} rw - cgroup2 cgroup2 rw\n", roots.cgroup.display());
    fs::write(roots.proc.join("self/mountinfo"), mount).unwrap();
    roots
}

/// A cgroup with one process.
fn fill(path: &Path, of: &Sleeper) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("cgroup.threads"), format!("{}\n", of.id())).unwrap();
    fs::write(path.join("cgroup.events"), "populated 1\n").unwrap();
}

fn of(name: &str, path: &str) -> Managed {
    managed(name, Selector::Cgroup(path.to_owned()))
}

/// A program, and the cgroup by which it is counted.
type Counted = (AppId, Option<PathBuf>);

/// What was begun to be counted.
#[derive(Clone, Default)]
struct Begun(Rc<RefCell<Vec<Counted>>>);

impl Source for Begun {
    fn begin(&mut self, target: &Target) {
        self.0.borrow_mut().push((target.app, target.cgroup.clone()));
    }

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, _: AppId, _: u32) -> Counters {
        Counters { instructions: Some(7), ..Counters::default() }
    }

    fn end(&mut self, _: AppId) {}
}

#[test]
fn a_program_is_counted_by_the_cgroup_that_it_is_now() {
    let Some(bench) = Bench::new() else { return };
    let (outer, inner) = (Sleeper::start(0), Sleeper::start(0));
    let roots = hierarchy(&bench);
    let (a, b) = (roots.cgroup.join("a"), roots.cgroup.join("a/b"));
    fill(&a, &outer);
    fill(&b, &inner);
    let begun = Begun::default();
    let parts = bench.parts(Box::new(begun.clone()), roots);
    let mut host = bench.host_of(parts, vec![of("a", "/a")], LOOK);
    // Where a thread may run is unknown if its files don't show it.
    assert_eq!(all_started(&mut host, 2), [(0, AppId(0)), (1, AppId(0))]);
    let every = WindowLength::Time(Duration::from_millis(20));
    host.carry_out(0, Action::Watch { app: AppId(0), every });

    host.reconfigure(vec![of("b", "/a/b"), of("a", "/a")]).unwrap();
    assert_eq!(await_one(&mut host, started), (0, AppId(1)));
    await_one(&mut host, |_, event| matches!(event, Event::Sampled(_)).then_some(()));
    let expected = [(AppId(0), Some(a.clone())), (AppId(1), Some(b)), (AppId(0), None)];
    assert_eq!(*begun.0.borrow(), expected, "a part of it is another's now");

    // The whole of it is made again within a look.
    fs::rename(&a, bench.at("gone")).unwrap();
    fill(&a, &outer);
    let mut gone = [(); 4].map(|()| await_one(&mut host, exited));
    gone.sort_unstable();
    assert_eq!(gone, [(0, AppId(0)), (0, AppId(1)), (1, AppId(0)), (1, AppId(1))]);
    assert_eq!(begun.0.borrow().last(), Some(&(AppId(2), Some(a))));
}

#[test]
fn threads_stay_in_their_class_while_they_cannot_be_listed() {
    let Some(bench) = Bench::new() else { return };
    let [sleeper, later] = [(); 2].map(|()| Sleeper::start(0));
    let roots = hierarchy(&bench);
    let cgroup = roots.cgroup.join("a");
    fill(&cgroup, &sleeper);
    for of in [&sleeper, &later] {
        let known = roots.proc.join(of.id().to_string());
        fs::create_dir(&known).unwrap();
        fs::write(known.join("status"), "Cpus_allowed_list:\t0\n").unwrap();
    }
    let parts = bench.parts(Box::new(NoCounters), roots);
    let mut host = bench.host_of(parts, vec![of("a", "/a")], LOOK);
    assert_eq!(all_started(&mut host, 1), [(0, AppId(0))]);
    plan(&mut host, 0, 1, &partition(&[(0x3, &[AppId(0)])]));
    await_one(&mut host, applied);
    let placed = || bench.read("fairways.0/tasks");
    assert_eq!(placed(), format!("{}\n", sleeper.id()));

    let threads = cgroup.join("cgroup.threads");
    fs::remove_file(&threads).unwrap();
    fs::create_dir(&threads).unwrap();
    let turns = Cell::new(0);
    until_showing(&mut host, &mut |_| turns.set(turns.get() + 1), |_| turns.get() > 50);
    assert_eq!(placed(), format!("{}\n", sleeper.id()));

    fs::remove_dir(&threads).unwrap();
    fill(&cgroup, &later);
    until(&mut host, |_| placed() == format!("{}\n", later.id()));
}
