//! The metrics' values are right, and documented.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::common::can;
use super::managed::{configure, daemon, fault, machine, signal, stop};
use super::page::{declared, get};

const EVENTS: [(&str, &str); 5] = [
    ("instructions", "fairways_instructions_total"),
    ("cycles", "fairways_cycles_total"),
    ("llc_references", "fairways_llc_references_total"),
    ("llc_misses", "fairways_llc_misses_total"),
    ("memory_bytes", "fairways_mbm_total_bytes_total"),
];

/// The page and `status` agree at one moment, and sums are those of the journal's windows.
#[test]
fn metrics_agree_with_status_and_the_journal() {
    if !can(&["promtool"]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let journal = machine.at("journal");
    let (daemon, at) = daemon(&machine, &["--journal", journal.to_str().unwrap()]);
    let (status, page) = stop(&machine, &daemon, at, |page| {
        let has = |metric: &str| page.all(metric).count() == 3;
        has("fairways_program_class_info")
            && has("fairways_llc_occupancy_bytes")
            && page.all("fairways_latency_seconds").count() == 1
    });
    let answer = get(at, "/metrics", "application/openmetrics-text;version=1.0.0");
    assert!(answer.head.contains("Content-Type: application/openmetrics-text; version=1.0.0;"));
    assert!(answer.body.ends_with("\n# EOF\n"));

    let way_bytes = status["domains"][0]["way_bytes"].as_f64().unwrap();
    assert_eq!(
        page.get("fairways_domain_ways{domain=\"0\"}"),
        status["domains"][0]["ways"].as_f64()
    );
    assert_eq!(page.get("fairways_way_bytes{domain=\"0\"}"), Some(way_bytes));
    let clock = page.get("fairways_clock_seconds").unwrap();
    assert_eq!(clock, status["now_ns"].as_f64().unwrap() / 1e9);
    assert_eq!(page.get("fairways_policy_info{policy=\"lfoc\",mode=\"manage\"}"), Some(1.0));
    assert_eq!(page.get("fairways_keeps_baselines"), Some(0.0));
    assert_eq!(page.get(&build_info()), Some(1.0));
    assert_eq!(page.get("fairways_policy_failed"), Some(0.0));
    assert_eq!(page.get("fairways_plan_refused{domain=\"0\"}"), Some(0.0));
    let clusters = status["domains"][0]["clusters"].as_array().unwrap().len();
    assert_eq!(page.get("fairways_clusters{domain=\"0\"}"), Some(clusters as f64));
    // A class for each cluster, and the root's.
    let ids = |metric: &str| {
        ["used", "others", "free"]
            .map(|of| page.get(&format!("{metric}{{state=\"{of}\"}}")).unwrap())
    };
    let [used, others, free] = ids("fairways_closids");
    let all = status["domains"][0]["clos"].as_f64().unwrap();
    assert_eq!((used + free, others), (all, 1.0));
    assert!(used >= 1.0 && used <= clusters as f64, "{used} of {clusters}");
    let [used, ..] = ids("fairways_rmids");
    assert!(used >= 4.0, "three programs and a class: {used}");

    let programs = status["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 3);
    for program in programs {
        let name = program["name"].as_str().unwrap().replace('"', "\\\"");
        let of = |metric: &str| page.of(metric, &name);
        assert_eq!(of("fairways_program_ways"), program["ways"].as_f64());
        let fact = |metric: &str, label: &str| {
            let value = program[label].as_str().unwrap();
            page.get(&format!("{metric}{{program=\"{name}\",domain=\"0\",{label}=\"{value}\"}}"))
        };
        assert_eq!(fact("fairways_program_mask_info", "mask"), Some(1.0));
        assert_eq!(fact("fairways_program_class_info", "class"), Some(1.0));
        let held = program["occupancy_ways"].as_f64().map(|ways| (ways * way_bytes).round());
        assert_eq!(of("fairways_llc_occupancy_bytes"), held);
        assert!(held.is_some() && of("fairways_windows_total") > Some(0.0), "{name}");
    }
    let web = programs.iter().find(|of| of["name"] == "web \"1\"").unwrap();
    let (objective, name) = (&web["objective"], "web \\\"1\\\"");
    let tail = |metric: &str| {
        page.get(&format!("{metric}{{program=\"{name}\",domain=\"0\",percentile=\"95\"}}"))
    };
    assert_eq!(tail("fairways_objective_seconds"), Some(0.002));
    let latency = objective["latency_ns"].as_f64().map(|nanos| nanos / 1e9);
    assert_eq!(tail("fairways_latency_seconds"), latency);
    let met = objective["met"].as_bool().map(|met| f64::from(u8::from(met)));
    assert_eq!(page.of("fairways_objective_met", name), met);

    // promtool understands the older text format, and checks names and types.
    let text = get(at, "/metrics", "text/plain").body;
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert_eq!(String::from_utf8(said).unwrap(), "");
    assert!(output.status.success());
    assert_eq!(described(), declared(&text));

    signal(&machine, Signal::CONT);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
    let journal = fs::read_to_string(journal).unwrap();
    let lines: Vec<Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Time stood still within an instant: decisions of that instant may be counted or not.
    let now = status["now_ns"].as_u64().unwrap();
    let plans = |until: u64| {
        let is_plan = |line: &&Value| {
            line["action"]["partition"].is_object() && line["at"].as_u64().unwrap() < until
        };
        lines.iter().filter(is_plan).count() as f64
    };
    let decided = page.all("fairways_policy_decisions_total").map(|(_, count)| count).sum::<f64>();
    assert!(decided > 0.0 && (plans(now)..=plans(now + 1)).contains(&decided), "{decided}");
    for program in programs {
        let name = program["name"].as_str().unwrap().replace('"', "\\\"");
        let of = |metric: &str| page.of(metric, &name);
        let shown = of("fairways_windows_total").unwrap();
        let mine = |line: &&Value| line["event"]["sampled"]["app"] == program["app"];
        let count: usize = shown.to_string().parse().unwrap();
        let windows: Vec<&Value> = lines.iter().filter(mine).take(count).collect();
        assert_eq!(windows.len(), count);
        for (event, metric) in EVENTS {
            let counts = windows.iter().map(|of| &of["event"]["sampled"]["counters"][event]);
            let counts: Vec<f64> = counts.filter_map(Value::as_f64).collect();
            assert!(!counts.is_empty(), "{name}: {event}");
            assert_eq!(of(metric), Some(counts.iter().sum()), "{name}: {event}");
        }
    }
}

/// The series with the output of `fairways --version`: `fairways 0.1.0 (HASH DATE)`, or without a
/// commit.
fn build_info() -> String {
    let output = Command::new(fairways_doors::fairways()).arg("--version").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> =
        version.split([' ', '(', ')', '\n']).filter(|word| !word.is_empty()).collect();
    let commit = words.get(2).map(|hash| format!(",commit=\"{hash}\""));
    format!("fairways_build_info{{version=\"{}\"{}}}", words[1], commit.unwrap_or_default())
}

/// The metrics of docs/metrics.md, with their types.
pub(crate) fn described() -> BTreeSet<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/metrics.md");
    let text = fs::read_to_string(docs).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let rows = rows.filter(|row| row.starts_with("fairways_") || row.starts_with("process_"));
    let one = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[0].split(['{', '`']).next().unwrap();
        (name.to_owned(), cells[1].to_owned())
    };
    rows.map(one).collect()
}

/// Where nothing counts, there is no number, and the missing value is counted.
#[test]
fn what_cannot_be_read_has_no_sample() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "none", "observe = true\n[parameters]\n");
    let mut config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    // Dunn's windows are of fixed time.
    config = config.replace("policy = \"lfoc\"", "policy = \"dunn\"");
    fs::write(machine.at("fairways.toml"), config).unwrap();
    fault(&machine, "read:*/llc_occupancy=Unavailable");
    let (daemon, at) = daemon(&machine, &[]);
    let (status, page) = stop(&machine, &daemon, at, |page| {
        page.all("fairways_windows_total").filter(|(_, windows)| *windows >= 2.0).count() == 3
    });
    assert!(status["programs"].as_array().unwrap().iter().all(|of| of["ipc"].is_null()));
    for (event, metric) in EVENTS {
        let is_counted = event == "memory_bytes";
        assert_eq!(page.all(metric).count(), if is_counted { 3 } else { 0 }, "{metric}");
    }
    assert_eq!(page.all("fairways_llc_occupancy_bytes").count(), 0);
    assert_eq!(page.all("fairways_program_expected_slowdown_ratio").count(), 0);
    let windows: f64 = page.all("fairways_windows_total").map(|(_, windows)| windows).sum();
    assert_eq!(page.get("fairways_sample_windows_total"), Some(windows));
    for event in ["instructions", "cycles", "llc_references", "llc_misses", "llc_occupancy"] {
        let missing = page.get(&format!("fairways_sample_unavailable_total{{event=\"{event}\"}}"));
        assert_eq!(missing, Some(windows), "{event}");
    }
    // Nothing was changed, and nothing refused.
    let decisions = |outcome: &str| {
        page.get(&format!(
            "fairways_policy_decisions_total{{policy=\"dunn\",outcome=\"{outcome}\"}}"
        ))
    };
    assert_eq!((decisions("applied"), decisions("refused")), (None, Some(0.0)));
    assert!(decisions("observed").is_some());
    signal(&machine, Signal::CONT);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}

/// A plan that resctrl does not accept is refused, and counted by its error; the daemon is not
/// ready until one is in force.
#[test]
fn what_resctrl_refuses_is_counted_by_its_error() {
    if !can(&[]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    fault(&machine, "write:*/schemata=EBUSY");
    let (daemon, at) = daemon(&machine, &[]);
    let (_, page) = stop(&machine, &daemon, at, |page| {
        let refused = "fairways_policy_decisions_total{policy=\"lfoc\",outcome=\"refused\"}";
        page.get(refused) > Some(0.0)
            && page.get("fairways_plan_refused{domain=\"0\"}") == Some(1.0)
    });
    assert!(page.get("fairways_actuation_errors_total{errno=\"EBUSY\"}") > Some(0.0));
    let ready = get(at, "/readyz", "");
    assert_eq!(ready.code, 503);
    assert!(ready.body.starts_with("domain 0: the last plan was refused: "), "{}", ready.body);
    assert_eq!(get(at, "/healthz", "").code, 200, "it goes on all the same");
    signal(&machine, Signal::CONT);
    assert_eq!(daemon.end(Signal::TERM), Some(1), "no plan was ever in force");
}
