//! The programs of both doors, under the names that users type.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The server's door.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn fairways() -> PathBuf {
    named("fairways", &built("server_door"))
}

/// The lab's door.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn fairways_lab() -> PathBuf {
    named("fairways-lab", &built("lab_door"))
}

/// A folder with both, for PATH.
///
/// # Panics
/// If they were not built.
#[must_use]
pub fn bin() -> PathBuf {
    let folders = [fairways(), fairways_lab()].map(|door| door.with_file_name(""));
    assert_eq!(folders[0], folders[1], "both doors are built in one folder");
    let [folder, _] = folders;
    folder
}

/// A name that leads to a program, in a folder beside it. Other tests may be making it, too.
fn named(name: &str, program: &Path) -> PathBuf {
    let path = program.with_file_name("doors").join(name);
    if fs::read_link(&path).is_ok_and(|there| there == program) {
        return path;
    }
    fs::create_dir_all(path.with_file_name("")).expect("the folder of both doors");
    let thread = format!("{:?}", std::thread::current().id());
    let own = path.with_file_name(format!("{name}.{}.{thread}", process::id()));
    symlink(program, &own).expect("a link to a door");
    fs::rename(&own, &path).expect("a link to a door");
    path
}

/// A program of this package: where cargo says, or beside the folder of the test.
fn built(program: &str) -> PathBuf {
    let said = env::var_os(format!("CARGO_BIN_EXE_{program}")).map(PathBuf::from);
    let built = said.unwrap_or_else(|| {
        let test = env::current_exe().expect("a test's program");
        test.parent().and_then(Path::parent).expect("a folder of programs").join(program)
    });
    assert!(built.exists(), "{} was not built", built.display());
    built
}
