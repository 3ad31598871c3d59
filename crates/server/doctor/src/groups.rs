//! The groups in resctrl: other managers', this daemon's, and the root, which has everything else.

use fairways_core::WayMask;
use fairways_resctrl::language::Mode;
use fairways_resctrl_client::Settings;
use fairways_resctrl_client::managers::manager;

use super::abilities::filled;
use super::facts::{ControlGroup, Facts, OURS};
use super::files::text;
use super::{Finding, FindingState};

/// The finding that is missing where nothing can be given out.
pub(super) const FREE: &str = "free-ways";

/// The finding that is missing where others have every way exclusively.
pub(super) const EXCLUSIVE: &str = "exclusive-ways";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.resctrl.is_none() {
        return;
    }
    findings.push(others(facts));
    findings.extend(super::monitors::check(facts));
    findings.push(ours(facts));
    findings.extend(exclusive(facts));
    findings.extend(free(facts));
    findings.extend(isolation(facts));
}

fn others(facts: &Facts) -> Finding {
    let why = "groups of other managers are planned around, and never changed or removed";
    let theirs: Vec<&ControlGroup> = facts.groups.iter().filter(|group| !group.is_ours()).collect();
    if theirs.is_empty() {
        return Finding::new("others-groups", FindingState::Ok, "none", why);
    }
    let mut managers: Vec<(&str, Vec<&str>)> = Vec::new();
    for group in &theirs {
        let by = manager(&group.name);
        match managers.iter_mut().find(|(known, _)| *known == by) {
            Some((_, names)) => names.push(&group.name),
            None => managers.push((by, vec![&group.name])),
        }
    }
    let parts = managers.iter().map(|(by, names)| {
        let shown = names.iter().take(SHOWN).map(|name| name.escape_debug().to_string());
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        format!("{} of {by} ({}{more})", names.len(), shown.collect::<Vec<_>>().join(", "))
    });
    let found = parts.collect::<Vec<_>>().join("; ");
    Finding::new("others-groups", FindingState::Limited, found, why)
        .remedy("stop their manager and remove them, or let Fairways share what they leave")
}

/// Names of groups in one line.
const SHOWN: usize = 4;

fn ours(facts: &Facts) -> Finding {
    let why = "a daemon that was killed leaves its groups, and programs stay in them";
    let classes = facts.groups.iter().filter(|group| group.is_ours()).count();
    let count = classes + facts.monitored.iter().filter(|name| name.starts_with(OURS)).count();
    let daemon = daemon(facts);
    let named = format!("{count} group(s) named {OURS}*");
    match (count, daemon) {
        (0, None) => Finding::new("own-groups", FindingState::Ok, "none, and no daemon runs", why),
        (0, Some(pid)) => {
            let found = format!("none; `fairways run` is process {pid}");
            Finding::new("own-groups", FindingState::Ok, found, why)
        }
        (_, Some(pid)) => {
            let found = format!("{named}, of process {pid}");
            Finding::new("own-groups", FindingState::Ok, found, why)
        }
        (_, None) => {
            let found = format!("{named}, and no daemon runs");
            Finding::new("own-groups", FindingState::Limited, found, why).remedy("fairways restore")
        }
    }
}

/// The process of a daemon: `fairways run` without a simulated machine.
fn daemon(facts: &Facts) -> Option<String> {
    facts.files.processes().into_iter().find(|pid| {
        if facts.files.line(&format!("proc/{pid}/comm")).as_deref() != Some("fairways") {
            return false;
        }
        let words = facts.files.text(&format!("proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = words.split('\0').skip(1);
        words.clone().any(|word| word == "run") && !words.any(|word| word.starts_with("--machine"))
    })
}

/// What can be given out, by the daemon's own rule, where that is not something in each domain.
fn free(facts: &Facts) -> Option<Finding> {
    let why = "the daemon gives out what no other manager has; with less, it only watches";
    let claims = facts.claims_of(facts.shared_cache()?);
    if claims.domains.is_empty() {
        return None;
    }
    let usual = Settings::default();
    let lack = claims.lack(&usual)?;
    let state = match claims.leave_nothing(&usual) {
        true => FindingState::Missing,
        false => FindingState::Limited,
    };
    Some(Finding::new(FREE, state, lack, why).remedy(claims.remedy(&usual)))
}

fn exclusive(facts: &Facts) -> Option<Finding> {
    let why = "no other group may fill the ways of a group whose mode is exclusive";
    let cache = facts.shared_cache()?;
    let holders = facts.groups.iter().filter(|group| {
        !group.is_ours() && matches!(group.mode, Some(Mode::Exclusive | Mode::PseudoLocked))
    });
    let masks = holders.filter_map(|group| group.schemata.as_ref().map(filled));
    let held = masks.fold(0, |all, mask| all | mask.bits());
    let left = WayMask::from_bits(cache.mask.bits() & !held);
    let found = match held {
        0 => {
            return Some(Finding::new(
                EXCLUSIVE,
                FindingState::Ok,
                "no way is exclusive to a group",
                why,
            ));
        }
        _ => format!("others have {}; {} ways are left", WayMask::from_bits(held), left.count()),
    };
    let state = if left.count() < cache.min_bits.max(1) {
        FindingState::Missing
    } else {
        FindingState::Limited
    };
    let remedy = "write shareable to the mode of groups that need no ways of their own";
    Some(Finding::new(EXCLUSIVE, state, found, why).remedy(remedy))
}

/// The cost of isolation while the root group may fill everything.
fn isolation(facts: &Facts) -> Option<Finding> {
    let why = "tasks of the root group evict lines of every way that it may fill, a managed program's too";
    let resctrl = facts.resctrl.as_ref()?;
    let cache = facts.shared_cache()?;
    let root = filled(resctrl.schemata.as_ref()?);
    let tasks = text(&resctrl.root.join("tasks"));
    let tasks =
        tasks.map_or("an unknown number of".to_owned(), |text| text.lines().count().to_string());
    let all = cache.mask.count();
    let found = format!("{tasks} tasks in the root group may fill {} of {all} ways", root.count());
    if root.count() < all {
        return Some(Finding::new("isolation", FindingState::Ok, found, why));
    }
    let remedy = "fairways run --confine-others N keeps them to N ways while it runs";
    Some(Finding::new("isolation", FindingState::Limited, found, why).remedy(remedy))
}
