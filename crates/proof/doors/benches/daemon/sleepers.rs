//! Workloads: processes whose threads sleep.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The argument that makes this program a sleeper.
pub(crate) const WORD: &str = "sleeper";
/// A sleeper's name.
pub(crate) const NAME: &str = "fw-sleeper";

/// Sleeps in this number of threads until it is killed.
pub(crate) fn sleep(threads: u32) {
    let park = || {
        loop {
            std::thread::park();
        }
    };
    for _ in 1..threads {
        std::thread::Builder::new().stack_size(16 << 10).spawn(park).unwrap();
    }
    park();
}

/// Processes that sleep, until it is dropped.
pub(crate) struct Sleepers(Vec<Child>);

impl Sleepers {
    pub(crate) fn start(count: u32, threads: u32) -> Self {
        let start = |_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg0(NAME).args([WORD, &threads.to_string()]).stdin(Stdio::null());
            command.stdout(Stdio::null()).spawn().unwrap()
        };
        let sleepers = Self((0..count).map(start).collect());
        let threads_of = |child: &Child| {
            std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count()
        };
        while sleepers.0.iter().any(|child| threads_of(child) != threads as usize) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        sleepers
    }

    pub(crate) fn ids(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }

    pub(crate) fn threads(&self) -> Vec<Vec<i32>> {
        let of = |child: &Child| {
            let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
            tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
        };
        self.0.iter().map(of).collect()
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
