//! The plugin for QEMU's user mode: hands what each thread of a program does with memory to its ring
//! (`crates/tracer`).
//!
//! It is loaded as `-plugin FILE,session=PATH,self=FILE,qemu=PATH`.

mod follow;
mod qemu;

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering::Relaxed};

use fairways_tracer::{Kind, LINE_SHIFT, Producer, Session};

use crate::follow::Exec;
use crate::qemu::{ALL_ACCESSES, Block, Id, NO_REGISTERS};

/// What the plugin was loaded with.
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

/// Whether this process is not traced: the child of one that is, where children are not.
static IS_UNTRACED: AtomicBool = AtomicBool::new(false);

/// The version of QEMU's interface.
static VERSION: AtomicI32 = AtomicI32::new(0);

/// Threads that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Where the instructions of the program's only thread are counted; null once there may be several.
static ONLY: AtomicPtr<u64> = AtomicPtr::new(null_mut());

/// Threads at the same time; those beyond are not traced.
const MOST: usize = 1024;

/// What to add to an address of the program's for one of QEMU's.
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
/// `info` says what QEMU is, and `argv` has `argc` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: Id,
    info: *const qemu::Info,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    let argument = |index: usize| {
        // SAFETY: QEMU passes so many texts.
        unsafe { CStr::from_ptr(*argv.add(index)) }.to_string_lossy().into_owned()
    };
    let arguments: Vec<String> = (0..usize::try_from(argc).unwrap_or(0)).map(argument).collect();
    let value = |name: &str| {
        let of = |text: &String| text.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        arguments.iter().find_map(of).unwrap_or_default()
    };
    let session = match Session::open(&value("session")) {
        Ok(session) => session,
        Err(why) => {
            eprintln!("fairways: the tracer's plugin: {why}");
            return 1;
        }
    };
    // SAFETY: as the caller promises.
    VERSION.store(unsafe { &*info }.version(), Relaxed);
    session.begin_process();
    let option = format!("{},{}", value("self"), arguments.join(","));
    let _ = LOADED.set(Loaded { session, option, qemu: value("qemu") });
    // SAFETY: a function without arguments, which stays loaded.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    qemu::qemu_plugin_register_vcpu_init_cb(id, on_begin);
    qemu::qemu_plugin_register_vcpu_exit_cb(id, on_end);
    qemu::qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu::qemu_plugin_register_vcpu_syscall_cb(id, on_call);
    qemu::qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
    0
}

extern "C" fn on_begin(_: Id, number: c_uint) {
    if IS_UNTRACED.load(Relaxed) {
        return;
    }
    let Some(place) = THREADS.get(number as usize) else { return };
    let ring = LOADED.get().and_then(|loaded| loaded.session.thread());
    if let Some(ring) = &ring
        && BEGUN.fetch_add(1, Relaxed) == 0
    {
        ONLY.store(ring.instructions().as_ptr(), Relaxed);
    }
    let ring = ring.map_or(null_mut(), |ring| Box::into_raw(Box::new(ring)));
    place.store(ring, Relaxed);
}

extern "C" fn on_end(_: Id, number: c_uint) {
    let Some(place) = THREADS.get(number as usize) else { return };
    let thread = place.swap(null_mut(), Relaxed);
    if !thread.is_null() {
        // SAFETY: made by `Box::into_raw`; it is nobody's any more.
        unsafe { Box::from_raw(thread) }.end();
    }
}

extern "C" fn on_translation(_: Id, block: *mut Block) {
    // SAFETY: `block` is QEMU's for as long as this runs, and so are its instructions; callbacks are
    // functions of the types that QEMU calls.
    unsafe {
        let count = qemu::qemu_plugin_tb_n_insns(block);
        let counter = ONLY.load(Relaxed);
        match qemu::counts_inline() {
            Some(count_inline) if !counter.is_null() => {
                count_inline(block, qemu::ADD, counter.cast(), count as u64);
            }
            _ => {
                let data = std::ptr::without_provenance_mut(count);
                qemu::qemu_plugin_register_vcpu_tb_exec_cb(block, on_run, NO_REGISTERS, data);
            }
        }
        for index in 0..count {
            let instruction = qemu::qemu_plugin_tb_get_insn(block, index);
            if index == 0 {
                let here = qemu::qemu_plugin_insn_haddr(instruction).addr() as u64;
                let there = qemu::qemu_plugin_insn_vaddr(instruction);
                BASE.store(here.wrapping_sub(there), Relaxed);
            }
            let address = qemu::qemu_plugin_insn_vaddr(instruction);
            let data = std::ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0));
            let on: qemu::OnAccess = if is_wide(instruction) { on_wide_access } else { on_access };
            let register = qemu::qemu_plugin_register_vcpu_mem_cb;
            register(instruction, on, NO_REGISTERS, ALL_ACCESSES, data);
        }
    }
}

extern "C" fn on_run(number: c_uint, instructions: *mut c_void) {
    if let Some(thread) = thread(number) {
        thread.run(instructions.addr() as u64);
    }
}

extern "C" fn on_access(number: c_uint, access: u32, address: u64, _: *mut c_void) {
    let Some(thread) = thread(number) else { return };
    if reaches_next(access, address) || !thread.counts(address >> LINE_SHIFT, is_store(access)) {
        touch(thread, access, address, 0);
    }
}

extern "C" fn on_wide_access(number: c_uint, access: u32, address: u64, by: *mut c_void) {
    let Some(thread) = thread(number) else { return };
    touch(thread, access, address, by.addr());
}

/// Whether an access is a store.
///
/// This and the size are read off the bits of what QEMU has functions for, whose calls cost a tenth of all that
/// tracing does. The bits are the same from version 7 to 10; the first accesses are checked against the
/// functions.
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

/// `by`: the instruction, if it may be told in parts; or 0.
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
            "fairways: expected QEMU 7.2 to 10.0, found another"
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

/// Whether QEMU may tell of an instruction's access as several: x86's of 16 bytes and more are told in
/// parts of 8 up to its version 7.
///
/// # Safety
/// The instruction is QEMU's, of a block that is being translated.
unsafe fn is_wide(instruction: *const qemu::Instruction) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { qemu::bytes(instruction, VERSION.load(Relaxed)) };
    let is_prefix =
        |byte: &u8| matches!(byte, 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | 0xf0..=0xf3);
    let mut opcode = bytes.into_iter().skip_while(is_prefix);
    match (opcode.next(), opcode.next()) {
        // Opcodes of two bytes that are of SSE and its kin.
        (Some(0x0f), Some(second)) => matches!(
            second,
            0x10..=0x17 | 0x28..=0x2f | 0x38..=0x3a | 0x50..=0x7f | 0xae | 0xc2..=0xc6 | 0xd0..
        ),
        // VEX and EVEX.
        (first, _) => matches!(first, Some(0x62 | 0xc4 | 0xc5)),
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
    if follow::makes_parallel(call, first, fourth) {
        ONLY.store(null_mut(), Relaxed);
    }
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
    let traced = thread(caller).map(|thread| (std::ptr::from_mut(thread), thread.forked()));
    IS_UNTRACED.store(traced.is_none_or(|(_, goes_on)| !goes_on), Relaxed);
    // What becomes of a child is noted; of its own children, nothing.
    IS_CHILD.store(traced.is_some(), Relaxed);
    if traced.is_some() {
        loaded.session.note(Kind::Forked, b"");
    }
    for (place, number) in THREADS.iter().zip(0..) {
        // The others are leaked: their rings are the parent's, and nobody may end them.
        if number != caller || traced.is_none_or(|(_, goes_on)| !goes_on) {
            place.store(null_mut(), Relaxed);
        }
    }
}
