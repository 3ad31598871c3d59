//! A point: what one process runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::whole;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::sweep::blamed;
use crate::sweep::plan::{PlannedPoint, SweptCommand};

/// Changes when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// The letters of a point's name: 96 bits of its hash.
const NAME_LETTERS: usize = 24;

/// A point: a command with all that its result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
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
    ) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        for argument in &planned.arguments {
            let (flag, value) = argument.split_once('=').unwrap_or_default();
            for path in paths(flag, value) {
                let hash = known_hash(&path, hashes)
                    .map_err(|why| format!("{flag}: {path:?}: can't read it: {why}"))?;
                if hash.is_none() && flag == PROGRAMS {
                    let found = if Path::new(&path).is_dir() { "a folder" } else { "none" };
                    return Err(format!("{flag}: {path:?}: expected a file, found {found}"));
                }
                files.extend(hash.map(|hash| (path, hash)));
            }
        }
        let (fairways, arguments) = (version.to_owned(), planned.arguments.clone());
        Ok(Self { schema: SCHEMA, fairways, command, arguments, files })
    }

    /// The command line, which prints CSV.
    pub(crate) fn command_line(&self) -> impl Iterator<Item = &str> {
        let arguments = self.arguments.iter().map(String::as_str);
        ["fairways-lab", self.command.name()].into_iter().chain(arguments).chain(["--csv"])
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
pub(crate) fn run_point(
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

/// Whether the result in a file has its last line; one that can't be read has none.
pub(crate) fn has_last_line(path: &Path) -> bool {
    let Ok(end) = end_of(path) else { return false };
    let last = end.strip_suffix(b"\n").and_then(|end| end.rsplit(|byte| *byte == b'\n').next());
    last.is_some_and(|line| line.starts_with(b"# ") && line.ends_with(b" rows"))
}

/// The last bytes of a file, more than the last line has.
fn end_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(64)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end)
}

/// The flag of programs on a chip.
const PROGRAMS: &str = "--programs";

/// The paths in a flag's value: of the file that it is, or of those that programs and policies
/// name.
fn paths(flag: &str, value: &str) -> Vec<String> {
    match flag {
        "--profiles" | "--phases" | "--mixes" => vec![value.to_owned()],
        PROGRAMS => paths_of_programs(value),
        "--policies" => paths_of_policies(value),
        _ => Vec::new(),
    }
}

/// The files of streams and traces, as `fairways_chip::program` reads the text.
fn paths_of_programs(text: &str) -> Vec<String> {
    let mut quote = None;
    // Commas in quotes are part of a program.
    let programs = text.split(|letter| {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        letter == ',' && quote.is_none()
    });
    let replayed = programs.map(str::trim).filter(|program| !program.starts_with("live:"));
    replayed.flat_map(|program| program.split('+')).filter_map(path_of_phase).collect()
}

/// The file in `stream:FILE:cpi=0.7@2s`.
fn path_of_phase(phase: &str) -> Option<String> {
    let program = phase.split('@').next()?.trim();
    let mut parts = program.split(':').filter(|part| !part.contains('='));
    let kind = parts.next()?;
    parts.next().filter(|_| matches!(kind, "stream" | "trace")).map(str::to_owned)
}

/// The words of policies' commands that are files.
fn paths_of_policies(text: &str) -> Vec<String> {
    let commands = text.split(',').filter_map(|name| name.trim().strip_prefix("exec:"));
    let words = commands.flat_map(|command| shell_words::split(command).unwrap_or_default());
    words.filter(|word| Path::new(word).is_file()).collect()
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

    fn found(argument: &str) -> Vec<String> {
        let (flag, value) = argument.split_once('=').unwrap();
        paths(flag, value)
    }

    #[test]
    fn paths_are_those_of_files_that_flags_name() {
        assert_eq!(found("--profiles=mine.csv"), ["mine.csv"]);
        assert!(found("--mix=gzip,lbm").is_empty() && found("--seed=1").is_empty());
        // A name of a program, with a load.
        assert!(found("--loads=stream:a.stream=closed:8").is_empty());
    }

    /// As `fairways_chip::program::parse` reads them.
    #[test]
    fn paths_are_those_of_programs_without_their_options() {
        for (programs, expected) in [
            ("stream:a.stream,gzip,trace:/b:50", &["a.stream", "/b"][..]),
            ("stream:a.stream:cpi=0.7:overlap=2", &["a.stream"]),
            ("trace:b:20M:format=lackey", &["b"]),
            ("trace:format=gem5:b:instructions_per_access=3", &["b"]),
            ("stream:a@2s+idle@1s+trace:b:5k@5G+lookbusy", &["a", "b"]),
            ("live:cat 'stream:a,b',stream:c", &["c"]),
            ("live:cat stream:a+stream:b", &[]),
            ("stream, trace,mlr:8M", &[]),
        ] {
            assert_eq!(found(&format!("--programs={programs}")), expected, "{programs}");
        }
    }

    #[test]
    fn paths_are_all_words_of_a_policy_that_are_files() {
        let folder = tempfile::tempdir().unwrap();
        let [program, script] = ["python3", "my policy.py"].map(|name| {
            let path = folder.path().join(name);
            fs::write(&path, name).unwrap();
            path.display().to_string()
        });
        let policy = format!("--policies=lfoc,exec:{program} -u '{script}' mine, exec:{program}");
        assert_eq!(found(&policy), [&program[..], &script, &program]);
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
