//! What an upgrade changes, on files: no cluster is there.

use serde_json::Value;

use crate::chart::{can_render, objects, release, rendered};

/// The places where two values differ.
fn differences(before: &Value, after: &Value, at: &str, to: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> =
                one.keys().chain(other.keys()).collect();
            for key in keys {
                let [one, other] = [one, other].map(|map| map.get(key).unwrap_or(&Value::Null));
                differences(one, other, &format!("{at}.{key}"), to);
            }
        }
        _ if before == after => {}
        _ => to.push(at.to_owned()),
    }
}

fn all_differences(before: &[Value], after: &[Value]) -> Vec<String> {
    assert_eq!(before.len(), after.len(), "no object comes or goes");
    let mut found = Vec::new();
    for (before, after) in before.iter().zip(after) {
        let kind = before["kind"].as_str().unwrap();
        differences(before, after, kind, &mut found);
    }
    found
}

/// A new image or configuration changes what it has to: the pods, never the selector, which can't
/// change, nor names. Going back makes what there was.
#[test]
fn an_upgrade_changes_the_pods_and_a_rollback_makes_them_as_they_were() {
    if !can_render("an upgrade of the chart") {
        return;
    }
    let first = ["--set", "image.tag=0.1.0"];
    let programs = ["--set", "programs[0].name=web,programs[0].select=pod:web/*"];
    let before = rendered(None, &first);
    let newer = rendered(None, &["--set", "image.tag=0.2.0"]);
    let image = "DaemonSet.spec.template.spec.containers";
    assert_eq!(all_differences(&objects(&before), &objects(&newer)), [image]);
    let configured = rendered(None, &[&first[..], &programs[..]].concat());
    assert_eq!(
        all_differences(&objects(&before), &objects(&configured)),
        [
            "ConfigMap.data.fairways.toml",
            // By which the pods are replaced.
            "DaemonSet.spec.template.metadata.annotations.checksum/configuration"
        ]
    );
    // `helm rollback` applies what the earlier revision made: that is the same bytes.
    assert!(rendered(None, &first) == before);

    // The old daemon ends before the new one begins, and puts back what it changed.
    let daemons = objects(&before);
    let daemons = daemons.iter().find(|object| object["kind"] == "DaemonSet").unwrap();
    let update = &daemons["spec"]["updateStrategy"];
    assert_eq!(update["type"], "RollingUpdate");
    assert_eq!(update["rollingUpdate"]["maxSurge"], 0);
    assert_eq!(daemons["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 600);
}

/// The objects of a release with everything switched on.
fn whole_release(name: &str) -> Vec<Value> {
    let set = "serviceMonitor.enabled=true,prometheusRule.enabled=true";
    let output = release(name, None, &["--set", set, "--set", "dashboards.enabled=true"]);
    objects(std::str::from_utf8(&output.stdout).unwrap())
}

/// Two releases in a cluster share no object, and no pod: one for each pool of nodes.
#[test]
fn two_releases_are_apart() {
    if !can_render("two releases of the chart") {
        return;
    }
    let (one, other) = (whole_release("fairways"), whole_release("databases"));
    assert_eq!((one.len(), other.len()), (8, 8));
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one["kind"], other["kind"]);
        assert_ne!(one["metadata"]["name"], other["metadata"]["name"], "{}", one["kind"]);
        let [one, other] = [one, other].map(|object| &object["spec"]["selector"]);
        assert!(one.is_null() || one != other, "{one}");
    }
}
