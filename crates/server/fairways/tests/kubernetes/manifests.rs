//! The manifests, and the image's definition.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::judge::{VERSIONS, can, judged, manifest, project, read, shown};

const MANIFESTS: [&str; 4] =
    ["00-namespace.yaml", "10-configmap.yaml", "20-daemonset.yaml", "30-networkpolicy.yaml"];

#[test]
fn manifests_are_what_kubernetes_takes() {
    if !can("the manifests") {
        return;
    }
    let there: BTreeSet<String> = fs::read_dir(manifest(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut known = BTreeSet::from(MANIFESTS.map(str::to_owned));
    known.insert("kustomization.yaml".to_owned());
    assert_eq!(there, known, "each file is judged");
    for name in MANIFESTS {
        for version in VERSIONS {
            let output = judged(&[manifest(name)], version);
            assert!(output.status.success(), "{name}: {version}: {output:?}");
        }
    }
    // `appArmorProfile` is of 1.30 (KEP-24).
    assert!(!judged(&[manifest("20-daemonset.yaml")], "1.29.0").status.success());
}

/// The judge works: it finds what is misspelt, of another type, or missing.
#[test]
fn mistakes_that_kubernetes_refuses_are_found() {
    if !can("the judge of manifests") {
        return;
    }
    let right = fs::read_to_string(manifest("20-daemonset.yaml")).unwrap();
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("hostPID: true", "hostPid: true"),
        ("periodSeconds: 10", "periodSecond: 10"),
        ("terminationGracePeriodSeconds: 600", "terminationGracePeriodSeconds: soon"),
        ("drop: [\"ALL\"]", "drops: [\"ALL\"]"),
        (
            "          image: localhost/fairways:0.1.0\n",
            "          img: localhost/fairways:0.1.0\n",
        ),
        (
            "            name: fairways\n        # Mounted",
            "            nam: fairways\n        # Mounted",
        ),
    ] {
        assert!(right.contains(from), "{from}");
        let wrong = folder.path().join("wrong.yaml");
        fs::write(&wrong, right.replacen(from, to, 1)).unwrap();
        assert!(!judged(&[wrong], VERSIONS[1]).status.success(), "{to} is taken");
    }
}

/// The namespace comes first, and all names agree.
#[test]
fn the_manifests_belong_together() {
    if !can("the manifests") {
        return;
    }
    let all = read("yaml", &MANIFESTS.map(manifest));
    let [namespace, configuration, daemons, network] = [0, 1, 2, 3].map(|of: usize| &all[of]);
    assert_eq!(namespace["kind"], "Namespace");
    for of in [configuration, daemons, network] {
        assert_eq!(of["metadata"]["namespace"], namespace["metadata"]["name"]);
    }
    let pod = &daemons["spec"]["template"];
    assert_eq!(daemons["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"]);
    assert_eq!(network["spec"]["podSelector"]["matchLabels"], pod["metadata"]["labels"]);
    let container = &pod["spec"]["containers"][0];
    let version = concat!(":", env!("CARGO_PKG_VERSION"));
    assert!(container["image"].as_str().unwrap().ends_with(version));
    let of = |list: &serde_json::Value, key: &str| -> BTreeSet<String> {
        let all = list.as_array().unwrap().iter();
        all.map(|one| one[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of(&container["volumeMounts"], "name"), of(&pod["spec"]["volumes"], "name"));
    for volume in pod["spec"]["volumes"].as_array().unwrap() {
        let mounts = container["volumeMounts"].as_array().unwrap();
        let mount = mounts.iter().find(|mount| mount["name"] == volume["name"]).unwrap();
        if volume["configMap"].is_object() {
            assert_eq!(volume["configMap"]["name"], configuration["metadata"]["name"]);
            assert_eq!(mount["mountPath"], "/etc/fairways");
            assert!(configuration["data"]["fairways.toml"].is_string());
        } else {
            assert_eq!(volume["hostPath"]["path"], mount["mountPath"], "as the daemon expects it");
        }
    }
}

/// The kubelet's probes are answered at the address of the configuration, and all manifests use one
/// port name.
#[test]
fn probes_ask_where_the_daemon_answers() {
    if !can("the manifests") {
        return;
    }
    let all = read("yaml", &MANIFESTS.map(manifest));
    let (configuration, pod, network) = (&all[1], &all[2]["spec"]["template"]["spec"], &all[3]);
    let container = &pod["containers"][0];
    for (probe, path) in [("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")] {
        let asked = &container[probe]["httpGet"];
        assert_eq!(
            *asked,
            serde_json::json!({"path": path, "port": "metrics"}),
            "of the pod's address"
        );
    }
    assert!(pod["hostNetwork"].is_null(), "what is below listens for the pod alone");
    let port = container["ports"][0]["containerPort"].as_u64().unwrap();
    let shown = shown(configuration["data"]["fairways.toml"].as_str().unwrap());
    assert_eq!(shown["metrics"]["listen"], format!("0.0.0.0:{port}"));
    assert_eq!(container["ports"][0]["name"], "metrics");
    assert_eq!(network["spec"]["ingress"][0]["ports"][0]["port"], "metrics");
}

/// The pod requests resources, so that its class of service is not the one that the daemon may
/// manage, and so that it is not evicted first.
#[test]
fn the_daemons_pod_is_not_of_best_effort() {
    if !can("the manifests") {
        return;
    }
    let all = read("yaml", &[manifest("20-daemonset.yaml")]);
    let pod = &all[0]["spec"]["template"]["spec"];
    let containers = pod["containers"].as_array().unwrap();
    assert!(pod["initContainers"].is_null());
    // Burstable: some container has a request, and not both requests equal its limits
    // (kubernetes.io, "Pod Quality of Service Classes").
    for container in containers {
        let of = &container["resources"];
        assert!(of["requests"]["cpu"].is_string() && of["requests"]["memory"].is_string());
        assert!(of["limits"]["memory"].is_string() && of["limits"]["cpu"].is_null());
    }
    assert_eq!(pod["priorityClassName"], "system-node-critical");
    assert_eq!(pod["tolerations"], serde_json::json!([{"operator": "Exists"}]));
    let mounts = containers[0]["volumeMounts"].as_array().unwrap();
    let resctrl = mounts.iter().find(|mount| mount["name"] == "resctrl").unwrap();
    assert_eq!(resctrl["mountPropagation"], "HostToContainer");
}

/// The container has the unit's permissions, and as long to put back what it changed.
#[test]
fn the_container_may_what_the_unit_may() {
    if !can("the manifests") {
        return;
    }
    let unit = fs::read_to_string(project().join("packaging/systemd/fairways.service")).unwrap();
    let of_unit = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.strip_prefix('=').unwrap().to_owned()
    };
    let capabilities = of_unit("CapabilityBoundingSet");
    let of_unit_set: BTreeSet<&str> =
        capabilities.split(' ').map(|one| one.strip_prefix("CAP_").unwrap()).collect();
    assert!(unit.contains("\nExecStartPre=-/bin/chmod u+w /sys/fs/resctrl"), "{unit}");
    let all = read("yaml", &[manifest("20-daemonset.yaml")]);
    let pod = &all[0]["spec"]["template"]["spec"];
    let may = &pod["containers"][0]["securityContext"];
    let added: BTreeSet<&str> = may["capabilities"]["add"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    // What the unit does by chmod(1) before it starts the daemon.
    assert_eq!(added, &of_unit_set | &BTreeSet::from(["DAC_OVERRIDE"]));
    assert_eq!(may["capabilities"]["drop"], serde_json::json!(["ALL"]));
    assert_eq!(
        (&may["privileged"], &may["allowPrivilegeEscalation"]),
        (&false.into(), &false.into())
    );
    let seconds = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    // As a service it asks systemd for more time, ten minutes at most; nobody gives a pod more.
    assert_eq!((of_unit("TimeoutStopSec").as_str(), seconds), ("30s", 600));
}

#[test]
fn the_configuration_of_the_map_is_right() {
    if !can("the manifests") {
        return;
    }
    let all = read("yaml", &[manifest("10-configmap.yaml")]);
    let text = all[0]["data"]["fairways.toml"].as_str().unwrap();
    assert_eq!(shown(text)["program"], serde_json::json!([]), "applied, it manages nothing");
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fairways.toml"), text).unwrap();
    let mut fairways = Command::new(assert_cmd::cargo::cargo_bin("fairways"));
    let output = fairways.args(["run", "--config", "fairways.toml"]).current_dir(&folder).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("fairways: expected a program to manage: "), "{said}");
    let bare = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest: &&str| !rest.is_empty() && !rest.starts_with(' '))
            .unwrap_or(line)
            .to_owned()
    };
    let shown = shown(&text.lines().map(bare).collect::<Vec<_>>().join("\n"));
    let programs = shown["program"].as_array().unwrap().iter();
    let selects: Vec<&str> = programs.map(|program| program["select"].as_str().unwrap()).collect();
    assert_eq!(
        selects,
        [
            "pod:web/*",
            "pod:batch/job-*",
            "cgroup:/kubepods.slice/kubepods-besteffort.slice",
            "cgroup:/kubepods/besteffort"
        ]
    );
}

/// The files outside of their crates that sources include when they are compiled, from the
/// project's folder.
fn included_from_outside() -> BTreeSet<PathBuf> {
    let project = project().canonicalize().unwrap();
    let mut included = BTreeSet::new();
    let mut folders = vec![project.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            // Nothing of these is in the program.
            let apart = ["tests", "benches", "examples", "crates/proof/xtask"];
            let is_built = apart.iter().all(|name| !path.ends_with(name));
            if path.is_dir() && is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for piece in text.split("include_str!(\"").skip(1) {
                    let file = folder.join(piece.split('"').next().unwrap());
                    let file = file.canonicalize().unwrap();
                    included.insert(file.strip_prefix(&project).unwrap().to_owned());
                }
            }
        }
    }
    included.retain(|file| !file.starts_with("crates"));
    assert!(included.len() > 3, "{included:?}");
    included
}

/// Each step is valid, it copies what is there and all that crates include, and the last image has
/// the program, its configuration and no build tools.
#[test]
fn the_containerfile_copies_what_is_there() {
    if !can("the Containerfile") {
        return;
    }
    let file = project().join("packaging/container/Containerfile");
    let steps = read("containerfile", &[file]);
    let steps: Vec<(&str, &str)> = steps
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["instruction"].as_str().unwrap(), step["value"].as_str().unwrap()))
        .filter(|(instruction, _)| *instruction != "COMMENT")
        .collect();
    let known =
        ["FROM", "ARG", "ENV", "WORKDIR", "COPY", "RUN", "USER", "STOPSIGNAL", "ENTRYPOINT", "CMD"];
    assert!(steps.iter().all(|(instruction, _)| known.contains(instruction)), "{steps:?}");
    let mut copied = Vec::new();
    for (_, value) in steps.iter().filter(|(instruction, _)| *instruction == "COPY") {
        let mut words: Vec<&str> = value.split_whitespace().collect();
        words.pop();
        if words[0].starts_with("--from=") {
            let made = [
                "/src/target/release/fairways",
                "/src/target/release/fairways-lab",
                "/src/THIRD-PARTY",
                "/libraries",
            ];
            assert!(words.len() == 2 && made.contains(&words[1]), "{words:?}");
            continue;
        }
        for source in words {
            assert!(project().join(source).exists(), "{source} is not there");
            copied.push(source);
        }
    }
    assert!(copied.len() > 5, "{copied:?}");
    for included in included_from_outside() {
        let is_copied = copied.iter().any(|copy| included.starts_with(copy));
        assert!(is_copied, "{}: crates include it, and it is not copied", included.display());
    }
    let last = steps.iter().rposition(|(instruction, _)| *instruction == "FROM").unwrap();
    assert!(last > 0 && steps[0].1.ends_with(" AS build"));
    assert!(
        steps[last..].iter().all(|(instruction, _)| *instruction != "RUN"),
        "there is no shell"
    );
    // The build image's toolchain is as new as the workspace requires.
    let workspace = fs::read_to_string(project().join("Cargo.toml")).unwrap();
    let least = workspace.lines().find_map(|line| line.strip_prefix("rust-version = \"")).unwrap();
    assert!(steps[0].1.contains(&format!(":{}-", least.trim_end_matches('"'))), "{}", steps[0].1);
}
