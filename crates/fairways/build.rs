//! The version that is printed: with the commit and its date, where this is built of a repository of this workspace that git reads.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is made of, as git has patterns. A change in it makes cargo compile the program anyway (but in the few crates of tests), so
/// that watching it costs nothing.
const SOURCES: [&str; 4] = ["crates/*/src/*", "crates/*/Cargo.toml", "Cargo.toml", "Cargo.lock"];

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    // Who builds where there is no repository may say it: `HASH YYYY-MM-DD`.
    println!("cargo::rerun-if-env-changed=FAIRWAYS_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let told = std::env::var("FAIRWAYS_COMMIT").ok().filter(|told| !told.is_empty());
    if let Some(told) = told.as_ref().filter(|told| !is_commit(told)) {
        println!("cargo::error=FAIRWAYS_COMMIT: expected HASH YYYY-MM-DD, found '{told}'");
        return;
    }
    let commit = told.or_else(commit);
    let (whole, hash, date) = match commit.as_deref().and_then(|commit| commit.split_once(' ')) {
        Some((hash, date)) => (format!("{version} ({hash} {date})"), hash, date),
        None => (version.to_owned(), "", ""),
    };
    println!("cargo::rustc-env=FAIRWAYS_VERSION={whole}");
    println!("cargo::rustc-env=FAIRWAYS_HASH={hash}");
    println!("cargo::rustc-env=FAIRWAYS_DATE={date}");
}

/// Whether it is a commit's hash, of seven digits at least, and its date.
fn is_commit(told: &str) -> bool {
    let Some((hash, date)) = told.split_once(' ') else { return false };
    let hash = hash.strip_suffix("-dirty").unwrap_or(hash);
    let dash = |at: usize| matches!(at, 4 | 7);
    let of_date =
        |(at, byte): (usize, u8)| if dash(at) { byte == b'-' } else { byte.is_ascii_digit() };
    (7..=64).contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && date.len() == 10
        && date.bytes().enumerate().all(of_date)
}

/// The commit that git tells, `-dirty` where a source differs from it. Nothing of a repository that holds this workspace among other things:
/// its commits are of those, too.
fn commit() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let top = PathBuf::from(git(&workspace, &["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != workspace {
        return None;
    }
    // Written at each commit and checkout.
    let log = git(&workspace, &["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    for source in sources(&workspace) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let told = git(&workspace, &["show", "--no-patch", "--format=%h %cs", "--abbrev=12", "HEAD"])?;
    let (hash, date) = told.split_once(' ')?;
    let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    status.extend(SOURCES);
    let dirty = git(&workspace, &status).map_or("", |_| "-dirty");
    Some(format!("{hash}{dirty} {date}"))
}

/// The files and folders of [`SOURCES`].
fn sources(workspace: &Path) -> Vec<PathBuf> {
    let crates = std::fs::read_dir(workspace.join("crates")).into_iter().flatten().flatten();
    let of_crates = crates.flat_map(|of| ["src", "Cargo.toml"].map(|name| of.path().join(name)));
    let files = ["Cargo.toml", "Cargo.lock"].map(|name| workspace.join(name));
    of_crates.chain(files).filter(|path| path.exists()).collect()
}

/// What git prints, if it succeeds and prints anything.
fn git(at: &Path, args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("--no-optional-locks").arg("-C").arg(at).args(args);
    let output = git.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
