//! A point: what one process runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
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
            files.extend(known_hash(path, hashes)?.map(|hash| (path.to_owned(), hash)));
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
    /// for. `hashes` has those of files that were read before.
    pub(crate) fn read(
        path: &Path,
        version: &str,
        hashes: &mut BTreeMap<String, Option<String>>,
    ) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)
            .map_err(|why| blamed(path, format!("can't read it: {why}")))?;
        let point: Self = serde_json::from_str(&text).map_err(|why| {
            blamed(path, format!("expected a point that `sweep write` wrote: {why}"))
        })?;
        let name = point.file()?.1;
        if path.file_stem().is_none_or(|stem| stem != name.as_str()) {
            return Err(blamed(path, format!("expected the point {name}.json, unaltered")).into());
        }
        if point.schema != SCHEMA || point.fairways != version {
            let other = &point.fairways;
            let what = format!(
                "expected a point for version {version}, found {other}: write the sweep again"
            );
            return Err(blamed(path, what).into());
        }
        for (file, expected) in &point.files {
            let found =
                known_hash(file, hashes).with_context(|| format!("{file}: can't read it"))?;
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
    let point = Point::read(point, version, &mut BTreeMap::new())?;
    let mut csv = Vec::new();
    run(&point, &mut csv)?;
    let rows = csv::Reader::from_reader(&csv[..]).records().count();
    writeln!(csv, "{}", last_line(rows))?;
    whole::write(result, &csv, None).with_context(|| format!("{}: can't write it", shown(result)))
}

/// The last line of a result with so many rows, without which it is not whole.
pub(crate) fn last_line(rows: usize) -> String {
    format!("# {rows} rows")
}

/// The paths in an argument: of flags that are files, and of programs and policies that are.
fn paths(argument: &str) -> impl Iterator<Item = &str> {
    let (flag, value) = argument.split_once('=').unwrap_or_default();
    let whole = matches!(flag, "--profiles" | "--phases" | "--mixes").then_some(value);
    let named = value.split(',').filter_map(|part| match part.split_once(':')? {
        ("stream", path) => Some(path),
        ("trace", path) => Some(path.rsplit_once(':').map_or(path, |(path, _)| path)),
        ("exec", command) => command.split(' ').find(|word| Path::new(word).is_file()),
        _ => None,
    });
    whole.into_iter().chain(named)
}

/// The hash of a file; `None` if there is none.
fn known_hash(
    path: &str,
    hashes: &mut BTreeMap<String, Option<String>>,
) -> io::Result<Option<String>> {
    if let Some(known) = hashes.get(path) {
        return Ok(known.clone());
    }
    let hash = hash_of(path)?;
    hashes.insert(path.to_owned(), hash.clone());
    Ok(hash)
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
    fn paths_are_those_of_files_that_flags_and_programs_name() {
        let found: Vec<&str> = paths("--programs=stream:a.stream,gzip,trace:/b:50").collect();
        assert_eq!(found, ["a.stream", "/b"]);
        assert_eq!(paths("--profiles=mine.csv").collect::<Vec<&str>>(), ["mine.csv"]);
        let policy =
            concat!("--policies=lfoc,exec:python3 ", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(paths(policy).eq([concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]));
        assert_eq!(paths("--mix=gzip,lbm").chain(paths("--seed=1")).count(), 0);
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
