//! The version that is printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn git(at: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(at).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// It names the commit, and marks sources that differ from it, if this was built in a repository of
/// this workspace.
#[test]
fn the_version_names_the_commit() {
    let fairways = fairways_doors::fairways();
    let output = Command::new(fairways).arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let number = concat!("fairways ", env!("CARGO_PKG_VERSION"));
    let commit =
        git(&workspace(), &["show", "--no-patch", "--format=%h %cs", "--abbrev=12", "HEAD"]);
    let Some((hash, date)) = commit.as_deref().and_then(|line| line.trim().split_once(' ')) else {
        return assert_eq!(version.trim(), number);
    };
    let sources = ["crates/*/*/src/*", "crates/*/*/Cargo.toml", "Cargo.toml", "Cargo.lock"];
    let args = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(&workspace(), &[&args[..], &sources[..]].concat()).unwrap();
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    assert_eq!(version.trim(), format!("{number} ({hash}{dirty} {date})"));
}

/// The build script, in invented workspaces, as cargo runs it.
#[test]
fn the_build_script_names_this_workspaces_commits_only() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("build");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let ours = folder.path().join("ours");
    let package = ours.join("crates/server/fairways");
    fs::create_dir_all(package.join("src")).unwrap();
    rustc
        .args(["--edition", "2024", "-o"])
        .arg(&script)
        .arg(workspace().join("crates/server/fairways/build.rs"));
    rustc.env("CARGO_MANIFEST_DIR", &package).env("CARGO_PKG_VERSION", "1.2.3");
    assert!(rustc.status().unwrap().success());
    let run = |given: &str| -> Output {
        let mut build = Command::new(&script);
        build.current_dir(&package).env("GIT_CEILING_DIRECTORIES", folder.path());
        build.env("FAIRWAYS_COMMIT", given).output().unwrap()
    };
    let version = |given: &str| {
        let said = String::from_utf8(run(given).stdout).unwrap();
        let line =
            said.lines().find_map(|line| line.strip_prefix("cargo::rustc-env=FAIRWAYS_VERSION="));
        line.map(str::to_owned).ok_or(said)
    };
    let commit = |at: &Path| {
        for args in [
            &["init", "--quiet"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@localhost",
                "commit",
                "--quiet",
                "--message",
                "a",
            ],
        ] {
            git(at, args).unwrap();
        }
        let line = git(at, &["show", "--no-patch", "--format=%h %cs", "--abbrev=12", "HEAD"]);
        line.unwrap().trim().to_owned()
    };
    fs::write(package.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(ours.join("README.md"), "a\n").unwrap();
    assert_eq!(version("").as_deref(), Ok("1.2.3"), "there is no repository");
    commit(folder.path());
    assert_eq!(version("").as_deref(), Ok("1.2.3"), "it is another's");
    fs::remove_dir_all(folder.path().join(".git")).unwrap();
    let head = commit(&ours);
    assert_eq!(version(""), Ok(format!("1.2.3 ({head})")));
    fs::write(ours.join("README.md"), "b\n").unwrap();
    assert_eq!(version(""), Ok(format!("1.2.3 ({head})")), "the program is none other");
    fs::write(package.join("src/main.rs"), "fn main() { }\n").unwrap();
    let (hash, date) = head.split_once(' ').unwrap();
    assert_eq!(version(""), Ok(format!("1.2.3 ({hash}-dirty {date})")));

    assert_eq!(
        version("0123456789ab 2026-11-22").as_deref(),
        Ok("1.2.3 (0123456789ab 2026-11-22)")
    );
    for wrong in
        ["0123456789ab", "soon 2026-11-22", "0123456789ab 22.11.2026", "0123456789ab 2026-11-2x"]
    {
        let said = String::from_utf8(run(wrong).stdout).unwrap();
        let error =
            format!("cargo::error=FAIRWAYS_COMMIT: expected HASH YYYY-MM-DD, found '{wrong}'");
        assert!(said.lines().any(|line| line == error), "{said}");
    }
}
