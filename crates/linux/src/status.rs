//! What `/proc/PID/status` tells of a process or thread (proc_pid_status(5)).

use std::fs;
use std::path::Path;

use fairways_resctrl::language::CpuSet;

use crate::topology::MOST_CPUS;

/// The users whose a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// Who started it.
    pub real: u32,
    /// With whose permissions it runs.
    pub effective: u32,
    /// Whose permissions it may take back.
    pub saved: u32,
}

/// The text of `PROC/THREAD/status`; `None` if there is no such thread, or it can't be read. A name
/// that is no UTF-8 is changed.
#[must_use]
pub fn text(proc: &Path, thread: i32) -> Option<String> {
    let bytes = fs::read(proc.join(format!("{thread}/status"))).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of the first line that begins so (`Tgid:`), without blanks around it.
#[must_use]
pub fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim())
}

/// Whose it is.
#[must_use]
pub fn users(text: &str) -> Option<Users> {
    let mut ids = field(text, "Uid:")?.split_ascii_whitespace().map(str::parse);
    let mut id = || ids.next()?.ok();
    Some(Users { real: id()?, effective: id()?, saved: id()? })
}

/// The CPUs that it may run on, those that are off line among them.
#[must_use]
pub fn cpus(text: &str) -> Option<CpuSet> {
    CpuSet::parse_list(field(text, "Cpus_allowed_list:")?, MOST_CPUS).ok()
}

/// Whose a thread is: the numbers of its process, and of that one's parent.
#[must_use]
pub fn family(text: &str) -> Option<(i32, i32)> {
    let number = |name| field(text, name)?.parse().ok();
    Some((number("Tgid:")?, number("PPid:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let text = "Name:\tUid:\nTgid:\t7\nPPid:\t1\nUid:\t1\t2\t3\t4\nCpus_allowed_list:\t0-1,9\n";
        assert_eq!(users(text), Some(Users { real: 1, effective: 2, saved: 3 }));
        assert_eq!(family(text), Some((7, 1)));
        assert_eq!(cpus(text).unwrap().to_list(), "0-1,9");
        let none = "Name:\ta\nUid:\t1\t2\nCpus_allowed_list:\t9000\n";
        assert_eq!((users(none), family(none), cpus(none)), (None, None, None));
    }
}
