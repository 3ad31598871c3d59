//! A host's files, below a folder.

use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Files of /proc and /sys are small, and so is a kernel's configuration.
const LARGEST: u64 = 1 << 24;

/// Where the files are.
pub(super) struct Files {
    sysroot: PathBuf,
}

impl Files {
    pub(super) fn new(sysroot: &Path) -> Self {
        Self { sysroot: sysroot.to_owned() }
    }

    /// The place of a file with this path on the host, with or without a leading slash. A path
    /// with `..`, which a copy's list of mounts may have, stays below the folder.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        let parts = Path::new(path).components();
        let named = parts.filter(|part| matches!(part, std::path::Component::Normal(_)));
        self.sysroot.join(named.collect::<PathBuf>())
    }

    /// The place of a mount point: for a host that is mounted below the folder, `/proc/mounts`
    /// gives it from the reader's root.
    pub(super) fn mounted(&self, point: &str) -> PathBuf {
        let is_below = Path::new(point).starts_with(&self.sysroot) && !point.contains("..");
        if is_below { point.into() } else { self.path(point) }
    }

    /// Whether they are those that this process itself works with.
    pub(super) fn are_of_this_process(&self) -> bool {
        self.sysroot == Path::new("/")
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A file's content, if it can be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        text(&self.path(path))
    }

    /// A file's content without blanks around it.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| text.trim().to_owned())
    }

    /// The names in a folder, in order; none if it can't be read.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        names(&self.path(path))
    }

    /// The processes' ids.
    pub(super) fn processes(&self) -> Vec<String> {
        self.names("proc")
            .into_iter()
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .collect()
    }
}

/// A file's content, if it can be read.
pub(super) fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A gzip file's content, if it can be read.
pub(super) fn unzipped(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    flate2::read::GzDecoder::new(file).take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The names in a folder, in order; none if it can't be read.
pub(super) fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Folders in a folder, in order.
pub(super) fn folders(path: &Path) -> Vec<String> {
    names(path).into_iter().filter(|name| path.join(name).is_dir()).collect()
}
