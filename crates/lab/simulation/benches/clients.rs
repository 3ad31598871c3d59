//! Clients of the emulator while its chip runs: their operations per second, the chip's speed
//! beside them and alone, and the time that `pqos -R` takes with 16 classes and 200 processes.
//!
//! Beside them, the same reads of a file system that answers every request with constants, at once:
//! what FUSE itself costs here. `read` is `std::fs::read`: an open, an fstat, reads to the end, a
//! close; `read once` an open, one read, a close; `write` an open with truncation, one write, a
//! close. `pread` is one read of an open file, hence one request to the server.
//!
//! The thread that simulates has the first CPU, and all else the second: a client and the thread
//! that serves it share a core, as well as they can.
//!
//! Prints CSV: what was measured, the round, and the value; rates are per second. `us of cpu` is
//! what an operation takes of the second CPU, by client and server together. `chip` is simulated
//! seconds per second, and `chip per cpu` per second that its thread had a CPU. Needs /dev/fuse
//! and root; for pqos, `pqos` and `qemu-x86_64`, through which it sees Intel's processor.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fairways_chip::{Job, Phase, Settings as Simulated, preset, program};
use fairways_emulator::{Emulator, Pace, Settings, Starter, hold_place, host_files};
use fairways_resctrl_rules::platform::Platform;
use fairways_simulation::chip::{ChipMachine, platform_of, processor_of};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, Request,
    Session,
};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The approximate length of each measurement.
const LENGTH: Duration = Duration::from_millis(700);

const CLASSES: u32 = 16;
const PROCESSES: u32 = 200;

/// How often per second an operation is done, and how long it has a CPU, in microseconds.
fn rate(mut what: impl FnMut()) -> (f64, f64) {
    let (started, used, mut count) = (Instant::now(), cpu_seconds(false), 0_u32);
    loop {
        for _ in 0..16 {
            what();
        }
        count += 16;
        if started.elapsed() > LENGTH {
            let rate = f64::from(count) / started.elapsed().as_secs_f64();
            return (rate, (cpu_seconds(false) - used) * 1e6 / f64::from(count));
        }
    }
}

/// The threads of this process: the one that simulates, or all others.
fn threads(simulating: bool) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    all.filter(|thread| {
        fs::read_to_string(thread.join("comm")).is_ok_and(|name| (name == "clock\n") == simulating)
    })
    .collect()
}

/// Seconds that those threads have had a CPU.
fn cpu_seconds(simulating: bool) -> f64 {
    let mut sum = 0.0;
    for thread in threads(simulating) {
        let text = fs::read_to_string(thread.join("schedstat")).unwrap();
        sum += text.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e-9;
    }
    sum
}

/// Gives the simulating thread one CPU, and all others another.
fn pin() {
    for (cpu, simulating) in [(0, true), (1, false)] {
        for thread in threads(simulating) {
            let id = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let mut cpus = CpuSet::new();
            cpus.set(cpu);
            sched_setaffinity(Pid::from_raw(id), &cpus).unwrap();
        }
    }
}

/// A file system of one file, whose answers are constant.
struct Constant;

/// The kernel asks for names and attributes once.
const TTL: Duration = Duration::from_secs(3600);

const CONTENT: &[u8] = b"    MB:0=100\n    L3:0=fffff\n";

fn attributes(number: INodeNo) -> FileAttr {
    let (kind, perm) = match number.0 {
        1 => (FileType::Directory, 0o755),
        _ => (FileType::RegularFile, 0o644),
    };
    let then = UNIX_EPOCH;
    FileAttr {
        ino: number,
        size: 0,
        blocks: 0,
        atime: then,
        mtime: then,
        ctime: then,
        crtime: then,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Constant {
    fn lookup(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.entry(&TTL, &attributes(INodeNo(2)), Generation(0));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TTL, &attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        _: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(if offset == 0 { CONTENT } else { &[] });
    }
}

fn read(path: &Path) {
    assert!(!fs::read(path).unwrap().is_empty());
}

fn read_once(path: &Path) {
    pread(&File::open(path).unwrap());
}

fn pread(file: &File) {
    assert!(file.read_at(&mut [0; 4096], 0).unwrap() > 0);
}

/// A running chip's emulator.
fn start(folder: &Path) -> Emulator {
    let geometry = preset::parse("xeon-e5:sets=2304").unwrap();
    let jobs = ["mlr:8M", "mload:60M", "lookbusy"].map(|text| {
        let phases = program::parse(text, |_| None)
            .unwrap()
            .into_iter()
            .map(|(program, length)| Phase { program: program.map(Into::into), length });
        (text.to_owned(), Job { phases: phases.collect(), ..Job::default() })
    });
    let machine = ChipMachine::new(Simulated::new(geometry), jobs).unwrap();
    let platform = platform_of(&geometry, Platform::broadwell().with_closids(CLASSES));
    let mount = folder.join("resctrl");
    fs::create_dir(&mount).unwrap();
    host_files::write(&folder.join("host"), &platform, processor_of(&geometry), &mount, "")
        .unwrap();
    let program = std::env::current_exe().unwrap();
    let placeholders = Some(Starter { program, arguments: vec!["place".into()] });
    // As fast as it can.
    let pace = Pace::Real(1e6);
    let settings = Settings::new(platform, Box::new(machine));
    Emulator::start(&mount, Settings { placeholders, pace, ..settings }).unwrap()
}

fn print(name: &str, round: u32, (rate, cpu): (f64, f64)) {
    if rate > 0.0 {
        println!("{name},{round},{rate:.0}");
        println!("{name}: us of cpu,{round},{cpu:.2}");
    }
}

/// Measures the chip while a client does something at a rate.
fn beside(emulator: &Emulator, name: &str, round: u32, what: impl FnOnce() -> (f64, f64)) {
    let (began, time, cpu) = (Instant::now(), emulator.now(), cpu_seconds(true));
    let measured = what();
    let simulated = emulator.now().since(time).as_secs_f64();
    let factor = simulated / began.elapsed().as_secs_f64();
    print(name, round, measured);
    println!("{name}: chip,{round},{factor:.5}");
    println!("{name}: chip per cpu,{round},{:.5}", simulated / (cpu_seconds(true) - cpu));
}

/// Runs a program where it sees the simulated machine's files at their usual places.
const SEE_THE_MACHINE: &str = r#"
mount --make-rprivate /
for file in proc/cpuinfo proc/filesystems sys/devices/system/cpu sys/devices/system/node; do
    mount --bind "$1/$file" "/$file"
done
mount -t tmpfs none /sys/fs
mkdir /sys/fs/resctrl
mount --bind "$2" /sys/fs/resctrl
exec qemu-x86_64 -cpu max,vendor=GenuineIntel "$(command -v pqos)" -I "$3"
"#;

fn pqos(folder: &Path, word: &str) -> Duration {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", SEE_THE_MACHINE, "sh"]);
    command.arg(folder.join("host")).arg(folder.join("resctrl")).arg(word);
    let began = Instant::now();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    began.elapsed()
}

/// Processes, spread over all of pqos' classes but the first.
fn spread(mount: &Path, processes: &[Child]) -> Duration {
    let began = Instant::now();
    for (number, process) in (0..).zip(processes) {
        let class = 1 + number % (CLASSES - 1);
        fs::write(mount.join(format!("COS{class}/tasks")), process.id().to_string()).unwrap();
    }
    began.elapsed()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "place") {
        hold_place(&words[2]).unwrap();
        return;
    }
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(5);
    let folder = tempfile::tempdir().unwrap();
    let constant = folder.path().join("constant");
    fs::create_dir(&constant).unwrap();
    let session = Session::new(Constant, &constant, &Config::default()).unwrap().spawn().unwrap();
    let constant = constant.join("file");
    let emulator = start(folder.path());
    let mount = emulator.dir();
    let schemata = mount.join("schemata");
    let event = mount.join("mon_data/mon_L3_00/llc_occupancy");
    pqos(folder.path(), "-s");
    let group = mount.join("COS1/schemata");
    let processes: Vec<Child> = (0..PROCESSES)
        .map(|_| Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
        .collect();
    pin();
    println!("what,round,value");
    for round in 0..rounds {
        let (fixed, held) = (File::open(&constant).unwrap(), File::open(&schemata).unwrap());
        print("constant: read", round, rate(|| read(&constant)));
        print("constant: read once", round, rate(|| read_once(&constant)));
        print("constant: pread", round, rate(|| pread(&fixed)));
        beside(&emulator, "alone", round, || {
            std::thread::sleep(LENGTH);
            (0.0, 0.0)
        });
        beside(&emulator, "pread schemata", round, || rate(|| pread(&held)));
        beside(&emulator, "read schemata", round, || rate(|| read(&schemata)));
        beside(&emulator, "read schemata once", round, || rate(|| read_once(&schemata)));
        beside(&emulator, "read an event", round, || rate(|| read(&event)));
        let mut mask = 0;
        beside(&emulator, "write schemata", round, || {
            rate(|| {
                mask = (mask + 1) % 8;
                fs::write(&group, format!("L3:0={:x}\n", 0xff_u32 << mask)).unwrap();
            })
        });
        println!("write tasks 200 times: ms,{round},{}", spread(mount, &processes).as_millis());
        println!("pqos -s: ms,{round},{}", pqos(folder.path(), "-s").as_millis());
        println!("pqos -R: ms,{round},{}", pqos(folder.path(), "-R").as_millis());
        let mut left = String::new();
        File::open(mount.join("COS1/tasks")).unwrap().read_to_string(&mut left).unwrap();
        assert_eq!(left, "", "pqos moved all");
    }
    for mut process in processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    session.umount_and_join().unwrap();
}
