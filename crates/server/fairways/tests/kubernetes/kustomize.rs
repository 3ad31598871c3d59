//! What kustomize makes of the plain manifests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::chart::{QUICKLY, can_render, named, objects, one};
use crate::go;
use crate::judge::{VERSIONS, judged, project, read};

const KUSTOMIZE: &str = "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1";

/// What a kustomization makes.
fn built(folder: &Path) -> Vec<Value> {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let kustomize = PATH.get_or_init(|| go::install(KUSTOMIZE, "kustomize", &QUICKLY));
    let output = Command::new(kustomize).arg("build").arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    objects(std::str::from_utf8(&output.stdout).unwrap())
}

#[test]
fn the_base_is_the_plain_manifests() {
    if !can_render("kustomize") {
        return;
    }
    let folder = project().join("packaging/kubernetes");
    let of_folder = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        of_folder.filter(|file| !file.ends_with("kustomization.yaml")).collect();
    files.sort();
    let plain = read("yaml", &files);
    let built = built(&folder);
    assert_eq!(built.len(), files.len());
    for object in plain.as_array().unwrap() {
        assert_eq!(one(&built, object["kind"].as_str().unwrap()), object);
    }
}

#[test]
fn the_one_with_monitoring_has_the_dashboards() {
    if !can_render("kustomize for monitoring") {
        return;
    }
    let built = built(&project().join("packaging/kubernetes-monitoring"));
    assert_eq!(one(&built, "ServiceMonitor")["metadata"]["namespace"], "fairways");
    let dashboards = named(&built, "ConfigMap", "fairways-dashboards");
    assert_eq!(dashboards["metadata"]["labels"]["grafana_dashboard"], "1");
    assert_eq!(dashboards["metadata"]["namespace"], "fairways");
    for (name, text) in dashboards["data"].as_object().unwrap() {
        let file = project().join("packaging/grafana").join(name);
        assert_eq!(text.as_str(), Some(&*fs::read_to_string(file).unwrap()), "{name}");
    }
    assert_eq!(dashboards["data"].as_object().unwrap().len(), 2);
}

/// The kustomization that docs/kubernetes.md shows.
#[test]
fn one_of_your_own_changes_the_image_and_the_configuration() {
    if !can_render("a kustomization of one's own") {
        return;
    }
    let page = fs::read_to_string(project().join("docs/kubernetes.md")).unwrap();
    let shown = page.split("```yaml\n").find(|block| block.contains("kind: Kustomization"));
    let text = shown.unwrap().split("```").next().unwrap();
    // Kustomize reads bases relative to the file.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let base = fs::canonicalize(project().join("packaging/kubernetes")).unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let up = "../".repeat(root.components().count() - 1);
    let relative = format!("{up}{}", base.strip_prefix("/").unwrap().display());
    assert!(text.contains("fairways/packaging/kubernetes"), "{text}");
    let text = text.replace("fairways/packaging/kubernetes", &relative);
    fs::write(folder.path().join("kustomization.yaml"), text).unwrap();
    let toml = "policy = \"dcat\"\n";
    fs::write(folder.path().join("fairways.toml"), toml).unwrap();
    let built = built(folder.path());
    let pod = &one(&built, "DaemonSet")["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "registry.example.com/fairways:0.1.0");
    let map = one(&built, "ConfigMap");
    assert_eq!(map["data"]["fairways.toml"], toml);
    assert_eq!(map["metadata"]["name"], "fairways", "the one that the pods mount");
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..built.len())
        .map(|at| {
            let file = folder.path().join(format!("{at}.yaml"));
            fs::write(&file, built[at].to_string()).unwrap();
            file
        })
        .collect();
    let output = judged(&files, VERSIONS[1]);
    assert!(output.status.success(), "{output:?}");
}
