//! What the processor promises and resctrl's `info` lacks. Linux leaves features out for a
//! processor's errata, because its command line says so, or because it is too old; each has a
//! finding of its own, which is absent where nothing is left out.

use fairways_resctrl::language::Info;

use super::facts::{Facts, field};
use super::kernel::rdt_words;
use super::{Finding, FindingState};

/// Where `info` shows a feature.
enum InfoEntry {
    /// A cache's folder, or those of its halves for code and data.
    Cache(&'static str),
    /// Ways for code and for data, which this mount option divides: folder and option.
    Halves(&'static str, &'static str),
    Bandwidth(&'static str),
    Event(&'static str),
    /// Events whose transactions can be chosen. They are hidden where counters are assigned.
    Configuration,
    /// Counters that are assigned to groups.
    Counters,
}

struct Feature {
    /// Its word in `rdt=` (kernel-parameters.txt), and the id of its finding.
    word: &'static str,
    /// Its flag in /proc/cpuinfo. Linux shows none for the last three; kernels of vendors may.
    flag: &'static str,
    shown: InfoEntry,
    /// The word of the feature without which the kernel has none of this one.
    needs: Option<&'static str>,
    /// The first Linux that has it in resctrl.
    since: (u32, u32),
    why: &'static str,
}

/// `rdt_options` of arch/x86/kernel/cpu/resctrl/core.c.
const FEATURES: [Feature; 11] = [
    Feature {
        word: "l3cat",
        flag: "cat_l3",
        shown: InfoEntry::Cache("L3"),
        needs: None,
        since: (4, 10),
        why: "without it no program gets ways of the L3",
    },
    Feature {
        word: "l3cdp",
        flag: "cdp_l3",
        shown: InfoEntry::Halves("L3", "cdp"),
        needs: Some("l3cat"),
        since: (4, 10),
        why: "without it code and data share the ways of the L3; Fairways does not need it",
    },
    Feature {
        word: "l2cat",
        flag: "cat_l2",
        shown: InfoEntry::Cache("L2"),
        needs: None,
        since: (4, 10),
        why: "without it no program gets ways of an L2",
    },
    Feature {
        word: "l2cdp",
        flag: "cdp_l2",
        shown: InfoEntry::Halves("L2", "cdpl2"),
        needs: Some("l2cat"),
        since: (4, 16),
        why: "without it code and data share the ways of an L2; Fairways does not need it",
    },
    Feature {
        word: "mba",
        flag: "mba",
        shown: InfoEntry::Bandwidth("MB"),
        needs: None,
        since: (4, 12),
        why: "without it no policy limits memory bandwidth",
    },
    Feature {
        word: "cmt",
        flag: "cqm_occup_llc",
        shown: InfoEntry::Event("llc_occupancy"),
        needs: None,
        since: (4, 14),
        why: "without it nobody sees how much of the cache a program occupies",
    },
    Feature {
        word: "mbmtotal",
        flag: "cqm_mbm_total",
        shown: InfoEntry::Event("mbm_total_bytes"),
        needs: None,
        since: (4, 14),
        why: "without it the bytes that programs move are unknown",
    },
    Feature {
        word: "mbmlocal",
        flag: "cqm_mbm_local",
        shown: InfoEntry::Event("mbm_local_bytes"),
        needs: None,
        since: (4, 14),
        why: "without it the bytes that programs move to their own socket's memory are unknown",
    },
    Feature {
        word: "smba",
        flag: "smba",
        shown: InfoEntry::Bandwidth("SMBA"),
        needs: None,
        since: (6, 3),
        why: "without it no policy limits the bandwidth of slow memory",
    },
    Feature {
        word: "bmec",
        flag: "bmec",
        shown: InfoEntry::Configuration,
        needs: Some("mbmtotal"),
        since: (6, 3),
        why: "without it the transactions that count as traffic cannot be chosen",
    },
    Feature {
        word: "abmc",
        flag: "abmc",
        shown: InfoEntry::Counters,
        needs: Some("mbmtotal"),
        since: (6, 18),
        why: "without it, where groups outnumber counters, their bytes are Unavailable at times",
    },
];

/// Features of MPAM, whose table of the firmware says where controls are, not which: id, entries of
/// `info`, whether nothing can be given out without it, why it matters, and what takes it.
const MPAM: [(&str, &str, FindingState, &str, &str); 3] = [
    (
        "mpam-portions",
        "L3 or L2",
        FindingState::Missing,
        "without portions no program gets a part of the cache",
        "it gives out an L3 or L2 that has at most 32 portions and is described for all CPUs",
    ),
    (
        "mpam-monitors",
        "L3_MON",
        FindingState::Limited,
        "without monitors neither occupancy nor traffic is known",
        "it reads an L3 that has monitors of storage use or bandwidth",
    ),
    (
        "mpam-bandwidth",
        "MB",
        FindingState::Limited,
        "without it no policy limits memory bandwidth",
        "it limits a class where the hardware has a maximum of bandwidth behind each L3",
    ),
];

/// The findings about ways, and about monitors.
pub(super) const WAYS: [&str; 3] = ["l3cat", "l2cat", MPAM[0].0];
pub(super) const MONITORS: [&str; 4] = ["cmt", "mbmtotal", "mbmlocal", MPAM[1].0];

/// Why a feature is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    CommandLine,
    Errata,
    OldKernel,
    /// The command line requests it, and it is left out.
    Requested,
    Unknown,
}

/// A feature that the processor has and `info` does not.
struct LeftOut {
    feature: &'static Feature,
    /// What `info` lacks; nothing where resctrl is not mounted.
    lacks: Option<String>,
    /// The reason of the feature that it needs, where that is left out too.
    reason: Reason,
}

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let left_out = left_out(facts);
    let line = BootLine::new(facts, &left_out);
    findings.extend(left_out.iter().map(|one| finding(facts, one, &line)));
    findings.extend(mpam(facts));
}

/// The ids of the findings that [`check`] makes.
fn ids(facts: &Facts) -> Vec<&'static str> {
    let left_out = left_out(facts);
    let of_x86 = left_out.iter().map(|one| one.feature.word);
    of_x86.chain(mpam(facts).iter().map(|one| one.id)).collect()
}

/// `see IDS`, for those of these findings that [`check`] makes.
pub(super) fn see(facts: &Facts, wanted: &[&str]) -> Option<String> {
    let mut made = ids(facts);
    made.retain(|id| wanted.contains(id));
    (!made.is_empty()).then(|| format!("see {}", made.join(", ")))
}

/// Whether `info` is the kernel's, so that it can be compared with this processor. An emulator
/// shows another one.
fn is_of_kernel(facts: &Facts) -> bool {
    let mounted = facts.resctrl.as_ref().and_then(|resctrl| resctrl.mounted.as_ref());
    mounted.is_some_and(|(kind, _)| kind == "resctrl")
}

fn left_out(facts: &Facts) -> Vec<LeftOut> {
    let promised = FEATURES.iter().filter(|feature| facts.has_flag(feature.flag));
    match &facts.info {
        Some(info) if is_of_kernel(facts) => promised
            .filter_map(|feature| {
                let lacks = lacks(feature, facts, info)?;
                Some(LeftOut { feature, lacks: Some(lacks), reason: cause(feature, facts, info) })
            })
            .collect(),
        // What is left out once resctrl is mounted.
        None if facts.resctrl.is_none() => promised
            .map(|feature| LeftOut { feature, lacks: None, reason: reason(feature, facts) })
            .filter(|one| matches!(one.reason, Reason::CommandLine | Reason::Errata))
            .collect(),
        _ => Vec::new(),
    }
}

/// What `info` lacks of a feature.
fn lacks(feature: &Feature, facts: &Facts, info: &Info) -> Option<String> {
    let monitoring = info.monitoring.as_ref();
    let lacks = match feature.shown {
        InfoEntry::Cache(cache) if !has_cache(info, cache) => format!("info has no {cache}"),
        InfoEntry::Halves(cache, _) if !has_cache(info, cache) => format!("info has no {cache}"),
        InfoEntry::Halves(cache, option) => {
            let code = format!("{cache}CODE");
            let mounted = facts.resctrl.as_ref().and_then(|resctrl| resctrl.mounted.as_ref());
            let is_divided = mounted.is_some_and(|(_, given)| given.iter().any(|of| of == option));
            let has_code = info.caches.iter().any(|of| of.resource == code);
            (is_divided && !has_code)
                .then(|| format!("resctrl is mounted with {option}, info has no {code}"))?
        }
        InfoEntry::Bandwidth(name) if info.bandwidths.iter().all(|of| of.resource != name) => {
            format!("info has no {name}")
        }
        InfoEntry::Event(_) | InfoEntry::Configuration | InfoEntry::Counters
            if monitoring.is_none() =>
        {
            "info has no L3_MON".to_owned()
        }
        InfoEntry::Event(name) if monitoring?.events.iter().all(|event| event != name) => {
            format!("info/L3_MON has no {name}")
        }
        InfoEntry::Configuration if !monitoring?.can_count_otherwise => {
            "no event of info/L3_MON can be configured".to_owned()
        }
        InfoEntry::Counters if !facts.has_info_file("L3_MON/num_mbm_cntrs") => {
            "info/L3_MON has no num_mbm_cntrs".to_owned()
        }
        _ => return None,
    };
    Some(lacks)
}

/// Whether a cache's ways can be given out, undivided or as ways for code and data.
fn has_cache(info: &Info, cache: &str) -> bool {
    info.caches.iter().any(|of| of.resource.starts_with(cache))
}

/// The reason of the feature that this one needs, if that is left out too; otherwise its own.
fn cause(feature: &Feature, facts: &Facts, info: &Info) -> Reason {
    let own = reason(feature, facts);
    let needed = feature.needs.and_then(|word| FEATURES.iter().find(|of| of.word == word));
    match needed {
        Some(needed) if own != Reason::CommandLine && lacks(needed, facts, info).is_some() => {
            reason(needed, facts)
        }
        _ => own,
    }
}

fn reason(feature: &Feature, facts: &Facts) -> Reason {
    let text = facts.files.line("proc/cmdline").unwrap_or_default();
    let words = rdt_words(&text);
    // Of `l3cat` and `!l3cat` the first holds (rdt_cpu_has).
    if words.contains(&feature.word) {
        Reason::Requested
    } else if words.iter().any(|word| word.strip_prefix('!') == Some(feature.word)) {
        Reason::CommandLine
    } else if has_errata(feature, facts) {
        Reason::Errata
    } else if facts.kernel.is_some_and(|kernel| kernel < feature.since) {
        Reason::OldKernel
    } else {
        Reason::Unknown
    }
}

/// `__check_quirks_intel`, since Linux 4.14: on Skylake-SP, Cascade Lake and Cooper Lake, which are
/// one model, L3 CAT; on Skylake-SP the monitors too.
fn has_errata(feature: &Feature, facts: &Facts) -> bool {
    let is_of_model = field(&facts.cpuinfo, "vendor_id").as_deref() == Some("GenuineIntel")
        && number(facts, "cpu family") == Some(6)
        && number(facts, "model") == Some(85);
    if !is_of_model || facts.kernel.is_some_and(|kernel| kernel < (4, 14)) {
        return false;
    }
    match feature.word {
        "l3cat" => true,
        "cmt" | "mbmtotal" | "mbmlocal" => number(facts, "stepping").is_some_and(|step| step <= 4),
        _ => false,
    }
}

fn number(facts: &Facts, name: &str) -> Option<u32> {
    field(&facts.cpuinfo, name)?.parse().ok()
}

/// `rdt=` of the kernel's command line as it is, and as it must be for what is left out.
struct BootLine {
    now: String,
    wanted: String,
}

impl BootLine {
    fn new(facts: &Facts, left_out: &[LeftOut]) -> Self {
        let text = facts.files.line("proc/cmdline").unwrap_or_default();
        let words = rdt_words(&text);
        let mut wanted = words.clone();
        for LeftOut { feature, .. } in left_out {
            let reason = reason(feature, facts);
            if reason == Reason::CommandLine {
                wanted.retain(|word| word.strip_prefix('!') != Some(feature.word));
            }
            // What needs another feature comes with that.
            let comes_with = feature
                .needs
                .is_some_and(|needed| left_out.iter().any(|other| other.feature.word == needed));
            if !comes_with && reason == Reason::Unknown
                || has_errata(feature, facts) && reason != Reason::Requested
            {
                wanted.push(feature.word);
            }
        }
        Self { now: words.join(","), wanted: wanted.join(",") }
    }

    fn remedy(&self) -> String {
        let Self { now, wanted } = self;
        let place = "the kernel's command line (the boot loader's configuration), and reboot";
        match (now.is_empty(), wanted.is_empty()) {
            _ if now == wanted => "see `dmesg | grep -i resctrl`".to_owned(),
            (true, _) => format!("add rdt={wanted} to {place}"),
            (false, true) => format!("take rdt={now} off {place}"),
            (false, false) => format!("replace rdt={now} by rdt={wanted} on {place}"),
        }
    }
}

fn finding(facts: &Facts, one: &LeftOut, line: &BootLine) -> Finding {
    let Feature { word, flag, since: (major, minor), why, .. } = one.feature;
    let because = match one.reason {
        Reason::CommandLine => format!("rdt=!{word} turns it off"),
        Reason::Errata => {
            let stepping =
                number(facts, "stepping").map_or("unknown".to_owned(), |n| n.to_string());
            format!("the kernel leaves it out for errata (model 85, stepping {stepping})")
        }
        Reason::OldKernel => "this kernel is too old for it".to_owned(),
        Reason::Requested => format!("the kernel leaves it out in spite of rdt={word}"),
        Reason::Unknown => "the kernel leaves it out".to_owned(),
    };
    let remedy = match one.reason {
        Reason::CommandLine => line.remedy(),
        Reason::Errata => {
            format!("{}; Intel's specification update says what may go wrong then", line.remedy())
        }
        Reason::OldKernel => format!("Linux {major}.{minor} or later"),
        Reason::Requested => {
            "see `dmesg | grep -i resctrl`; a newer kernel or microcode may have it".to_owned()
        }
        Reason::Unknown => {
            format!("{}; if it stays away, see `dmesg | grep -i resctrl`", line.remedy())
        }
    };
    let lacks = one.lacks.as_ref().map(|lacks| format!("{lacks}: ")).unwrap_or_default();
    let found = format!("the processor has {flag}, {lacks}{because}");
    Finding::new(word, FindingState::Missing, found, why).remedy(remedy)
}

fn mpam(facts: &Facts) -> Vec<Finding> {
    let Some(info) = facts.info.as_ref().filter(|_| is_of_kernel(facts)) else { return Vec::new() };
    if facts.is_x86() != Some(false) || !facts.files.exists("sys/firmware/acpi/tables/MPAM") {
        return Vec::new();
    }
    let has = [
        !info.caches.is_empty(),
        info.monitoring.as_ref().is_some_and(|of| !of.events.is_empty()),
        !info.bandwidths.is_empty(),
    ];
    let left_out = MPAM.into_iter().zip(has).filter(|(_, has)| !has);
    left_out
        .map(|((id, entries, state, why, takes), _)| {
            let found = format!("the firmware has an ACPI table MPAM, info has no {entries}");
            let remedy = format!(
                "`dmesg | grep -i mpam` shows what the kernel found: {takes}; newer firmware or a newer kernel may have it"
            );
            Finding::new(id, state, found, why).remedy(remedy)
        })
        .collect()
}
