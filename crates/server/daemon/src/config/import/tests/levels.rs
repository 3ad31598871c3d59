//! koordlet's and rubik's levels, and libvirt's domains.

use super::*;

#[test]
fn levels_of_koordlet_become_programs_by_quality_of_service() {
    let text = r##"
apiVersion: v1
kind: ConfigMap
metadata:
  name: slo-controller-config
data:
  colocation-config: "#!/bin/sh: {"
  resource-qos-config: |
    {
      "clusterStrategy": {
        "lsrClass": {"resctrlQOS": {"enable": false, "catRangeEndPercent": 100}},
        "lsClass": {
          "cpuQOS": {"enable": true},
          "resctrlQoS": {"enable": true, "catRangeStartPercent": 33, "catRangeEndPercent": 100}
        },
        "beClass": {"resctrlQOS": {"enable": true, "MBAPercent": 40}}
      },
      "nodeStrategies": [{"name": "gpu", "beClass": {}}]
    }
"##;
    let (config, text) = imported(&[text], CACHE).unwrap();
    // From 33 % on, rounded up: ways 7 to 19; 30 %, ways 0 to 5.
    assert_eq!(
        programs(&config),
        [
            ("LS", BURSTABLE.to_owned(), Some(13), false, Some(3)),
            ("BE", BEST_EFFORT.to_owned(), None, true, None),
        ]
    );
    assert_eq!(config.policy, "fairways");
    has_line(&text, &["source-0:11: lsrClass.resctrlQOS: it is not enabled"]);
    has_line(&text, &["source-0:16: beClass.resctrlQOS: 0 to 30 % of the cache: "]);
    has_line(&text, &["source-0:18: nodeStrategies: gpu: "]);
    let slo = "
apiVersion: v1
kind: List
items:
- apiVersion: slo.koordinator.sh/v1alpha1
  kind: NodeSLO
  spec:
    resourceQOSStrategy:
      lsClass: {resctrlQOS: {enable: true}}
      beClass: {resctrlQOS: {enable: true, catRangeEndPercent: 20}}
";
    let pod = "
apiVersion: v1
kind: Pod
metadata:
  name: a
  namespace: batch
  labels: {koordinator.sh/qosClass: BE}
";
    let (config, text) = imported(&[slo, pod], CACHE).unwrap();
    assert_eq!(programs(&config), [("LS", BURSTABLE.to_owned(), Some(16), false, None)], "{text}");
    let [rule] = &config.kubernetes.pods[..] else { panic!("{text}") };
    assert_eq!(rule.select.to_string(), "koordinator.sh/qosClass=BE");
    assert_eq!((rule.namespace.as_str(), rule.best_effort), ("batch", Some(true)));
}

#[test]
fn levels_of_rubik_are_background_work() {
    let levels = r#"{
  "agent": {"enabledFeatures": ["preemption", "dynCache"]},
  "dynCache": {
    "defaultLimitMode": "dynamic",
    "adjustInterval": 1000,
    "l3Percent": {"low": 20, "mid": 30, "high": 50},
    "memBandPercent": {"low": 10, "mid": 30, "high": 50}
  }
}"#;
    let pods = r#"
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {job: train}, annotations: {volcano.sh/preemptable: "true"}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: batch}
spec:
  jobTemplate:
    spec:
      template:
        metadata:
          labels: {job: nightly}
          annotations: {volcano.sh/preemptable: "true", volcano.sh/cache-limit: middle}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {volcano.sh/cache-limit: lots}}
"#;
    let (config, text) = imported(&[levels, pods], CACHE).unwrap();
    let rules: Vec<String> = config
        .kubernetes
        .pods
        .iter()
        .map(|rule| format!("{} {:?} {:?}", rule.select, rule.policy_group, rule.best_effort))
        .collect();
    assert_eq!(
        rules,
        ["job=nightly Some(\"middle\") Some(true)", "job=train Some(\"dynamic\") Some(true)"]
    );
    has_line(&text, &["source-0:6: dynCache.l3Percent.low: 20 %: "]);
    has_line(&text, &["source-0:7: dynCache.memBandPercent.high: 50 %: "]);
    has_line(&text, &["source-0:5: dynCache.adjustInterval: "]);
    has_line(&text, &["volcano.sh/cache-limit: lots: expected low, middle, high, max or dynamic"]);
    has_line(&text, &["class low, without programs: "]);
    // Not enabled: nothing is imported.
    let off = levels.replace("\"dynCache\"]", "\"ioCost\"]");
    let (config, text) = imported(&[&off], CACHE).unwrap();
    assert!(config.manages_none());
    has_line(&text, &["source-0:3: dynCache: rubik does not enable it"]);
}

#[test]
fn domains_of_libvirt_have_as_many_ways_as_their_sizes_take() {
    let domain = "<?xml version='1.0'?>
<domain type='kvm' id='3'>
  <name>web-1_a</name>
  <vcpu placement='static'>4</vcpu>
  <cputune>
    <cachetune vcpus='0-3'>
      <cache id='0' level='3' type='both' size='3' unit='MiB'/>
      <cache id='1' level='3' type='both' size='5120' unit='KiB'/>
      <monitor level='3' vcpus='1'/>
    </cachetune>
    <memorytune vcpus='0-3'>
      <node id='0' bandwidth='60'/>
    </memorytune>
  </cputune>
</domain>
";
    let other = "<domain type='qemu'><name>db</name><cputune>
      <cachetune><cache id='0' level='3' type='both' size='4194304'/></cachetune>
      <cachetune vcpus='1'><cache id='0' level='3' type='code' size='1' unit='M'/></cachetune>
    </cputune></domain>";
    let without = "<domain type='qemu'><name>idle</name></domain>";
    let (config, text) = imported(&[domain, other, without], CACHE).unwrap();
    assert_eq!(config.policy, "static");
    assert_eq!(
        programs(&config),
        [
            (
                "web-1_a",
                "unit:machine-qemu\\x2d*\\x2dweb\\x2d1a.scope".to_owned(),
                Some(3),
                false,
                None
            ),
            ("db", "unit:machine-qemu\\x2d*\\x2ddb.scope".to_owned(), Some(2), false, None),
        ]
    );
    has_line(&text, &["source-0:2: web-1_a: sizes that differ by cache: "]);
    has_line(&text, &["source-0:12: memorytune: node 0, bandwidth 60: "]);
    has_line(&text, &["source-1:3: cachetune: type \"code\": "]);
    has_line(&text, &["source-2:1: idle: "]);
    let (config, text) = imported(&[domain], HostCache::default()).unwrap();
    assert_eq!(config.program[0].baseline_ways, None);
    has_line(&text, &["web-1_a: 5242880 bytes of the cache: ", "--cache-size"]);
}
