//! A process or thread, as `/proc/PID/status` describes it (proc_pid_status(5)).

use std::fs;
use std::path::Path;

use fairways_core::CpuSet;

use crate::topology::MOST_CPUS;

/// The users that a process belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users {
    /// The user that started it.
    pub real: u32,
    /// The user whose permissions it runs with.
    pub effective: u32,
    /// The user whose permissions it may take back.
    pub saved: u32,
}

/// The text of `PROC/THREAD/status`; `None` if there is no such thread, or it can't be read. Bytes
/// of a name that are not UTF-8 are replaced.
#[must_use]
pub fn text(proc: &Path, thread: i32) -> Option<String> {
    let bytes = fs::read(proc.join(format!("{thread}/status"))).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of the first line that begins with `name` (`Tgid:`), without blanks around it.
#[must_use]
pub fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    Some(text.lines().find_map(|line| line.strip_prefix(name))?.trim())
}

/// The users that it belongs to.
#[must_use]
pub fn users(text: &str) -> Option<Users> {
    let mut ids = field(text, "Uid:")?.split_ascii_whitespace().map_while(|id| id.parse().ok());
    Some(Users { real: ids.next()?, effective: ids.next()?, saved: ids.next()? })
}

/// The CPUs that it may run on, including those that are off line.
#[must_use]
pub fn cpus(text: &str) -> Option<CpuSet> {
    CpuSet::parse_list(field(text, "Cpus_allowed_list:")?, MOST_CPUS).ok()
}

/// The numbers of a thread's process, and of that process's parent.
#[must_use]
pub fn family(text: &str) -> Option<(i32, i32)> {
    let (process, parent) = (field(text, "Tgid:")?, field(text, "PPid:")?);
    Some((process.parse().ok()?, parent.parse().ok()?))
}

/// The numbers of a thread in the PID namespaces that it has one in: first the reader's, last its
/// own (`NSpid`, since Linux 4.1).
#[must_use]
pub fn numbers(text: &str) -> Vec<i32> {
    let numbers = field(text, "NSpid:").unwrap_or_default().split_ascii_whitespace();
    numbers.map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let text = "Name:\tUid:\nTgid:\t7\nPPid:\t1\nNSpid:\t7\t1\nUid:\t1\t2\t3\t4\nCpus_allowed_list:\t0-1,9\n";
        assert_eq!(users(text), Some(Users { real: 1, effective: 2, saved: 3 }));
        assert_eq!(family(text), Some((7, 1)));
        assert_eq!(numbers(text), [7, 1]);
        assert_eq!(cpus(text).unwrap().to_list(), "0-1,9");
        let none = "Name:\ta\nUid:\t1\t2\nCpus_allowed_list:\t9000\n";
        assert_eq!((users(none), family(none), cpus(none)), (None, None, None));
        assert!(numbers(none).is_empty());
    }
}
