//! `fairways config import`: what other managers of the cache are configured to do, as a
//! configuration of Fairways.
//!
//! Each source is read into classes, with their ways and programs. Settings without a counterpart
//! in Fairways are kept as lines that say what is left out, where, and why.

mod classes;
mod goresctrl;
mod kind;
mod koordinator;
mod libvirt;
mod live;
mod output;
mod pods;
mod rubik;
mod source;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use fairways_command_kit::input::{self, shown};
use fairways_command_kit::plain::plain;
use fairways_command_kit::{BadInput, warn};
use fairways_programs::Roots;
use fairways_resctrl_client::Settings;

pub use kind::SourceKind;

use classes::{CacheMasks, ClassWays, ImportedClass};
use pods::ImportedPod;
use yaml::{WrongLine, YamlNode, YamlValue};

/// The most bytes of a configuration, which the daemon reads.
const LARGEST_CONFIGURATION: usize = 1 << 20;
/// The most classes; no processor has more.
const MOST_CLASSES: usize = 512;
/// The most lines about what is left out.
const MOST_LEFT_OUT: usize = 200;
/// The most letters of a name in such a line.
const LONGEST_LEFT_OUT: usize = 200;

/// Why a share of the cache is left out.
const UNKNOWN_WAYS: &str = "how many ways the cache has is not known here: give --ways";
/// Why a limit of ways is left out.
const NO_FIXED_LIMIT: &str =
    "there is no fixed limit for a program; with `best_effort` the policy plans for it last";
/// Why a limit of memory bandwidth is left out.
const NO_BANDWIDTH: &str =
    "there is no fixed limit for a program; the policy sets limits where memory is full";

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// Files, `-` for standard input, or folders of resctrl.
    pub sources: Vec<PathBuf>,
    /// Whether the mounted resctrl is a source, too.
    pub live: bool,
    /// The kind of the sources; `None`: their content shows it.
    pub from: Option<SourceKind>,
    /// The new file; without it, standard output.
    pub output: Option<PathBuf>,
    /// The number of ways of the cache; `None`: that of this host.
    pub ways: Option<u32>,
    /// The size of the cache in bytes; `None`: that of this host.
    pub cache_size: Option<u64>,
}

/// The last-level cache, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
struct HostCache {
    ways: Option<u32>,
    bytes: Option<u64>,
}

impl HostCache {
    /// This host's.
    fn of_host() -> Self {
        let Settings { root, sysfs, .. } = Settings::default();
        let mask = fs::read_to_string(root.join("info/L3/cbm_mask")).ok();
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 16).ok());
        let size = sysfs.join("devices/system/cpu/cpu0/cache/index3/size");
        let size = fs::read_to_string(size).ok();
        Self {
            ways: mask.map(u32::count_ones).filter(|ways| *ways > 0),
            bytes: size.and_then(|size| input::size(&size).ok()),
        }
    }
}

/// The contents of the sources that were read so far.
struct ImportedSources {
    cache: HostCache,
    /// The name of the source that is being read.
    source: String,
    /// The offsets at which the lines of XML begin, except the first.
    line_starts: Vec<usize>,
    /// The names of all sources, with their kinds.
    sources: BTreeSet<String>,
    classes: Vec<ImportedClass>,
    pods: Vec<ImportedPod>,
    /// rubik's level of background pods that name none.
    default_level: &'static str,
    /// The number of ways that everything else is limited to, and the masks.
    confined: Option<(u32, CacheMasks)>,
    /// Further remarks about the result.
    comments: Vec<String>,
    /// The first lines about settings that are left out, and the number of further ones.
    left_out: Vec<String>,
    more_left_out: usize,
}

impl ImportedSources {
    const fn new(cache: HostCache) -> Self {
        Self {
            cache,
            source: String::new(),
            line_starts: Vec::new(),
            sources: BTreeSet::new(),
            classes: Vec::new(),
            pods: Vec::new(),
            default_level: "max",
            confined: None,
            comments: Vec::new(),
            left_out: Vec::new(),
            more_left_out: 0,
        }
    }

    /// `FILE:LINE`.
    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.source)
    }

    /// The line of a place in XML.
    fn line_at(&self, at: usize) -> usize {
        1 + self.line_starts.partition_point(|start| *start <= at)
    }

    /// Records a setting that is left out, and why.
    fn leave_out(&mut self, line: usize, what: &str, why: &str) {
        self.leave_out_at(&self.place(line), what, why);
    }

    fn leave_out_at(&mut self, place: &str, what: &str, why: &str) {
        let what: String = what.chars().take(LONGEST_LEFT_OUT).collect();
        let text = plain(&format!("{place}: {what}: {why}"));
        if self.left_out.contains(&text) {
            return;
        }
        match self.left_out.len() < MOST_LEFT_OUT {
            true => self.left_out.push(text),
            false => self.more_left_out += 1,
        }
    }

    fn add_class(&mut self, class: ImportedClass, line: usize) -> Result<(), WrongLine> {
        let name = &class.name;
        if self.classes.iter().any(|other| other.by == class.by && other.name == *name) {
            let why = format!("expected each class once, found {name:?} again");
            return Err(WrongLine::new(line, why));
        }
        if self.classes.len() >= MOST_CLASSES {
            return Err(WrongLine::new(line, format!("expected at most {MOST_CLASSES} classes")));
        }
        self.classes.push(class);
        Ok(())
    }

    /// Adopts the ways of the group that everything else is in.
    fn confine_others(&mut self, rest: &ImportedClass) {
        let what = match rest.name.as_str() {
            "" => "the root's group",
            name => name,
        };
        if rest.bandwidth.is_some() {
            self.leave_out_at(&rest.place, what, NO_BANDWIDTH);
        }
        let ClassWays::Masks(masks) = &rest.ways else { return };
        let Some(least) = masks.values().map(|mask| mask.count_ones()).min() else { return };
        // A group with the whole cache is not limited.
        if least == 0 || self.cache.ways.is_some_and(|ways| least >= ways) {
            return;
        }
        if masks.values().any(|mask| mask.count_ones() != least) {
            let why = "`resctrl.confine_others` is the same for each cache: the fewest ways count";
            self.leave_out_at(&rest.place, what, why);
        }
        self.confined = Some((least, masks.clone()));
    }

    /// Reads a file, standard input, or a folder.
    fn read(&mut self, path: &Path, from: Option<SourceKind>) -> Result<(), BadInput> {
        self.source = shown(path);
        if path.is_dir() {
            if from.is_some_and(|from| from != SourceKind::Resctrl) || !live::is_resctrl(path) {
                let expected = from.unwrap_or(SourceKind::Resctrl).expected();
                return Err(self.wrong(&format!("expected {expected}, found a folder")));
            }
            self.note(SourceKind::Resctrl);
            // Its masks belong to its own cache; other sources use that of `--ways`, or the host's.
            let cache = self.cache;
            let read = live::read(self, path, &Roots::default());
            self.cache = cache;
            return read;
        }
        let text = source::text(path).map_err(|why| self.wrong(&why))?;
        self.read_text(&text, from)
    }

    fn read_text(&mut self, text: &str, from: Option<SourceKind>) -> Result<(), BadInput> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let begins_as_xml = text.trim_start().starts_with('<');
        let read = if from.map_or(begins_as_xml, |from| from == SourceKind::Libvirt) {
            self.note(SourceKind::Libvirt);
            libvirt::read(self, text).map(|()| true)
        } else {
            self.documents(text, from)
        };
        match read {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.wrong(&kind::unknown(from))),
            Err(WrongLine { line, why }) => {
                Err(BadInput(plain(&format!("{}:{line}: {why}", self.source))))
            }
        }
    }

    fn wrong(&self, why: &str) -> BadInput {
        BadInput(plain(&format!("{}: {why}", self.source)))
    }

    fn note(&mut self, kind: SourceKind) {
        self.sources.insert(format!("{} ({})", self.source, kind.name()));
    }

    /// Reads the documents of YAML or JSON; returns whether any of them is known.
    fn documents(&mut self, text: &str, from: Option<SourceKind>) -> Result<bool, WrongLine> {
        let mut is_known = false;
        for document in yaml::read(text)? {
            is_known |= self.document(&document, from)?;
        }
        Ok(is_known)
    }

    fn document(
        &mut self,
        document: &YamlNode,
        from: Option<SourceKind>,
    ) -> Result<bool, WrongLine> {
        if may_be(from, SourceKind::Goresctrl)
            && let Some(part) = partitioned(document)
        {
            self.note(SourceKind::Goresctrl);
            return goresctrl::read(self, part).map(|()| true);
        }
        let kind = pods::kind(document);
        if kind == Some("ConfigMap") {
            return self.config_map(document, from);
        }
        if let (Some(_), Some(items)) = (kind, document.get("items")) {
            let mut is_known = false;
            // Kubernetes has no lists of lists.
            for item in items.list("items")?.iter().filter(|item| item.get("items").is_none()) {
                is_known |= self.document(item, from)?;
            }
            return Ok(is_known);
        }
        if may_be(from, SourceKind::Koordinator) && koordinator::strategy(document).is_some() {
            self.note(SourceKind::Koordinator);
            return koordinator::read(self, document).map(|()| true);
        }
        if may_be(from, SourceKind::Rubik) && rubik::part(document).is_some() {
            self.note(SourceKind::Rubik);
            return rubik::read(self, document).map(|()| true);
        }
        if kind.is_some() {
            let before = self.pods.len();
            pods::read(self, document)?;
            if self.pods.len() > before {
                self.sources.insert(format!("{} (pods)", self.source));
            }
            return Ok(self.pods.len() > before);
        }
        Ok(false)
    }

    /// Reads the settings of other managers in a `ConfigMap`.
    fn config_map(&mut self, map: &YamlNode, from: Option<SourceKind>) -> Result<bool, WrongLine> {
        let Some(data) = map.get("data") else { return Ok(false) };
        let data = data.map("data")?;
        let mut is_known = false;
        for (key, value) in data {
            let is_theirs = data.len() == 1
                || matches!(key.as_str(), "resource-qos-config" | "config.json" | "rdt");
            match value.inner() {
                Ok(documents) => {
                    for document in documents.iter().filter(|inner| pods::kind(inner).is_none()) {
                        is_known |= self.document(document, from)?;
                    }
                }
                Err(error) if is_theirs => return Err(error),
                // It is another program's file.
                Err(_) => {}
            }
        }
        Ok(is_known)
    }
}

fn may_be(from: Option<SourceKind>, kind: SourceKind) -> bool {
    from.is_none_or(|from| from == kind)
}

/// The part of a document that has goresctrl's partitions.
fn partitioned(document: &YamlNode) -> Option<&YamlNode> {
    const PLACES: [&[&str]; 5] =
        [&[], &["rdt"], &["control", "rdt"], &["spec", "rdt"], &["spec", "control", "rdt"]];
    let found = PLACES
        .iter()
        .find_map(|keys| document.at(keys).filter(|part| part.get("partitions").is_some()));
    found.filter(|part| matches!(part.value, YamlValue::Map(_)))
}

/// Runs `fairways config import`.
///
/// # Errors
/// If a source can't be read, or is not of a known kind, or the new file can't be written.
pub fn import(options: &ImportOptions, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(file) = options.output.as_deref().filter(|file| file.symlink_metadata().is_ok()) {
        let why = format!("--output: expected a name that is free, found {}", shown(file));
        return Err(BadInput(why).into());
    }
    let host = HostCache::of_host();
    let cache =
        HostCache { ways: options.ways.or(host.ways), bytes: options.cache_size.or(host.bytes) };
    let mut import = ImportedSources::new(cache);
    let live = options.live.then(|| Settings::default().root);
    for source in options.sources.iter().chain(&live) {
        import.read(source, options.from)?;
    }
    let text = configuration(&mut import)?;
    let count = import.left_out.len() + import.more_left_out;
    let Some(file) = &options.output else {
        out.write_all(text.as_bytes())?;
        if count > 0 {
            warn(&format!("{count} things are not carried over: the comments say which, and why"));
        }
        return Ok(());
    };
    create(file, &text).with_context(|| shown(file))?;
    writeln!(out, "wrote {}", shown(file))?;
    for line in import.shown_left_out() {
        writeln!(out, "not carried over: {line}")?;
    }
    Ok(())
}

/// The imported settings, as a configuration that the daemon accepts.
fn configuration(import: &mut ImportedSources) -> anyhow::Result<String> {
    pods::assign(import);
    let text = output::text(import);
    if text.len() > LARGEST_CONFIGURATION {
        let why = format!(
            "expected at most {LARGEST_CONFIGURATION} bytes of configuration, found {}: import fewer pods at once",
            text.len()
        );
        return Err(BadInput(why).into());
    }
    if let Err(why) = super::load::check_text(&text) {
        bail!("the result is no configuration, which is a fault of this program: {why}");
    }
    Ok(text)
}

/// Writes a new file, whole or not at all.
fn create(path: &Path, text: &str) -> io::Result<()> {
    // No other group may write a configuration, whatever the umask.
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

impl ImportedSources {
    /// The lines about settings that are left out, and the number of further ones.
    fn shown_left_out(&self) -> Vec<String> {
        let mut lines = self.left_out.clone();
        if self.more_left_out > 0 {
            lines.push(format!("and {} more", self.more_left_out));
        }
        lines
    }
}
