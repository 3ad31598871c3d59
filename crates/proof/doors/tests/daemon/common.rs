//! An emulated host in lockstep, with another manager's groups on request, and a daemon for it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, has};
use serde_json::Value;

/// Whether this system lets tests mount, and has these programs; prints the reason where it does
/// not, and panics where it must.
pub(crate) fn can(programs: &[&'static str]) -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let programs = programs.iter().map(|name| Need::Program(name));
    has(&test, &[Need::Fuse, Need::Root].into_iter().chain(programs).collect::<Vec<_>>())
}

pub(crate) fn this() -> PathBuf {
    fairways_doors::fairways()
}

/// An emulator in a process of its own.
pub(crate) struct Machine {
    pub(crate) child: Child,
    pub(crate) root: PathBuf,
    /// The placeholder processes, by program.
    pub(crate) pids: BTreeMap<String, i32>,
    /// The same in the order of the programs, which may have the same name.
    pub(crate) in_order: Vec<i32>,
    pub(crate) folder: tempfile::TempDir,
}

impl Machine {
    /// Starts a machine with four CPUs, twelve ways, and these programs.
    pub(crate) fn start(programs: &str) -> Self {
        Self::with(programs, &[])
    }

    pub(crate) fn with(programs: &str, more: &[&str]) -> Self {
        Self::by_clock("lockstep", programs, more)
    }

    /// Starts a machine whose clock is `lockstep` or `paced`; of the platform that
    /// `FAIRWAYS_PLATFORM` names, unless the test needs another one.
    pub(crate) fn by_clock(clock: &str, programs: &str, more: &[&str]) -> Self {
        fairways_testing::needs::keep_to_owner();
        let chosen = std::env::var("FAIRWAYS_PLATFORM").ok();
        let chosen = chosen.as_deref().filter(|_| !more.contains(&"--platform"));
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("resctrl");
        fs::create_dir(&root).unwrap();
        let mut child = Command::new(fairways_doors::fairways_lab())
            .args(["emulate", "--json", "--clock", clock, "--programs", programs])
            .args(unless(more, ["--time-scale", "0.1"]))
            .args(unless(more, ["--machine", "chip:xeon-d:cores=4:sets=1024"]))
            .args(more)
            .args(chosen.map(|name| ["--platform", name]).into_iter().flatten())
            .arg(&root)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let report: Value = serde_json::from_str(&line).unwrap_or_else(|why| {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("{why}: {line:?} {said:?}")
        });
        let programs = report["programs"].as_array().unwrap();
        let pid = |of: &Value| i32::try_from(of["pid"].as_i64().unwrap()).unwrap();
        let pids = programs.iter().map(|of| (of["name"].as_str().unwrap().to_owned(), pid(of)));
        let in_order = programs.iter().map(pid).collect();
        Self { child, root, pids: pids.collect(), in_order, folder }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The flags that name this machine's paths.
    pub(crate) fn places(&self, verb: &str) -> Vec<String> {
        let at = |name: &str| self.at(name).to_str().unwrap().to_owned();
        let mut flags =
            vec!["--resctrl-root".to_owned(), at("resctrl"), "--state".to_owned(), at("state")];
        if verb == "run" {
            flags.extend(["--control".to_owned(), at("control")]);
        }
        flags
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = OpenOptions::new().write(true).open(self.root.join(path));
        let done = file.and_then(|mut file| file.write_all(text.as_bytes()));
        done.unwrap_or_else(|why| panic!("{path}: {why}"));
    }

    /// Every group with its inode and settings; of the root's tasks only these.
    pub(crate) fn snapshot(&self, tasks: &[i32]) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        gather(&self.root, "", &mut found);
        let ours = |line: &&str| tasks.iter().any(|task| task.to_string() == *line);
        let root = found.get_mut("/tasks").unwrap();
        *root = root.lines().filter(ours).map(|line| format!("{line}\n")).collect();
        found
    }
}

/// A flag and its value, unless a test has its own.
fn unless(more: &[&str], flag: [&'static str; 2]) -> Vec<&'static str> {
    if more.contains(&flag[0]) { Vec::new() } else { flag.to_vec() }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        // A failed test may have stopped it.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
        let _ = self.child.wait();
        let _ = rustix::mount::unmount(&self.root, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Leaves out a group that is removed meanwhile, as a daemon's is.
fn gather(root: &Path, group: &str, found: &mut BTreeMap<String, String>) {
    let dir = root.join(group);
    let inode = match fs::metadata(&dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound && !group.is_empty() => return,
        held => held.unwrap().ino(),
    };
    found.insert(format!("{group}/inode"), inode.to_string());
    for file in ["schemata", "mode", "cpus_list", "tasks"] {
        if let Ok(text) = fs::read_to_string(dir.join(file)) {
            found.insert(format!("{group}/{file}"), text);
        }
    }
    for below in ["", "mon_groups"] {
        for entry in fs::read_dir(dir.join(below)).into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let fixed = ["info", "mon_groups", "mon_data"].contains(&name.as_str());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !fixed {
                let path = Path::new(group).join(below).join(name);
                gather(root, path.to_str().unwrap(), found);
            }
        }
    }
}

/// A process that waits.
pub(crate) struct Sleeper(Child);

impl Sleeper {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("3600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Longer than anything takes, however busy this machine is: only a hang reaches it.
const HANG: Duration = Duration::from_secs(300);

/// Waits for the end of a process; one that hangs is killed, and the test fails.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > HANG {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The output of a command that has to succeed.
pub(crate) fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Waits until the condition is true.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < HANG, "not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A file's text; `None` where there is no file.
pub(crate) fn text(path: &Path) -> Option<String> {
    match fs::read_to_string(path) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => None,
        text => Some(text.unwrap()),
    }
}
