//! Decisions, in sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use fairways_core::Time;
use fairways_policy::words;

use crate::status::{Decision, Member, Outcome, Said, Share, estimate, share_of};

/// What stands below a decision's first line begins here.
const INDENT: &str = "             ";

/// What was last said of a program.
#[derive(Default)]
struct Known<'a> {
    class: Option<(&'a str, &'a str)>,
    numbers: BTreeMap<&'a str, f64>,
}

/// Everybody of whom something was said.
pub(super) fn names(decisions: &[Decision]) -> Vec<&str> {
    let mut names = BTreeSet::new();
    for said in decisions.iter().flat_map(|of| &of.said) {
        match said {
            Said::Classified { program, .. }
            | Said::Estimated { program, .. }
            | Said::Allowed { program, .. }
            | Said::Ordered { program, .. } => {
                names.insert(program.as_str());
            }
            Said::Raised { programs, .. } => names.extend(programs.iter().map(String::as_str)),
            Said::Planned { clusters, .. } => {
                let members = clusters.iter().flat_map(|share| &share.members);
                names.extend(members.map(|member| member.program.as_str()));
            }
        }
    }
    names.into_iter().collect()
}

/// Prints those that are to be shown, of one program or of all, with the time of day if they are to be `dated`; what was said before them
/// is what programs were held to be.
pub(super) fn print(
    decisions: &[Decision],
    is_shown: &dyn Fn(&Decision) -> bool,
    about: Option<&str>,
    dated: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut known: BTreeMap<(u32, &str), Known<'_>> = BTreeMap::new();
    let several = decisions.iter().any(|of| of.domain != decisions[0].domain);
    for decision in decisions {
        let domain = decision.domain;
        let mut told: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut plan = None;
        let mut shares: &[Share] = &[];
        let mut actual: &[Share] = &[];
        for said in &decision.said {
            match said {
                Said::Classified { program, class, reason } => {
                    let known = known.entry((domain, program)).or_default();
                    known.numbers.retain(|what, _| words::outlives_class(what));
                    known.class = Some((class, reason));
                    told.entry(program).or_default();
                }
                Said::Estimated { program, what, value } => {
                    let known = known.entry((domain, program)).or_default();
                    known.numbers.insert(what, *value);
                    told.entry(program).or_default();
                }
                Said::Planned { plan: number, reason, clusters, outcome } => {
                    plan = Some((number, reason, outcome));
                    let others = match outcome {
                        Outcome::Otherwise(others) => others.as_slice(),
                        _ => &[],
                    };
                    match about {
                        None => (shares, actual) = (clusters, others),
                        Some(about) => {
                            if let Some((share, member)) = share_of(clusters, about) {
                                let text = ways(share, member);
                                let told = told.entry(&member.program).or_default();
                                told.push(text);
                                if let Some((share, member)) = share_of(others, about) {
                                    told.push(format!("in force: {}", ways(share, member)));
                                }
                            }
                        }
                    }
                }
                Said::Allowed { program, cpus, reason } => {
                    let cpus = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                    let on =
                        if cpus.is_empty() { "every CPU".into() } else { format!("CPUs {cpus}") };
                    told.entry(program).or_default().push(format!("may run on {on}: {reason}"));
                }
                Said::Raised { programs, raised, reason } => {
                    let how =
                        if *raised { "runs before others" } else { "no longer runs before others" };
                    for program in programs {
                        told.entry(program).or_default().push(format!("{how}: {reason}"));
                    }
                }
                Said::Ordered { program, time_ns, reason } => {
                    let time =
                        humantime::format_duration(std::time::Duration::from_nanos(*time_ns));
                    told.entry(program)
                        .or_default()
                        .push(format!("its next turn is {time}: {reason}"));
                }
            }
        }
        if is_shown(decision) {
            head(decision, plan, (several, dated), out)?;
            for (program, done) in told {
                if about.is_none_or(|about| about == program) {
                    let held = known.get(&(domain, program)).map(held).unwrap_or_default();
                    let parts: Vec<String> = held.into_iter().chain(done).collect();
                    writeln!(out, "{INDENT}{program}: {}", parts.join("; "))?;
                }
            }
            for share in shares {
                writeln!(out, "{INDENT}{}", cluster(share))?;
            }
            for share in actual {
                writeln!(out, "{INDENT}in force: {}", cluster(share))?;
            }
        }
        for ended in &decision.ended {
            known.remove(&(domain, ended.as_str()));
        }
    }
    Ok(())
}

/// When, what, why, and after what.
fn head(
    decision: &Decision,
    plan: Option<(&u32, &String, &Outcome)>,
    (several, dated): (bool, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    if let Some(at) = decision.at.filter(|_| dated) {
        write!(out, "{at}  ")?;
    }
    let at = Time::from_nanos(decision.at_ns);
    write!(out, "{at:>11}  ")?;
    if several {
        write!(out, "domain {}: ", decision.domain)?;
    }
    write!(out, "{}", decision.event)?;
    if let Some((number, reason, outcome)) = plan {
        write!(out, ": plan {number}, {reason}")?;
        if decision.alike > 0 {
            write!(out, " (and {} like it before)", decision.alike)?;
        }
        match outcome {
            Outcome::Done => {}
            Outcome::Otherwise(_) => write!(out, "; in force with other ways")?,
            Outcome::Refused(why) => write!(out, "; refused: {why}")?,
        }
    }
    writeln!(out)
}

/// What a program is held to be: the class, the numbers, and why it is of the class.
fn held(known: &Known<'_>) -> Option<String> {
    let mut parts = Vec::new();
    if let Some((class, _)) = known.class {
        parts.push(class.to_owned());
    }
    parts.extend(known.numbers.iter().map(|(what, value)| estimate(what, *value)));
    let mut text = parts.join(", ");
    if let Some((_, reason)) = known.class {
        text = format!("{text} ({reason})");
    }
    (!text.is_empty()).then_some(text)
}

/// Who fills which ways, and how many each had if not as many.
fn cluster(share: &Share) -> String {
    let member = |of: &Member| match of.before {
        Some(before) if before != share.ways => format!("{} ({before} before)", of.program),
        _ => of.program.clone(),
    };
    let members: Vec<String> = share.members.iter().map(member).collect();
    format!("{}: {}", counted(share), members.join(", "))
}

fn counted(share: &Share) -> String {
    let unit = if share.ways == 1 { "way" } else { "ways" };
    format!("{} {unit} {}", share.ways, share.mask)
}

fn ways(share: &Share, own: &Member) -> String {
    let mut text = counted(share);
    match own.before {
        Some(before) if before != share.ways => text += &format!(", {before} before"),
        _ => {}
    }
    let with = share.members.iter().filter(|other| !std::ptr::eq(*other, own));
    let with: Vec<&str> = with.map(|of| of.program.as_str()).collect();
    if !with.is_empty() {
        text += &format!(", with {}", with.join(", "));
    }
    text
}
