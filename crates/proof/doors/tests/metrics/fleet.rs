//! The sums over many nodes, and their dashboard.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fairways_testing::needs::{Need, has};

use super::dashboard::{
    check_expressions, check_panels, dashboard, expressions_of, known, packaging, promtool,
};

/// The names in an expression of metrics, and of what rules record.
fn names(expression: &str) -> BTreeSet<String> {
    let words =
        expression.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_:".contains(letter));
    let words = words.filter(|word| word.starts_with("fairways_") || word.contains(":fairways_"));
    words.map(str::to_owned).collect()
}

fn rules() -> String {
    fs::read_to_string(packaging("prometheus/fairways-fleet.rules.yml")).unwrap()
}

/// What the rules record.
fn recorded() -> BTreeSet<String> {
    let text = rules();
    let records = text.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    records.map(str::to_owned).collect()
}

/// The rules and the dashboard use metrics that exist, and what the rules record; docs/fleet.md has
/// all of it.
#[test]
fn rules_and_panels_use_what_exists() {
    let (dashboard, recorded) = (dashboard("fairways-fleet.json"), recorded());
    assert_eq!(recorded.len(), 12);
    check_panels(&dashboard);
    let exists = &known() | &recorded;
    let unknown = &names(&rules()) - &exists;
    assert!(unknown.is_empty(), "{unknown:?}");
    let mut shown = BTreeSet::new();
    for expression in expressions_of(&dashboard) {
        let names = names(&expression);
        assert!(!names.is_empty() || expression.starts_with("up{"), "{expression}");
        shown.extend(names);
    }
    let unknown = &shown - &exists;
    assert!(unknown.is_empty(), "{unknown:?}");
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let queries = variables[1..].iter().map(|of| of["query"]["query"].as_str().unwrap());
    assert!(queries.flat_map(names).all(|name| exists.contains(&name)));
    // With every job, a dead node of any other job would be one of this fleet's.
    let job = variables.iter().find(|of| of["name"] == "job").unwrap();
    assert!(job["allValue"].is_null(), "{job}");
    let page = packaging("../docs/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    for name in &recorded {
        assert!(page.contains(&format!("`{name}`")), "{name} is missing in docs/fleet.md");
    }
}

/// promtool sums a made-up fleet: an oversold cache, a saturated one, a noisy pair; zero where
/// there is none, and nothing where that is not known.
#[test]
fn a_fleet_is_summed() {
    if !has("the sums over a fleet", &[Need::Program("promtool")]) {
        return;
    }
    let said = promtool(&["check", "rules"], &packaging("prometheus/fairways-fleet.rules.yml"));
    assert!(said.contains("SUCCESS: 12 rules found"), "{said}");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fleet.yml");
    let said = promtool(&["test", "rules"], &tests);
    assert!(said.contains("SUCCESS"), "{said}");
    check_expressions(expressions_of(&dashboard("fairways-fleet.json")));
}
