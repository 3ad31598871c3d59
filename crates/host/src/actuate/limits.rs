//! Limits that are not ours to decide: bandwidth, L2, and the L3 of domains that are not managed.
//!
//! A class of ours has those of the groups that its programs' threads came from, from before the first thread
//! enters. Where these differ, the strictest holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairways_core::{AppId, WayMask};
use fairways_resctrl::language::{Schemata, Value};

use super::actuator::Actuator;
use super::error::Error;
use super::masks::{masks, schemata};
use super::step::Step;
use super::threads::apart;
use super::tree::of;

/// Values by line of `schemata` and domain: a mask's bits, or a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Limits(BTreeMap<(String, u32), u32>);

impl Limits {
    /// The stricter of two values, each: of numbers the smaller; of masks what they have in common where that is a
    /// mask of at least `least` bits, else the one of fewer bits.
    pub(super) fn strictest(&self, other: &Self, least: u32) -> Self {
        let mut strictest = self.clone();
        for (key, &two) in &other.0 {
            let one = strictest.0.entry(key.clone()).or_insert(two);
            *one = if key.0.starts_with('L') {
                let both = WayMask::from_bits(*one & two);
                let is_legal = both.is_contiguous() && both.count() >= least.max(1);
                let fewer = if two.count_ones() < one.count_ones() { two } else { *one };
                if is_legal { both.bits() } else { fewer }
            } else {
                two.min(*one)
            };
        }
        strictest
    }

    /// The lines that make these of those `now`; empty where they are.
    fn lines(&self, now: &Self) -> String {
        let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (key @ (resource, domain), value) in &self.0 {
            if now.0.get(key).is_some_and(|now| now != value) {
                let is_mask = resource.starts_with('L');
                let value = if is_mask { format!("{value:x}") } else { value.to_string() };
                lines.entry(resource).or_default().push(format!("{domain}={value}"));
            }
        }
        let line =
            |(resource, values): (&str, Vec<String>)| format!("{resource}:{}\n", values.join(";"));
        lines.into_iter().map(line).collect()
    }
}

/// The programs whose limits are not the root's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Carried(pub(super) BTreeMap<AppId, Limits>);

impl Actuator {
    /// What of these lines others decide on.
    pub(super) fn limits_in(&self, schemata: &Schemata) -> Limits {
        let mut limits = Limits::default();
        for line in &schemata.lines {
            let is_l3 = self.survey.sides.contains(&line.resource.as_str());
            for &(domain, value) in &line.domains {
                if !(is_l3 && self.offers.of.contains_key(&domain)) {
                    let value = match value {
                        Value::Mask(mask) => mask.bits(),
                        Value::Number(number) => number,
                    };
                    limits.0.insert((line.resource.clone(), domain), value);
                }
            }
        }
        limits
    }

    /// What a class of ours has now.
    pub(super) fn read_limits(&self, class: &str) -> Result<Limits, Error> {
        let found = schemata(&self.tree, class)?;
        Ok(found.map(|found| self.limits_in(&found)).unwrap_or_default())
    }

    fn root_limits(&self) -> Limits {
        self.limits_in(&self.survey.root)
    }

    fn stricter(&self, one: &Limits, other: &Limits) -> Limits {
        one.strictest(other, self.survey.least_bits)
    }

    /// What a group gives those in it, as it was last looked at; one that is gone, what the root's does.
    fn origin_limits(&self, group: &str) -> Result<Limits, Error> {
        let (class, _) = apart(group);
        if class.is_empty() {
            return Ok(self.root_limits());
        }
        if let Some(known) = self.survey.foreign.iter().find(|of| of.name == class) {
            return Ok(self.limits_in(&known.schemata));
        }
        let found = schemata(&self.tree, class)?;
        Ok(found.map_or_else(|| self.root_limits(), |found| self.limits_in(&found)))
    }

    /// The programs with threads that came from groups with other limits than the root's.
    pub(super) fn carried(&self) -> Result<Carried, Error> {
        let taken = &self.state.ledger.tasks;
        let mut carried = Carried::default();
        if taken.is_empty() {
            return Ok(carried);
        }
        let root = self.root_limits();
        let groups: HashMap<i32, &str> =
            taken.iter().map(|task| (task.thread, task.group.as_str())).collect();
        for (&app, program) in &self.programs {
            let of = |thread: &i32| groups.get(thread).copied().unwrap_or_default();
            let origins: BTreeSet<&str> = program.placed.iter().map(of).collect();
            let mut limits: Option<Limits> = None;
            for group in origins {
                let more = self.origin_limits(group)?;
                limits = Some(match limits {
                    Some(limits) => self.stricter(&limits, &more),
                    None => more,
                });
            }
            carried.0.extend(limits.filter(|limits| *limits != root).map(|limits| (app, limits)));
        }
        Ok(carried)
    }

    /// The strictest of these programs' limits; the root's for none.
    pub(super) fn limits_for(&self, members: &[AppId], carried: &Carried) -> Limits {
        let root = self.root_limits();
        let of = |app: &AppId| carried.0.get(app).unwrap_or(&root).clone();
        let all = members.iter().map(of).reduce(|one, other| self.stricter(&one, &other));
        all.unwrap_or(root)
    }

    /// Limits a class to these; only `tighter` where it may hold threads that are limited otherwise.
    pub(super) fn limit(
        &mut self,
        name: &str,
        wanted: &Limits,
        tighter: bool,
        done: &mut Vec<Step>,
    ) -> Result<bool, Error> {
        let Some(at) = self.classes.iter().position(|class| class.name == name) else {
            return Ok(false);
        };
        let before = self.classes[at].limits.clone();
        let wanted = if tighter { self.stricter(&before, wanted) } else { wanted.clone() };
        let took = self.classes[at].limits_taken.as_ref();
        let text = wanted.lines(&before);
        if text.is_empty() || took == Some(&(wanted.clone(), before.clone())) {
            return Ok(false);
        }
        done.push(Step::Limits(name.to_owned(), before.clone()));
        self.tree.write(&of(name, "schemata"), &text).inspect_err(|error| {
            tracing::error!(target: "fairways::actuate", group = name, %error, "limits refused");
        })?;
        let now = self.read_limits(name)?;
        tracing::info!(
            target: "fairways::actuate", group = name, before = before.shown(), after = now.shown(),
            "limits of its programs' groups"
        );
        let class = &mut self.classes[at];
        class.limits_taken = Some((wanted, now.clone()));
        class.limits = now;
        Ok(true)
    }

    /// Says, once for each change, whose limits are stricter than the groups' that its threads came from.
    pub(super) fn say_tightened(&mut self, carried: &Carried) {
        let root = self.root_limits();
        for at in 0..self.classes.len() {
            let name = self.classes[at].name.clone();
            let mut members = self.members(&name);
            members.retain(|app| *carried.0.get(app).unwrap_or(&root) != self.classes[at].limits);
            if members == self.classes[at].tightened {
                continue;
            }
            if !members.is_empty() {
                let apps: Vec<String> = members.iter().map(|app| app.0.to_string()).collect();
                tracing::warn!(
                    target: "fairways::actuate", group = name, limits = self.classes[at].limits.shown(),
                    programs = apps.join(" "), "too few classes: programs have stricter limits than where they came from"
                );
            }
            self.classes[at].tightened = members;
        }
    }

    /// Gives our classes the limits of the groups that their programs came from, where these have changed; whether any
    /// had.
    pub(super) fn follow_limits(&mut self) -> Result<bool, Error> {
        let carried = self.carried()?;
        let mut changed = false;
        for at in 0..self.classes.len() {
            let name = self.classes[at].name.clone();
            let members = self.members(&name);
            if members.is_empty() {
                continue;
            }
            let wanted = self.limits_for(&members, &carried);
            match self.limit(&name, &wanted, false, &mut Vec::new()) {
                Ok(did) => changed |= did,
                // The next look tries again.
                Err(error) => self.errors.came(&error),
            }
        }
        Ok(changed)
    }

    /// Sees to it that threads which come from these groups are limited as there from the moment on at which they enter a
    /// program's group: its class is limited before, and made if it is still the root's. Whether that could be.
    pub(super) fn make_ready<'a>(
        &mut self,
        app: AppId,
        from: impl Iterator<Item = &'a String>,
    ) -> Result<bool, Error> {
        let groups: BTreeSet<&str> = from.map(|group| apart(group).0).collect();
        let root = self.root_limits();
        let class = self.programs.get(&app).ok_or(Error::Unknown(app))?.class.clone();
        let before = if class.is_empty() { root.clone() } else { self.read_limits(&class)? };
        let mut wanted = before.clone();
        for group in groups {
            // Read now: somebody may just have written it.
            let found = schemata(&self.tree, group)?.map(|found| self.limits_in(&found));
            wanted = self.stricter(&wanted, found.as_ref().unwrap_or(&root));
        }
        if wanted == before {
            return Ok(true);
        }
        if !class.is_empty() {
            self.limit(&class, &wanted, true, &mut Vec::new())?;
            return Ok(true);
        }
        let mut done = Vec::new();
        let made = match self.make_class(&mut done) {
            Ok(name) => name,
            Err(error) if error.is_exhausted() => return Ok(false),
            Err(error) => return Err(error),
        };
        let masks = masks(&self.tree, "", self.survey.sides)?.unwrap_or_default();
        let side = self.survey.sides[0];
        let masks: BTreeMap<u32, WayMask> = masks
            .into_iter()
            .filter(|((of, domain), _)| *of == side && self.offers.of.contains_key(domain))
            .map(|((_, domain), mask)| (domain, mask))
            .collect();
        let reason = "limits of the program's group";
        self.limit(&made, &wanted, true, &mut done)?;
        self.set_masks(&made, &masks, reason, &mut done)?;
        self.move_program(app, &made, reason, &mut done)?;
        Ok(true)
    }
}

impl Limits {
    /// All of them, on one line.
    pub(super) fn shown(&self) -> String {
        let of = |((resource, domain), value): (&(String, u32), &u32)| {
            let is_mask = resource.starts_with('L');
            let value = if is_mask { format!("{value:x}") } else { value.to_string() };
            format!("{resource}:{domain}={value}")
        };
        self.0.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}
