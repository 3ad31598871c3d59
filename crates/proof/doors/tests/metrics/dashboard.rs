//! The dashboard and the alerts use metrics that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_testing::needs::{Need, has};
use serde_json::Value;

pub(crate) fn packaging(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").join(file)
}

pub(crate) fn dashboard(name: &str) -> Value {
    let file = packaging("grafana").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The expressions of the panels of a node's dashboard.
pub(crate) fn expressions() -> Vec<String> {
    expressions_of(&dashboard("fairways.json"))
}

/// The expressions of a dashboard's panels, with Grafana's variables set to match everything.
pub(crate) fn expressions_of(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let asked = targets.map(|target| target["expr"].as_str().unwrap());
    let whole = asked.map(|text| {
        let mut text = text.replace("$__rate_interval", "1m").replace("$__range", "1h");
        for variable in ["$instance", "$domain", "$program", "$job"] {
            text = text.replace(variable, ".*");
        }
        assert!(!text.contains('$'), "{text}");
        text
    });
    whole.collect()
}

/// The metrics' names in an expression.
fn metrics(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("fairways_") || word.starts_with("process_"));
    words.map(str::to_owned).collect()
}

/// Every metric of docs/metrics.md, which another test compares with the endpoint's.
pub(crate) fn known() -> BTreeSet<String> {
    super::values::described().into_iter().map(|(name, _)| name).collect()
}

/// Each panel says what it shows, and asks the chosen data source.
pub(crate) fn check_panels(dashboard: &Value) {
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(!title.is_empty() && ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        if panel["type"] == "row" {
            continue;
        }
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        assert!(panel["description"].as_str().is_some_and(|text| !text.is_empty()), "{title}");
        assert!(!panel["targets"].as_array().unwrap().is_empty(), "{title}");
    }
}

#[test]
fn every_panel_uses_metrics_that_exist() {
    let (dashboard, known) = (dashboard("fairways.json"), known());
    let mut asked = BTreeSet::new();
    check_panels(&dashboard);
    for expression in expressions() {
        let metrics = metrics(&expression);
        assert!(!metrics.is_empty(), "{expression}");
        asked.extend(metrics);
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["datasource", "instance", "domain", "program"]);
    for variable in &variables[1..] {
        asked.extend(metrics(variable["query"]["query"].as_str().unwrap()));
    }
    let unknown: Vec<&String> = asked.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(asked.len() >= 20, "{asked:?}");
}

/// Several hosts may run programs of one name: each line says whose it is.
#[test]
fn every_line_names_its_host() {
    for panel in dashboard("fairways.json")["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().into_iter().flatten();
        for target in targets.filter(|_| panel["type"] == "timeseries") {
            let legend = target["legendFormat"].as_str().unwrap();
            assert!(legend.contains("{{instance}}"), "{}: {legend}", panel["title"]);
        }
    }
}

/// promtool understands the alerts and the dashboard's expressions, and the alerts fire when they
/// should and not before.
#[test]
fn alerts_ring_when_they_should_and_every_expression_is_understood() {
    if !has("the alerts", &[Need::Program("promtool")]) {
        return;
    }
    let rules = packaging("prometheus/fairways.rules.yml");
    let said = promtool(&["check", "rules"], &rules);
    assert!(said.contains("SUCCESS: 8 rules found"), "{said}");
    let text = fs::read_to_string(&rules).unwrap();
    let unknown = &metrics(&text) - &known();
    assert!(unknown.is_empty(), "{unknown:?}");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/alerts.yml");
    let said = promtool(&["test", "rules"], &tests);
    assert!(said.contains("SUCCESS"), "{said}");
    check_expressions(expressions());
}

/// What promtool says, which has nothing against the file.
pub(crate) fn promtool(args: &[&str], file: &Path) -> String {
    let output = Command::new("promtool").args(args).arg(file).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

/// promtool understands these expressions.
pub(crate) fn check_expressions(expressions: Vec<String>) {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("panels.yml");
    let mut panels = "groups:\n  - name: panels\n    rules:\n".to_owned();
    for (number, expression) in expressions.into_iter().enumerate() {
        let quoted = serde_json::to_string(&expression).unwrap();
        panels += &format!("      - record: panel:{number}\n        expr: {quoted}\n");
    }
    fs::write(&file, panels).unwrap();
    let said = promtool(&["check", "rules"], &file);
    assert!(said.contains("SUCCESS"), "{said}");
}

/// The files that docs/metrics.md shows can be used as they are.
#[test]
fn the_files_that_are_shown_are_understood() {
    if !has("the files", &[Need::Program("promtool")]) {
        return;
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/metrics.md");
    let text = fs::read_to_string(docs).unwrap();
    let nth = |kind: &str, at: usize| {
        let from = text.split(&format!("```{kind}\n")).nth(at + 1).unwrap();
        from.split("```").next().unwrap().to_owned()
    };
    let block = |kind: &str| nth(kind, 0);
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        file
    };
    let scrape = write("prometheus.yml", block("yaml"));
    let checked = Command::new("promtool").args(["check", "config"]).arg(scrape).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    // The other blocks go below it, each alone and both together; promtool needs the token file to
    // exist.
    let token = write("token", "s3cret".to_owned());
    let below = nth("yaml", 1);
    let named = below.replace("/etc/prometheus/fairways.token", token.to_str().unwrap());
    assert_ne!(named, below, "the token's file is named");
    let relabel = nth("yaml", 2);
    assert!(relabel.contains("metric_relabel_configs"), "{relabel}");
    for (name, more) in [
        ("token.yml", named.clone()),
        ("relabel.yml", relabel.clone()),
        ("all.yml", named + &relabel),
    ] {
        let file = write(name, block("yaml") + &more);
        let checked =
            Command::new("promtool").args(["check", "config"]).arg(file).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
    let config = write("fairways.toml", block("toml"));
    let mut command = Command::new(super::common::this());
    let shown = command.args(["config", "show", "--json"]).arg(config).output().unwrap();
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["metrics"]["listen"], "127.0.0.1:19750");
    assert!(block("yaml").contains(shown["metrics"]["listen"].as_str().unwrap()));
}
