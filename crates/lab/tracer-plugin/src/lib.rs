//! The plugin for QEMU's user mode: hands the memory accesses of each thread of a program to its
//! ring (`crates/lab/tracer`).
//!
//! It is loaded as `-plugin FILE,session=PATH,self=FILE,qemu=PATH`.

mod follow;
mod forms;
mod qemu;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Relaxed};

use fairways_tracer::{LINE_SHIFT, NoteKind, Producer, Session};

use crate::follow::Exec;
use crate::forms::Form;
use crate::qemu::{ALL_ACCESSES, Block, Id, NO_REGISTERS};

/// The plugin's arguments.
struct Loaded {
    session: Session,
    /// The words of its own option, to load it again.
    option: String,
    qemu: String,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// By their numbers, the threads that are traced.
static THREADS: [AtomicPtr<Producer>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// Whether this is the child of a process that is traced.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process is not traced: it is the child of a traced one, and children are not
/// traced.
static IS_UNTRACED: AtomicBool = AtomicBool::new(false);

/// The most threads traced at the same time; those beyond are not.
const MOST: usize = 1024;

/// The offset from an address of the program's to one of QEMU's.
static BASE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The number of the thread that makes a system call.
    static CALLER: Cell<c_uint> = const { Cell::new(c_uint::MAX) };
}

/// The thread of this number, if it is traced.
///
/// Only that thread itself calls: QEMU's callbacks run on it.
#[inline]
fn thread(number: c_uint) -> Option<&'static mut Producer> {
    let thread = THREADS.get(number as usize)?.load(Relaxed);
    // SAFETY: made by `Box::into_raw`, and used by one thread only, in one callback at a time.
    unsafe { thread.as_mut() }
}

/// QEMU calls this once it has loaded the plugin; 0 if it can do its work.
///
/// # Safety
/// `info` describes QEMU, and `argv` has `argc` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const qemu::Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let arguments: Vec<String> = (0..usize::try_from(argc).unwrap_or(0))
        .map(|index| {
            // SAFETY: QEMU passes `argc` texts.
            unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy().into_owned()
        })
        .collect();
    let session = match Session::open(&value(&arguments, "session")) {
        Ok(session) => session,
        Err(why) => {
            eprintln!("fairways-lab: the tracer's plugin: {why}");
            return 1;
        }
    };
    // SAFETY: as the caller promises.
    forms::QEMU_VERSION.store(unsafe { &*info }.version(), Relaxed);
    session.begin_process();
    let option = format!("{},{}", value(&arguments, "self"), arguments.join(","));
    let _ = LOADED.set(Loaded { session, option, qemu: value(&arguments, "qemu") });
    // SAFETY: a function without arguments, which stays loaded.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    qemu::qemu_plugin_register_vcpu_init_cb(id, on_begin);
    qemu::qemu_plugin_register_vcpu_exit_cb(id, on_end);
    qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu::qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
    0
}

/// The value of an argument `name=value`; empty if it is missing.
fn value(arguments: &[String], name: &str) -> String {
    arguments
        .iter()
        .find_map(|text| text.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        .unwrap_or_default()
}

extern "C" fn on_begin(_: Id, number: c_uint) {
    if IS_UNTRACED.load(Relaxed) {
        return;
    }
    let Some(place) = THREADS.get(number as usize) else { return };
    let ring = LOADED.get().map_or(null_mut(), ring);
    place.store(ring, Relaxed);
}

extern "C" fn on_end(_: Id, number: c_uint) {
    let Some(place) = THREADS.get(number as usize) else { return };
    let thread = place.swap(null_mut(), Relaxed);
    if !thread.is_null() {
        // SAFETY: made by `Box::into_raw`; it has no other owner any more.
        unsafe { Box::from_raw(thread) }.end();
    }
}

extern "C" fn on_translation(_: Id, block: *mut Block) {
    // SAFETY: `block` is QEMU's for as long as this runs, and so are its instructions; callbacks
    // are functions of the types that QEMU calls.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(block);
        // Blocks are counted with an access that is sure to come, and others by a call of their
        // own.
        let mut counted = false;
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, index);
            let address = qemu::qemu_plugin_insn_vaddr(instruction);
            if index == 0 {
                let here = qemu::qemu_plugin_insn_haddr(instruction).addr() as u64;
                BASE.store(here.wrapping_sub(address), Relaxed);
            }
            let (on, data): (qemu::OnAccess, usize) = match forms::form_of(instruction) {
                Form::OneAccess if !counted => {
                    counted = true;
                    (on_counting_access, count)
                }
                Form::Wide => (on_wide_access, usize::try_from(address).unwrap_or(0)),
                Form::OneAccess | Form::Other => (on_access, 0),
            };
            let data = std::ptr::without_provenance_mut(data);
            let register = qemu::qemu_plugin_register_vcpu_mem_cb;
            register(instruction, on, NO_REGISTERS, ALL_ACCESSES, data);
        }
        if !counted {
            let data = std::ptr::without_provenance_mut(count);
            qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, on_run, NO_REGISTERS, data);
        }
    }
}

extern "C" fn on_run(number: c_uint, instructions: *mut c_void) {
    if let Some(thread) = thread(number) {
        thread.run(instructions.addr() as u64);
    }
}

extern "C" fn on_access(number: c_uint, access: u32, address: u64, _: *mut c_void) {
    if let Some(thread) = thread(number) {
        count_or_touch(thread, access, address);
    }
}

#[inline]
fn count_or_touch(thread: &mut Producer, access: u32, address: u64) {
    if reaches_next(access, address) || !thread.counts(address >> LINE_SHIFT, is_store(access)) {
        touch(thread, access, address, 0);
    }
}

/// The access of a block that counts its instructions.
extern "C" fn on_counting_access(
    number: c_uint,
    access: u32,
    address: u64,
    instructions: *mut c_void,
) {
    if let Some(thread) = thread(number) {
        thread.run(instructions.addr() as u64);
        count_or_touch(thread, access, address);
    }
}

extern "C" fn on_wide_access(number: c_uint, access: u32, address: u64, by: *mut c_void) {
    let Some(thread) = thread(number) else { return };
    touch(thread, access, address, by.addr());
}

/// Whether an access is a store.
///
/// This and the size are read from the bits that QEMU has functions for, whose calls would cost a
/// tenth of all tracing. The bits are the same from version 7 to 10; the first accesses are checked
/// against the functions.
#[inline]
fn is_store(access: u32) -> bool {
    access & (2 << 16) != 0
}

/// The size of an access, as a power of two.
#[inline]
fn size(access: u32) -> u32 {
    access >> 4 & 7
}

/// Whether an access uses the next line, too.
#[inline]
fn reaches_next(access: u32, address: u64) -> bool {
    const LINE: u64 = 1 << LINE_SHIFT;
    address % LINE + (1 << size(access)) > LINE
}

/// Accesses that are checked.
static CHECKS: AtomicU64 = AtomicU64::new(1000);

/// `by`: the instruction, if it may be reported in parts; or 0.
#[inline(never)]
fn touch(thread: &mut Producer, access: u32, address: u64, by: usize) {
    let (line, store) = (address >> LINE_SHIFT, is_store(access));
    if CHECKS.load(Relaxed) > 0 {
        CHECKS.fetch_sub(1, Relaxed);
        let known =
            (qemu::qemu_plugin_mem_is_store(access), qemu::qemu_plugin_mem_size_shift(access));
        assert_eq!(
            (store, size(access)),
            known,
            "fairways-lab: expected QEMU 7.2 to 10.0, found another"
        );
    }
    match by {
        0 => thread.touch(line, store),
        by => thread.touch_by(by << 1 | usize::from(store), line, store),
    }
    if reaches_next(access, address) {
        thread.touch_also(line + 1, store);
    }
}

#[allow(clippy::too_many_arguments, reason = "QEMU's")]
extern "C" fn on_call(
    _: Id,
    number: c_uint,
    call: i64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    _: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    CALLER.set(number);
    if let Some(thread) = thread(number) {
        thread.sleep();
    }
    let exec = match call {
        follow::EXECVE => Exec { path: first, arguments: second, environment: third },
        follow::EXECVEAT if follow::is_here(first) => {
            Exec { path: second, arguments: third, environment: fourth }
        }
        _ => return,
    };
    if let Some(loaded) = LOADED.get()
        && (thread(number).is_some() || IS_CHILD.load(Relaxed))
    {
        exec.notice(loaded, BASE.load(Relaxed));
    }
}

extern "C" fn on_return(_: Id, number: c_uint, _: i64, _: i64) {
    if let Some(thread) = thread(number) {
        thread.wake();
    }
}

/// In the child of a fork, whose only thread is the one that forked.
extern "C" fn forked() {
    let Some(loaded) = LOADED.get() else { return };
    let caller = CALLER.get();
    let was_traced = thread(caller).is_some();
    for place in &THREADS {
        // Leaked: these are the parent's rings, and this process must not end them.
        place.store(null_mut(), Relaxed);
    }
    // A child's execs are noted; of its own children, nothing.
    IS_CHILD.store(was_traced, Relaxed);
    let is_traced = was_traced && loaded.session.follows();
    IS_UNTRACED.store(!is_traced, Relaxed);
    if was_traced {
        loaded.session.note(NoteKind::Forked, b"");
    }
    if is_traced && let Some(place) = THREADS.get(caller as usize) {
        place.store(ring(loaded), Relaxed);
    }
}

/// A ring for a thread, if one is free.
fn ring(loaded: &Loaded) -> *mut Producer {
    loaded.session.thread().map_or(null_mut(), |ring| Box::into_raw(Box::new(ring)))
}
