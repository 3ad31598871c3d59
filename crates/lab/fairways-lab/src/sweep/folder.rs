//! The folder of a sweep: `sweep.json`, a file for each point in `points`, and one for each result
//! in `results`, under the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use fairways_command_kit::input::shown;
use fairways_command_kit::{BadInput, whole};
use serde::{Deserialize, Serialize};

use crate::sweep::blamed;
use crate::sweep::plan::SweepPlan;
use crate::sweep::point::{Point, has_last_line};

/// Changes when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// A result that is still being written after this time never will be.
const LONGEST_WRITE: Duration = Duration::from_secs(3600);

/// A sweep that was written.
#[derive(Debug)]
pub(crate) struct SweepFolder {
    dir: PathBuf,
    pub(crate) index: SweepIndex,
}

/// The points of a sweep, in the plan's order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SweepIndex {
    schema: u32,
    /// The version of Fairways that the points are for.
    pub(crate) fairways: String,
    /// The names of the axes.
    pub(crate) axes: Vec<String>,
    pub(crate) points: Vec<IndexedPoint>,
}

/// A point's name, and its label on each axis.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IndexedPoint {
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SweepStatus {
    schema: u32,
    /// All its points.
    pub(crate) points: usize,
    /// Those with a result.
    pub(crate) done: usize,
}

impl SweepStatus {
    /// Prints it in a line, or as JSON.
    ///
    /// # Errors
    /// If it can't be printed.
    pub(crate) fn print(&self, dir: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
        if json {
            serde_json::to_writer(&mut *out, self)?;
            return Ok(writeln!(out)?);
        }
        let Self { points, done, .. } = self;
        Ok(writeln!(out, "{}: {done} of {points} points are done", shown(dir))?)
    }
}

/// Writes the points of a plan into a folder, and says how far it is: results of the same points
/// stay. `check` says what is wrong with a point's arguments, before anything is written.
///
/// # Errors
/// If the plan is wrong, or something can't be read or written.
pub(crate) fn write(
    plan: &Path,
    dir: &Path,
    version: &str,
    check: impl Fn(&Point) -> Result<(), String>,
) -> anyhow::Result<SweepStatus> {
    let read = SweepPlan::read(plan)?;
    let mut index = SweepIndex {
        schema: SCHEMA,
        fairways: version.to_owned(),
        axes: read.axes(),
        points: Vec::new(),
    };
    let (mut hashes, mut files) = (BTreeMap::new(), BTreeMap::new());
    for planned in read.points() {
        let place = named(&index.axes, &planned.labels);
        let point = Point::new(version, read.command, &planned, &mut hashes)
            .map_err(|why| blamed(plan, format!("{place}{why}")))?;
        let (text, name) = point.file()?;
        if !files.contains_key(&name) {
            check(&point).map_err(|why| blamed(plan, format!("{place}{why}")))?;
        }
        files.insert(name.clone(), text);
        index.points.push(IndexedPoint { name, labels: planned.labels });
    }
    for folder in ["points", "results"].map(|name| dir.join(name)) {
        fs::create_dir_all(&folder)
            .with_context(|| format!("{}: can't make it", shown(&folder)))?;
    }
    let folder = SweepFolder { dir: dir.to_owned(), index };
    for (name, text) in &files {
        let path = folder.point(name);
        if fs::read_to_string(&path).ok().as_ref() != Some(text) {
            whole::write(&path, text.as_bytes(), None)
                .with_context(|| format!("{}: can't write it", shown(&path)))?;
        }
    }
    let path = dir.join("sweep.json");
    let text = serde_json::to_string(&folder.index)? + "\n";
    whole::write(&path, text.as_bytes(), None)
        .with_context(|| format!("{}: can't write it", shown(&path)))?;
    // What is left of another plan is not run by `DIR/points/*`.
    for entry in fs::read_dir(dir.join("points"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json"));
        if name.is_some_and(|name| is_name(name) && !files.contains_key(name)) {
            fs::remove_file(&path).with_context(|| format!("{}: can't remove it", shown(&path)))?;
        }
    }
    folder.status()
}

/// Says how far a sweep is.
///
/// # Errors
/// If there is no sweep in the folder.
pub(crate) fn status(dir: &Path) -> anyhow::Result<SweepStatus> {
    SweepFolder::open(dir)?.status()
}

impl IndexedPoint {
    /// Whether it has a label for each axis, and a name that is no path.
    fn fits(&self, axes: usize) -> bool {
        self.labels.len() == axes && is_name(&self.name)
    }
}

/// Whether a point may have this name.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl SweepFolder {
    /// Opens a sweep that was written.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("sweep.json");
        let text = fs::read_to_string(&path).map_err(|why| {
            blamed(
                &path,
                format!("can't read it: {why}; `fairways-lab sweep write` makes it from a plan"),
            )
        })?;
        let index: SweepIndex = serde_json::from_str(&text)
            .map_err(|why| blamed(&path, format!("expected what `sweep write` wrote: {why}")))?;
        if index.schema != SCHEMA {
            let found = index.schema;
            return Err(blamed(&path, format!("expected schema {SCHEMA}, found {found}")).into());
        }
        if !index.points.iter().all(|point| point.fits(index.axes.len())) {
            return Err(
                blamed(&path, "expected a name and a label for each axis of a point").into()
            );
        }
        Ok(Self { dir: dir.to_owned(), index })
    }

    /// Checks that its points are for this version of Fairways.
    pub(crate) fn check_version(&self, version: &str) -> Result<(), BadInput> {
        let written = &self.index.fairways;
        if written == version {
            return Ok(());
        }
        let why = format!(
            "expected a sweep for version {version}, found {written}: write the sweep again"
        );
        Err(blamed(&self.dir, why))
    }

    /// The file of a point.
    pub(crate) fn point(&self, name: &str) -> PathBuf {
        self.dir.join("points").join(format!("{name}.json"))
    }

    /// The file of its result.
    pub(crate) fn result(&self, name: &str) -> PathBuf {
        self.dir.join("results").join(format!("{name}.csv"))
    }

    /// The names of the points that have a result, whole or cut short.
    pub(crate) fn there(&self) -> anyhow::Result<BTreeSet<String>> {
        let results = self.dir.join("results");
        let listed = fs::read_dir(&results)
            .with_context(|| format!("{}: can't read it", shown(&results)))?;
        let mut there = BTreeSet::new();
        for entry in listed {
            let entry = entry?;
            let (name, is_file) = (entry.file_name(), entry.file_type()?.is_file());
            let name = name.to_str().and_then(|name| name.strip_suffix(".csv"));
            there.extend(name.filter(|_| is_file).map(str::to_owned));
        }
        Ok(there)
    }

    /// Whether a point has a result that was not cut short; `there` are the results.
    pub(crate) fn is_done(&self, point: &IndexedPoint, there: &BTreeSet<String>) -> bool {
        there.contains(&point.name) && has_last_line(&self.result(&point.name))
    }

    /// Whether a path is that of a file that the sweep itself needs, by whatever name.
    pub(crate) fn owns(&self, path: &Path) -> bool {
        let Ok(own) = self.dir.canonicalize() else { return false };
        let [points, results] = ["points", "results"].map(|name| own.join(name));
        real_paths(path).any(|path| {
            path == own.join("sweep.json")
                || path.starts_with(&points)
                || path.starts_with(&results)
        })
    }

    /// Removes what processes left an hour ago or earlier that were killed while they wrote
    /// results.
    pub(crate) fn remove_unfinished(&self) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.dir.join("results"))? {
            let path = entry?.path();
            // Another shard may end writing it, or remove it, meanwhile.
            match remove_if_unfinished(&path) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => {
                    return Err(why).with_context(|| format!("{}: can't remove it", shown(&path)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn status(&self) -> anyhow::Result<SweepStatus> {
        let there = self.there()?;
        let points = &self.index.points;
        let done = points.iter().filter(|point| self.is_done(point, &there)).count();
        Ok(SweepStatus { schema: SCHEMA, points: points.len(), done })
    }

    /// A point's labels with the names of the axes, before what is said of it.
    pub(crate) fn named(&self, point: &IndexedPoint) -> String {
        named(&self.index.axes, &point.labels)
    }
}

/// A path without links: of what exists there, and of the entry in its folder.
fn real_paths(path: &Path) -> impl Iterator<Item = PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok();
    let entry = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    path.canonicalize().into_iter().chain(entry)
}

fn remove_if_unfinished(path: &Path) -> io::Result<()> {
    let name =
        path.file_name().and_then(|name| name.to_str()?.strip_prefix('.')?.split_once(".csv."));
    if !name.is_some_and(|(name, _)| is_name(name)) {
        return Ok(());
    }
    let age = fs::symlink_metadata(path)?.modified()?.elapsed();
    if age.is_ok_and(|age| age > LONGEST_WRITE) { fs::remove_file(path) } else { Ok(()) }
}

fn named(axes: &[String], labels: &[String]) -> String {
    let each = axes.iter().zip(labels).map(|(axis, label)| format!("{axis}={label}"));
    let all = each.collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("{all}: ") }
}
