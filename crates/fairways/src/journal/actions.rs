//! Actions, as a journal has them.

use std::collections::HashSet;
use std::time::Duration;

use fairways_core::{Action, AppId, Partition, PlanId, Q32, ThreadId, WayMask};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// An action that is read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Owned {
    Partition { plan: PlanId, partition: Vec<Cluster>, reason: String },
    Allow { thread: ThreadId, cpus: Vec<u32>, reason: String },
    Priority { threads: Vec<ThreadId>, raised: bool, reason: String },
    Quantum { thread: ThreadId, time: u64, reason: String },
    Estimated { thread: ThreadId, what: String, value: Q32, raw: i64 },
    Classified { app: AppId, class: String, reason: String },
    Watch(IgnoredAny),
    Wake(IgnoredAny),
    WatchTogether(IgnoredAny),
}

/// A cluster of a plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cluster {
    mask: WayMask,
    apps: Vec<AppId>,
}

/// The texts of actions, each of which is kept once for good: policies say few different ones. Who reads them is at a terminal, which is
/// not to do as a journal of others bids it.
#[derive(Debug, Default)]
pub(crate) struct Texts(HashSet<&'static str>);

impl Texts {
    fn keep(&mut self, text: String) -> &'static str {
        let text = plain(text);
        if let Some(kept) = self.0.get(text.as_str()) {
            return kept;
        }
        let kept: &'static str = Box::leak(text.into_boxed_str());
        self.0.insert(kept);
        kept
    }
}

/// A text as it may be shown.
pub(super) fn plain(text: String) -> String {
    if text.chars().all(fairways_core::is_plain) { text } else { crate::plain::plain(&text) }
}

impl Owned {
    /// The number of a plan.
    pub(crate) const fn plan(&self) -> Option<PlanId> {
        match self {
            Self::Partition { plan, .. } => Some(*plan),
            _ => None,
        }
    }

    /// Passes it on as policies say it; what only asks to be told things is passed over.
    pub(crate) fn say(self, texts: &mut Texts, act: &mut dyn FnMut(Action<'_>)) {
        match self {
            Self::Partition { plan, partition: clusters, reason } => {
                let mut partition = Partition::default();
                for (number, cluster) in (0..).zip(&clusters) {
                    partition.add_cluster(cluster.mask);
                    cluster.apps.iter().for_each(|&app| partition.place(app, number));
                }
                act(Action::Partition { plan, partition: &partition, reason: texts.keep(reason) });
            }
            Self::Allow { thread, cpus, reason } => {
                act(Action::Allow { thread, cpus: &cpus, reason: texts.keep(reason) });
            }
            Self::Priority { threads, raised, reason } => {
                let reason = texts.keep(reason);
                act(Action::Priority { threads: &threads, raised, reason });
            }
            Self::Quantum { thread, time, reason } => {
                let (time, reason) = (Duration::from_nanos(time), texts.keep(reason));
                act(Action::Quantum { thread, time, reason });
            }
            Self::Estimated { thread, what, value, raw } => {
                act(Action::Estimated { thread, what: texts.keep(what), value, raw });
            }
            Self::Classified { app, class, reason } => {
                let (class, reason) = (texts.keep(class), texts.keep(reason));
                act(Action::Classified { app, class, reason });
            }
            Self::Watch(_) | Self::Wake(_) | Self::WatchTogether(_) => {}
        }
    }
}
