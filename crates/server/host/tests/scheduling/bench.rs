//! A host whose files, programs and CPUs are made up.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use fairways_core::{AppId, Counters};
use fairways_host::machine::{Host, Lever, Managed, Parts, Settings, Successors, Turns};
use fairways_perf::{Source, Target};
use fairways_programs::{Roots, Selector, Wanted};
use tempfile::TempDir;

use crate::cpus::{Cpus, Shared, Ticking, Turning};

/// A host on which programs are processes 100, 200 and so on.
pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) cpus: Shared,
}

impl Bench {
    /// CPUs by L3 cache.
    pub(crate) fn new(caches: &[&[u32]]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let count = caches.iter().map(|cpus| u32::try_from(cpus.len()).unwrap()).sum();
        let cpus = Cpus::new(count, folder.path().join("proc"));
        let bench = Self { folder, cpus };
        bench.caches(caches);
        bench.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        fs::create_dir_all(bench.path().join("cgroup")).unwrap();
        bench
    }

    /// From now on these CPUs are on line, and have these caches.
    pub(crate) fn caches(&self, caches: &[&[u32]]) {
        let cpus = self.path().join("sys/devices/system/cpu");
        let _ = fs::remove_dir_all(&cpus);
        let mut online = Vec::new();
        for (id, of) in caches.iter().enumerate() {
            for cpu in *of {
                let index = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3");
                for (file, text) in [("level", 3), ("id", id), ("ways_of_associativity", 12)] {
                    self.write(&format!("{index}/{file}"), &format!("{text}\n"));
                }
                online.push(cpu.to_string());
            }
        }
        self.write("sys/devices/system/cpu/online", &online.join(","));
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A thread of a process starts, at that tick, which may use these CPUs.
    pub(crate) fn start(&self, pid: i32, thread: i32, tick: u64, cpus: &str) {
        let parent = if pid == thread { 1 } else { 2 };
        let count = self.count(pid) + 1;
        self.write(
            &format!("proc/{thread}/stat"),
            &format!(
                "{thread} (a) R {parent} 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 {count} 0 {tick} 1 2\n"
            ),
        );
        self.write(&format!("proc/{thread}/status"), &format!("Cpus_allowed_list:\t{cpus}\n"));
        fs::create_dir_all(self.path().join(format!("proc/{pid}/task/{thread}"))).unwrap();
    }

    /// As the kernel would show it.
    pub(crate) fn affinity(&self, thread: i32) -> String {
        let text = fs::read_to_string(self.path().join(format!("proc/{thread}/status"))).unwrap();
        text.strip_prefix("Cpus_allowed_list:\t").unwrap().trim().to_owned()
    }

    fn count(&self, pid: i32) -> usize {
        fs::read_dir(self.path().join(format!("proc/{pid}/task"))).map_or(0, Iterator::count)
    }

    /// A thread ends; the first takes its process with it.
    pub(crate) fn end(&self, pid: i32, thread: i32) {
        fs::remove_dir_all(self.path().join(format!("proc/{thread}"))).unwrap();
        let _ = fs::remove_dir(self.path().join(format!("proc/{pid}/task/{thread}")));
    }

    /// The host, whose programs are these by name and process.
    pub(crate) fn host(
        &self,
        programs: &[(&str, i32)],
        successors: Option<Box<dyn Successors>>,
        observe: bool,
    ) -> Host {
        let scheduler = Box::new(Turning(self.cpus.clone(), "first"));
        let turns = Turns::new(scheduler, successors, self.path().join("sys")).unwrap();
        let roots = Roots {
            proc: self.path().join("proc"),
            cgroup: self.path().join("cgroup"),
            ..Roots::default()
        };
        let parts = Parts {
            lever: Lever::Turns(Box::new(turns)),
            proc_and_cgroup: roots,
            source: Box::<Missing>::default(),
            clock: Box::new(Ticking(self.cpus.clone())),
        };
        let managed = programs.iter().map(|&(name, pid)| {
            let (name, selector) = (name.to_owned(), Selector::Pid(pid));
            Managed::new(Wanted { name, selector, each: false })
        });
        let settings = Settings { observe, look: Duration::from_millis(50) };
        Host::new(parts, managed.collect(), settings).unwrap()
    }
}

/// What a thread misses of a hundred references, whatever it runs beside: `frugal-3` three.
#[derive(Default)]
struct Missing(BTreeMap<AppId, u64>);

impl Source for Missing {
    fn begin(&mut self, target: &Target) {
        let program = target.name.split('/').next().unwrap();
        let (_, rate) = program.rsplit_once('-').unwrap();
        self.0.insert(target.app, rate.parse().unwrap());
    }

    fn threads(&mut self, _: AppId, _: &[i32]) {}

    fn read(&mut self, _: AppId, _: u32) -> Counters {
        Counters::default()
    }

    fn end(&mut self, app: AppId) {
        self.0.remove(&app);
    }

    fn beside(&mut self, app: AppId, _: u32, _: &[AppId], time: Duration) -> Counters {
        // A turn of a thread that has ended may still have to be reported.
        let Some(rate) = self.0.get(&app) else { return Counters::default() };
        let hundreds = u64::try_from(time.as_micros()).unwrap();
        Counters {
            llc_references: Some(hundreds * 100),
            llc_misses: Some(hundreds * rate),
            ..Counters::default()
        }
    }
}
