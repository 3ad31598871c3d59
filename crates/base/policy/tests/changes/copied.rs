//! A copy of the crates `core` and `policy`, with no other crate to build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A workspace in a temporary folder, with the crates where the project has them.
pub(crate) struct CopiedWorkspace {
    folder: tempfile::TempDir,
}

const WORKSPACE: &str = "[workspace]\nmembers = [\"crates/*/*\"]\nresolver = \"3\"\n";

impl CopiedWorkspace {
    pub(crate) fn new() -> Self {
        let copied = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(copied.path("Cargo.toml"), WORKSPACE).unwrap();
        for name in ["core", "policy"] {
            let to = copied.path(&format!("crates/base/{name}"));
            copy_folder(&project().join(format!("crates/base/{name}/src")), &to.join("src"));
            let needs =
                if name == "core" { "" } else { "fairways-core = { path = \"../core\" }\n" };
            let manifest = format!(
                "[package]\nname = \"fairways-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [features]\nserde = []\n[dependencies]\n{needs}"
            );
            fs::write(to.join("Cargo.toml"), manifest).unwrap();
        }
        // The other tests need crates from outside.
        let tests = copied.path("crates/base/policy/tests");
        fs::create_dir(&tests).unwrap();
        for name in ["defaults.rs", "defaults.toml"] {
            fs::copy(project().join("crates/base/policy/tests").join(name), tests.join(name))
                .unwrap();
        }
        copied
    }

    /// The place of a file of the project in the copy.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// Replaces a text that a file has once.
    pub(crate) fn replace(&self, file: &str, old: &str, new: &str) {
        let path = self.path(file);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(old).count(), 1, "{file}: {old}");
        fs::write(path, text.replacen(old, new, 1)).unwrap();
    }

    /// Runs cargo in the copy.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Output {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).current_dir(self.folder.path());
        cargo.env("CARGO_NET_OFFLINE", "true").env("CARGO_TARGET_DIR", self.path("target"));
        // What is built runs once.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env_remove("RUSTFLAGS").output().unwrap()
    }
}

/// The project's folder.
pub(crate) fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}
