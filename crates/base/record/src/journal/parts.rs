//! The files of a journal's parts: FILE.0, FILE.1, ..., and FILE, which is the last.

use std::path::{Path, PathBuf};

/// The file of a finished part.
pub(super) fn part_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// The number of a part, from its file's name.
pub(super) fn part_number(path: &Path, other: &Path) -> Option<u32> {
    let rest =
        other.as_os_str().as_encoded_bytes().strip_prefix(path.as_os_str().as_encoded_bytes())?;
    std::str::from_utf8(rest.strip_prefix(b".")?).ok()?.parse().ok()
}

/// The finished parts beside a journal, in order, whether or not the first of them still exists.
pub fn parts(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let number = |other: &Path| -> Option<Vec<u8>> {
        let other = other.file_name()?.as_encoded_bytes();
        let number = other.strip_prefix(name)?.strip_prefix(b".")?;
        (!number.is_empty() && number.iter().all(u8::is_ascii_digit)).then(|| number.to_vec())
    };
    let files = folder.unwrap_or(Path::new(".")).read_dir().into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    let mut parts: Vec<_> = files.filter_map(|file| Some((number(&file)?, file))).collect();
    // In numerical order: shorter numbers first.
    parts.sort_by_cached_key(|(number, _)| (number.len(), number.clone()));
    parts.into_iter().map(|(_, part)| part)
}
