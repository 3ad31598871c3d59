//! What is shown where a policy must measure programs with other numbers of ways, and gives out
//! none (`observe`, `dry_run`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use fairways_core::{Action, AppId, Event};
use fairways_policy::table::KnowledgeSource;

use crate::config::Config;

/// Shown instead of a class and its reason.
const CLASS: &str = "not measurable";
const REASON: &str = "not measurable without partitioning: every number of ways looks the same; fairways trial tries it";

/// Decides whether the policy's findings about a program are shown.
#[derive(Debug, Default)]
pub(super) struct Unmeasured {
    /// Whether the policy needs other numbers of ways, and gives out none.
    is_so: bool,
    /// The programs that were measured before.
    known: BTreeSet<(u32, AppId)>,
}

impl Unmeasured {
    pub(super) fn new(config: &Config) -> Self {
        let gives_none = config.observe || config.dry_run;
        let is_so = gives_none
            && config.descriptor().is_some_and(|policy| policy.knows == KnowledgeSource::OtherWays);
        Self { is_so, known: BTreeSet::new() }
    }

    /// The warning about everything that is shown.
    pub(super) fn warning(&self, policy: &str) -> Option<String> {
        self.is_so.then(|| {
            format!("{policy} learns about programs by giving them other ways: without that, its decisions are no forecast (fairways trial tries it)")
        })
    }

    pub(super) fn hear(&mut self, domain: u32, event: &Event) {
        match event {
            Event::Started { app, profile: Some(_), .. } => {
                self.known.insert((domain, *app));
            }
            Event::Exited { app } => {
                self.known.remove(&(domain, *app));
            }
            _ => {}
        }
    }

    /// The action to show; `None` if it states something that was not measured.
    pub(super) fn shown<'a>(
        &self,
        domain: u32,
        action: &'a Action<'a>,
    ) -> Option<Cow<'a, Action<'a>>> {
        let is_known = |app: AppId| !self.is_so || self.known.contains(&(domain, app));
        match action {
            &Action::Classified { app, .. } if !is_known(app) => {
                Some(Cow::Owned(Action::Classified {
                    app,
                    class: CLASS.into(),
                    reason: REASON.into(),
                }))
            }
            Action::Estimated { thread, .. } if !is_known(thread.app) => None,
            action => Some(Cow::Borrowed(action)),
        }
    }
}
