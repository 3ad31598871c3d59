//! The programs of both doors, under the names that users type.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, process};

/// The server's door.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn fairways() -> PathBuf {
    bin().join("fairways")
}

/// The lab's door.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn fairways_lab() -> PathBuf {
    bin().join("fairways-lab")
}

/// A folder with both, for PATH.
///
/// # Panics
/// If they were not built.
#[must_use]
pub fn bin() -> &'static Path {
    static BIN: OnceLock<PathBuf> = OnceLock::new();
    BIN.get_or_init(|| {
        let doors = [("fairways", "server-door"), ("fairways-lab", "lab-door")];
        let built = doors.map(|(name, program)| (name, built(program)));
        let bin = built[0].1.with_file_name("doors");
        for (name, program) in built {
            link(&program, &bin.join(name));
        }
        bin
    })
}

/// Makes a name lead to a program, while other tests may be doing the same.
fn link(program: &Path, name: &Path) {
    if fs::read_link(name).is_ok_and(|there| there == program) {
        return;
    }
    fs::create_dir_all(name.parent().expect("a folder")).expect("the folder of both doors");
    let own = name.with_extension(process::id().to_string());
    symlink(program, &own).expect("a link to a door");
    fs::rename(&own, name).expect("a link to a door");
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
