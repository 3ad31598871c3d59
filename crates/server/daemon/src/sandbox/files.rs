//! Landlock (landlock(7)): files are changed below a few folders only.

use std::path::{Path, PathBuf};

use fairways_latency::Spec;
use landlock::{
    ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use rustix::thread::{CapabilitySet, capabilities};

use crate::config::{Config, CounterSource, Listen};

/// Lets files be written, made and removed only below resctrl and the daemon's own folders. Reading
/// is not limited.
pub(super) fn limit(config: &Config) -> Result<String, String> {
    // Without CAP_PERFMON, counting needs the access to processes that ptrace(2) needs, and
    // Landlock forbids it.
    let counts = matches!(config.counters.source, CounterSource::Perf);
    let may = capabilities(None).is_ok_and(|now| now.effective.contains(CapabilitySet::PERFMON));
    if counts && !may {
        return Err("counters of perf without CAP_PERFMON need what Landlock forbids".to_owned());
    }
    // Without this right groups could not be renamed.
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Refer)
        .map_err(|_| "this kernel has no Landlock of Linux 5.19 or later".to_owned())?;
    let rights = AccessFs::from_write(ABI::V3);
    let rules = rules.set_compatibility(CompatLevel::BestEffort).handle_access(rights);
    let mut rules = rules.and_then(Ruleset::create).map_err(|why| why.to_string())?;
    for folder in written(config) {
        let opened = PathFd::new(&folder).map_err(|why| why.to_string())?;
        rules = rules.add_rule(PathBeneath::new(opened, rights)).map_err(|why| why.to_string())?;
    }
    let status = rules.restrict_self().map_err(|why| why.to_string())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("this kernel has no Landlock".to_owned()),
        _ => Ok("limited by Landlock".to_owned()),
    }
}

/// The folders in which the daemon writes. For one that does not exist yet, its nearest parent that
/// does.
fn written(config: &Config) -> Vec<PathBuf> {
    let beside = |path: &Path| path.parent().map(Path::to_owned);
    let mut folders = vec![config.resctrl.root.clone(), config.resctrl.state.clone()];
    folders.extend(beside(&config.control.socket));
    if let Some(Listen::Unix(path)) = &config.metrics.listen {
        folders.extend(beside(path));
    }
    folders.extend(config.journal.file.as_deref().and_then(beside));
    let sources = config.program.iter().filter_map(|program| program.latency.as_ref());
    let sockets = sources.filter_map(|source| match &source.value {
        Some(Spec::Socket(path)) => Some(path.as_path()),
        _ => None,
    });
    folders.extend(sockets.filter_map(beside));
    folders.iter().filter_map(|folder| nearest(folder)).collect()
}

fn nearest(folder: &Path) -> Option<PathBuf> {
    // A relative path of one name has an empty parent.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(folder).ok()?.ancestors().find(|path| path.is_dir()).map(Path::to_owned)
}
