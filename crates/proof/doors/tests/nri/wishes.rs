//! What pods' owners ask for by annotations, and the administrator by rules for labels.

use std::fs;

use serde_json::{Value, json};

use crate::common::Machine;
use crate::place::{configure_with, groups, noted, noting};
use crate::running::{Daemon, command};
use crate::runtime::{Runtime, machine_and_runtime};

/// The wishes that the policies were given, by program.
fn wishes(machine: &Machine) -> Vec<(String, Value)> {
    let journal = fs::read_to_string(machine.at("journal")).unwrap();
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter_map(|line| {
            let started = line["event"]["started"].as_object()?;
            Some((line["name"].as_str()?.to_owned(), started["wish"].clone()))
        })
        .collect()
}

/// Starts a pod's container; returns the group that its program found itself in.
fn start(machine: &Machine, runtime: &mut Runtime, name: &str, annotations: Value) -> String {
    let pod = format!("web-{name}");
    runtime.pod("web", name, &annotations);
    let words = noting(machine, &pod);
    runtime.start_container(&pod, &words.iter().map(String::as_str).collect::<Vec<_>>());
    noted(machine, &pod).0.pop().unwrap()
}

#[test]
fn annotations_and_labels_make_containers_programs() {
    let Some((machine, mut runtime)) = machine_and_runtime() else { return };
    let journal = machine.at("journal");
    let rules = "[[kubernetes.pods]]\nselect = \"app=cron\"\nbest_effort = true\n\
                 [metrics]\nlisten = \"127.0.0.1:0\"\n";
    let keys = format!("{rules}[journal]\nfile = {journal:?}");
    configure_with(&machine, &keys, &[]);
    let daemon = Daemon::start(&machine, command(&machine));
    runtime.has_plugins(1);
    let api = start(&machine, &mut runtime, "api", json!({"fairways.dev/baseline-ways": "2"}));
    let cron = start(&machine, &mut runtime, "cron", json!({}));
    let group = json!({"fairways.dev/policy-group": "pair", "fairways.dev/importance": "many"});
    let pair = start(&machine, &mut runtime, "pair-0", group.clone());
    assert_eq!(start(&machine, &mut runtime, "pair-1", group), pair);
    assert_eq!(start(&machine, &mut runtime, "plain", json!({})), "");
    assert_eq!(daemon.programs(), ["web/api/app", "web/cron/app", "web/pair"]);
    let groups = groups(&machine);
    assert_eq!(groups["web_api_app"], api);
    assert_eq!(groups["web_cron_app"], cron);
    assert_eq!(groups["web_pair"], pair);
    let said = daemon.said();
    let wrong = "web/pair-0: annotation fairways.dev/importance: expected a number from 1 to 100, found \\\"many\\\"";
    assert!(said.contains(&wrong.replace("\\\"", "\"")), "{said}");
    runtime.remove("web-api");
    assert_eq!(daemon.programs(), ["web/cron/app", "web/pair"]);
    drop(daemon);
    let wishes = wishes(&machine);
    let wishes: std::collections::BTreeMap<String, Value> = wishes.into_iter().collect();
    assert_eq!(wishes["web/api/app"]["baseline_ways"], 2);
    assert_eq!(wishes["web/cron/app"]["best_effort"], true);
    assert_eq!(wishes["web/pair"]["importance"], Value::Null);
}
