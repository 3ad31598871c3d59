//! The files, as clients use them.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Mounted, can_mount, errno, mounted};
use fairways_emulator::{Emulator, Idle, Settings, StartError};
use fairways_resctrl_rules::platform::Platform;

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;

fn lab() -> Mounted {
    mounted(Settings::new(Platform::lab(), Box::new(Idle::default())))
}

fn all_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all_files(&entry.path(), found);
        }
        found.push(entry.path());
    }
}

fn inode_numbers(paths: &[PathBuf]) -> Vec<u64> {
    paths.iter().map(|path| fs::metadata(path).unwrap().ino()).collect()
}

#[test]
fn every_file_can_be_read_and_has_a_number_of_its_own() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    fs::create_dir(of.path("a/mon_groups/m")).unwrap();
    let mut paths = Vec::new();
    all_files(&of.dir, &mut paths);
    assert!(paths.len() > 60, "{}", paths.len());
    let first = inode_numbers(&paths);
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), paths.len());
    for path in paths.iter().filter(|path| path.is_file()) {
        let about = fs::metadata(path).unwrap();
        assert_eq!((about.len(), about.mode() & 0o7133), (0, 0), "{}", path.display());
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(text.ends_with('\n') || ["tasks", "mode"].contains(&name), "{name}: {text:?}");
    }
    assert_eq!(inode_numbers(&paths), first);
}

#[test]
fn a_write_is_one_whatever_its_offset_and_flags() {
    if !can_mount() {
        return;
    }
    let of = lab();
    // As fopen(3) with "w" does.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(of.path("schemata"))
        .unwrap();
    file.write_all(b"L3:0=ff\n").unwrap();
    file.write_all(b"L3:1=f0\n").unwrap();
    file.write_at(b"MB:0=40\n", 4711).unwrap();
    assert_eq!(of.read("schemata"), "    MB:0=40;1=100\n    L3:0=ff;1=f0\n");
    assert_eq!(errno(file.write(b"L3:0=5\n")), EINVAL);
    assert_eq!(of.read("info/last_cmd_status"), "The mask 5 has non-consecutive 1-bits\n");
    assert_eq!(errno(OpenOptions::new().append(true).open(of.path("size"))), EACCES);
    let made = OpenOptions::new().write(true).create(true).truncate(true).open(of.path("new"));
    assert_eq!(errno(made), EACCES);
    assert_eq!(errno(fs::remove_file(of.path("schemata"))), EPERM);
    assert_eq!(errno(File::open(of.path("nothing"))), ENOENT);
}

#[test]
fn a_read_in_parts_is_of_one_moment_and_one_from_the_start_is_new() {
    if !can_mount() {
        return;
    }
    let of = lab();
    let mut file = File::open(of.path("schemata")).unwrap();
    let mut start = [0; 10];
    file.read_exact(&mut start).unwrap();
    of.write("schemata", "L3:0=f\n").unwrap();
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    let whole = String::from_utf8(start.to_vec()).unwrap() + &rest;
    assert_eq!(whole, "    MB:0=100;1=100\n    L3:0=fff;1=fff\n");
    file.seek(SeekFrom::Start(0)).unwrap();
    rest.clear();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "    MB:0=100;1=100\n    L3:0=f;1=fff\n");
}

#[test]
fn a_file_kept_open_over_rmdir_is_gone() {
    if !can_mount() {
        return;
    }
    let of = lab();
    let a = of.path("a");
    fs::create_dir(&a).unwrap();
    let number = fs::metadata(&a).unwrap().ino();
    let mut held = OpenOptions::new().read(true).write(true).open(a.join("schemata")).unwrap();
    fs::remove_dir(&a).unwrap();
    assert_eq!(errno(held.read(&mut [0; 9])), ENODEV);
    assert_eq!(errno(held.write(b"L3:0=f\n")), ENODEV);
    assert_eq!(errno(File::open(a.join("schemata"))), ENOENT);
    // One of the same name is another.
    fs::create_dir(&a).unwrap();
    assert!(fs::metadata(&a).unwrap().ino() != number);
    assert_eq!(errno(held.read(&mut [0; 9])), ENODEV);
}

#[test]
fn a_zero_is_the_thread_that_writes() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    let path = of.path("a/tasks");
    let thread = std::thread::spawn(move || {
        fs::write(&path, "0\n").unwrap();
        let own = rustix::thread::gettid().as_raw_nonzero().to_string();
        let tasks = fs::read_to_string(&path).unwrap();
        (own, tasks)
    });
    let (own, tasks) = thread.join().unwrap();
    assert_eq!(tasks.trim(), own);
    let this = std::process::id().to_string();
    assert!(of.read("tasks").lines().any(|line| line == this));
    assert!(!of.read("a/tasks").contains(&this));
}

#[test]
fn children_inherit_their_group() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "read go; sleep 60 & echo $!; wait"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    of.write("a/tasks", &shell.id().to_string()).unwrap();
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let mut child = String::new();
    let mut out = shell.stdout.take().unwrap();
    while !child.ends_with('\n') {
        let mut byte = [0; 1];
        out.read_exact(&mut byte).unwrap();
        child.push(byte[0].into());
    }
    let started = Instant::now();
    let expected = BTreeSet::from([shell.id().to_string(), child.trim().to_owned()]);
    loop {
        let tasks: BTreeSet<String> = of.read("a/tasks").lines().map(str::to_owned).collect();
        if tasks == expected {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(300), "{tasks:?} {expected:?}");
    }
    Command::new("kill").arg(child.trim()).status().unwrap();
    shell.wait().unwrap();
    while !of.read("a/tasks").is_empty() {
        assert!(started.elapsed() < Duration::from_secs(300));
    }
}

/// As a manager does that starts programs, each at once in its group: none is taken for a child
/// that inherits later on, neither from a parent in the default group nor from one in another.
#[test]
fn a_thread_moved_right_after_its_birth_stays_there() {
    if !can_mount() {
        return;
    }
    let of = lab();
    let groups = ["a", "b"];
    groups.iter().for_each(|group| fs::create_dir(of.path(group)).unwrap());
    let mut children: Vec<_> = Vec::new();
    for round in 0..3 {
        for number in 0..8 {
            let child = Command::new("sleep").arg("60").spawn().unwrap();
            let to = ["a/tasks", "b/tasks", "tasks"][(number + round) % 3];
            of.write(to, &child.id().to_string()).unwrap();
            children.push((child, to));
        }
        if round == 0 {
            // From now on the parent is in a group, from which a child may be taken out.
            of.write("a/tasks", &std::process::id().to_string()).unwrap();
            for thread in fs::read_dir("/proc/self/task").unwrap() {
                let name = thread.unwrap().file_name();
                // A thread of another test may end meanwhile.
                let done = of.write("a/tasks", name.to_str().unwrap());
                assert!(
                    done.as_ref().err().is_none_or(|why| {
                        why.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
                    }),
                    "{done:?}"
                );
            }
        }
    }
    let started = Instant::now();
    // Longer than any look is away.
    while started.elapsed() < Duration::from_millis(600) {
        for file in ["a/tasks", "b/tasks", "tasks"] {
            let listed = of.read(file);
            let listed: BTreeSet<&str> = listed.lines().collect();
            for (child, to) in &children {
                let id = child.id().to_string();
                assert_eq!(listed.contains(id.as_str()), file == *to, "{id} of {to} in {file}");
            }
        }
    }
    for (mut child, _) in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Runs a command as another user: its exit code, 0 if all went well, and its errors.
fn as_nobody(script: &str) -> (i32, String) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).uid(65_534).gid(65_534).stderr(Stdio::piped());
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn another_user_may_use_files_given_to_them() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    let (a, tasks) = (of.path("a"), of.path("a/tasks"));
    let (a, tasks) = (a.display(), tasks.display());
    assert_eq!(as_nobody(&format!("cat {tasks}")), (0, String::new()));
    let (code, output) = as_nobody(&format!("echo 0 > {tasks}"));
    assert!(code != 0 && output.contains("Permission denied"), "{output}");
    let (code, output) = as_nobody(&format!("mkdir {}/b", of.dir.display()));
    assert!(code != 0 && output.contains("Permission denied"), "{output}");
    chown(of.path("a/tasks"), Some(65_534), Some(65_534)).unwrap();
    assert_eq!(fs::metadata(of.path("a/tasks")).unwrap().uid(), 65_534);
    assert_eq!(as_nobody(&format!("echo 0 > {tasks}")), (0, String::new()));
    // Its own threads, and no other's.
    let (code, _) = as_nobody(&format!("echo {} > {tasks}", std::process::id()));
    assert!(code != 0);
    let status = format!("No permission to move task {}\n", std::process::id());
    assert!(of.read("info/last_cmd_status").starts_with(&status));
    let (code, _) = as_nobody(&format!("echo 'L3:0=f' > {a}/schemata"));
    assert!(code != 0);
}

fn event(of: &Mounted, group: &str, event: &str) -> String {
    of.read(&format!("{group}mon_data/mon_L3_00/{event}"))
}

#[test]
fn faults_come_on_demand() {
    if !can_mount() {
        return;
    }
    let of = lab();
    let mut client = of.client();
    fs::create_dir(of.path("a")).unwrap();
    for fault in [
        "write:*/schemata=EBUSY@2",
        "mkdir:/full=ENOSPC",
        "read:a/*/llc_occupancy=Unavailable",
        "read:*/mbm_total_bytes=Error@2",
    ] {
        client.arm(fault.parse().unwrap()).unwrap();
    }
    of.write("schemata", "L3:0=ff\n").unwrap();
    assert_eq!(errno(of.write("a/schemata", "L3:0=f\n")), EBUSY);
    of.write("a/schemata", "L3:0=7\n").unwrap();
    assert_eq!(errno(fs::create_dir(of.path("full"))), ENOSPC);
    assert_eq!(errno(fs::create_dir(of.path("full"))), ENOSPC);
    assert_eq!(event(&of, "a/", "llc_occupancy"), "Unavailable\n");
    assert_eq!(event(&of, "", "llc_occupancy"), "0\n");
    // `read` reads to the end of the file, which is not counted as another time.
    assert_eq!(event(&of, "", "mbm_total_bytes"), "0\n");
    assert_eq!(event(&of, "", "mbm_total_bytes"), "Error\n");
    assert_eq!(event(&of, "", "mbm_total_bytes"), "0\n");
    let armed = client.faults().unwrap();
    assert_eq!(armed.iter().map(|armed| armed.met > 0).collect::<Vec<_>>(), [true; 4]);
    client.clear(Some(armed[1].id)).unwrap();
    fs::create_dir(of.path("full")).unwrap();
    assert_eq!(client.clear(None).unwrap(), []);
}

#[test]
fn a_group_vanishes_in_the_middle_of_something() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    of.arm("write:a/tasks=vanish".parse().unwrap());
    let mut tasks = OpenOptions::new().write(true).open(of.path("a/tasks")).unwrap();
    assert_eq!(errno(tasks.write(b"0\n")), ENODEV);
    assert!(!fs::exists(of.path("a")).unwrap());
}

#[test]
fn a_slow_read_keeps_no_other_client_waiting() {
    if !can_mount() {
        return;
    }
    let of = lab();
    of.arm("read:*/llc_occupancy=slow:5s".parse().unwrap());
    let path = of.path("mon_data/mon_L3_00/llc_occupancy");
    let started = Instant::now();
    let slow = std::thread::spawn(move || {
        // All at once: what follows the end is a read, too.
        let mut start = [0; 64];
        File::open(path).unwrap().read_at(&mut start, 0).unwrap();
        started.elapsed()
    });
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..50 {
        of.read("schemata");
    }
    assert!(!slow.is_finished());
    assert!(slow.join().unwrap() >= Duration::from_secs(5));
}

#[test]
fn resctrl_is_mounted_again_with_other_options() {
    if !can_mount() {
        return;
    }
    let of = lab();
    fs::create_dir(of.path("a")).unwrap();
    of.remount("cdp").unwrap();
    assert!(!fs::exists(of.path("a")).unwrap());
    assert!(of.read("schemata").contains("L3CODE:0=fff"), "{}", of.read("schemata"));
    assert_eq!(of.client().status().unwrap().options, ",cdp");
    assert_eq!(of.remount("nonesuch").unwrap_err().code(), EINVAL);
    of.remount("").unwrap();
    of.cpu(2, false).unwrap();
    of.cpu(3, false).unwrap();
    assert_eq!(of.read("cpus_list"), "0-1\n");
    assert!(!fs::exists(of.path("mon_data/mon_L3_01")).unwrap());
    of.cpu(3, true).unwrap();
    assert_eq!(of.read("cpus_list"), "0-1,3\n");
    assert!(fs::exists(of.path("mon_data/mon_L3_01/llc_occupancy")).unwrap());
    assert!(of.cpu(9, true).is_err());
}

fn open_at(at: &File, name: &str) -> Result<OwnedFd, i32> {
    let flags = rustix::fs::OFlags::RDONLY;
    rustix::fs::openat(at, name, flags, rustix::fs::Mode::empty()).map_err(|why| why.raw_os_error())
}

/// The kernel keeps names and attributes: nothing that is gone.
#[test]
fn what_the_kernel_keeps_ends_when_the_tree_changes() {
    if !can_mount() {
        return;
    }
    let of = lab();
    for group in ["a", "b"] {
        fs::create_dir(of.path(group)).unwrap();
        fs::create_dir(of.path(&format!("{group}/mon_groups/m"))).unwrap();
    }
    let before = fs::metadata(&of.dir).unwrap().nlink();
    for group in ["a", "b"] {
        let inside = ["", "mon_groups", "mon_groups/m", "mon_data"]
            .map(|path| File::open(of.path(&format!("{group}/{path}"))).unwrap());
        let kept = File::open(of.path(&format!("{group}/mon_groups/m/tasks"))).unwrap();
        let names = ["schemata", "m", "tasks", "mon_L3_00"];
        for (at, name) in inside.iter().zip(names) {
            open_at(at, name).unwrap();
        }
        if group == "a" {
            fs::remove_dir(of.path(group)).unwrap();
        } else {
            of.arm("open:b/size=vanish".parse().unwrap());
            assert_eq!(errno(File::open(of.path("b/size"))), ENODEV);
        }
        for (at, name) in inside.iter().zip(names) {
            assert_eq!(open_at(at, name).unwrap_err(), ENOENT, "{group}: {name}");
        }
        assert!(!fs::exists(of.path(group)).unwrap());
        drop(kept);
    }
    assert_eq!(fs::metadata(&of.dir).unwrap().nlink(), before - 2);
    of.remount("cdp").unwrap();
    assert!(fs::exists(of.path("info/L3CODE")).unwrap());
    assert!(!fs::exists(of.path("info/L3")).unwrap());
}

#[test]
fn truncation_is_an_operation_of_its_own() {
    if !can_mount() {
        return;
    }
    let of = lab();
    of.arm("truncate:/schemata=EBUSY@2".parse().unwrap());
    fs::write(of.path("schemata"), "L3:0=f\n").unwrap();
    of.write("schemata", "L3:0=ff\n").unwrap();
    assert_eq!(errno(fs::write(of.path("schemata"), "L3:0=f\n")), EBUSY);
    assert!(of.read("schemata").contains("L3:0=ff;"));
    // Nor is it one of open(2) alone.
    assert_eq!(of.client().faults().unwrap()[0].met, 2);
    OpenOptions::new().write(true).open(of.path("schemata")).unwrap().set_len(0).unwrap();
    assert_eq!(of.client().faults().unwrap()[0].met, 3);
}

fn idle_lab() -> Settings {
    Settings::new(Platform::lab(), Box::new(Idle::default()))
}

fn error_of(dir: &Path) -> String {
    match Emulator::start(dir, idle_lab()) {
        Ok(_) => panic!("{}: mounted", dir.display()),
        Err(why) => {
            assert_eq!(why.to_string().lines().count(), 1);
            why.to_string()
        }
    }
}

#[test]
fn it_is_mounted_on_an_empty_directory_once() {
    if !can_mount() {
        return;
    }
    let of = lab();
    assert!(error_of(&of.dir).contains("fuse.resctrl is mounted there already"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(error_of(&file).contains("expected a directory"));
    assert!(error_of(folder.path()).contains("expected an empty directory"));
    assert!(error_of(&folder.path().join("none")).contains("No such file"));
    let options = Settings { options: "nonesuch".to_owned(), ..idle_lab() };
    let dir = folder.path().join("dir");
    fs::create_dir(&dir).unwrap();
    let why = Emulator::start(&dir, options).err().unwrap();
    assert!(matches!(why, StartError::Options { .. }));
    assert!(!fs::exists(fairways_emulated::beside(&dir)).unwrap());
    // An emulator that another process unmounts ends.
    let emulator = Emulator::start(&dir, idle_lab()).unwrap();
    let mode = fs::symlink_metadata(emulator.socket()).unwrap().mode();
    assert_eq!(mode & 0o777, 0o600);
    rustix::mount::unmount(&dir, rustix::mount::UnmountFlags::empty()).unwrap();
    let started = Instant::now();
    while !emulator.is_unmounted() {
        assert!(started.elapsed() < Duration::from_secs(300));
    }
    drop(emulator);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn no_open_waits_for_a_lock_of_the_root() {
    if !can_mount() {
        return;
    }
    let of = lab();
    let open = || {
        let mut options = OpenOptions::new();
        let directory = rustix::fs::OFlags::DIRECTORY.bits().cast_signed();
        options.read(true).custom_flags(directory).open(&of.dir).unwrap()
    };
    let (first, second) = (open(), open());
    first.lock().unwrap();
    assert!(second.try_lock().is_err());
    first.unlock().unwrap();
    second.try_lock().unwrap();
}
