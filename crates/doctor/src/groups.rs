//! Who has groups in resctrl: others, this daemon, and the root, where everything else is.

use fairways_core::WayMask;
use fairways_resctrl::language::Mode;
use fairways_resctrl_client::managers::manager;

use super::abilities::filled;
use super::facts::{Facts, Group, OURS};
use super::files::text;
use super::{Finding, State};

/// The finding that is missing where no way can be given out.
pub(super) const EXCLUSIVE: &str = "exclusive-ways";

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    if facts.resctrl.is_none() {
        return;
    }
    findings.push(of_others(facts));
    findings.extend(super::monitors::check(facts));
    findings.push(ours(facts));
    findings.extend(exclusive(facts));
    findings.extend(isolation(facts));
}

fn of_others(facts: &Facts) -> Finding {
    let why = "what others made is planned around, and never changed or removed";
    let theirs: Vec<&Group> = facts.groups.iter().filter(|group| !group.is_ours()).collect();
    if theirs.is_empty() {
        return Finding::new("others-groups", State::Ok, "none", why);
    }
    let mut managers: Vec<(&str, Vec<&str>)> = Vec::new();
    for group in &theirs {
        let by = manager(&group.name);
        match managers.iter_mut().find(|(known, _)| *known == by) {
            Some((_, names)) => names.push(&group.name),
            None => managers.push((by, vec![&group.name])),
        }
    }
    let told = managers.iter().map(|(by, names)| {
        let shown = names.iter().take(SHOWN).map(|name| name.escape_debug().to_string());
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        format!("{} of {by} ({}{more})", names.len(), shown.collect::<Vec<_>>().join(", "))
    });
    let found = told.collect::<Vec<_>>().join("; ");
    Finding::new("others-groups", State::Limited, found, why)
        .remedy("stop their manager and remove them, or let Fairways share what they leave")
}

/// Names of groups in one line.
const SHOWN: usize = 4;

fn ours(facts: &Facts) -> Finding {
    let why = "a daemon that was killed leaves its groups, and programs stay in them";
    let classes = facts.groups.iter().filter(|group| group.is_ours()).count();
    let count = classes + facts.monitored.iter().filter(|name| name.starts_with(OURS)).count();
    let daemon = daemon(facts);
    let found = |by: String| format!("{count} group(s) named {OURS}*, {by}");
    match (count, daemon) {
        (0, None) => Finding::new("own-groups", State::Ok, "none, and no daemon runs", why),
        (0, Some(pid)) => {
            let found = format!("none; `fairways run` is process {pid}");
            Finding::new("own-groups", State::Ok, found, why)
        }
        (_, Some(pid)) => {
            let found = found(format!("of process {pid}"));
            Finding::new("own-groups", State::Ok, found, why)
        }
        (_, None) => {
            Finding::new("own-groups", State::Limited, found("and no daemon runs".into()), why)
                .remedy("fairways restore")
        }
    }
}

/// The process of a daemon: `fairways run`, but of no simulated machine.
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

fn exclusive(facts: &Facts) -> Option<Finding> {
    let why = "nobody else may fill the ways of a group whose mode is exclusive";
    let cache = facts.l3()?;
    let holders = facts.groups.iter().filter(|group| {
        !group.is_ours() && matches!(group.mode, Some(Mode::Exclusive | Mode::PseudoLocked))
    });
    let masks = holders.filter_map(|group| group.schemata.as_ref().map(filled));
    let held = masks.fold(0, |all, mask| all | mask.bits());
    let left = WayMask::from_bits(cache.mask.bits() & !held);
    let found = match held {
        0 => return Some(Finding::new(EXCLUSIVE, State::Ok, "no way is held exclusively", why)),
        _ => format!("others hold {}; {} ways are left", WayMask::from_bits(held), left.count()),
    };
    let state = if left.count() < cache.min_bits.max(1) { State::Missing } else { State::Limited };
    let remedy = "write shareable to the mode of groups that need no ways of their own";
    Some(Finding::new(EXCLUSIVE, state, found, why).remedy(remedy))
}

/// What isolation costs while the root group may fill everything.
fn isolation(facts: &Facts) -> Option<Finding> {
    let why = "tasks of the root group evict lines of every way that it may fill, a managed program's too";
    let resctrl = facts.resctrl.as_ref()?;
    let cache = facts.l3()?;
    let root = filled(resctrl.schemata.as_ref()?);
    let tasks = text(&resctrl.root.join("tasks"));
    let tasks =
        tasks.map_or("an unknown number of".to_owned(), |text| text.lines().count().to_string());
    let all = cache.mask.count();
    let found = format!("{tasks} tasks in the root group may fill {} of {all} ways", root.count());
    if root.count() < all {
        return Some(Finding::new("isolation", State::Ok, found, why));
    }
    let remedy = "fairways run --confine-others N keeps them to N ways while it runs";
    Some(Finding::new("isolation", State::Limited, found, why).remedy(remedy))
}
