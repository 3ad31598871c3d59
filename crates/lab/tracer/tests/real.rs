//! Real programs, traced. Needs qemu-user (and for some redis-server, redis-tools); without them a
//! test prints so and does nothing, unless `FAIRWAYS_REQUIRE_SYSTEM` is set.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use fairways_testing::needs::Need;
use fairways_tracer::{Launch, NoteKind, QEMU, TraceEntry, TraceState, TracedProgram};

/// Whether these programs are present.
fn are_present(programs: &[&'static str]) -> bool {
    let needs: Vec<Need> = programs.iter().map(|&name| Need::Program(name)).collect();
    fairways_testing::needs::has("a traced program", &needs)
}

fn launch(command: &[&str]) -> Launch {
    let command = command.iter().map(OsString::from).collect();
    Launch { apart: true, quiet: true, ..Launch::new(command) }
}

/// One of the guests below, which run in this program.
fn guest(name: &str) -> Launch {
    let this = std::env::current_exe().unwrap();
    launch(&[this.to_str().unwrap(), "--exact", name, "--ignored", "--nocapture"])
}

#[derive(Debug, Default)]
struct Counted {
    instructions: u64,
    references: u64,
    stores: u64,
    lines: BTreeSet<u64>,
    processes: BTreeSet<u32>,
}

impl Counted {
    fn add(&mut self, process: u32, entry: TraceEntry) {
        self.instructions += u64::from(entry.instructions);
        self.references += u64::from(entry.references);
        self.processes.insert(process);
        if let Some(line) = entry.line {
            self.stores += u64::from(line.store);
            self.lines.insert(line.number);
        }
    }
}

/// More than any of these takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Follows a program to its end, sleeping for `pause` before each batch.
fn follow(program: &mut TracedProgram, pause: Duration) -> Counted {
    let (mut counted, since) = (Counted::default(), Instant::now());
    loop {
        assert!(since.elapsed() < PATIENCE, "it hangs: {counted:?}");
        match program.next(&mut |process, entry| counted.add(process, entry)) {
            TraceState::Ran => std::thread::sleep(pause),
            TraceState::Asleep => program.wait(Duration::from_millis(20)),
            TraceState::Ended => return counted,
        }
    }
}

/// Asks for more until `done`, or the program ends.
fn until(program: &mut TracedProgram, mut done: impl FnMut(&TracedProgram) -> bool) -> TraceState {
    let since = Instant::now();
    loop {
        assert!(since.elapsed() < PATIENCE, "it never comes");
        let state = program.next(&mut |_, _| ());
        if state == TraceState::Ended || done(program) {
            return state;
        }
        program.wait(Duration::from_millis(1));
    }
}

const ROUNDS: u64 = 5000;

fn play(mine: u64, table: Arc<(Mutex<u64>, Condvar)>) -> impl FnOnce() {
    move || {
        for _ in 0..ROUNDS {
            let turn = table.0.lock().unwrap();
            let mut turn = table.1.wait_while(turn, |turn| *turn % 2 != mine).unwrap();
            *turn += 1;
            table.1.notify_all();
        }
    }
}

#[test]
#[ignore = "a guest"]
fn guest_ping_pong() {
    let table = Arc::new((Mutex::new(0u64), Condvar::new()));
    let other = std::thread::spawn(play(1, Arc::clone(&table)));
    play(0, Arc::clone(&table))();
    other.join().unwrap();
    assert_eq!(*table.0.lock().unwrap(), 2 * ROUNDS);
}

#[test]
fn threads_that_wait_for_each_other_come_to_an_end() {
    if !are_present(&[QEMU]) {
        return;
    }
    let mut program = guest("guest_ping_pong").start().unwrap();
    let counted = follow(&mut program, Duration::ZERO);
    assert_eq!(program.exit_code(), Some(0));
    assert!(counted.instructions > 100 * ROUNDS, "{counted:?}");
    assert_eq!(program.untraced_threads(), 0);
}

const TURNS: u64 = 40;
const WORDS: usize = 1 << 16;

fn work(held: Arc<AtomicBool>, passes: Arc<AtomicU64>) -> impl FnOnce() {
    move || {
        let mut words = vec![0u64; WORDS];
        for turn in 0..TURNS {
            while held.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            words.iter_mut().step_by(8).for_each(|word| *word += turn);
            passes.fetch_add(1, Ordering::Relaxed);
            held.store(false, Ordering::Release);
        }
    }
}

/// One thread fills its ring while it has what the other spins for.
#[test]
#[ignore = "a guest"]
fn guest_spins() {
    let (held, passes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let other = std::thread::spawn(work(Arc::clone(&held), Arc::clone(&passes)));
    work(Arc::clone(&held), Arc::clone(&passes))();
    other.join().unwrap();
    assert_eq!(passes.load(Ordering::Relaxed), 2 * TURNS);
}

#[test]
fn full_rings_do_not_lock_up_threads_that_spin() {
    if !are_present(&[QEMU]) {
        return;
    }
    let mut program = guest("guest_spins").start().unwrap();
    // Slower than the threads: their rings are full all the time.
    let counted = follow(&mut program, Duration::from_micros(300));
    assert_eq!(program.exit_code(), Some(0));
    let least = 2 * TURNS * (WORDS as u64 / 8);
    assert!(counted.stores > least, "{} stores of {least}", counted.stores);
}

const THREADS: usize = 8;

#[test]
#[ignore = "a guest"]
fn guest_threads() {
    // All have their arrays at the same time: otherwise one might get what another freed.
    let all = Arc::new(Barrier::new(THREADS));
    let sums = (0..THREADS).map(|thread| {
        let all = Arc::clone(&all);
        std::thread::spawn(move || {
            let words = vec![thread as u64; WORDS];
            all.wait();
            words.iter().fold(0, |sum, word| sum ^ std::hint::black_box(*word))
        })
    });
    let sums: Vec<u64> = sums.collect::<Vec<_>>().into_iter().map(|t| t.join().unwrap()).collect();
    assert_eq!(sums, [0; THREADS]);
}

#[test]
fn every_thread_is_traced() {
    if !are_present(&[QEMU]) {
        return;
    }
    let mut program = guest("guest_threads").start().unwrap();
    let counted = follow(&mut program, Duration::ZERO);
    assert_eq!((program.exit_code(), program.untraced_threads()), (Some(0), 0));
    // Each has an array of its own.
    let least = THREADS * WORDS / 8;
    assert!(counted.lines.len() > least, "{} lines of {least}", counted.lines.len());
    assert!(counted.references as usize > THREADS * WORDS, "{}", counted.references);
}

const LOOPS: u64 = 1_000_000_000;

/// Two instructions per loop, which use only a register.
fn compute(mut loops: u64) {
    // SAFETY: counts a register down.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("2:", "dec {0}", "jnz 2b", inout(reg) loops);
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("2:", "subs {0}, {0}, #1", "b.ne 2b", inout(reg) loops);
    }
    assert_eq!(loops, 0);
}

#[test]
#[ignore = "a guest"]
fn guest_computes() {
    compute(LOOPS);
}

#[test]
fn a_thread_that_uses_no_memory_is_seen_to_run() {
    if !are_present(&[QEMU]) {
        return;
    }
    let mut program = guest("guest_computes").start().unwrap();
    let (mut instructions, mut largest) = (0, 0);
    while program.next(&mut |_, entry| {
        instructions += u64::from(entry.instructions);
        largest = largest.max(entry.instructions);
    }) != TraceState::Ended
    {}
    assert_eq!(program.exit_code(), Some(0));
    // Each is counted once, and not all of them at the end.
    assert!((2 * LOOPS..2 * LOOPS + 20_000_000).contains(&instructions), "{instructions}");
    assert!(u64::from(largest) < LOOPS, "{largest}");
}

/// Code that is translated after memory is shared and before there are threads is run by all of
/// them.
#[test]
#[ignore = "a guest"]
fn guest_shares_memory_then_threads() {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    // SAFETY: a new mapping, which nothing else uses.
    unsafe {
        mmap_anonymous(std::ptr::null_mut(), 4096, ProtFlags::READ, MapFlags::SHARED).unwrap();
    }
    compute(1000);
    let threads = (0..4).map(|_| std::thread::spawn(|| compute(LOOPS / 10)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

/// One after the other, more of them than there are rings.
#[test]
#[ignore = "a guest"]
fn guest_churns() {
    for _ in 0..1000 {
        std::thread::spawn(|| compute(LOOPS / 10_000)).join().unwrap();
    }
}

#[test]
fn instructions_of_threads_are_counted_once() {
    if !are_present(&[QEMU]) {
        return;
    }
    for (name, loops) in
        [("guest_shares_memory_then_threads", 4 * LOOPS / 10), ("guest_churns", LOOPS / 10)]
    {
        let mut program = guest(name).start().unwrap();
        let counted = follow(&mut program, Duration::ZERO);
        assert_eq!((program.exit_code(), program.untraced_threads()), (Some(0), 0), "{name}");
        let most = 2 * loops + 60_000_000;
        assert!((2 * loops..most).contains(&counted.instructions), "{name}: {counted:?}");
    }
}

fn words(length: u64) -> Vec<u64> {
    (0..length).map(|word: u64| word ^ 5).collect::<Vec<u64>>()
}

/// A child that goes on by itself, with more than a ring's records, in a thread of its own.
#[test]
#[ignore = "a guest"]
fn guest_forks_then_threads() {
    // SAFETY: the child uses nothing that another thread of the parent could have locked.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let sum = std::thread::spawn(move || words(1 << 22).iter().sum::<u64>());
        std::process::exit(i32::from(sum.join().is_err()));
    }
    let mut status = -1;
    // SAFETY: writes to `status`.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn a_child_that_is_not_traced_runs_on() {
    if !are_present(&[QEMU]) {
        return;
    }
    let mut counts = Vec::new();
    for follow_it in [false, true] {
        let launch = guest("guest_forks_then_threads");
        let mut program = Launch { follow: follow_it, ..launch }.start().unwrap();
        let counted = follow(&mut program, Duration::ZERO);
        assert_eq!(program.exit_code(), Some(0));
        counts.push(counted.instructions);
    }
    assert!(counts[1] > counts[0] + (1 << 22), "{counts:?}");
}

#[test]
fn more_children_than_rings_are_traced_one_after_the_other() {
    if !are_present(&[QEMU]) {
        return;
    }
    let script = "i=0; while [ $i -lt 280 ]; do (:); i=$((i+1)); done";
    let mut program = Launch { follow: true, ..launch(&["sh", "-c", script]) }.start().unwrap();
    let counted = follow(&mut program, Duration::ZERO);
    assert_eq!((program.exit_code(), program.untraced_threads()), (Some(0), 0));
    assert_eq!(counted.processes.len(), 281);
}

#[test]
fn a_program_that_becomes_another_user_runs_on() {
    if !are_present(&[QEMU, "setpriv"]) || !rustix::process::geteuid().is_root() {
        return;
    }
    let command = ["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "exit 9"];
    let mut program = Launch { follow: true, ..launch(&command) }.start().unwrap();
    follow(&mut program, Duration::ZERO);
    assert_eq!(program.exit_code(), Some(9));
}

fn sort_counts() -> (u64, u64) {
    let mut program = launch(&["sort", "--version"]).start().unwrap();
    let counted = follow(&mut program, Duration::ZERO);
    assert_eq!(program.exit_code(), Some(0));
    (counted.instructions, counted.references)
}

#[test]
fn the_same_run_counts_the_same() {
    if !are_present(&[QEMU]) {
        return;
    }
    let (first, second) = (sort_counts(), sort_counts());
    // Random bytes and the time differ.
    assert!(first.0.abs_diff(second.0) * 1000 < first.0, "{first:?} {second:?}");
    assert!(first.1.abs_diff(second.1) * 1000 < first.1, "{first:?} {second:?}");
}

#[test]
fn children_are_noted_and_traced_on_request() {
    if !are_present(&[QEMU]) {
        return;
    }
    let command = ["sh", "-c", "ls / > /dev/null; exec head -c 100000 /dev/zero"];
    let mut alone = launch(&command).start().unwrap();
    let without = follow(&mut alone, Duration::ZERO);
    assert_eq!(alone.exit_code(), Some(0));
    let (notes, further) = alone.notes();
    let executed: BTreeSet<_> =
        notes.iter().filter(|note| note.kind == NoteKind::Execs).map(|note| &note.path).collect();
    let ends = |name: &str| executed.iter().any(|path| path.ends_with(name));
    assert!(ends("/ls") && ends("/head") && further == 0, "{notes:?}");
    let forked: Vec<_> = notes.iter().filter(|note| note.kind == NoteKind::Forked).collect();
    assert!(forked.len() == 1 && forked[0].parent == alone.process(), "{notes:?}");

    let mut all = Launch { follow: true, ..launch(&command) }.start().unwrap();
    let with = follow(&mut all, Duration::ZERO);
    assert_eq!(all.exit_code(), Some(0));
    assert_eq!(without.processes.len(), 1);
    assert_eq!(with.processes.len(), 2, "{:?}", all.notes());
    assert!(
        with.instructions > 2 * without.instructions,
        "{} {}",
        with.instructions,
        without.instructions
    );
}

#[test]
fn a_script_runs_under_its_interpreter() {
    use std::os::unix::fs::PermissionsExt;
    if !are_present(&[QEMU]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("it.sh");
    std::fs::write(&script, "#!/bin/sh -e\ntest \"$1\" = 'two words'\nexit 5\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let mut program = launch(&[script.to_str().unwrap(), "two words"]).start().unwrap();
    assert!(follow(&mut program, Duration::ZERO).instructions > 10_000);
    assert_eq!(program.exit_code(), Some(5));
}

#[test]
fn a_program_that_is_killed_has_ended() {
    if !are_present(&[QEMU]) {
        return;
    }
    for signal in ["-KILL", "-SEGV"] {
        let mut program = launch(&["sleep", "1000"]).start().unwrap();
        until(&mut program, |program| {
            let kill = Command::new("kill").args([signal, &program.process().to_string()]).status();
            kill.unwrap().success()
        });
        assert_eq!(until(&mut program, |_| false), TraceState::Ended);
        let expected = if signal == "-KILL" { 137 } else { 139 };
        assert_eq!(program.exit_code(), Some(expected));
    }
}

/// Not a script that starts another, as in some users' folders.
const PYTHON: &str = "/usr/bin/python3";

/// The first thread ends by itself; another goes on, and sleeps most of the time.
const WORKER: &str = "
import ctypes, os, threading, time
def work():
    while True:
        time.sleep(0.02)
threading.Thread(target=work).start()
ctypes.CDLL(None).syscall({'x86_64': 60}.get(os.uname().machine, 93), 0)
";

/// Follows a program until it has slept five times since its first thread ended.
fn sleeps_without_its_first_thread(program: &mut TracedProgram) {
    let stat = format!("/proc/{}/stat", program.process());
    until(program, |_| std::fs::read_to_string(&stat).unwrap().contains(") Z "));
    for _ in 0..5 {
        while program.next(&mut |_, _| ()) != TraceState::Ran {
            program.wait(Duration::from_millis(1));
        }
        while program.next(&mut |_, _| ()) != TraceState::Asleep {}
    }
}

#[test]
fn a_program_whose_first_thread_has_ended_sleeps() {
    if !are_present(&[QEMU, PYTHON]) {
        return;
    }
    let mut program = launch(&[PYTHON, "-c", WORKER]).start().unwrap();
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        sleeps_without_its_first_thread(&mut program);
        drop(program);
        say.send(()).unwrap();
    });
    assert_eq!(said.recv_timeout(PATIENCE / 4), Ok(()), "it hangs");
}

/// Programs whose arguments contain this word.
fn running(word: &str) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let alive = std::fs::read_to_string(format!("/proc/{id}/stat"));
        let alive = alive.is_ok_and(|stat| !stat.contains(") Z "));
        alive && String::from_utf8_lossy(&line).split('\0').any(|part| part == word)
    })
    .collect()
}

#[test]
fn a_program_that_is_dropped_is_gone() {
    if !are_present(&[QEMU]) {
        return;
    }
    let before: Vec<_> = std::fs::read_dir("/dev/shm").unwrap().flatten().collect();
    // Asleep, and in the middle of work with its ring full.
    for command in [&["sleep", "1234.5"][..], &["sort", "--parallel=1234", "/dev/zero"]] {
        let mut program = launch(command).start().unwrap();
        until(&mut program, |_| true);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(running(command[1]).len(), 1, "{command:?}");
        drop(program);
        assert_eq!(running(command[1]), [0; 0], "{command:?}");
    }
    assert_eq!(std::fs::read_dir("/dev/shm").unwrap().flatten().count(), before.len());
}

/// Starts a program that forks, traced, and is then killed itself.
#[test]
#[ignore = "a guest"]
fn guest_reader() {
    let command = "sort --parallel=4321 /dev/zero & sort --parallel=4321 /dev/zero; wait";
    let mut launch = launch(&["sh", "-c", command]);
    launch.follow = true;
    let mut program = launch.start().unwrap();
    loop {
        program.next(&mut |_, _| ());
        if running("--parallel=4321").len() == 2 {
            println!("ready");
            std::thread::sleep(PATIENCE);
        }
    }
}

#[test]
fn a_reader_that_is_killed_takes_its_programs_along() {
    use std::io::{BufRead, BufReader};
    if !are_present(&[QEMU]) {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let mut reader = Command::new(this)
        .args(["--exact", "guest_reader", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(reader.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with("ready")));
    reader.kill().unwrap();
    reader.wait().unwrap();
    let since = Instant::now();
    while !running("--parallel=4321").is_empty() {
        assert!(since.elapsed() < Duration::from_secs(300), "{:?}", running("--parallel=4321"));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A free port.
fn port() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}

fn redis(port: &str, words: &[&str]) -> bool {
    let mut client = Command::new("redis-cli");
    client.args(["-e", "-p", port]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
    client.status().unwrap().success()
}

#[test]
fn an_idle_server_sleeps_and_its_fork_is_noted() {
    if !are_present(&[QEMU, "redis-server", "redis-cli"]) {
        return;
    }
    let (port, folder) = (port(), tempfile::tempdir().unwrap());
    let command = ["redis-server", "--port", &port, "--bind", "127.0.0.1", "--save", "", "--dir"];
    let mut command = command.to_vec();
    command.push(folder.path().to_str().unwrap());
    let mut program = launch(&command).start().unwrap();
    let run_client = |words: &'static [&'static str]| {
        let port = port.clone();
        std::thread::spawn(move || redis(&port, words))
    };
    let answers = |program: &mut TracedProgram, words| {
        let client = run_client(words);
        until(program, |_| client.is_finished());
        client.join().unwrap()
    };
    let since = Instant::now();
    while !answers(&mut program, &["ping"]) {
        assert!(since.elapsed() < PATIENCE, "it does not answer");
    }
    // It sleeps between its timers.
    let mut asleep = 0;
    for _ in 0..50 {
        asleep += u32::from(program.next(&mut |_, _| ()) == TraceState::Asleep);
        program.wait(Duration::from_millis(10));
    }
    assert!(asleep > 10, "{asleep}");
    assert!(answers(&mut program, &["set", "key", "value"]));
    assert!(answers(&mut program, &["bgsave"]));
    let dump = folder.path().join("dump.rdb");
    until(&mut program, |_| dump.exists());
    assert!(answers(&mut program, &["get", "key"]), "it goes on");
    let (notes, _) = program.notes();
    let forked: Vec<_> = notes.iter().filter(|note| note.kind == NoteKind::Forked).collect();
    assert!(forked.len() == 1 && forked[0].parent == program.process(), "{notes:?}");
    program.stop();
    assert_eq!(program.exit_code(), Some(0));
}

fn error_of(launch: Launch) -> String {
    let why = launch.start().unwrap_err().to_string();
    assert_eq!(why.lines().count(), 1, "{why}");
    why
}

fn with_qemu(path: &str) -> Launch {
    Launch { qemu: Some(path.into()), ..launch(&["true"]) }
}

#[test]
fn a_program_that_cant_be_started_is_reported_in_a_line() {
    if !are_present(&[QEMU]) {
        return;
    }
    assert!(error_of(launch(&["nonesuch"])).starts_with("nonesuch: expected a program"));
    assert!(error_of(launch(&["/etc/passwd"])).contains("may be executed"));
    assert!(error_of(with_qemu("/nonesuch")).contains("qemu-user"));
    assert!(error_of(with_qemu("/bin/true")).contains("--enable-plugins"));
}
