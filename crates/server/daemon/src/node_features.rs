//! Describes this node's promises and hardware for node-feature-discovery, whose local source reads
//! the files of a folder and makes a label of the node from each line (its customization guide,
//! "Local feature source").

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairways_command_kit::input::shown;
use fairways_command_kit::moment::Moment;
use fairways_core::Time;
use fairways_host::machine::Host;
use fairways_record::status::{MachineRecord, Status};
use parking_lot::Mutex;
use tracing::{info, warn};

use crate::config::is_label_value;
use crate::observer::{EndOfRun, HostObserver};

/// The namespace of the labels.
const NAMESPACE: &str = "fairways.dev";

/// After this time node-feature-discovery ignores the file, as a killed daemon can't remove it.
const VALID_FOR: Duration = Duration::from_secs(15 * 60);

/// After this time the file is written again, even without changes. The daemon checks at least once
/// a minute.
const WRITTEN_AGAIN: Duration = Duration::from_secs(5 * 60);

/// The file, which exists while a policy that keeps baselines is in force.
pub(super) struct NodeFeatureFile {
    file: PathBuf,
    keeps_baselines: bool,
    /// The content that was written, or failed to be written, and when.
    last: Option<(Option<Features>, Instant)>,
    /// The logged reason why it can't be written.
    trouble: Option<String>,
}

/// The node's promises and hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Features {
    policy: String,
    /// The ways that programs can be guaranteed, in the cache with the fewest, because a program
    /// may run on any.
    ways: u32,
    /// How many of them are not guaranteed to any program, in the cache with the fewest.
    spare_ways: u32,
}

impl NodeFeatureFile {
    /// Describes the node in this file. `keeps_baselines` says whether the policy keeps guarantees;
    /// if not, the node promises nothing, and the file does not exist.
    pub(super) const fn new(file: PathBuf, keeps_baselines: bool) -> Self {
        Self { file, keeps_baselines, last: None, trouble: None }
    }

    /// Writes the file if something has changed, or it would expire.
    fn update(&mut self, status: &Status) {
        let now = if self.keeps_baselines { features(status) } else { None };
        let is_known = self.last.as_ref().is_some_and(|(last, at)| {
            *last == now && (now.is_none() || at.elapsed() < WRITTEN_AGAIN)
        });
        if is_known {
            return;
        }
        let done = match &now {
            Some(features) => write(&self.file, &text(features, Moment::now())),
            None => remove(&self.file),
        };
        self.last = Some((now, Instant::now()));
        let trouble = done.err().map(|why| why.to_string());
        if trouble != self.trouble {
            let file = shown(&self.file);
            match &trouble {
                Some(why) => warn!(file, "node features can't be written: {why}"),
                None => info!(file, "node features are written again"),
            }
            self.trouble = trouble;
        }
    }

    /// Removes the file: the node promises nothing any more.
    fn withdraw(&mut self) {
        if let Err(why) = remove(&self.file) {
            warn!(file = shown(&self.file), "node features can't be removed: {why}");
        }
    }
}

/// Keeps the file as the state that people see.
pub(super) struct NodeFeatureObserver {
    pub(super) file: NodeFeatureFile,
    pub(super) watched: Arc<Mutex<MachineRecord>>,
}

impl HostObserver for NodeFeatureObserver {
    fn turn(&mut self, _: &Host) {
        self.file.update(&self.watched.lock().status);
    }

    fn end(mut self: Box<Self>, _: &mut EndOfRun) {
        self.file.withdraw();
    }
}

/// What the node promises and has; `None` before the machine is known, and after the policy has
/// failed.
fn features(status: &Status) -> Option<Features> {
    if status.failed.is_some() {
        return None;
    }
    let spare = status.domains.iter().map(|domain| {
        let here = status.programs.iter().filter(|program| program.domain == domain.id);
        let sold: u32 = here.filter_map(|program| program.baseline_ways).sum();
        domain.ways.saturating_sub(sold)
    });
    Some(Features {
        policy: status.policy.clone(),
        ways: status.domains.iter().map(|domain| domain.ways).min().filter(|&ways| ways > 0)?,
        spare_ways: spare.min()?,
    })
}

/// The file's text, valid for a while from `now` on.
fn text(features: &Features, now: Moment) -> String {
    let Features { policy, ways, spare_ways } = features;
    let mut text = String::new();
    if let Some(until) = now.after(Time::ZERO.after(VALID_FOR)) {
        let _ = writeln!(text, "# +expiry-time={until}");
    }
    // A policy that is a command may have a name that Kubernetes does not accept.
    if is_label_value(policy) {
        let _ = writeln!(text, "{NAMESPACE}/policy={policy}");
    }
    let _ = writeln!(text, "{NAMESPACE}/spare-ways={spare_ways}");
    let _ = writeln!(text, "{NAMESPACE}/ways={ways}");
    text
}

/// Writes a file that readers see whole or not at all. They skip names that begin with a dot, and
/// are not root: everyone may read it, whatever the umask is. Unlike that of
/// [`whole`](fairways_command_kit::whole), its hidden name is always the same: a killed daemon
/// leaves one at most.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let name = file.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    let hidden = file.with_file_name(hidden);
    // A killed daemon may have left this.
    remove(&hidden)?;
    let mut new = File::create_new(&hidden)?;
    let written = new
        .set_permissions(Permissions::from_mode(0o644))
        .and_then(|()| new.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&hidden, file));
    written.inspect_err(|_| {
        let _ = remove(&hidden);
    })
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use fairways_record::status::{DomainStatus, ProgramStatus};

    use super::*;

    fn status(baselines: &[(u32, Option<u32>)]) -> Status {
        let programs = baselines.iter().map(|&(domain, baseline_ways)| ProgramStatus {
            domain,
            baseline_ways,
            ..ProgramStatus::default()
        });
        Status {
            policy: "dcat".to_owned(),
            domains: [0, 1].map(|id| DomainStatus { id, ways: 11, ..Default::default() }).into(),
            programs: programs.collect(),
            ..Status::default()
        }
    }

    fn spare(status: &Status) -> Option<u32> {
        features(status).map(|features| features.spare_ways)
    }

    #[test]
    fn a_node_has_what_its_fullest_cache_has() {
        let sold = [(0, Some(3)), (0, None), (0, Some(4)), (1, Some(2))];
        assert_eq!(spare(&status(&sold)), Some(4));
        assert_eq!(spare(&status(&[])), Some(11));
        assert_eq!(spare(&status(&[(1, Some(12))])), Some(0), "more than there are");
        assert_eq!(spare(&Status::default()), None, "no cache is known yet");
        let failed = Some("a test's".to_owned());
        assert_eq!(spare(&Status { failed, ..status(&[]) }), None);
    }

    #[test]
    fn the_text_is_what_the_local_source_reads() {
        let now: Moment = serde_json::from_str("\"2026-11-23T18:30:44.25Z\"").unwrap();
        let features = features(&status(&[(0, Some(3))])).unwrap();
        assert_eq!(
            text(&features, now),
            "# +expiry-time=2026-11-23T18:45:44Z\nfairways.dev/policy=dcat\n\
             fairways.dev/spare-ways=8\nfairways.dev/ways=11\n"
        );
    }

    #[test]
    fn a_policy_that_is_a_command_is_not_named() {
        for (name, is_named) in [("lfoc-plus", true), ("exec:./mine", false), ("-a", false)] {
            let now: Moment = serde_json::from_str("\"2026-11-23T18:30:44Z\"").unwrap();
            let of = Status { policy: name.to_owned(), ..status(&[]) };
            let text = text(&features(&of).unwrap(), now);
            assert_eq!(text.contains("/policy="), is_named, "{text}");
        }
    }

    /// A stale temporary file, of another mode or a link to elsewhere, is replaced; none is left.
    #[test]
    fn a_temporary_file_is_new_and_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [file, hidden, other] =
            ["fairways", ".fairways", "other"].map(|name| folder.path().join(name));
        fs::write(&other, "of others\n").unwrap();
        std::os::unix::fs::symlink(&other, &hidden).unwrap();
        write(&file, "a=1\n").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "of others\n");
        fs::write(&hidden, "stale").unwrap();
        fs::set_permissions(&hidden, Permissions::from_mode(0o600)).unwrap();
        write(&file, "a=2\n").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "a=2\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        write(&file, "a=3\n").unwrap_err();
        assert!(!hidden.exists(), "nothing half-done");
    }

    #[test]
    fn the_file_is_there_while_something_is_promised() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("features.d/fairways");
        let names = || -> Vec<_> {
            let entries = fs::read_dir(file.parent().unwrap()).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect()
        };
        let mut features = NodeFeatureFile::new(file.clone(), true);
        features.update(&status(&[]));
        assert!(features.trouble.is_some(), "there is no such folder");
        fs::create_dir(file.parent().unwrap()).unwrap();
        features.update(&status(&[(0, Some(3))]));
        assert_eq!(features.trouble, None);
        assert!(fs::read_to_string(&file).unwrap().contains("/spare-ways=8\n"));
        assert_eq!(names(), ["fairways"], "nothing else is left");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644, "node-feature-discovery is not root");
        // Unchanged content is not written again at once.
        fs::remove_file(&file).unwrap();
        features.update(&status(&[(0, Some(3))]));
        assert!(!file.exists());
        features.update(&status(&[(0, Some(4))]));
        assert!(file.exists());
        features.update(&Status { failed: Some("a test's".to_owned()), ..status(&[]) });
        assert!(!file.exists(), "a policy that has failed keeps nothing");
        features.update(&status(&[]));
        assert!(file.exists());
        features.withdraw();
        features.withdraw();
        assert!(names().is_empty());

        let mut promises_nothing = NodeFeatureFile::new(file.clone(), false);
        fs::write(&file, "of a killed daemon\n").unwrap();
        promises_nothing.update(&status(&[(0, Some(3))]));
        assert!(!file.exists(), "this policy keeps no baselines");
    }
}
