//! The table of policies, for people and for programs.

use std::io::Write;

use comfy_table::Table;
use fairways_command_kit::table::{STYLE, columns, fit, fold_to};
use fairways_exec_policy::policies::json as value_of;
use fairways_policy::parameter::{Parameter, ValueKind};
use fairways_policy::table::{DecisionScope, KnowledgeSource, OwnerRequest};
use fairways_policy::{Descriptor, POLICIES};
use serde_json::{Value, json};

/// The columns that the parameters of a policy need at most.
const WIDEST: usize = 100;

/// Lists all policies, or shows one with its parameters.
///
/// # Errors
/// If that can't be printed.
pub(crate) fn print(
    policy: Option<&Descriptor>,
    as_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    match policy {
        Some(policy) if as_json => {
            writeln!(out, "{}", serde_json::to_string_pretty(&described(policy))?)?;
        }
        Some(policy) => one(policy, out)?,
        None if as_json => {
            let all: Vec<Value> = POLICIES.iter().map(described).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "policies": all }))?)?;
        }
        None => all(out)?,
    }
    Ok(())
}

const fn decides(policy: &Descriptor) -> &'static str {
    match policy.decides {
        DecisionScope::Nothing => "nothing",
        DecisionScope::Ways => "ways",
        DecisionScope::WaysAndBandwidth => "ways, bandwidth",
        DecisionScope::Bandwidth => "bandwidth",
        DecisionScope::Turns => "turns",
    }
}

const fn knows(policy: &Descriptor) -> &'static str {
    match policy.knows {
        KnowledgeSource::Nothing => "nothing",
        KnowledgeSource::Profiles => "profiles",
        KnowledgeSource::Counters | KnowledgeSource::OtherWays | KnowledgeSource::Threads => {
            "counters"
        }
        KnowledgeSource::Latencies => "latencies",
    }
}

fn counters(policy: &Descriptor) -> Vec<&'static str> {
    policy.counters.iter().map(|counter| counter.name()).collect()
}

fn honours(policy: &Descriptor) -> Vec<&'static str> {
    let word = |what: &OwnerRequest| match what {
        OwnerRequest::Baselines => "baselines",
        OwnerRequest::Objectives => "objectives",
        OwnerRequest::BestEffort => "best_effort",
        OwnerRequest::Importance => "importance",
    };
    policy.honours.iter().map(word).collect()
}

fn all(out: &mut dyn Write) -> anyhow::Result<()> {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["policy", "decides", "goes by", "honours", "what it does"]);
    for policy in POLICIES {
        let honours = honours(policy).join(", ");
        table.add_row([policy.name, decides(policy), knows(policy), &honours, policy.summary]);
    }
    writeln!(out, "{}", fit(table, &["honours", "goes by"]))?;
    Ok(())
}

fn one(policy: &Descriptor, out: &mut dyn Write) -> anyhow::Result<()> {
    let room = columns().map_or(WIDEST, |columns| usize::from(columns).min(WIDEST));
    writeln!(out, "{}", fold_to(&format!("{}: {}", policy.name, policy.summary), 2, room))?;
    if !policy.paper.is_empty() {
        writeln!(out, "{}", fold_to(policy.paper, 2, room))?;
    }
    let honours = honours(policy);
    write!(out, "decides {}, goes by {}", decides(policy), knows(policy))?;
    if !honours.is_empty() {
        write!(out, "; honours {}", honours.join(", "))?;
    }
    writeln!(out)?;
    let counters = counters(policy);
    if !counters.is_empty() {
        writeln!(out, "{}", fold_to(&format!("reads {}", counters.join(", ")), 2, room))?;
    }
    writeln!(out)?;
    if policy.parameters.is_empty() {
        writeln!(out, "It has no parameters.")?;
        return Ok(());
    }
    writeln!(out, "parameters, by --set NAME=VALUE:")?;
    let defaults = policy.make(&[]).parameters;
    for (parameter, (name, default)) in policy.parameters.iter().zip(defaults) {
        let value = format!("{name}={default} {}", parameter.unit);
        let from = parameter.source.replace('`', "");
        let help = parameter.help();
        let help = help.trim_end_matches('.').replace('`', "");
        writeln!(out, "\n{}", fold_to(&format!("{:<48}  {from}", value.trim_end()), 50, room))?;
        writeln!(out, "{}", fold_to(&format!("  {help}"), 2, room))?;
    }
    Ok(())
}

fn described(policy: &Descriptor) -> Value {
    let defaults = policy.make(&[]).parameters.into_iter().map(|(_, value)| value_of(value));
    let parameters = policy.parameters.iter().zip(defaults);
    json!({
        "name": policy.name,
        "summary": policy.summary,
        "paper": Some(policy.paper).filter(|paper| !paper.is_empty()),
        "decides": decides(policy),
        "knows": knows(policy),
        "honours": honours(policy),
        "counters": counters(policy),
        "parameters": parameters.map(|(parameter, default)| detail(parameter, &default)).collect::<Vec<_>>(),
    })
}

fn detail(parameter: &Parameter, default: &Value) -> Value {
    let (kind, words) = match &parameter.kind {
        ValueKind::Switch => ("switch", None),
        ValueKind::Count => ("count", None),
        ValueKind::Fraction => ("fraction", None),
        ValueKind::Time => ("time", None),
        ValueKind::Word(words) => ("word", Some(words)),
    };
    let bounds = parameter.bounds().map(|bound| bound.map(value_of));
    json!({
        "name": parameter.name,
        "kind": kind,
        "words": words,
        "unit": match &parameter.kind {
            ValueKind::Time => Some("ns"),
            _ => Some(&*parameter.unit).filter(|unit| !unit.is_empty()),
        },
        "default": default,
        "least": bounds[0],
        "most": bounds[1],
        "source": parameter.source,
        "help": parameter.help(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_fits_100_columns() {
        for policy in POLICIES {
            let mut printed = Vec::new();
            print(Some(policy), false, &mut printed).unwrap();
            let printed = String::from_utf8(printed).unwrap();
            for line in printed.lines() {
                assert!(line.chars().count() <= WIDEST, "{}: {line}", policy.name);
            }
        }
    }
}
