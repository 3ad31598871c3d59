//! Five sets of values: what the chart makes with each is what Kubernetes and the daemon take.
//! Wrong values are refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::chart::{can_render, named, objects, one, rendered, template};
use crate::go;
use crate::judge::{VERSIONS, judged, project, python};

const SETS: [&str; 5] = ["defaults", "guaranteed", "services", "monitored", "hardened"];

/// Where the definitions of objects are that are not Kubernetes' own.
const DEFINITIONS: [(&str, &[&str]); 1] = [(
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    &[
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ],
)];

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes")
}

fn set(name: &str) -> PathBuf {
    tests().join("values").join(format!("{name}.yaml"))
}

fn made(name: &str) -> Vec<Value> {
    objects(&rendered(Some(&set(name)), &[]))
}

/// The definitions, fetched as parts of Go modules.
fn definitions() -> Vec<PathBuf> {
    let fetched = DEFINITIONS.iter().flat_map(|(module, files)| {
        let mut go = Command::new("go");
        let output = go::fetched(go.args(["mod", "download", "-json", module]));
        let module: Value = serde_json::from_slice(&output.stdout).unwrap();
        let folder = PathBuf::from(module["Dir"].as_str().unwrap());
        files.iter().map(move |file| folder.join(file))
    });
    fetched.collect()
}

/// Checks objects against these definitions; the error is what is wrong.
fn check_custom(objects: &[&Value], definitions: &[PathBuf]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.json");
    fs::write(&file, serde_json::to_vec(objects).unwrap()).unwrap();
    let mut check = python();
    let output = check.arg(tests().join("crd.py")).args(definitions).arg("--").arg(file).output();
    let output = output.unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

#[test]
fn every_set_makes_what_kubernetes_takes() {
    if !can_render("the chart's objects") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut files, mut custom) = (Vec::new(), Vec::new());
    for name in SETS {
        for object in made(name) {
            let of = object["apiVersion"].as_str().unwrap();
            if ["v1", "apps/v1", "networking.k8s.io/v1"].contains(&of) {
                let file = folder.path().join(format!("{name}-{}.yaml", files.len()));
                fs::write(&file, object.to_string()).unwrap();
                files.push(file);
            } else {
                custom.push(object);
            }
        }
    }
    assert!(files.len() >= 17, "{files:?}");
    for version in VERSIONS {
        let output = judged(&files, version);
        assert!(output.status.success(), "{version}: {output:?}");
    }
    let kinds: Vec<&str> = custom.iter().map(|of| of["kind"].as_str().unwrap()).collect();
    let expected = ["PrometheusRule", "PrometheusRule", "ServiceMonitor"];
    assert_eq!(BTreeSet::from_iter(&kinds), BTreeSet::from_iter(&expected));
    let definitions = definitions();
    let all: Vec<&Value> = custom.iter().collect();
    assert_eq!(check_custom(&all, &definitions), Ok(()));
    // The judge works.
    let mut wrong = one(&custom, "ServiceMonitor").clone();
    wrong["spec"]["selectors"] = json!([]);
    let why = check_custom(&[&wrong], &definitions).unwrap_err();
    assert!(why.contains("selectors"), "{why}");
}

/// The daemon's ConfigMap.
fn configuration(objects: &[Value]) -> &Value {
    named(objects, "ConfigMap", "fairways")
}

/// The settings that a pod with this ConfigMap has.
fn settings(map: &Value) -> Value {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    fs::write(&file, map["data"]["fairways.toml"].as_str().unwrap()).unwrap();
    if let Some(more) = map["data"]["values.toml"].as_str() {
        let beside = folder.path().join("fairways.toml.d");
        fs::create_dir(&beside).unwrap();
        fs::write(beside.join("values.toml"), more).unwrap();
    }
    let fairways = assert_cmd::cargo::cargo_bin("fairways");
    let show = Command::new(fairways).args(["config", "show", "--json"]).arg(&file).output();
    let show = show.unwrap();
    assert!(show.status.success(), "{}", String::from_utf8_lossy(&show.stderr));
    serde_json::from_slice(&show.stdout).unwrap()
}

/// The daemon takes each configuration, and answers where the probes ask.
#[test]
fn the_daemon_takes_every_configuration() {
    if !can_render("the chart's configurations") {
        return;
    }
    for name in SETS {
        let objects = made(name);
        let settings = settings(configuration(&objects));
        let pod = &one(&objects, "DaemonSet")["spec"]["template"]["spec"];
        let port = &pod["containers"][0]["ports"][0]["containerPort"];
        assert_eq!(settings["metrics"]["listen"], format!("0.0.0.0:{port}"), "{name}");
    }
    let guaranteed = settings(configuration(&made("guaranteed")));
    assert_eq!((&guaranteed["policy"], &guaranteed["interval"]), (&json!("dcat"), &json!("200ms")));
    assert_eq!(guaranteed["resctrl"]["memory_mbps"], 102_000);
    assert_eq!(guaranteed["kubernetes"]["nri"], true);
    assert_eq!(guaranteed["program"][0]["baseline_ways"], 4);
    assert_eq!(guaranteed["program"][0]["each"], true);
    assert_eq!(guaranteed["program"][1]["best_effort"], true);
}

/// The NetworkPolicy's rules.
fn policy(set: &str) -> Value {
    one(&made(set), "NetworkPolicy")["spec"].clone()
}

/// A rule for one address and port.
fn address(cidr: &str, port: u16) -> Value {
    json!({
        "to": [{"ipBlock": {"cidr": cidr}}],
        "ports": [{"port": port, "protocol": "TCP"}],
    })
}

/// The entry of a list with this name.
fn entry<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()
}

/// Values with one program.
fn program(more: &str) -> String {
    format!("programs: [{{name: a, select: \"pod:web/*\", {more}}}]")
}

/// The NetworkPolicy lets the daemon ask each latency source that is on the network, and nothing
/// else; the pod has what drop-ins and other features need.
#[test]
fn what_is_configured_is_permitted() {
    if !can_render("the chart's permissions") {
        return;
    }
    for name in ["defaults", "guaranteed", "monitored", "hardened"] {
        assert_eq!(policy(name)["egress"], json!([]), "{name}: nothing is asked");
    }
    assert_eq!(
        policy("services")["egress"],
        json!([
            // Redis, and a page at the same place.
            address("10.0.0.7/32", 6379),
            address("fd00::7/128", 80),
            // A name: wherever it leads, and who knows that.
            {"ports": [{"port": 9090, "protocol": "TCP"}]},
            {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
            {
                "to": [{"podSelector": {}}],
                "ports": [{"port": 8125, "protocol": "UDP"}],
            },
        ])
    );
    let from = policy("services")["ingress"][0]["from"].clone();
    assert_eq!(from.as_array().unwrap().len(), 3);
    assert_eq!(from[2]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "1");
    assert_eq!(policy("hardened")["ingress"], json!([]), "only the kubelet");

    let guaranteed = made("guaranteed");
    let pod = &one(&guaranteed, "DaemonSet")["spec"]["template"]["spec"];
    let items = &entry(&pod["volumes"], "configuration")["configMap"]["items"];
    assert_eq!(items[1], json!({"key": "values.toml", "path": "fairways.toml.d/values.toml"}));
    let nri = entry(&pod["containers"][0]["volumeMounts"], "nri");
    assert_eq!(nri["mountPath"], entry(&pod["volumes"], "nri")["hostPath"]["path"]);
    let socket = settings(configuration(&guaranteed))["kubernetes"]["socket"].clone();
    assert_eq!(socket, format!("{}/nri.sock", nri["mountPath"].as_str().unwrap()));

    let hardened = made("hardened");
    let pod = &one(&hardened, "DaemonSet")["spec"]["template"]["spec"];
    let may = &pod["containers"][0]["securityContext"];
    assert_eq!(
        may["capabilities"],
        json!({"drop": ["ALL"], "add": ["DAC_OVERRIDE", "PERFMON", "BPF", "NET_ADMIN"]})
    );
    assert_eq!(may["seLinuxOptions"], json!({"type": "spc_t"}));
    assert_eq!(
        may["seccompProfile"],
        json!({"type": "Localhost", "localhostProfile": "fairways.json"})
    );
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "1"}]));
    assert_eq!(pod["nodeSelector"], json!({"kubernetes.io/os": "linux", "pool": "databases"}));
    assert_eq!(pod["containers"][0]["image"], "registry.example.com:5000/infra/fairways:0.1.0-1");
}

/// The operator's objects have the rules and dashboards of packaging, and the labels that were set.
#[test]
fn what_prometheus_and_grafana_take_is_that_of_packaging() {
    if !can_render("the chart's monitoring") {
        return;
    }
    let objects = made("monitored");
    let monitor = one(&objects, "ServiceMonitor");
    let service = one(&objects, "Service");
    for of in [monitor, service] {
        assert_eq!(of["metadata"]["labels"]["app.kubernetes.io/name"], "fairways", "the job");
    }
    assert_eq!(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"]);
    assert_eq!(monitor["metadata"]["labels"]["release"], "prometheus");
    assert_eq!(monitor["spec"]["endpoints"][0]["port"], service["spec"]["ports"][0]["name"]);
    assert_eq!(service["spec"]["ports"][0]["port"], 19800);
    let pod = &one(&objects, "DaemonSet")["spec"]["template"];
    assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);

    let rules = objects.iter().filter(|object| object["kind"] == "PrometheusRule");
    let rules: Vec<&Value> = rules.collect();
    assert_eq!(rules.len(), 2);
    for rule in rules {
        let name = rule["metadata"]["name"].as_str().unwrap();
        let file = project().join(format!("packaging/prometheus/{name}.rules.yml"));
        let text = fs::read_to_string(file).unwrap();
        assert_eq!([rule["spec"].clone()][..], self::objects(&text)[..], "{name}");
        assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    }
    let dashboards = named(&objects, "ConfigMap", "fairways-dashboards");
    assert_eq!(dashboards["metadata"]["labels"]["grafana_dashboard"], "1");
    assert_eq!(dashboards["metadata"]["annotations"]["folder"], "Nodes");
    assert_eq!(dashboards["data"].as_object().unwrap().len(), 2);
    for (name, text) in dashboards["data"].as_object().unwrap() {
        let file = project().join("packaging/grafana").join(name);
        assert_eq!(text.as_str(), Some(&*fs::read_to_string(file).unwrap()), "{name}");
    }
}

/// The schema refuses what the chart does not know, and says where.
#[test]
fn wrong_values_are_refused() {
    if !can_render("the chart's schema") {
        return;
    }
    let wrong = [
        ("polcy: lfoc".to_owned(), "'polcy' not allowed"),
        ("image: {tag: 1}".to_owned(), "/image/tag"),
        ("image: {pullPolicy: Sometimes}".to_owned(), "/image/pullPolicy"),
        ("programs: [{name: a}]".to_owned(), "missing property 'select'"),
        ("programs: [{name: a, select: web}]".to_owned(), "/programs/0/select"),
        (program("baseline_ways: four"), "/programs/0/baseline_ways"),
        (program("baseline_ways: 0"), "/programs/0/baseline_ways"),
        (program("baseline: 4"), "'baseline' not allowed"),
        (program("objective: soon, latency: \"file:/run/a\""), "/programs/0/objective"),
        (program("objective: 5ms"), "properties 'latency' required"),
        (program("latency: \"https://api/metrics\""), "/programs/0/latency"),
        (program("latency: \"redis:fd00::7:6379\""), "an IPv6 address in brackets"),
        (program("latency: \"redis:cache\""), "expected HOST:PORT"),
        ("metrics: {port: 80}".to_owned(), "/metrics/port"),
        ("capabilities: [SYS_MODULE]".to_owned(), "/capabilities/0"),
        ("seccompProfile: {type: Sometimes}".to_owned(), "/seccompProfile/type"),
        ("resources: {requests: {cpu: 50m, memory: null}}".to_owned(), "/resources/requests"),
        ("resources: {limits: {cpu: 1, memory: 128Mi}}".to_owned(), "'cpu' not allowed"),
        ("podLogsDir: var/log/pods".to_owned(), "/podLogsDir"),
        ("networkPolicy: {from: Monitoring}".to_owned(), "/networkPolicy/from"),
        ("serviceMonitor: {interval: 5}".to_owned(), "/serviceMonitor/interval"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.yaml");
    for (text, expected) in wrong {
        fs::write(&file, &text).unwrap();
        let output = template(Some(&file), &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{text}: {said}");
        assert!(output.stdout.is_empty(), "{text}: nothing half-done");
    }
}

/// The values that docs/kubernetes.md lists are those of the chart.
#[test]
fn every_value_is_described() {
    let text = fs::read_to_string(project().join("docs/kubernetes.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let described: BTreeSet<String> = rows
        .filter_map(|row| row.split_once("` | "))
        .flat_map(|(names, _)| names.split("`, `").map(|name| name.split('.').next().unwrap()))
        .map(str::to_owned)
        .collect();
    let values = project().join("packaging/helm/fairways/values.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(values).unwrap()).unwrap();
    for name in schema["properties"].as_object().unwrap().keys().filter(|name| *name != "global") {
        assert!(described.contains(name), "{name} is missing in docs/kubernetes.md");
    }
}
