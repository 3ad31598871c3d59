//! The policies' pages: each is listed, and names every parameter with its default and a file that has it.

use assert_cmd::Command;
use fairways_policy::{NAMES, cache_fair, casc, dcat, dunn, kpart, lfoc, locpart};
use serde::Serialize;
use serde_json::{Map, Value};

use super::page::{Page, pages, project};

/// The parameters of a policy as the code has them, and its folder; none where it has none.
fn parameters(policy: &str) -> Option<(Map<String, Value>, &'static str)> {
    fn of<P: Serialize>(folder: &'static str, parameters: P) -> (Map<String, Value>, &'static str) {
        (serde_json::to_value(parameters).unwrap().as_object().unwrap().clone(), folder)
    }
    Some(match policy {
        "lfoc" => of("lfoc", lfoc::Parameters::default()),
        "lfoc-plus" => of("lfoc", lfoc::Parameters::plus()),
        "dcat" => of("dcat", dcat::Parameters::default()),
        "locpart" => of("locpart", locpart::Parameters::default()),
        "dunn" => of("dunn", dunn::Parameters::default()),
        "kpart" => of("kpart", kpart::Parameters::default()),
        "casc" => of("casc", casc::Parameters::default()),
        "cache-fair" => of("cache_fair", cache_fair::Parameters::default()),
        _ => return None,
    })
}

/// The page that the index gives a policy.
fn page<'a>(pages: &'a [Page], policy: &str) -> &'a Page {
    let of = |name: &str| pages.iter().find(|page| page.name == format!("docs/policies/{name}"));
    let index = &of("README.md").unwrap().text;
    let row = index.split_once(&format!("| [`{policy}`](")).map(|(_, rest)| rest);
    let name = row.unwrap_or_else(|| panic!("{policy} is not listed")).split(')').next().unwrap();
    of(name).unwrap()
}

/// Which parameters the command line takes, as it says where one is wrong.
fn taken(policy: &str) -> Vec<String> {
    let mut command = Command::cargo_bin("fairways").unwrap();
    command.args(["run", "--machine", "chip:t1", "--programs", "lookbusy", "--policy", policy]);
    let said = command.args(["--set", "nonesuch=1"]).assert().code(2).get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    let (_, taken) = said.split_once("expected ").unwrap();
    let taken = taken.strip_prefix("one of ").unwrap_or_default();
    let taken = taken.split(", found").next().unwrap().split(", ");
    taken.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_policy_has_a_page_with_its_parameters() {
    let pages = pages();
    for policy in NAMES {
        let page = page(&pages, policy);
        assert!(page.text.contains(&format!("`{policy}`")), "{}: {policy}", page.name);
        for section in ["promise", "a host"] {
            assert!(page.text.contains(section), "{}: {section}", page.name);
        }
        let (known, folder) = parameters(policy).unwrap_or_default();
        let mut taken = taken(policy);
        taken.sort();
        assert_eq!(known.keys().cloned().collect::<Vec<_>>(), taken, "{policy}");
        for (name, value) in known {
            let row = page.text.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
            let row = row.unwrap_or_else(|| panic!("{}: no {name}", page.name));
            let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches(' ')).collect();
            assert_eq!(cells[1], shown(&name, &value), "{}: {name}", page.name);
            let file = cells[3].trim_matches(['`', '|', ' ']);
            let file = project().join("crates/policy/src").join(folder).join(file);
            let code = std::fs::read_to_string(&file).unwrap();
            assert!(code.contains(&name), "{}: {name} is not in {}", page.name, file.display());
        }
    }
}

/// A default as pages have it: times with a unit.
fn shown(name: &str, value: &Value) -> String {
    const TIMES: [&str; 10] = [
        "decision_period",
        "period",
        "t_sched",
        "min_runlength",
        "shortest_interval",
        "delay",
        "initial_limit",
        "remeasure_every",
        "reconnaissance_limit",
        "shortest_point",
    ];
    match (value, TIMES.contains(&name)) {
        (Value::String(text), _) => text.clone(),
        (value, true) => {
            let nanos = std::time::Duration::from_nanos(value.as_u64().unwrap());
            humantime::format_duration(nanos).to_string()
        }
        (value, false) => value.to_string(),
    }
}
