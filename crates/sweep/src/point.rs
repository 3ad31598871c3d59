//! A point: what one process runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::whole;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::blamed;
use crate::plan::{PlannedPoint, SweptCommand};

/// Changes when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// The letters of a point's name: 96 bits of its hash.
const NAME_LETTERS: usize = 24;

/// A point: a command with all that its result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    schema: u32,
    /// The version of Fairways that it is for.
    fairways: String,
    command: SweptCommand,
    /// The arguments, without the command's name and `--csv`.
    arguments: Vec<String>,
    /// The files that arguments name, each with the SHA-256 of what is in it.
    files: BTreeMap<String, String>,
}

impl Point {
    pub(crate) fn new(
        version: &str,
        command: SweptCommand,
        planned: &PlannedPoint,
        hashes: &mut BTreeMap<String, Option<String>>,
    ) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for path in planned.arguments.iter().flat_map(|argument| paths(argument)) {
            let hash = match hashes.get(path) {
                Some(hash) => hash.clone(),
                None => hashes.entry(path.to_owned()).or_insert(hash_of(path)?).clone(),
            };
            files.extend(hash.map(|hash| (path.to_owned(), hash)));
        }
        let (fairways, arguments) = (version.to_owned(), planned.arguments.clone());
        Ok(Self { schema: SCHEMA, fairways, command, arguments, files })
    }

    /// The command line, which prints CSV.
    pub fn command_line(&self) -> impl Iterator<Item = &str> {
        let arguments = self.arguments.iter().map(String::as_str);
        ["fairways", self.command.name()].into_iter().chain(arguments).chain(["--csv"])
    }

    /// Its file, and its name, which is a hash of that.
    pub(crate) fn file(&self) -> serde_json::Result<(String, String)> {
        let text = serde_json::to_string(self)? + "\n";
        let mut name = hex(&Sha256::digest(&text));
        name.truncate(NAME_LETTERS);
        Ok((text, name))
    }

    /// Reads a point, and checks that this version of Fairways runs it, on the files that it is
    /// for.
    fn read(path: &Path, version: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)
            .map_err(|why| blamed(path, format!("can't read it: {why}")))?;
        let point: Self = serde_json::from_str(&text).map_err(|why| {
            blamed(path, format!("expected a point that `sweep write` wrote: {why}"))
        })?;
        if point.schema != SCHEMA || point.fairways != version {
            let other = &point.fairways;
            let what = format!(
                "expected a point for version {version}, found {other}: write the sweep again"
            );
            return Err(blamed(path, what).into());
        }
        for (file, expected) in &point.files {
            let found = hash_of(file).with_context(|| format!("{file}: can't read it"))?;
            if found.as_ref() != Some(expected) {
                let what = match found {
                    None => {
                        "there is none here: run it from the folder where the sweep was written"
                    }
                    Some(_) => "it has changed: write the sweep again",
                };
                return Err(
                    blamed(path, format!("expected the file {file:?} as it was, {what}")).into()
                );
            }
        }
        Ok(point)
    }
}

/// Runs the point in a file, and writes its result to another, whole or not at all.
///
/// # Errors
/// If the point is not for this version or its files, or fails.
pub fn run_point(
    point: &Path,
    result: &Path,
    version: &str,
    run: impl FnOnce(&Point, &mut Vec<u8>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let point = Point::read(point, version)?;
    let mut csv = Vec::new();
    run(&point, &mut csv)?;
    whole::write(result, &csv, None).with_context(|| format!("{}: can't write it", shown(result)))
}

/// What may be a path in an argument: its value, what stands between its commas, and what stands
/// there after a colon.
fn paths(argument: &str) -> impl Iterator<Item = &str> {
    let value = argument.split_once('=').map_or("", |(_, value)| value);
    let parts = value.split(',').filter(move |part| part.len() < value.len());
    let all = [value].into_iter().chain(parts);
    all.flat_map(|one| [Some(one), one.split_once(':').map(|(_, path)| path)])
        .flatten()
        .filter(|path| !path.is_empty())
}

/// The hash of a file; `None` if there is none.
fn hash_of(path: &str) -> io::Result<Option<String>> {
    if !Path::new(path).is_file() {
        return Ok(None);
    }
    let mut hasher = Sha256::new();
    io::copy(&mut fs::File::open(path)?, &mut HashWriter(&mut hasher))?;
    Ok(Some(hex(&hasher.finalize())))
}

/// Hashes what is written.
struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_an_argument_are_found_wherever_they_stand() {
        let found: Vec<&str> = paths("--programs=stream:a.stream,gzip,/b").collect();
        let whole = "stream:a.stream,gzip,/b";
        assert_eq!(found, [whole, "a.stream,gzip,/b", "stream:a.stream", "a.stream", "gzip", "/b"]);
        assert_eq!(paths("--profiles=mine.csv").collect::<Vec<&str>>(), ["mine.csv"]);
        assert_eq!(paths("--dynamic").count(), 0);
    }

    #[test]
    fn a_point_has_another_name_if_a_file_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles.csv");
        let planned = PlannedPoint {
            labels: Vec::new(),
            arguments: vec![format!("--profiles={}", path.display())],
        };
        let [one, other, same] = ["one", "other", "one"].map(|text| {
            fs::write(&path, text).unwrap();
            let point = Point::new("1", SweptCommand::Simulate, &planned, &mut BTreeMap::new());
            point.unwrap().file().unwrap().1
        });
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(one.len(), NAME_LETTERS);
    }
}
