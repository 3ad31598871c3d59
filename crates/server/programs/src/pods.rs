//! The pods of a Kubernetes node, by the folders in which the kubelet keeps their logs, without a
//! request to any server.
//!
//! Source: `BuildPodLogsDirectory` of kubernetes' pkg/kubelet/kuberuntime: `NAMESPACE_NAME_UID`, of
//! which no part has a `_`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::announced::AnnouncedContainers;
use super::{Wanted, glob};
use fairways_linux::is_gone;

/// The pods that have a folder.
#[derive(Debug, Default)]
pub(super) struct Pods {
    folder: PathBuf,
    /// Namespace and name, by UID.
    known: BTreeMap<String, (String, String)>,
    /// Containers that were announced, whose pods may have no folder yet.
    pub(super) announced: AnnouncedContainers,
    /// Whether it was logged that the folder can't be read.
    is_logged: bool,
}

impl Pods {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Does a [`refresh`](Self::refresh), if any of the wanted entries needs names.
    pub(super) fn refresh_for(&mut self, wanted: &[Wanted]) -> bool {
        wanted.iter().any(|wanted| wanted.selector.selects_pod_names()) && self.refresh()
    }

    /// Reads the folder again. Returns whether the pods differ from before. Without the folder
    /// there are none: the kubelet may be yet to come. If it can't be read, the pods stay as they
    /// were, so that no other program suffers.
    fn refresh(&mut self) -> bool {
        match self.read() {
            Ok(found) => {
                self.is_logged = false;
                let changed = found != self.known;
                self.known = found;
                changed
            }
            Err(error) if is_gone(&error) => {
                self.warn_once("no pod is found by its name: the kubelet keeps no logs here", None);
                !std::mem::take(&mut self.known).is_empty()
            }
            Err(error) => {
                self.warn_once("pods are those of before: they can't be read", Some(&error));
                false
            }
        }
    }

    fn read(&self) -> io::Result<BTreeMap<String, (String, String)>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.folder)? {
            found.extend(parse_folder(&entry?.file_name().to_string_lossy()));
        }
        Ok(found)
    }

    /// Warns, unless it has since the folder could last be read.
    fn warn_once(&mut self, what: &str, error: Option<&io::Error>) {
        if !std::mem::replace(&mut self.is_logged, true) {
            let error = error.map(tracing::field::display);
            tracing::warn!(folder = %self.folder.display(), error, "{what}");
        }
    }

    /// The namespace and the name of the pod with that UID, if it has a folder.
    pub(super) fn name(&self, uid: &str) -> Option<(&str, &str)> {
        self.known.get(uid).map(|(namespace, name)| (namespace.as_str(), name.as_str()))
    }

    /// Reads the folder again, and logs no failure.
    pub(super) fn refresh_quietly(&mut self) {
        self.known = self.read().unwrap_or_default();
    }

    /// Namespaces and names of all pods.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.known.values().map(|(namespace, name)| format!("{namespace}/{name}"))
    }

    /// Whether the pod with that UID matches these patterns.
    pub(super) fn matches(&self, uid: &str, namespace: &str, name: &str) -> bool {
        let known = self.name(uid).or_else(|| self.announced.pod(uid));
        known.is_some_and(|of| glob::matches(namespace, of.0) && glob::matches(name, of.1))
    }
}

/// The UID, the namespace and the name in a folder's name.
fn parse_folder(folder: &str) -> Option<(String, (String, String))> {
    let mut parts = folder.split('_');
    let (namespace, name, uid) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = ![namespace, name, uid].contains(&"") && parts.next().is_none();
    whole.then(|| (uid.to_owned(), (namespace.to_owned(), name.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_pods_are_read_and_others_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut pods = Pods::new(folder.path().join("pods"));
        assert!(!pods.refresh(), "no folder is none");
        for name in [
            "web_api-7d4b_0a-1b",
            "kube-system_etcd-node.a_0c",
            "lost+found",
            "a_b",
            "a__c",
            "a_b_c_d",
        ] {
            fs::create_dir_all(folder.path().join("pods").join(name)).expect("a folder");
        }
        assert!(pods.refresh() && !pods.refresh());
        assert_eq!(pods.known.keys().collect::<Vec<_>>(), ["0a-1b", "0c"]);
        assert!(pods.matches("0a-1b", "web", "api-*") && pods.matches("0c", "*", "etcd-node.?"));
        assert!(!pods.matches("0a-1b", "web", "api") && !pods.matches("0a-1b", "we", "*"));
        assert!(!pods.matches("0d", "*", "*"), "its folder is not there yet");
    }
    #[test]
    fn known_pods_stay_while_their_folder_cannot_be_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (at, away) = (folder.path().join("pods"), folder.path().join("away"));
        let mut pods = Pods::new(at.clone());
        fs::create_dir_all(at.join("web_api_0a")).expect("a folder");
        assert!(pods.refresh() && !pods.is_logged);
        // ELOOP, which root gets, too.
        fs::rename(&at, &away).expect("moved");
        std::os::unix::fs::symlink(&at, &at).expect("a link to itself");
        assert!(!pods.refresh() && pods.is_logged && pods.matches("0a", "web", "api"));
        fs::remove_file(&at).expect("removed");
        assert!(
            pods.refresh() && !pods.matches("0a", "web", "api"),
            "without a folder there are none"
        );
        fs::rename(&away, &at).expect("moved back");
        assert!(pods.refresh() && !pods.is_logged && pods.matches("0a", "web", "api"));
    }
}
