//! Every default of every policy is the value that its source gives: the paper, a decision of
//! docs/decisions.md, or this project. `defaults.toml` has these values, copied by hand.
//!
//! The unit tests of the crate have this file as a module, too: cargo stops after the first suite
//! with a failure, and a changed default can fail others before this one.

#![allow(clippy::unwrap_used)]

extern crate alloc;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use fairways_core::{Curve, Profile, Q32, Ways};
use fairways_policy::lfoc::{self, Class};
use fairways_policy::table::Descriptor;
use fairways_policy::{POLICIES, descriptor};

/// What the sources give, in a part of TOML: tables, and lines `name = value`.
const SOURCES: &str = include_str!("defaults.toml");

/// The file that has them, for messages.
const FILE: &str = "crates/base/policy/tests/defaults.toml";

/// A table of the file.
struct SourceTable {
    policy: &'static str,
    /// The policy whose values count where this table has none.
    base: Option<&'static str>,
    lines: Vec<(&'static str, String)>,
}

fn tables() -> Vec<SourceTable> {
    let mut tables: Vec<SourceTable> = Vec::new();
    for line in SOURCES.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(policy) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            tables.push(SourceTable { policy, base: None, lines: Vec::new() });
            continue;
        }
        let (name, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{FILE}: {line}"));
        let value = value.trim_matches('"');
        let table = tables.last_mut().unwrap();
        if name == "as" {
            table.base = Some(value);
        } else {
            table.lines.push((name, plain(value)));
        }
    }
    tables
}

/// A value as users see it: TOML takes underscores in numbers.
fn plain(value: &str) -> String {
    if value.starts_with(|first: char| first.is_ascii_digit()) {
        value.replace('_', "")
    } else {
        value.to_owned()
    }
}

/// The value that the file gives a parameter, and the policy to whose paper its source belongs:
/// the first one that has the parameter.
fn given<'a>(
    tables: &'a [SourceTable],
    policy: &str,
    name: &str,
) -> Option<(&'a str, &'static str)> {
    let table = tables.iter().find(|table| table.policy == policy)?;
    let inherited = table.base.and_then(|base| given(tables, base, name));
    let own = table.lines.iter().find(|(known, _)| *known == name);
    match (own, inherited) {
        (Some((_, value)), Some((_, first))) => Some((value, first)),
        (Some((_, value)), None) => Some((value, table.policy)),
        (None, inherited) => inherited,
    }
}

/// The source with the title of the paper, where it is a place in that paper.
fn cited(source: &str, policy: &Descriptor) -> String {
    let places = ["§", "Table ", "Algorithm ", "Equation"];
    if !policy.paper.is_empty() && places.iter().any(|place| source.starts_with(place)) {
        format!("{source} of {}", policy.paper)
    } else {
        source.to_owned()
    }
}

/// What is wrong with a policy's defaults, in a line for each.
fn mistakes(tables: &[SourceTable], policy: &Descriptor) -> Vec<String> {
    let mut mistakes = Vec::new();
    let name = policy.name;
    for (parameter, (key, value)) in policy.parameters.iter().zip(policy.make(&[]).parameters) {
        let source = parameter.source;
        if source.is_empty() {
            mistakes.push(format!("{name}: `{key}` has no source in `parameters!`"));
        }
        let value = value.to_string();
        match given(tables, name, key) {
            Some((known, _)) if known == value => {}
            Some((known, first)) => {
                let cited = cited(source, descriptor(first).unwrap_or(policy));
                let found = format!("{name}: the default of `{key}` is {value}");
                mistakes.push(format!("{found}, but its source gives {known}: {cited}"));
            }
            None => mistakes.push(format!(
                "{name}: {FILE} has no line for `{key}`, which is {value} ({source})"
            )),
        }
    }
    for (key, _) in
        tables.iter().filter(|table| table.policy == name).flat_map(|table| &table.lines)
    {
        if policy.parameter(key).is_none() {
            mistakes.push(format!("{name}: {FILE} has `{key}`, which is no parameter"));
        }
    }
    mistakes
}

#[test]
fn every_default_is_the_one_of_its_source() {
    let tables = tables();
    let mut wrong: Vec<String> =
        POLICIES.iter().flat_map(|policy| mistakes(&tables, policy)).collect();
    for table in &tables {
        if descriptor(table.policy).is_none() {
            wrong.push(format!("{FILE}: `{}` is no policy", table.policy));
        }
    }
    let advice = "A default that departs from its paper needs a decision in docs/decisions.md, and \
                  its new line";
    assert!(wrong.is_empty(), "\n{}\n{advice} in {FILE}.\n", wrong.join("\n"));
}

/// A program that is as fast with every number of ways, and misses as often.
fn insensitive(llcmpkc: Q32) -> Profile {
    let flat = Curve::new([Q32::ONE; 4]).unwrap();
    Profile {
        ipc: flat,
        llcmpkc: Curve::new([llcmpkc; 4]).unwrap(),
        llcmpki: flat,
        bandwidth_mbps: flat,
        stalls_l2_miss: flat,
    }
}

#[test]
fn by_lfoc_s_table_1_a_program_streams_from_10_misses_per_1000_cycles_on() {
    let ten = Q32::from_int(10);
    let below = Q32::from_raw(ten.raw() - 1);
    for (llcmpkc, class) in [(ten, Class::Streaming), (below, Class::Light)] {
        let profile = insensitive(llcmpkc);
        let found = lfoc::classify(&profile, Ways::new(4).unwrap(), &lfoc::Parameters::default());
        let table = "LFOC, Table 1: streaming is \"Slowdown <= 1.03 and LLCMPKC >= 10\"";
        assert_eq!(found, class, "{table}; a program of LLCMPKC {llcmpkc} is {}", found.name());
    }
}
