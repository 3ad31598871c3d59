//! What a test needs from the machine it runs on.
//!
//! A test whose [`Need`]s are not met prints so on the terminal, past the capture of its output,
//! and checks nothing; where `FAIRWAYS_REQUIRE_SYSTEM` is set, as in CI, it fails. For tests only.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{Access, access};

/// The variable that makes every need a must.
pub const REQUIRED: &str = "FAIRWAYS_REQUIRE_SYSTEM";

/// One thing that not every machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A program in one of the folders of `PATH`, or in those of the system's administrator.
    Program(&'static str),
    /// To run as root.
    Root,
    /// `/dev/fuse`, open to this user.
    Fuse,
}

impl Need {
    /// What is missing, if it is.
    fn missing(self) -> Option<String> {
        match self {
            Self::Program(name) => find(name).is_none().then(|| format!("{name} is missing")),
            Self::Root => {
                (!rustix::process::geteuid().is_root()).then(|| "it needs root".to_owned())
            }
            Self::Fuse => access("/dev/fuse", Access::READ_OK | Access::WRITE_OK)
                .err()
                .map(|error| format!("/dev/fuse: {error}")),
        }
    }
}

/// Whether `test` has everything it needs.
///
/// # Panics
/// If it has not, and `FAIRWAYS_REQUIRE_SYSTEM` is set.
#[must_use]
pub fn has(test: &str, needs: &[Need]) -> bool {
    let missing: Vec<String> = needs.iter().filter_map(|need| need.missing()).collect();
    if missing.is_empty() {
        return true;
    }
    skip(test, &missing.join(", "));
    false
}

/// From here on, only their owner can write files and folders of this process and of those that it
/// starts: others are refused as configurations.
pub fn keep_to_owner() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
}

/// Prints that `test` is skipped, and why.
///
/// # Panics
/// If `FAIRWAYS_REQUIRE_SYSTEM` is set.
pub fn skip(test: &str, why: &str) {
    assert!(std::env::var_os(REQUIRED).is_none(), "{test}: {why}");
    // Past the capture of a test's output, which takes what `eprintln!` writes.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// Prints that `test` is not run because the kernel or the container withholds something that no
/// package brings: `FAIRWAYS_REQUIRE_SYSTEM` does not make this a failure.
pub fn withheld(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// The program with that name, in one of the folders of `PATH` or in those of the system's
/// administrator.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beyond = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(beyond)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

/// The unit of /proc/stat.
const TICK: Duration = Duration::from_millis(10);

/// How long the host has taken the CPUs from this machine since boot, as far as it reports that
/// (proc(5), /proc/stat): the clocks of the kernel and of perf went on, and the scheduler did not
/// count that time for threads.
///
/// # Panics
/// If there is no such file, or it has another form.
#[must_use]
pub fn stolen() -> Duration {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let ticks = text.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok());
    TICK * ticks.expect("ticks that were stolen")
}

/// The stolen time since it was `before`, at most.
///
/// # Panics
/// As [`stolen`].
#[must_use]
pub fn stolen_since(before: Duration) -> Duration {
    match stolen() {
        Duration::ZERO => Duration::ZERO,
        now => now.saturating_sub(before) + 2 * TICK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_found_and_what_is_not_is_missed() {
        assert_eq!(Need::Program("sh").missing(), None);
        let missing = Need::Program("no-such-program").missing();
        assert_eq!(missing.as_deref(), Some("no-such-program is missing"));
        assert!(has("this test", &[Need::Program("sh")]));
    }
}
