use std::collections::BTreeMap;

use super::*;

fn container(annotations: &[(&str, &str)]) -> Container {
    Container {
        id: "ab12".to_owned(),
        name: "app".to_owned(),
        pod: "api-0".to_owned(),
        pod_uid: "0a-1b".to_owned(),
        namespace: "web".to_owned(),
        labels: BTreeMap::from([("app".to_owned(), "api".to_owned())]),
        annotations: annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        qos: None,
        pid: Some(7),
        runtime_class: None,
    }
}

fn settings(text: &str) -> Kubernetes {
    toml::from_str(text).unwrap()
}

fn of(annotations: &[(&str, &str)]) -> PodRequest {
    asked(&container(annotations), &Kubernetes::default())
}

#[test]
fn annotations_are_wishes_and_make_a_container_a_program() {
    assert_eq!(of(&[]), PodRequest::default());
    assert_eq!(of(&[("other.example/best-effort", "true")]), PodRequest::default());
    let all = of(&[
        ("fairways.dev/baseline-ways", "3"),
        ("fairways.dev/best-effort", "true"),
        ("fairways.dev/objective", "p99.9:2ms"),
        ("fairways.dev/importance", "4"),
    ]);
    assert_eq!(all.program.as_deref(), Some("web/api-0/app"));
    assert_eq!((all.wish.baseline_ways, all.wish.best_effort), (Some(3), true));
    assert_eq!((all.wish.objective, all.wish.importance), (objective("p99.9:2ms").ok(), Some(4)));
    assert_eq!(all.wrong, Vec::<String>::new());
    let managed = of(&[("fairways.dev/manage", "true")]);
    assert_eq!((managed.program.is_some(), managed.wish), (true, Wish::default()));
    let not = of(&[("fairways.dev/manage", "false"), ("fairways.dev/importance", "4")]);
    assert_eq!(not.program, None);
    let group = of(&[("fairways.dev/policy-group", "front")]);
    assert_eq!(group.program.as_deref(), Some("web/front"));
}

#[test]
fn a_containers_own_annotation_counts_before_its_pods() {
    let both = [("fairways.dev/importance", "2"), ("fairways.dev/importance.app", "3")];
    assert_eq!(of(&both).wish.importance, Some(3));
    let others = of(&[("fairways.dev/importance.sidecar", "3")]);
    assert_eq!(others, PodRequest::default());
}

#[test]
fn a_wrong_annotation_is_reported_and_the_others_count() {
    for (key, value, expected) in [
        ("manage", "yes", "expected true or false, found \"yes\""),
        ("best-effort", "", "expected true or false, found \"\""),
        ("baseline-ways", "0", "expected a number from 1 to 32, found \"0\""),
        ("baseline-ways", "33", "from 1 to 32"),
        ("baseline-ways", "-1", "from 1 to 32"),
        ("importance", "4294967296", "from 1 to 100"),
        ("objective", "fast", "a latency such as 2ms"),
        ("objective", "p101:2ms", "a latency such as 2ms"),
        ("policy-group", "a/b", "a name of at most 63"),
        ("policy-group", "", "a name of at most 63"),
        ("baseline", "1", "one of manage, baseline-ways"),
        ("Importance", "1", "one of manage, baseline-ways"),
    ] {
        let key = format!("fairways.dev/{key}");
        let asked = of(&[(&key, value), ("fairways.dev/manage.app", "true")]);
        assert_eq!(asked.program.as_deref(), Some("web/api-0/app"));
        assert_eq!((asked.wish, asked.wrong.len()), (Wish::default(), 1), "{key}={value}");
        assert!(asked.wrong[0].contains(expected), "{:?}", asked.wrong);
        assert!(asked.wrong[0].starts_with(&format!("web/api-0: annotation {key}: ")));
    }
    let hostile = of(&[("fairways.dev/manage", &format!("\u{1b}[2J\n{}", "x".repeat(200)))]);
    let line = &hostile.wrong[0];
    assert!(line.len() < 200 && !line.contains(char::is_control), "{line:?}");
}

#[test]
fn labels_are_chosen_by_rules_and_annotations_come_first() {
    let rules = settings(
        "[[pods]]\nselect = \"app=other\"\nimportance = 9\n\
         [[pods]]\nselect = \"app=api,!batch\"\nnamespace = \"w*\"\nbaseline_ways = 2\nimportance = 3\npolicy_group = \"front\"\n\
         [[pods]]\nselect = \"app\"\nimportance = 8\n",
    );
    let labelled = asked(&container(&[]), &rules);
    assert_eq!(labelled.program.as_deref(), Some("web/front"));
    assert_eq!((labelled.wish.baseline_ways, labelled.wish.importance), (Some(2), Some(3)));
    let both = asked(&container(&[("fairways.dev/importance", "5")]), &rules);
    assert_eq!((both.wish.baseline_ways, both.wish.importance), (Some(2), Some(5)));
    let not = asked(&container(&[("fairways.dev/manage", "false")]), &rules);
    assert_eq!(not.program, None);
    let elsewhere = Container { namespace: "batch".to_owned(), ..container(&[]) };
    assert_eq!(asked(&elsewhere, &rules).wish.importance, Some(8));
}

fn with(qos: QosClass, annotations: &[(&str, &str)], text: &str) -> PodRequest {
    asked(&Container { qos: Some(qos), ..container(annotations) }, &settings(text))
}

fn ways(text: &str, annotations: &[(&str, &str)]) -> Option<u32> {
    with(QosClass::Guaranteed, annotations, text).wish.baseline_ways
}

#[test]
fn the_qos_class_is_the_default() {
    let all = "all = true";
    assert!(with(QosClass::BestEffort, &[], all).wish.best_effort);
    let asks = [("fairways.dev/best-effort", "false")];
    assert!(!with(QosClass::BestEffort, &asks, all).wish.best_effort);
    assert_eq!(with(QosClass::Burstable, &[], all).wish, Wish::default());
    assert_eq!(ways(all, &[]), Some(1));
    assert_eq!(ways("all = true\nguaranteed_ways = 3", &[]), Some(3));
    assert_eq!(ways("all = true\nguaranteed_ways = 0", &[]), None);
    assert_eq!(ways(all, &[("fairways.dev/baseline-ways", "4")]), Some(4));
    assert_eq!(ways(all, &[("fairways.dev/best-effort", "true")]), None);
    assert_eq!(with(QosClass::BestEffort, &[], "").program, None, "nobody asks for it");
}

#[test]
fn annotations_count_in_some_namespaces_only() {
    let of = container(&[("fairways.dev/importance", "5")]);
    for (text, counts) in
        [("", true), ("annotations = [\"w*\"]", true), ("annotations = []", false)]
    {
        assert_eq!(asked(&of, &settings(text)).program.is_some(), counts, "{text}");
    }
}
