//! Seccomp (seccomp(2)): system calls that the daemon never makes fail with EPERM.
//!
//! The list names forbidden calls rather than allowed ones, because which calls a libc makes
//! differs from version to version. The unit of packaging/systemd also has a list of allowed calls.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

/// Calls that start other programs, look into processes, mount, or change the kernel, the clock or
/// the process's user.
const FORBIDDEN: [libc::c_long; 58] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_settimeofday,
    libc::SYS_setuid,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// The bit that marks a call of the x32 ABI, another way to make the same calls
/// (arch/x86/include/uapi/asm/unistd.h).
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;

/// Forbids these calls to this thread and those that it starts; bpf(2), too, unless BPF programs
/// are to be loaded.
pub(super) fn limit(loads_programs: bool) -> Result<String, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|why| why.to_string())?;
    let mut calls = FORBIDDEN.to_vec();
    if !loads_programs {
        calls.push(libc::SYS_bpf);
    }
    #[cfg(target_arch = "x86_64")]
    {
        calls.extend([libc::SYS_ioperm, libc::SYS_iopl]);
        calls.extend(calls.clone().iter().map(|call| call | X32));
    }
    let rules: BTreeMap<i64, _> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)
        .and_then(BpfProgram::try_from)
        .map_err(seccompiler::Error::from)
        .and_then(|program| seccompiler::apply_filter(&program))
        .map_err(|why| why.to_string())?;
    Ok("limited by seccomp".to_owned())
}
