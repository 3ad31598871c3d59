//! The chart: Helm renders it, and the plain manifests are what it renders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use fairways_testing::needs::{Need, has};
use serde_json::Value;

use crate::go;
use crate::judge::{can, project, read};

const HELM: &str = "helm.sh/helm/v3/cmd/helm@v3.19.2";

/// Compiles in two thirds of the time, to a program that runs for a tenth of a second.
pub(crate) const QUICKLY: [&str; 4] = ["-gcflags", "all=-N -l", "-ldflags", "-s -w"];

/// The plain manifests, and the template that makes each.
const PLAIN: [(&str, &str); 6] = [
    ("kubernetes/00-namespace.yaml", "namespace"),
    ("kubernetes/10-configmap.yaml", "configmap"),
    ("kubernetes/20-daemonset.yaml", "daemonset"),
    ("kubernetes/30-networkpolicy.yaml", "networkpolicy"),
    ("kubernetes-monitoring/servicemonitor.yaml", "servicemonitor"),
    ("kubernetes-monitoring/prometheusrule.yaml", "prometheusrule"),
];

/// Whether Helm can be built, and what it renders judged.
pub(crate) fn can_render(test: &str) -> bool {
    has(test, &[Need::Program("go")]) && can(test)
}

/// Runs Helm, which is built for the first test that needs it.
pub(crate) fn helm(arguments: &[&str], values: Option<&Path>) -> Output {
    static HELM_PATH: OnceLock<PathBuf> = OnceLock::new();
    let mut helm = Command::new(HELM_PATH.get_or_init(|| go::install(HELM, "helm", &QUICKLY)));
    helm.args(arguments);
    if let Some(values) = values {
        helm.arg("--values").arg(values);
    }
    helm.output().unwrap()
}

/// What `helm template` does with these values, for the newest Kubernetes.
pub(crate) fn template(values: Option<&Path>, more: &[&str]) -> Output {
    release("fairways", values, more)
}

/// The same for a release of another name.
pub(crate) fn release(name: &str, values: Option<&Path>, more: &[&str]) -> Output {
    let chart = project().join("packaging/helm/fairways");
    let chart = chart.to_str().unwrap();
    let all = ["template", name, chart, "--namespace", "fairways", "--kube-version", "1.37.0"];
    helm(&[&all[..], more].concat(), values)
}

/// What the chart makes with these values, as text.
pub(crate) fn rendered(values: Option<&Path>, more: &[&str]) -> String {
    let output = template(values, more);
    assert!(output.status.success(), "{values:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of manifests in one text.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.yaml");
    fs::write(&file, text).unwrap();
    let Value::Array(all) = read("yaml", &[file]) else { panic!("expected a list") };
    all.into_iter().filter(|object| !object.is_null()).collect()
}

/// The object of this name.
pub(crate) fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let mut of_kind = objects.iter().filter(|object| object["kind"] == kind);
    of_kind.find(|object| object["metadata"]["name"] == name).unwrap()
}

/// The object of this kind; there is one.
pub(crate) fn one<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let mut of_kind = objects.iter().filter(|object| object["kind"] == kind);
    let found = of_kind.next().unwrap_or_else(|| panic!("no {kind}"));
    assert!(of_kind.next().is_none(), "one {kind}");
    found
}

#[test]
fn the_plain_manifests_are_what_the_chart_makes() {
    if !can_render("the chart's plain manifests") {
        return;
    }
    let values = project().join("packaging/helm/plain.yaml");
    for (file, template) in PLAIN {
        let source = format!("templates/{template}.yaml");
        let text = rendered(Some(&values), &["--show-only", &source]);
        let plain: String =
            text.split_inclusive('\n').filter(|line| !line.starts_with("# Source: ")).collect();
        let plain = plain.strip_prefix("---\n").unwrap();
        let file = project().join("packaging").join(file);
        if std::env::var("TRYCMD").is_ok_and(|variable| variable == "overwrite") {
            fs::write(&file, plain).unwrap();
        }
        let written = fs::read_to_string(&file).unwrap();
        assert!(written == plain, "{} differs: see packaging/helm/plain.yaml", file.display());
    }
}

/// These values differ from the chart's own by what their file says, and by nothing that a pod
/// runs.
#[test]
fn the_plain_manifests_are_those_of_the_defaults() {
    if !can_render("the chart's defaults") {
        return;
    }
    let values = project().join("packaging/helm/plain.yaml");
    let plain = objects(&rendered(Some(&values), &[]));
    let mut defaults = objects(&rendered(None, &[]));
    let kinds: Vec<&str> = defaults.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["NetworkPolicy", "ConfigMap", "DaemonSet"]);
    let daemons = &mut defaults[2]["spec"]["template"]["metadata"];
    let annotations = daemons.as_object_mut().unwrap().remove("annotations").unwrap();
    assert!(annotations["checksum/configuration"].is_string());
    for object in &defaults {
        assert_eq!(object, one(&plain, object["kind"].as_str().unwrap()));
    }
}

#[test]
fn helm_finds_nothing_wrong() {
    if !can_render("helm lint") {
        return;
    }
    let chart = project().join("packaging/helm/fairways");
    let lint = ["lint", "--strict", "--kube-version", "1.37.0", chart.to_str().unwrap()];
    let output = helm(&lint, None);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = fs::read_to_string(chart.join("Chart.yaml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("\nappVersion: \"{version}\"\n")), "the image's tag: {text}");
    // Kubernetes 1.29 does not know `appArmorProfile`.
    let chart = chart.to_str().unwrap();
    let old = helm(&["template", "fairways", chart, "--kube-version", "1.29.0"], None);
    let said = String::from_utf8_lossy(&old.stderr);
    assert!(said.contains("chart requires kubeVersion: >=1.30.0-0"), "{said}");
}

/// A packed chart has the files that links of the folder lead to.
#[test]
fn a_packed_chart_is_whole() {
    if !can_render("helm package") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let chart = project().join("packaging/helm/fairways");
    let packed = helm(&["package", chart.to_str().unwrap(), "--destination", at], None);
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let file = format!("{at}/fairways-0.1.0.tgz");
    let values = project().join("packaging/helm/plain.yaml");
    let arguments = ["template", "fairways", &file, "-n", "fairways", "--kube-version", "1.37.0"];
    let whole = helm(&arguments, Some(&values));
    assert!(String::from_utf8(whole.stdout).unwrap() == rendered(Some(&values), &[]));
}
