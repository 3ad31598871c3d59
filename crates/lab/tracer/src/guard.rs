//! A process between the tracing one and its program. It outlives both long enough to end all
//! processes that came from the program: traced or not, in whatever session, and also after
//! SIGKILL.
//!
//! It is the subreaper of the program's descendants (prctl(2)), so that none of them escapes.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use rustix::process::Signal;

use crate::segment::Header;

/// Requests that the guard end everything. The kernel sends it when the thread that started the
/// guard ends.
pub(crate) const END: Signal = Signal::USR1;

/// How often it looks for remaining processes, and the most looks: five seconds.
const LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
const LOOKS: u32 = 2500;

/// Makes a command run under a guard, which reports in `header` its process and how it ended.
pub(crate) fn guard(command: &mut Command, header: &Header) {
    let first = (&raw const header.first).expose_provenance();
    let ended = (&raw const header.ended).expose_provenance();
    let reader = crate::producer::this_process().cast_signed();
    // SAFETY: between fork and exec these make system calls, and allocate nothing; `header` is in
    // memory that is shared with the child, and mapped there for good.
    unsafe {
        command.pre_exec(move || {
            let first: &AtomicU32 = &*std::ptr::with_exposed_provenance(first);
            let ended: &AtomicU32 = &*std::ptr::with_exposed_provenance(ended);
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            libc::prctl(libc::PR_SET_PDEATHSIG, END.as_raw());
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
            if libc::getppid() != reader {
                libc::_exit(1);
            }
            match libc::fork() {
                -1 => Err(std::io::Error::last_os_error()),
                0 => {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::sigprocmask(libc::SIG_SETMASK, &raw const before, null_mut());
                    first.store(libc::getpid().cast_unsigned(), SeqCst);
                    Ok(())
                }
                program => {
                    // A process that waits for the end of the program's output must not wait for
                    // this one.
                    libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
                    watch(program, ended, &all);
                    libc::_exit(0)
                }
            }
        });
    }
}

/// Waits until no descendant is left, or for [`END`], and ends those that are left then.
///
/// # Safety
/// The process must have only this thread, and all its children must be its own.
unsafe fn watch(program: libc::pid_t, ended: &AtomicU32, all: &libc::sigset_t) {
    // SAFETY: system calls on what lives here.
    unsafe {
        while reap(program, ended) {
            if libc::sigwaitinfo(all, null_mut()) == END.as_raw() {
                break;
            }
        }
        for _ in 0..LOOKS {
            if !reap(program, ended) {
                break;
            }
            // A process whose parent was killed is a child of this one at the next look.
            kill_children(program, ended);
            libc::nanosleep(&LOOK, null_mut());
        }
    }
}

/// Reaps ended children; returns whether any child is left.
///
/// # Safety
/// As [`watch`].
unsafe fn reap(program: libc::pid_t, ended: &AtomicU32) -> bool {
    let mut status = 0;
    loop {
        // SAFETY: `status` lives here.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            -1 => return false,
            0 => return true,
            // A status of wait(2) has sixteen bits.
            of if of == program => ended.store(1 + status.cast_unsigned(), SeqCst),
            _ => {}
        }
    }
}

/// Kills all children, as far as the kernel lists them (`CONFIG_PROC_CHILDREN`); otherwise the
/// program alone.
///
/// # Safety
/// As [`watch`].
unsafe fn kill_children(program: libc::pid_t, ended: &AtomicU32) {
    let path = c"/proc/thread-self/children";
    let mut bytes = [0_u8; 4096];
    // SAFETY: a path that ends with a zero, and a buffer of that length.
    unsafe {
        let list = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if list < 0 {
            if ended.load(SeqCst) == 0 {
                libc::kill(program, libc::SIGKILL);
            }
            return;
        }
        let mut child = 0;
        loop {
            let count = libc::read(list, bytes.as_mut_ptr().cast(), bytes.len());
            let Ok(count @ 1..) = usize::try_from(count) else { break };
            for &byte in &bytes[..count] {
                if byte.is_ascii_digit() {
                    child = child * 10 + libc::pid_t::from(byte - b'0');
                } else if child > 0 {
                    libc::kill(child, libc::SIGKILL);
                    child = 0;
                }
            }
        }
        libc::close(list);
    }
}
