//! Prints decisions as sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use fairways_command_kit::table::fold;
use fairways_core::Time;
use fairways_policy::words;

use crate::status::{Decision, Member, Outcome, RecordedAction, Share, estimate_text, share_of};

/// The indentation of the lines below a decision's first line.
const INDENT: &str = "             ";

/// What the policy last found about a program.
#[derive(Default)]
struct Assessment<'a> {
    class: Option<(&'a str, &'a str)>,
    numbers: BTreeMap<&'a str, f64>,
}

/// The slowdowns that the policy expects, by program.
type Expected<'a> = BTreeMap<&'a str, f64>;

fn slowdowns<'a>(known: &BTreeMap<(u32, &'a str), Assessment<'_>>, domain: u32) -> Expected<'a> {
    let here = known.iter().filter(|((of, _), _)| *of == domain);
    here.filter_map(|((_, program), of)| Some((*program, *of.numbers.get(words::SLOWDOWN.text())?)))
        .collect()
}

/// The expected unfairness and STP; `None` for fewer than two programs, or without a slowdown of
/// each.
fn unfairness_and_stp(programs: &[&str], all: &Expected<'_>) -> Option<[f64; 2]> {
    let each = programs.iter().map(|program| all.get(program).copied());
    let each = each.collect::<Option<Vec<f64>>>().filter(|each| each.len() > 1)?;
    let largest = each.iter().copied().fold(0.0, f64::max);
    let smallest = each.iter().copied().fold(f64::INFINITY, f64::min);
    Some([largest / smallest, each.iter().map(|slowdown| 1.0 / slowdown).sum()])
}

/// What a plan gains and costs, by the policy's expectation for all of its programs.
fn expected(planned: &[Share], before: &Expected<'_>, now: &Expected<'_>) -> Option<String> {
    let programs = planned.iter().flat_map(|share| &share.members);
    let programs: Vec<&str> = programs.map(|member| member.program.as_str()).collect();
    let [before, now] = [before, now].map(|all| unfairness_and_stp(&programs, all));
    let ([unfairness, stp], [fairer, faster]) = (before?, now?);
    Some(format!(
        "expected: unfairness {fairer:.3} ({unfairness:.3} before), throughput {faster:.3} ({stp:.3} before)"
    ))
}

/// The names of all programs that the decisions are about.
pub(super) fn names(decisions: &[Decision]) -> Vec<&str> {
    let mut names = BTreeSet::new();
    for action in decisions.iter().flat_map(|decision| &decision.actions) {
        match action {
            RecordedAction::Classified { program, .. }
            | RecordedAction::Estimated { program, .. }
            | RecordedAction::Allowed { program, .. }
            | RecordedAction::Ordered { program, .. } => {
                names.insert(program.as_str());
            }
            RecordedAction::Raised { programs, .. } => {
                names.extend(programs.iter().map(String::as_str))
            }
            RecordedAction::Planned { clusters, .. } => {
                let members = clusters.iter().flat_map(|share| &share.members);
                names.extend(members.map(|member| member.program.as_str()));
            }
        }
    }
    names.into_iter().collect()
}

/// Prints the selected decisions, about one program or all; with the time of day if `dated`.
/// Earlier decisions are read for what the policy had found about programs by then.
pub(super) fn print(
    decisions: &[Decision],
    is_shown: &dyn Fn(&Decision) -> bool,
    about: Option<&str>,
    dated: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut known: BTreeMap<(u32, &str), Assessment<'_>> = BTreeMap::new();
    let several = decisions.iter().any(|decision| decision.domain != decisions[0].domain);
    for decision in decisions {
        let domain = decision.domain;
        let mut notes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut plan = None;
        let mut shares: &[Share] = &[];
        let mut actual: &[Share] = &[];
        let mut planned: &[Share] = &[];
        let before = slowdowns(&known, domain);
        for action in &decision.actions {
            match action {
                RecordedAction::Classified { program, class, reason } => {
                    let known = known.entry((domain, program)).or_default();
                    known.numbers.retain(|what, _| words::outlives_class(what));
                    known.class = Some((class, reason));
                    notes.entry(program).or_default();
                }
                RecordedAction::Estimated { program, what, value } => {
                    let known = known.entry((domain, program)).or_default();
                    known.numbers.insert(what, *value);
                    notes.entry(program).or_default();
                }
                RecordedAction::Planned { plan: number, reason, clusters, outcome } => {
                    plan = Some((number, reason, outcome));
                    // A refused plan's expectations never came into force.
                    if !matches!(outcome, Outcome::Refused(_)) {
                        planned = clusters;
                    }
                    let others = match outcome {
                        Outcome::Otherwise(others) => others.as_slice(),
                        _ => &[],
                    };
                    match about {
                        None => (shares, actual) = (clusters, others),
                        Some(about) => {
                            if let Some((share, member)) = share_of(clusters, about) {
                                let text = member_text(share, member);
                                let own = notes.entry(&member.program).or_default();
                                own.push(text);
                                if let Some((share, member)) = share_of(others, about) {
                                    own.push(format!("in force: {}", member_text(share, member)));
                                }
                            }
                        }
                    }
                }
                RecordedAction::Allowed { program, cpus, reason } => {
                    let cpus = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                    let on =
                        if cpus.is_empty() { "every CPU".into() } else { format!("CPUs {cpus}") };
                    notes.entry(program).or_default().push(format!("may run on {on}: {reason}"));
                }
                RecordedAction::Raised { programs, raised, reason } => {
                    let how =
                        if *raised { "runs before others" } else { "no longer runs before others" };
                    for program in programs {
                        notes.entry(program).or_default().push(format!("{how}: {reason}"));
                    }
                }
                RecordedAction::Ordered { program, time_ns, reason } => {
                    let time =
                        humantime::format_duration(std::time::Duration::from_nanos(*time_ns));
                    notes
                        .entry(program)
                        .or_default()
                        .push(format!("its next turn is {time}: {reason}"));
                }
            }
        }
        if is_shown(decision) {
            write_line(&head(decision, plan, (several, dated)), out)?;
            let now = slowdowns(&known, domain);
            if let Some(change) =
                about.is_none().then(|| expected(planned, &before, &now)).flatten()
            {
                write_line(&format!("{INDENT}{change}"), out)?;
            }
            for (program, done) in notes {
                if about.is_none_or(|about| about == program) {
                    let held = known.get(&(domain, program)).map(assessment).unwrap_or_default();
                    let parts: Vec<String> = held.into_iter().chain(done).collect();
                    write_line(&format!("{INDENT}{program}: {}", parts.join("; ")), out)?;
                }
            }
            for share in shares {
                write_line(&format!("{INDENT}{}", share_text(share)), out)?;
            }
            for share in actual {
                write_line(&format!("{INDENT}in force: {}", share_text(share)), out)?;
            }
        }
        for ended in &decision.ended {
            known.remove(&(domain, ended.as_str()));
        }
    }
    Ok(())
}

/// Writes a line, wrapped and indented where the terminal is narrow.
fn write_line(line: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", fold(line, INDENT.len() + 2))
}

/// The time, the event, the plan with its reason, and its outcome.
fn head(
    decision: &Decision,
    plan: Option<(&u32, &String, &Outcome)>,
    (several, dated): (bool, bool),
) -> String {
    let mut head = String::new();
    if let Some(at) = decision.at.filter(|_| dated) {
        head += &format!("{at}  ");
    }
    head += &format!("{:>11}  ", Time::from_nanos(decision.at_ns));
    if several {
        head += &format!("domain {}: ", decision.domain);
    }
    head += &decision.event.to_string();
    if let Some((number, reason, outcome)) = plan {
        head += &format!(": plan {number}, {reason}");
        if decision.alike > 0 {
            head += &format!(" (and {} like it before)", decision.alike);
        }
        match outcome {
            Outcome::Done => {}
            Outcome::Otherwise(others) => {
                let is_limited = others.iter().any(|share| share.bandwidth.is_some());
                head += if is_limited {
                    "; in force with other ways or bandwidth"
                } else {
                    "; in force with other ways"
                };
            }
            Outcome::Refused(why) => head += &format!("; refused: {why}"),
        }
    }
    head
}

/// A program's class, its numbers, and the reason for the class.
fn assessment(known: &Assessment<'_>) -> Option<String> {
    let mut parts = Vec::new();
    if let Some((class, _)) = known.class {
        parts.push(class.to_owned());
    }
    parts.extend(known.numbers.iter().map(|(what, value)| estimate_text(what, *value)));
    let mut text = parts.join(", ");
    if let Some((_, reason)) = known.class {
        text = format!("{text} ({reason})");
    }
    (!text.is_empty()).then_some(text)
}

/// The programs that fill some ways, each with the ways that it had before if their number changed.
fn share_text(share: &Share) -> String {
    let members: Vec<String> = share
        .members
        .iter()
        .map(|member: &Member| match member.before {
            Some(before) if before != share.ways => format!("{} ({before} before)", member.program),
            _ => member.program.clone(),
        })
        .collect();
    format!("{}: {}", ways_and_mask(share), members.join(", "))
}

fn ways_and_mask(share: &Share) -> String {
    let unit = if share.ways == 1 { "way" } else { "ways" };
    let ways = format!("{} {unit} {}", share.ways, share.mask);
    match &share.bandwidth {
        Some(level) => format!("{ways}, at most {level} of memory bandwidth"),
        None => ways,
    }
}

fn member_text(share: &Share, own: &Member) -> String {
    let mut text = ways_and_mask(share);
    match own.before {
        Some(before) if before != share.ways => text += &format!(", {before} before"),
        _ => {}
    }
    let with = share.members.iter().filter(|other| !std::ptr::eq(*other, own));
    let with: Vec<&str> = with.map(|member| member.program.as_str()).collect();
    if !with.is_empty() {
        text += &format!(", with {}", with.join(", "));
    }
    text
}
