//! Whether this machine supports the scheduler.

use std::fs;
use std::path::Path;

use libbpf_rs::btf::{Btf, types::Func};

const STATE: &str = "/sys/kernel/sched_ext/state";
const NAME: &str = "/sys/kernel/sched_ext/root/ops";

/// The kernel functions that the programs call but not all kernels with sched_ext have: one of each
/// list, with its names over time.
const CALLED: [&[&str]; 14] = [
    &["bpf_iter_scx_dsq_new"],
    &["scx_bpf_create_dsq"],
    &["scx_bpf_dsq_nr_queued"],
    &["scx_bpf_pick_idle_cpu"],
    &["scx_bpf_test_and_clear_cpu_idle"],
    &["scx_bpf_kick_cpu"],
    &["scx_bpf_get_online_cpumask"],
    &["scx_bpf_put_cpumask"],
    &["scx_bpf_task_cpu"],
    &["scx_bpf_dsq_insert", "scx_bpf_dispatch"],
    &["scx_bpf_dsq_insert_vtime", "scx_bpf_dispatch_vtime"],
    &["scx_bpf_dsq_move", "scx_bpf_dispatch_from_dsq"],
    &["scx_bpf_dsq_move_vtime", "scx_bpf_dispatch_vtime_from_dsq"],
    &["bpf_cpumask_any_distribute"],
];

/// Checks that the kernel has the functions that the programs call.
///
/// # Errors
/// The missing functions, in one line.
pub(crate) fn callable() -> Result<(), String> {
    let kernel = Btf::from_vmlinux().map_err(|why| format!("the kernel's types: {why}"))?;
    missing(|name| kernel.type_by_name::<Func<'_>>(name).is_some())
}

fn missing(has: impl Fn(&str) -> bool) -> Result<(), String> {
    let missing: Vec<&str> = CALLED
        .iter()
        .filter(|names| !names.iter().any(|name| has(name)))
        .filter_map(|names| names.first().copied())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("this kernel's sched_ext has no {}: tried was Linux 7.2", missing.join(", ")))
}

/// Checks whether the scheduler can be loaded here, as far as possible without trying.
///
/// # Errors
/// The reason, in one line: the kernel has no sched_ext, does not publish its types, another
/// scheduler is loaded, or this is not root.
pub fn supported() -> Result<(), String> {
    let Ok(state) = fs::read_to_string(STATE) else {
        return Err(
            "the kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT, Linux 6.12 or later)".into()
        );
    };
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err("the kernel does not publish its types (CONFIG_DEBUG_INFO_BTF)".into());
    }
    if state.trim() != "disabled" {
        let name = fs::read_to_string(NAME).unwrap_or_default();
        return Err(match name.trim() {
            "" => format!("a sched_ext scheduler is {}", state.trim()),
            name => format!("the sched_ext scheduler {name} is loaded"),
        });
    }
    // SAFETY: it takes nothing, and always works.
    if unsafe { libc::geteuid() } != 0 {
        return Err("loading a scheduler into the kernel needs root".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_missing_functions_are_named_in_one_line() {
        assert_eq!(missing(|_| true), Ok(()));
        // 6.12's names.
        assert_eq!(
            missing(|name| !name.starts_with("scx_bpf_dsq_insert")
                && !name.starts_with("scx_bpf_dsq_move")),
            Ok(())
        );
        let without =
            missing(|name| !name.ends_with("_vtime") && name != "scx_bpf_dispatch_vtime_from_dsq");
        let why = "this kernel's sched_ext has no scx_bpf_dsq_insert_vtime, scx_bpf_dsq_move_vtime: tried was Linux 7.2";
        assert_eq!(without, Err(why.to_owned()));
    }
}
