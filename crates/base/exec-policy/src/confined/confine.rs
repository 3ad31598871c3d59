//! What a policy's program may not do on a host.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use landlock::{ABI, AccessFs, RestrictionStatus, Ruleset, RulesetAttr as _, RulesetError};
use rustix::process::{Gid, Resource, Rlimit, Signal, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The user and the group without rights, on all systems (nobody, nogroup).
const NOBODY: u32 = 65534;

/// The most memory, in bytes, that a program may map: an interpreter with its libraries needs less.
const MEMORY: u64 = 4 << 30;

/// Calls that reach the network, other processes, or the kernel. Sockets that it was given go on
/// working.
const FORBIDDEN: [libc::c_long; 45] = [
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_kill,
    libc::SYS_memfd_create,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_request_key,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setscheduler,
    libc::SYS_setns,
    libc::SYS_setpgid,
    libc::SYS_setpriority,
    libc::SYS_setsid,
    libc::SYS_shmget,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_tgkill,
    libc::SYS_tkill,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// clone(2)'s flag for a user namespace.
const NEW_USER: u64 = libc::CLONE_NEWUSER.unsigned_abs() as u64;

/// The bit that marks a call of the x32 ABI, another way to make the same calls.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;

/// How much higher its score is than the daemon's, in thousandths of the memory: far more than a
/// daemon has of its cgroup's, and not all of a host's.
const SOONER: i32 = 200;

/// If memory runs out, the kernel ends it before the daemon, which is in the same cgroup. Raising
/// this needs no right; without it, the program runs all the same.
fn be_ended_first() {
    let file = "/proc/self/oom_score_adj";
    let own = std::fs::read_to_string(file).ok().and_then(|own| own.trim().parse::<i32>().ok());
    if let Some(own) = own {
        let _ = std::fs::write(file, (own + SOONER).min(1000).to_string());
    }
}

/// Gives up every right, and becomes the program: another user where this is root, no capability,
/// no network, no signal to others, no file written, memory bounded.
///
/// # Errors
/// If that is not possible; this process is then as it was, or has fewer rights.
pub fn confine(words: &[String]) -> io::Result<Infallible> {
    let [program, arguments @ ..] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
    be_ended_first();
    if rustix::process::geteuid().is_root() {
        drop_user().map_err(|why| {
            io::Error::other(format!("can't become nobody, so it does not run: {why}"))
        })?;
    }
    // Away from a terminal, to which it could write input; and a group of its own, which ends with
    // it.
    rustix::process::setsid()?;
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    rustix::thread::set_no_new_privs(true)?;
    // Ends with the keeper; a change of user would have forgotten it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, bound) in [
        (Resource::As, MEMORY),
        (Resource::Core, 0),
        (Resource::Nofile, 256),
        (Resource::Nproc, 256),
    ] {
        let bound = Rlimit { current: Some(bound), maximum: Some(bound) };
        rustix::process::setrlimit(resource, bound)?;
    }
    // Where the kernel has Landlock; nobody may write little anyway.
    let _ = forbid_writing();
    forbid_calls().map_err(io::Error::other)?;
    Err(Command::new(program).args(arguments).exec())
}

/// Becomes nobody.
fn drop_user() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    Ok(())
}

/// Landlock (landlock(7)): no file is written, made or removed.
fn forbid_writing() -> Result<RestrictionStatus, RulesetError> {
    let rules = Ruleset::default().handle_access(AccessFs::from_write(ABI::V3))?;
    rules.create()?.restrict_self()
}

/// Seccomp (seccomp(2)).
fn forbid_calls() -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut forbidden: BTreeMap<i64, _> = FORBIDDEN.map(|call| (call, Vec::new())).into();
    // A user namespace would give it every capability there.
    let is_user_namespace = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(NEW_USER),
        NEW_USER,
    )?;
    forbidden.insert(libc::SYS_clone, vec![SeccompRule::new(vec![is_user_namespace])?]);
    // Its flags are in memory: without it, C libraries take clone(2).
    apply(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS, arch)?;
    apply(forbidden, libc::EPERM, arch)
}

/// Lets these calls, by either ABI, fail with this error.
fn apply(
    mut rules: BTreeMap<i64, Vec<SeccompRule>>,
    error: libc::c_int,
    arch: TargetArch,
) -> Result<(), seccompiler::Error> {
    #[cfg(target_arch = "x86_64")]
    rules.extend(rules.clone().into_iter().map(|(call, when)| (call | X32, when)));
    let refused = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)
}
