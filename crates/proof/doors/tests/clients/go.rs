//! Programs in Go, which come over a network.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Builds a program, `MODULE/PATH@VERSION`, in this folder below those of tests, with these flags.
pub(crate) fn install(program: &str, folder: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut go = Command::new("timeout");
    go.args(["600", "go", "install"]).args(flags).arg(program).env("GOBIN", &folder);
    fetched(&mut go);
    let path = program.split('@').next().unwrap();
    // The last part may be the module's major version.
    let name = path.rsplit('/').find(|part| !is_version(part)).unwrap();
    folder.join(name)
}

/// Whether it is a major version, `v5`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// Runs Go until it succeeds: its dependencies come for the first test that needs them, and not
/// always at once.
pub(crate) fn fetched(go: &mut Command) -> Output {
    static FETCHES: Mutex<()> = Mutex::new(());
    let _alone = FETCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut done = go.output().unwrap();
    for pause in [10, 30, 60] {
        if done.status.success() {
            break;
        }
        std::thread::sleep(Duration::from_secs(pause));
        done = go.output().unwrap();
    }
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done
}
