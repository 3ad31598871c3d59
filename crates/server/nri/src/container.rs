//! A container as the rest of Fairways knows it: checked, and no larger than Kubernetes makes it.

use std::collections::BTreeMap;

use crate::api;

/// The most containers of a node. The kubelet's own limit is 110 pods (`maxPods`), and clusters
/// raise it to some hundreds.
pub const MOST_CONTAINERS: usize = 4096;

/// The longest name: a DNS subdomain (Kubernetes' names of pods).
const LONGEST_NAME: usize = 253;

/// The longest namespace and name of a container: DNS labels.
const LONGEST_LABEL: usize = 63;

/// The longest id of a container; containerd's have 64 digits.
const LONGEST_ID: usize = 128;

/// The annotations that are kept; others are none of ours.
pub const ANNOTATIONS: &str = "fairways.dev/";

/// The most labels and annotations of an object that are kept, and the longest key and value. A
/// label's value has 63 characters; an annotation that is longer than this is none of ours.
const MOST_PAIRS: usize = 256;
const LONGEST_KEY: usize = 253 + 1 + 63;
const LONGEST_VALUE: usize = 256;

/// What Kubernetes guarantees a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosClass {
    /// Requests are limits, for every container.
    Guaranteed,
    /// Some requests.
    Burstable,
    /// No requests and no limits.
    BestEffort,
}

/// A container that exists, or is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The runtime's id for it.
    pub id: String,
    /// Its name in the pod.
    pub name: String,
    /// The pod's name.
    pub pod: String,
    /// The pod's UID.
    pub pod_uid: String,
    /// The pod's namespace.
    pub namespace: String,
    /// Labels of the pod.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod that begin with [`ANNOTATIONS`], and whose value is at most 256 bytes
    /// long.
    pub annotations: BTreeMap<String, String>,
    /// By the pod's cgroup; `None` where that is not the kubelet's.
    pub qos: Option<QosClass>,
    /// Its first process, as the runtime sees it; `None` before there is one.
    pub pid: Option<i32>,
    /// The RDT class that the runtime itself puts it in, if any (NRI 0.11 and later).
    pub runtime_class: Option<String>,
}

impl Container {
    /// The container of a message. `None` if it has stopped, or a name is not as Kubernetes makes
    /// it: such a container is left alone.
    pub(crate) fn new(pod: &api::Pod, container: &api::ApiContainer) -> Option<Self> {
        let linux = container.linux.as_ref();
        let id = container.id.as_str();
        let is_id = is_name(id, LONGEST_ID) && !id.starts_with('.');
        let is_named = is_name(&pod.namespace, LONGEST_LABEL)
            && is_name(&pod.name, LONGEST_NAME)
            && is_name(&container.name, LONGEST_LABEL)
            && is_name(&pod.uid, LONGEST_LABEL);
        if !is_id || !is_named || container.state == api::STOPPED {
            return None;
        }
        let parent = pod.linux.as_ref().map(|linux| linux.cgroup_parent.as_str());
        let path = linux.map(|linux| linux.cgroups_path.as_str());
        let class = linux.and_then(|linux| linux.rdt.as_ref()?.clos_id.as_ref());
        Some(Self {
            id: id.to_owned(),
            name: container.name.clone(),
            pod: pod.name.clone(),
            pod_uid: pod.uid.clone(),
            namespace: pod.namespace.clone(),
            labels: bounded(&pod.labels, ""),
            annotations: bounded(&pod.annotations, ANNOTATIONS),
            qos: parent.and_then(qos).or_else(|| path.and_then(qos)),
            pid: i32::try_from(container.pid).ok().filter(|pid| *pid > 0),
            runtime_class: class.map(|text| text.value.clone()).filter(|text| !text.is_empty()),
        })
    }
}

/// Whether it is a name of Kubernetes, or an id.
fn is_name(text: &str, longest: usize) -> bool {
    !text.is_empty()
        && text.len() <= longest
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

impl api::Pod {
    /// The same with no more labels and annotations than are kept.
    pub(crate) fn bounded(self) -> Self {
        let labels = bounded(&self.labels, "");
        let annotations = bounded(&self.annotations, ANNOTATIONS);
        Self { labels, annotations, ..self }
    }

    /// The bytes of its labels and annotations.
    pub(crate) fn bytes(&self) -> usize {
        let pairs = self.labels.iter().chain(&self.annotations);
        pairs.map(|(key, value)| key.len() + value.len()).sum()
    }
}

fn bounded(pairs: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    let pairs = pairs.iter().filter(|(key, _)| key.starts_with(prefix));
    let short =
        pairs.filter(|(key, value)| key.len() <= LONGEST_KEY && value.len() <= LONGEST_VALUE);
    short.take(MOST_PAIRS).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The class of a pod by its cgroup: `/kubepods/burstable/podUID` by the kubelet's driver
/// cgroupfs, `kubepods-burstable-podUID.slice` by systemd. Guaranteed pods are directly in
/// kubepods (`GetPodContainerName` of the kubelet's pkg/kubelet/cm/pod_container_manager_linux.go).
fn qos(cgroup: &str) -> Option<QosClass> {
    let (_, below) = cgroup.split_once("kubepods")?;
    let class = below.trim_start_matches(".slice").trim_start_matches(['/', '-']);
    let class = class.strip_prefix("kubepods-").unwrap_or(class);
    [
        ("besteffort", QosClass::BestEffort),
        ("burstable", QosClass::Burstable),
        ("pod", QosClass::Guaranteed),
    ]
    .into_iter()
    .find_map(|(begins, qos)| class.starts_with(begins).then_some(qos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> api::Pod {
        let (name, namespace) = ("api-0".to_owned(), "web".to_owned());
        api::Pod { name, namespace, uid: "0a-1b".to_owned(), ..api::Pod::default() }
    }

    fn container() -> api::ApiContainer {
        let (id, name) = ("ab12".to_owned(), "app".to_owned());
        api::ApiContainer { id, name, pid: 7, ..api::ApiContainer::default() }
    }

    #[test]
    fn names_that_kubernetes_does_not_make_are_left_out() {
        let good = Container::new(&pod(), &container()).expect("a container");
        assert_eq!((good.pid, good.qos, good.runtime_class), (Some(7), None, None));
        for wrong in ["", "a/b", "a\nb", "../a", "a b", "ä", &"a".repeat(254)] {
            let wrong = wrong.to_owned();
            for pod in [
                api::Pod { name: wrong.clone(), ..pod() },
                api::Pod { namespace: wrong.clone(), ..pod() },
                api::Pod { uid: wrong.clone(), ..pod() },
            ] {
                assert_eq!(Container::new(&pod, &container()), None, "{wrong:?}");
            }
            for container in [
                api::ApiContainer { id: wrong.clone(), ..container() },
                api::ApiContainer { name: wrong.clone(), ..container() },
            ] {
                assert_eq!(Container::new(&pod(), &container), None, "{wrong:?}");
            }
        }
        let stopped = api::ApiContainer { state: api::STOPPED, ..container() };
        assert_eq!(Container::new(&pod(), &stopped), None);
        let none = api::ApiContainer { pid: 0, ..container() };
        assert_eq!(Container::new(&pod(), &none).expect("one").pid, None);
        let huge = api::ApiContainer { pid: u32::MAX, ..container() };
        assert_eq!(Container::new(&pod(), &huge).expect("one").pid, None);
    }

    #[test]
    fn labels_and_annotations_are_bounded() {
        let mut many = pod();
        for number in 0..1000 {
            many.annotations.insert(format!("fairways.dev/key-{number}"), "value".to_owned());
            many.annotations.insert(format!("a-{number}"), "of somebody else".to_owned());
        }
        many.labels.insert("long".to_owned(), "x".repeat(257));
        many.labels.insert("short".to_owned(), "x".repeat(256));
        let of = Container::new(&many, &container()).expect("a container");
        assert_eq!((of.annotations.len(), of.labels.len()), (MOST_PAIRS, 1));
        assert!(of.annotations.keys().all(|key| key.starts_with(ANNOTATIONS)));
    }

    #[test]
    fn the_class_of_a_pod_is_in_its_cgroups_name() {
        let uid = "0a1b2c3d_0000_1111_2222_333344445555";
        for (path, class) in [
            ("/kubepods/besteffort/pod0a", Some(QosClass::BestEffort)),
            ("/kubepods/burstable/pod0a/ab12", Some(QosClass::Burstable)),
            ("/kubepods/pod0a", Some(QosClass::Guaranteed)),
            ("kubepods-besteffort-pod0a.slice:cri-containerd:ab", Some(QosClass::BestEffort)),
            (&format!("kubepods-pod{uid}.slice"), Some(QosClass::Guaranteed)),
            (
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a.slice",
                Some(QosClass::Burstable),
            ),
            ("/kubepods.slice/kubepods-pod0a.slice", Some(QosClass::Guaranteed)),
            ("/nri-lab", None),
            ("/kubepods", None),
            ("", None),
        ] {
            assert_eq!(qos(path), class, "{path}");
        }
    }
}
