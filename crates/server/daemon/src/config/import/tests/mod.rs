mod damaged;
mod levels;
mod live;

use std::path::Path;

use super::{HostCache, ImportedSources, configuration};
use crate::config::Config;

/// A cache of 20 ways, 2 MiB each.
const CACHE: HostCache = HostCache { ways: Some(20), bytes: Some(40 << 20) };

/// The configuration that sources give, with its text.
fn imported(sources: &[&str], cache: HostCache) -> Result<(Config, String), String> {
    let mut import = ImportedSources::new(cache);
    for (number, text) in sources.iter().enumerate() {
        import.source = format!("source-{number}");
        import.read_text(text, None).map_err(|error| error.to_string())?;
    }
    let text = configuration(&mut import).map_err(|error| error.to_string())?;
    Ok((toml::from_str(&text).unwrap(), text))
}

fn short(text: &str, folder: &Path) -> String {
    text.replace(&format!("{}/", folder.display()), "")
}

/// Name, selector, ways, best effort, importance.
type ProgramRow<'c> = (&'c str, String, Option<u32>, bool, Option<u32>);

fn programs(config: &Config) -> Vec<ProgramRow<'_>> {
    let row = config.program.iter().map(|of| {
        let select = of.select.to_string();
        (of.name.as_str(), select, of.baseline_ways, of.best_effort, of.importance)
    });
    row.collect()
}

fn has_line(text: &str, parts: &[&str]) {
    let found = text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
    assert!(found, "{parts:?} in\n{text}");
}

const GUARANTEED: &str = "cgroup:/kubepods.slice/kubepods-pod*.slice";
const BURSTABLE: &str = "cgroup:/kubepods.slice/kubepods-burstable.slice";
const BEST_EFFORT: &str = "cgroup:/kubepods.slice/kubepods-besteffort.slice";

#[test]
fn masks_of_goresctrl_that_no_other_class_has_stay_as_they_are() {
    let text = "
options:
  l3:
    optional: false
partitions:
  dedicated:
    l3Allocation: \"0xff00\"
    mbAllocation: [\"100%\"]
    classes:
      guaranteed:
        kubernetes:
          denyPodAnnotation: true
  shared:
    l3Allocation: 0-5
    classes:
      burstable: {l3Allocation: {all: {unified: \"0x3c\"}}}
      besteffort:
        l3Allocation: \"0x3\"
";
    let (config, text) = imported(&[text], CACHE).unwrap();
    assert_eq!(config.policy, "static");
    assert_eq!(
        programs(&config),
        [
            ("guaranteed", GUARANTEED.to_owned(), Some(8), false, None),
            ("besteffort", BEST_EFFORT.to_owned(), Some(2), false, None),
            ("burstable", BURSTABLE.to_owned(), Some(4), false, None),
        ]
    );
    assert!(config.not_honoured().is_empty());
    has_line(&text, &["source-0:4: options.l3.optional: "]);
    has_line(&text, &["source-0:12: partitions.dedicated.classes.guaranteed.kubernetes.denyPod"]);
}

/// The shape of the example in goresctrl's documentation.
const SHARES: &str = "
options:
  l2: {optional: true}
partitions:
  exclusive:
    l2Allocation: \"80%\"
    l3Allocation: \"60%\"
    mbAllocation: [\"100%\"]
    classes:
      guaranteed:
        l3Allocation: \"100%\"
  shared:
    l3Allocation:
      all: \"40%\"
    mbAllocation:
      all: [\"50%\", \"2000MBps\"]
    classes:
      burstable:
        l3Allocation:
          all: {unified: \"100%\", code: \"100%\", data: \"80%\"}
          mbAllocation: {all: [\"80%\"]}
      besteffort:
        l3Allocation: \"50%\"
        mbAllocation: [\"50%\"]
      DEFAULT:
        l3Allocation: \"30%\"
";

#[test]
fn shares_of_goresctrl_are_promised_as_far_as_a_class_has_them_for_itself() {
    let (config, text) = imported(&[SHARES], CACHE).unwrap();
    assert_eq!(config.policy, "fairways");
    // 12 of 20 ways; 8 for the others, of which 4 are the best-effort class's, too.
    assert_eq!(
        programs(&config),
        [
            ("guaranteed", GUARANTEED.to_owned(), Some(12), false, Some(4)),
            ("besteffort", BEST_EFFORT.to_owned(), None, true, None),
            ("burstable", BURSTABLE.to_owned(), Some(4), false, Some(2)),
        ]
    );
    assert_eq!(config.resctrl.confine_others, Some(3));
    has_line(&text, &["source-0:6: partitions.exclusive.l2Allocation: ", "last-level cache alone"]);
    has_line(&text, &["source-0:16: partitions.shared.mbAllocation: 2000MBps: "]);
    has_line(&text, &["source-0:20: ", "burstable.l3Allocation.all.code, data: "]);
    has_line(
        &text,
        &["source-0:21: ", "burstable.l3Allocation.mbAllocation: expected the numbers"],
    );
    has_line(&text, &["class besteffort, 25 % of memory bandwidth: "]);
    has_line(&text, &["class besteffort, at most 4 ways: "]);
    has_line(&text, &["class burstable, 8 ways: others may fill the rest: 4 are promised"]);
    // Without the number of ways, no number of ways is made up.
    let (config, text) = imported(&[SHARES], HostCache::default()).unwrap();
    assert!(config.program.iter().all(|of| of.baseline_ways.is_none()));
    has_line(&text, &["source-0:5: partitions.exclusive.l3Allocation: 60%: ", "--ways"]);
    assert_eq!(config.resctrl.confine_others, None);
}

#[test]
fn caches_may_have_classes_of_different_widths() {
    let text = "
rdt:
  partitions:
    a:
      l3Allocation: {all: \"50%\", 1-2: \"75%\"}
      classes: {guaranteed: }
    b:
      l3Allocation: {all: \"50%\", \"1,2\": \"25%\"}
      classes: {burstable: {l3Allocation: \"0x7\"}}
";
    let (config, text) = imported(&[text], CACHE).unwrap();
    let ways: Vec<Option<u32>> = programs(&config).iter().map(|row| row.2).collect();
    assert_eq!(ways, [Some(10), Some(3)], "{text}");
    has_line(&text, &["class guaranteed, 15 ways: ", "10 are promised"]);
}

const PODS: &str = r#"
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: api, namespace: web}
  spec:
    template:
      metadata:
        labels: {app: api, pod-template-hash: 7d4b9}
        annotations: {rdt.resources.beta.kubernetes.io/pod: gold}
- apiVersion: v1
  kind: Pod
  metadata:
    name: cache-0
    namespace: shop
    labels: {app: cache, "statefulset.kubernetes.io/pod-name": cache-0}
    annotations: {rdt.resources.beta.kubernetes.io/pod: gold}
- apiVersion: v1
  kind: Pod
  metadata:
    name: lone
    annotations:
      rdt.resources.beta.kubernetes.io/pod: silver
      rdt.resources.beta.kubernetes.io/container.side: gold
- apiVersion: v1
  kind: Pod
  metadata: {name: other, labels: {app: other}}
- apiVersion: v1
  kind: Service
  metadata: {name: web}
"#;

#[test]
fn pods_are_in_the_class_that_their_annotation_names() {
    let classes = "
partitions:
  one:
    l3Allocation: \"0xfff00\"
    classes: {gold: }
  two:
    l3Allocation: \"0xff\"
    classes: {bronze: {mbAllocation: [\"10%\"]}}
";
    let (config, text) = imported(&[PODS, classes], CACHE).unwrap();
    let rules: Vec<String> = config
        .kubernetes
        .pods
        .iter()
        .map(|rule| {
            let group = rule.policy_group.as_deref().unwrap_or_default();
            format!("{} {} {group} {:?}", rule.select, rule.namespace, rule.baseline_ways)
        })
        .collect();
    // Twelve ways, of which each of both namespaces' programs has half.
    assert_eq!(rules, ["app=cache shop gold Some(6)", "app=api web gold Some(6)"]);
    assert!(config.kubernetes.nri);
    assert_eq!(
        programs(&config),
        [("silver", "pod:default/lone".to_owned(), None, false, Some(10))]
    );
    assert_eq!(config.policy, "fairways");
    has_line(&text, &["container.side: gold: "]);
    has_line(&text, &["class silver: its class is in none of the sources"]);
    has_line(&text, &["class bronze, without programs: ", "kubectl get pods -A -o yaml"]);
    has_line(&text, &["# baseline_ways = 8"]);
    has_line(&text, &["# 1 pods or workloads are in no class"]);
    has_line(&text, &["class gold, 12 ways for 2 programs: "]);
}
