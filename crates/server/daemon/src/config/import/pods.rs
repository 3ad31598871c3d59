//! Pods of Kubernetes, and what makes them: they say which class they are in.

use std::collections::BTreeMap;

use fairways_programs::Selector;

use super::classes::{ClassMember, ImportedClass};
use super::yaml::{WrongLine, YamlNode};
use super::{ImportedSources, MOST_CLASSES, SourceKind, rubik};
use crate::config::labels::LabelSelector;

/// goresctrl's annotation of pods for all containers; then those of the resource managers that read
/// its configuration.
const CLASS_OF_POD: [&str; 3] = [
    "rdt.resources.beta.kubernetes.io/pod",
    "rdtclass.cri-resource-manager.intel.com/pod",
    "rdtclass.resource-policy.nri.io/pod",
];
/// The beginnings of those for one container.
const CLASS_OF_CONTAINER: [&str; 3] = [
    "rdt.resources.beta.kubernetes.io/container.",
    "rdtclass.cri-resource-manager.intel.com/container.",
    "rdtclass.resource-policy.nri.io/container.",
];
const QOS_LABEL: &str = "koordinator.sh/qosClass";
const LEVEL_OF_POD: &str = "volcano.sh/cache-limit";
const OFFLINE: &str = "volcano.sh/preemptable";

/// Labels that differ between the pods of one workload, or from one rollout to the next.
const PASSING: [&str; 8] = [
    "pod-template-hash",
    "controller-revision-hash",
    "pod-template-generation",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
    "controller-uid",
    "job-name",
    "job-completion-index",
];

/// A pod, or the template of a workload's pods.
pub(super) struct ImportedPod {
    place: String,
    namespace: String,
    /// A pattern for its name.
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

/// Which object of Kubernetes a document is.
pub(super) fn kind(document: &YamlNode) -> Option<&str> {
    document.text_of("apiVersion")?;
    document.text_of("kind")
}

/// The pod of a document, or the template of its pods.
pub(super) fn read(import: &mut ImportedSources, document: &YamlNode) -> Result<(), WrongLine> {
    let Some(metadata) = document.get("metadata") else { return Ok(()) };
    let spec = document.get("spec");
    let cron = spec.and_then(|spec| spec.at(&["jobTemplate", "spec", "template"]));
    let template = cron.or_else(|| spec?.get("template"));
    let of_pods = match (template, document.text_of("kind")) {
        (Some(template), _) => template.get("metadata"),
        (None, Some("Pod")) => Some(metadata),
        _ => None,
    };
    let Some(of_pods) = of_pods else { return Ok(()) };
    let name = metadata.text_of("name").unwrap_or_default();
    let pod = ImportedPod {
        place: import.place(metadata.line),
        namespace: metadata.text_of("namespace").unwrap_or("default").to_owned(),
        name: if template.is_some() { format!("{name}-*") } else { name.to_owned() },
        labels: texts(of_pods, "labels")?,
        annotations: texts(of_pods, "annotations")?,
    };
    import.pods.push(pod);
    Ok(())
}

/// The texts below a key.
fn texts(node: &YamlNode, key: &str) -> Result<BTreeMap<String, String>, WrongLine> {
    let Some(below) = node.get(key) else { return Ok(BTreeMap::new()) };
    let texts = below.map(&format!("metadata.{key}"))?.iter();
    Ok(texts.filter_map(|(name, value)| Some((name.clone(), value.text()?.to_owned()))).collect())
}

/// Puts pods into their classes.
pub(super) fn assign(import: &mut ImportedSources) {
    let mut unclassed = 0;
    for pod in std::mem::take(&mut import.pods) {
        for (key, class) in &pod.annotations {
            if CLASS_OF_CONTAINER.iter().any(|start| key.starts_with(start)) {
                let why = "rules are for whole pods: give that container the annotations of docs/kubernetes.md that end in its name";
                import.leave_out_at(&pod.place, &format!("{key}: {class}"), why);
            }
        }
        let Some((by, class)) = class_of(&pod, import.default_level) else {
            unclassed += 1;
            continue;
        };
        let Some(member) = member(import, &pod, &class) else { continue };
        let known = import
            .classes
            .iter()
            .position(|known| known.by == by && known.name.eq_ignore_ascii_case(&class));
        if let Some(known) = known {
            import.classes[known].members.insert(member);
            continue;
        }
        let what = format!("class {class}");
        if import.classes.len() >= MOST_CLASSES {
            let why = format!("expected at most {MOST_CLASSES} classes");
            import.leave_out_at(&pod.place, &what, &why);
            continue;
        }
        let why = "its class is in none of the sources, so its ways are not known";
        import.leave_out_at(&pod.place, &what, why);
        let mut new = ImportedClass::new(class, by, pod.place.clone());
        new.is_background = by == SourceKind::Rubik || new.name == "BE";
        new.members.insert(member);
        import.classes.push(new);
    }
    if unclassed > 0 {
        import
            .comments
            .push(format!("{unclassed} pods or workloads are in no class; they are not here"));
    }
    for class in &mut import.classes {
        if class.members.is_empty() {
            class.members.extend(of_quality(class));
        }
    }
}

/// The class that a pod is in.
fn class_of(pod: &ImportedPod, default_level: &str) -> Option<(SourceKind, String)> {
    if let Some(class) = CLASS_OF_POD.iter().find_map(|key| pod.annotations.get(*key)) {
        return Some((SourceKind::Goresctrl, class.clone()));
    }
    if let Some(class) = pod.labels.get(QOS_LABEL) {
        return Some((SourceKind::Koordinator, class.clone()));
    }
    let is_offline = pod.annotations.get(OFFLINE).is_some_and(|value| value == "true");
    let level = pod.annotations.get(LEVEL_OF_POD).map(String::as_str);
    let level = level.or_else(|| is_offline.then_some(default_level))?;
    Some((SourceKind::Rubik, level.to_owned()))
}

/// How a pod is found: by its labels, or without any, by its name.
fn member(import: &mut ImportedSources, pod: &ImportedPod, class: &str) -> Option<ClassMember> {
    let is_level = pod.annotations.contains_key(LEVEL_OF_POD);
    if is_level && !rubik::LEVELS.contains(&class) {
        let why = "expected low, middle, high, max or dynamic";
        import.leave_out_at(&pod.place, &format!("{LEVEL_OF_POD}: {class}"), why);
        return None;
    }
    let by_name = format!("pod:{}/{}", pod.namespace, pod.name);
    let own_name = pod.name.trim_end_matches("-*");
    // Patterns would select the pods of others.
    let is_pattern = [&pod.namespace, own_name].iter().any(|text| text.contains(['*', '?']));
    if is_pattern || by_name.parse::<Selector>().is_err() {
        let why = "expected a namespace and a name of Kubernetes";
        import.leave_out_at(&pod.place, &by_name, why);
        return None;
    }
    let lasting = pod.labels.iter().filter(|(key, _)| {
        !PASSING.contains(&key.as_str()) && !key.starts_with("batch.kubernetes.io/")
    });
    let labels: Vec<String> = lasting.map(|(key, value)| format!("{key}={value}")).collect();
    let labels = labels.join(",");
    if labels.parse::<LabelSelector>().is_ok() {
        return Some(ClassMember::Pods { namespace: pod.namespace.clone(), labels });
    }
    let name = format!("{}-{own_name}", pod.namespace);
    Some(ClassMember::Selected { name, select: by_name })
}

/// The pods of a QoS class of Kubernetes, where a class is named after it: the resource managers
/// that read goresctrl's configuration, and koordlet, use such a class for the pods that name none.
fn of_quality(class: &ImportedClass) -> Option<ClassMember> {
    let name = class.name.to_ascii_lowercase();
    let cgroup = match (class.by, name.as_str()) {
        (SourceKind::Goresctrl, "guaranteed") | (SourceKind::Koordinator, "lsr") => {
            "kubepods-pod*.slice"
        }
        (SourceKind::Goresctrl, "burstable") | (SourceKind::Koordinator, "ls") => {
            "kubepods-burstable.slice"
        }
        (SourceKind::Goresctrl, "besteffort") | (SourceKind::Koordinator, "be") => {
            "kubepods-besteffort.slice"
        }
        _ => return None,
    };
    Some(ClassMember::Selected { name, select: format!("cgroup:/kubepods.slice/{cgroup}") })
}
