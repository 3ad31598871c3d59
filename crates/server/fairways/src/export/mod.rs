//! A plan for other tools, as `fairways export` prints it: resctrl by hand, pqos, goresctrl.

mod goresctrl;
mod plan;
mod pqos;
mod schemata;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use fairways_command_kit::BadInput;
use fairways_command_kit::input::read;

use plan::{Document, Plan};

/// Which plan is exported, and how.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The file that another command printed with `--json`; `-` is standard input.
    pub(crate) plan: PathBuf,
    /// The tool that reads it.
    pub(crate) format: Format,
    /// The name of the mix, if there are several.
    pub(crate) mix: Option<String>,
    /// The policy whose plan it is, if there are several.
    pub(crate) policy: Option<String>,
    /// The caches to which it applies; at least one.
    pub(crate) domain: Vec<CacheDomain>,
    /// The class of service of the first cluster, for pqos.
    pub(crate) first_cos: u32,
}

/// The tool that reads an exported plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A shell script that writes resctrl's files.
    Schemata,
    /// Commands of intel-cmt-cat's pqos.
    Pqos,
    /// goresctrl's YAML, for its `rdt configure`, containerd and CRI-O.
    Goresctrl,
}

/// An L3 cache, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheDomain {
    /// All of them.
    All,
    /// One, as resctrl numbers it.
    Id(u32),
}

impl FromStr for CacheDomain {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) if text == "all" => Ok(Self::All),
            Err(_) => Err(format!("expected all, or a number, found {text:?}")),
        }
    }
}

/// The caches to which a plan applies.
enum Domains {
    /// Every L3 cache.
    All,
    /// Those with these ids, in ascending order.
    Some(Vec<u32>),
}

/// Runs the command; everything is checked before anything is written.
///
/// # Errors
/// If the plan can't be read, or does not fit these caches, or `out` fails.
pub(crate) fn run(args: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let domains = domains(&args.domain)?;
    let (text, name) = if args.plan == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text)?;
        (text, "standard input".to_owned())
    } else {
        (read(&args.plan)?, fairways_command_kit::input::shown(&args.plan))
    };
    let document = Document::parse(&text).map_err(|why| BadInput(format!("{name}: {why}")))?;
    let plan = match &domains {
        Domains::Some(ids) if document.is_of_host() => match ids[..] {
            [id] => document.plan_of_domain(id),
            _ => Err("--domain: expected one, whose plan it is".to_owned()),
        },
        Domains::All if document.is_of_host() => {
            Err("--domain: expected one, whose plan it is, found all".to_owned())
        }
        _ => document.plan(args.mix.as_deref(), args.policy.as_deref()),
    };
    let plan = plan.map_err(|why| BadInput(format!("{name}: {why}")))?;
    match args.format {
        Format::Schemata => schemata::write(&plan, &domains, out),
        Format::Pqos => pqos::write(&plan, &domains, args.first_cos, out),
        Format::Goresctrl => goresctrl::write(&plan, &domains, out),
    }
}

fn domains(flags: &[CacheDomain]) -> Result<Domains, BadInput> {
    if !flags.is_empty() && flags.iter().all(|flag| *flag == CacheDomain::All) {
        return Ok(Domains::All);
    }
    let mut ids = Vec::new();
    for flag in flags {
        match flag {
            CacheDomain::Id(id) => ids.push(*id),
            CacheDomain::All => {
                let message = "--domain: expected all, or numbers, found both";
                return Err(BadInput(message.to_owned()));
            }
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(Domains::Some(ids))
}

/// A plan in one line for people.
fn heading(plan: &Plan<'_>) -> String {
    let reason = plan.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    one_line(&format!("{} for {}{reason}", plan.policy, plan.mix))
}

fn one_line(text: &str) -> String {
    fairways_command_kit::plain::plain(text)
}

/// A pgrep pattern for the processes with these names, quoted for a shell. The kernel cuts names to
/// 15 bytes (proc(5), `comm`).
fn pattern(names: &[&str]) -> String {
    let escaped = |name: &&str| {
        let mut text = String::new();
        for letter in cut(name).chars() {
            if r"\.^$*+?()[]{}|".contains(letter) {
                text.push('\\');
            }
            text.push(letter);
        }
        text
    };
    let names: Vec<String> = names.iter().map(escaped).collect();
    format!("'{}'", names.join("|").replace('\'', r"'\''"))
}

/// A process's name as the kernel keeps it.
fn cut(name: &str) -> &str {
    const KEPT: usize = 15;
    let end = (0..=KEPT.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_they_are() {
        assert_eq!(pattern(&["mlr:8M", "a.out"]), r"'mlr:8M|a\.out'");
        assert_eq!(pattern(&["it's $HOME"]), r"'it'\''s \$HOME'");
        assert_eq!(pattern(&["a-name-of-more-than-15-bytes"]), "'a-name-of-more-'");
        assert_eq!(cut("fünfzehn-bytes-é"), "fünfzehn-bytes");
    }

    #[test]
    fn domains_are_ids_or_all() {
        let parsed = |texts: &[&str]| {
            let flags = texts.iter().map(|text| text.parse().map_err(BadInput));
            domains(&flags.collect::<Result<Vec<_>, _>>()?)
        };
        assert!(matches!(parsed(&["all"]), Ok(Domains::All)));
        assert!(matches!(parsed(&["all", "all"]), Ok(Domains::All)));
        let Ok(Domains::Some(ids)) = parsed(&["8", "0", "8"]) else { panic!("ids") };
        assert_eq!(ids, [0, 8]);
        for texts in [&["all", "0"][..], &["-1"], &["x"], &[""]] {
            assert!(
                parsed(texts).is_err_and(|error| error.0.contains("expected all")),
                "{texts:?}"
            );
        }
    }
}
