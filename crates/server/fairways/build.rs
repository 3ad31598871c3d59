//! The version that is printed. It includes the commit and its date, if this is built from a git
//! repository of this workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program's sources, as patterns for git. A change in them makes cargo compile the program
/// anyway (except in the few crates of tests), so watching them costs nothing.
const SOURCES: [&str; 4] =
    ["crates/*/*/src/*", "crates/*/*/Cargo.toml", "Cargo.toml", "Cargo.lock"];

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    // A build without a repository can set it: `HASH YYYY-MM-DD`.
    println!("cargo::rerun-if-env-changed=FAIRWAYS_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let stated = std::env::var("FAIRWAYS_COMMIT").ok().filter(|stated| !stated.is_empty());
    if let Some(stated) = stated.as_ref().filter(|stated| !is_commit(stated)) {
        println!("cargo::error=FAIRWAYS_COMMIT: expected HASH YYYY-MM-DD, found '{stated}'");
        return;
    }
    let commit = stated.or_else(commit);
    let (whole, hash, date) = match commit.as_deref().and_then(|commit| commit.split_once(' ')) {
        Some((hash, date)) => (format!("{version} ({hash} {date})"), hash, date),
        None => (version.to_owned(), "", ""),
    };
    println!("cargo::rustc-env=FAIRWAYS_VERSION={whole}");
    println!("cargo::rustc-env=FAIRWAYS_HASH={hash}");
    println!("cargo::rustc-env=FAIRWAYS_DATE={date}");
}

/// Whether a text is a commit's hash, of seven digits at least, and its date.
fn is_commit(text: &str) -> bool {
    let Some((hash, date)) = text.split_once(' ') else { return false };
    let hash = hash.strip_suffix("-dirty").unwrap_or(hash);
    let dash = |at: usize| matches!(at, 4 | 7);
    let of_date =
        |(at, byte): (usize, u8)| if dash(at) { byte == b'-' } else { byte.is_ascii_digit() };
    (7..=64).contains(&hash.len())
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && date.len() == 10
        && date.bytes().enumerate().all(of_date)
}

/// The commit that git reports, with `-dirty` if a source differs from it. `None` in a repository
/// that has more than this workspace: its commits are about other things, too.
fn commit() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().ok()?;
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
    let commit =
        git(&workspace, &["show", "--no-patch", "--format=%h %cs", "--abbrev=12", "HEAD"])?;
    let (hash, date) = commit.split_once(' ')?;
    let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    status.extend(SOURCES);
    let dirty = git(&workspace, &status).map_or("", |_| "-dirty");
    Some(format!("{hash}{dirty} {date}"))
}

/// The files and folders of [`SOURCES`].
fn sources(workspace: &Path) -> Vec<PathBuf> {
    let groups = folders(&workspace.join("crates")).into_iter();
    let crates = groups.flat_map(|group| folders(&group));
    let of_crates = crates.flat_map(|of| ["src", "Cargo.toml"].map(|name| of.join(name)));
    let files = ["Cargo.toml", "Cargo.lock"].map(|name| workspace.join(name));
    of_crates.chain(files).filter(|path| path.exists()).collect()
}

/// What a folder has in it; nothing if it can't be read.
fn folders(of: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
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
