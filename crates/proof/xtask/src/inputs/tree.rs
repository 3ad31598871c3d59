//! The files of the checkout, and of the folder `shared` beside it, with a hash of each.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

/// What files of the folder `shared` are named with.
pub(crate) const SHARED: &str = "shared/";

/// Hashes of files by their paths, relative to the checkout.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckoutFiles {
    root: PathBuf,
    files: BTreeMap<String, String>,
    /// Source files of dependencies count without their tests: those hashes, made once.
    tested: BTreeMap<String, String>,
}

impl CheckoutFiles {
    /// Reads what git tracks, and new files that it doesn't ignore; without git, all but what cargo
    /// builds.
    ///
    /// # Errors
    /// If a file can't be read.
    pub(crate) fn read(root: &Path, shared: Option<&Path>) -> anyhow::Result<Self> {
        let mut tree = Self { root: root.to_owned(), ..Self::default() };
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        match git(root, &list) {
            Ok(names) => {
                for name in names.split('\0').filter(|name| !name.is_empty()) {
                    tree.add(name.to_owned(), &root.join(name))?;
                }
            }
            Err(_) => tree.add_folder(root, "")?,
        }
        if let Some(shared) = shared {
            tree.add_folder(shared, SHARED)?;
        }
        Ok(tree)
    }

    /// Adds what is in a folder, with names that begin with `prefix`.
    fn add_folder(&mut self, folder: &Path, prefix: &str) -> anyhow::Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let path = entry.path();
            if !entry.file_type()?.is_dir() {
                self.add(format!("{prefix}{name}"), &path)?;
            } else if !["target", ".git"].contains(&name.as_str()) {
                self.add_folder(&path, &format!("{prefix}{name}/"))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, path: &Path) -> anyhow::Result<()> {
        // An editor's file may have gone since it was listed.
        let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
        let content = if metadata.is_symlink() {
            fs::read_link(path).map(|to| to.into_os_string().into_encoded_bytes())
        } else if metadata.is_file() {
            fs::read(path)
        } else {
            return Ok(());
        };
        let content = match content {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            content => content.with_context(|| name.clone())?,
        };
        let kind = match metadata.permissions().mode() & 0o111 {
            _ if metadata.is_symlink() => "link",
            0 => "file",
            _ => "program",
        };
        if let Some(code) = without_tests(&name, &content) {
            self.tested.insert(name.clone(), hash(&[kind.as_bytes(), code]));
        }
        self.files.insert(name, hash(&[kind.as_bytes(), &content]));
        Ok(())
    }

    /// The files that are `entry`, or in the folder `entry`; if it begins with `*`, those that end
    /// as the rest of it.
    pub(crate) fn matching<'a>(&'a self, entry: &'a str) -> impl Iterator<Item = &'a str> {
        let entry = entry.trim_end_matches('/');
        self.files.keys().map(String::as_str).filter(move |file| match entry.strip_prefix('*') {
            Some(end) => file.ends_with(end) && !file.starts_with(SHARED),
            None => file
                .strip_prefix(entry)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
        })
    }

    /// The hash of a file.
    pub(crate) fn hash(&self, file: &str) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// The hash of a source file of a dependency, whose unit tests don't count.
    pub(crate) fn hash_without_tests(&self, file: &str) -> Option<&str> {
        self.tested.get(file).map(String::as_str).or_else(|| self.hash(file))
    }

    /// The text of a file of the checkout.
    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.root.join(file)).unwrap_or_default()
    }
}

/// A source file up to its unit tests, if it has some at its end.
fn without_tests<'a>(name: &str, content: &'a [u8]) -> Option<&'a [u8]> {
    if !name.ends_with(".rs") {
        return None;
    }
    let text = std::str::from_utf8(content).ok()?;
    Some(&content[..code(text).len()])
}

/// The text of a source file up to its unit tests, if they end it.
pub(crate) fn code(text: &str) -> &str {
    let tests = text.match_indices("#[cfg(test)]\nmod ").find(|(at, _)| {
        let mut lines = text[*at..].lines().skip(1);
        let begins = lines.next().is_some_and(|line| line.ends_with('{'));
        // The module's own end is the only line that is not indented.
        let mut outer = lines.filter(|line| !line.is_empty() && !line.starts_with(' '));
        begins && outer.next() == Some("}") && outer.next().is_none()
    });
    tests.map_or(text, |(at, _)| &text[..at])
}

/// What git prints.
///
/// # Errors
/// If git fails.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    // The checkout may belong to another user.
    git.args(["-c", "safe.directory=*", "--no-optional-locks", "-C"]).arg(root).args(arguments);
    let output = git.stdin(Stdio::null()).output().context("git")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), error.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The hash of texts, in hexadecimal digits.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        // With the lengths, no two lists of parts are the same bytes.
        sha.update(part.len().to_le_bytes());
        sha.update(part);
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
