//! Limits other than the ways of managed domains: bandwidth, L2, and the L3 of other domains.
//!
//! Before the first thread enters a class of ours, it gets the limits of the groups that its
//! programs' threads came from; if these differ, the strictest. A limit that a group has as a whole
//! is divided among the classes that have its threads. A plan's level of memory bandwidth is an
//! additional limit: it relaxes none of the others.
//!
//! Unknown lines can't be compared. If all programs of a class come from groups with the same line,
//! the class gets that line; otherwise it keeps its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairways_core::{AppId, BandwidthLevel, BandwidthLever, BandwidthUnit, LimitScope, WayMask};
use fairways_resctrl::language::{Line, Schemata, UnknownLine, Value};

use crate::error::Error;
use crate::ledger::TakenThread;
use crate::offer::findings::Findings;
use crate::offer::ways::is_contiguous;
use crate::tree::schemata::schemata;
use crate::tree::{Tree, apart};

/// Values by line of `schemata` and domain, and the unknown lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Limits {
    values: BTreeMap<(String, u32), Value>,
    /// By resource, the text after the colon; `None` if there are several, so that a class keeps
    /// its own.
    unknown: BTreeMap<String, Option<String>>,
}

impl Limits {
    /// These levels of memory bandwidth as limits, by `MB`'s domain.
    pub(crate) fn of_levels(levels: impl IntoIterator<Item = (u32, BandwidthLevel)>) -> Self {
        let mut limits = Self::default();
        for (domain, level) in levels {
            limits.values.insert(("MB".to_owned(), domain), Value::Number(level.get()));
        }
        limits
    }

    /// The level of memory bandwidth in a domain of `MB`, if there is one.
    fn level(&self, domain: u32) -> Option<BandwidthLevel> {
        match self.values.get(&("MB".to_owned(), domain))? {
            Value::Number(value) => BandwidthLevel::new(*value),
            Value::Mask(_) => None,
        }
    }

    /// The values and unknown lines that differ from these, where these have one.
    pub(crate) fn differing(&self, from: &Self) -> Self {
        let mut differing = self.clone();
        differing.values.retain(|key, value| from.values.get(key).is_some_and(|of| of != value));
        differing.unknown.retain(|resource, text| {
            let other = from.unknown.get(resource);
            text.is_some() && other.is_some_and(|other| other != text)
        });
        differing
    }

    /// The bandwidths that differ from `before`.
    pub(crate) fn changed_bandwidths(&self, before: &Self) -> Self {
        let mut changed = self.differing(before);
        changed.values.retain(|_, value| matches!(value, Value::Number(_)));
        changed.unknown.clear();
        changed
    }

    /// The unknown lines that differ from `before`.
    pub(crate) fn changed_lines(&self, before: &Self) -> Self {
        let mut changed = self.differing(before);
        changed.values.clear();
        changed
    }

    /// Removes the values and unknown lines for which the others have one, too.
    pub(crate) fn remove(&mut self, others: &Self) {
        self.values.retain(|key, _| !others.values.contains_key(key));
        self.unknown.retain(|resource, _| !others.unknown.contains_key(resource));
    }

    /// Whether the others have a value for the line and domain of each of these.
    pub(crate) fn are_known(&self, others: &Self) -> bool {
        self.values.keys().all(|key| others.values.contains_key(key))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.unknown.is_empty()
    }

    /// Replaces the values that the others have.
    pub(crate) fn extend(&mut self, others: Self) {
        self.values.extend(others.values);
    }

    /// Replaces its unknown lines by those of the others.
    pub(crate) fn with_lines_of(self, others: &Self) -> Self {
        Self { unknown: others.unknown.clone(), ..self }
    }

    /// Leaves the unknown lines of these resources unchanged from now on. Returns whether that is
    /// new for any of them.
    pub(crate) fn leave(&mut self, lines: &Self) -> bool {
        let mut others = false;
        for resource in lines.unknown.keys() {
            others |= self.unknown.insert(resource.clone(), None) != Some(None);
        }
        others
    }

    /// Removes the unknown lines of these resources.
    pub(crate) fn without_lines(mut self, resources: &BTreeSet<String>) -> Self {
        self.unknown.retain(|resource, _| !resources.contains(resource));
        self
    }

    /// Whether a class with the unknown lines of `now` can get these: each is a single one, and
    /// those that differ are not among the `refused`.
    pub(crate) fn lines_can_be_had(&self, now: &Self, refused: &BTreeSet<String>) -> bool {
        self.unknown.iter().all(|(resource, text)| {
            let is_there = now.unknown.get(resource) == Some(text);
            text.is_some() && (is_there || !refused.contains(resource))
        })
    }

    /// The unknown lines, each as it is written, by resource.
    pub(crate) fn unknown_lines(&self) -> impl Iterator<Item = (&str, String)> {
        self.unknown.iter().filter_map(|(resource, text)| {
            let (text, name) = (text.clone().filter(|text| !text.is_empty())?, resource.clone());
            Some((&resource[..], UnknownLine { resource: name, text }.to_string() + "\n"))
        })
    }

    /// The stricter of each two values: the smaller of two numbers; the common ways of two masks if
    /// they are legal (at least `least` bits, without gaps if masks are `contiguous`), otherwise
    /// the mask with fewer bits. Of two different unknown lines, neither.
    pub(crate) fn strictest(&self, other: &Self, least: u32, contiguous: bool) -> Self {
        let mut strictest = self.clone();
        for (resource, two) in &other.unknown {
            let one = strictest.unknown.entry(resource.clone()).or_insert_with(|| two.clone());
            if one != two {
                *one = None;
            }
        }
        for (key, &two) in &other.values {
            let one = strictest.values.entry(key.clone()).or_insert(two);
            *one = match (*one, two) {
                (Value::Mask(one), Value::Mask(two)) => {
                    let both = WayMask::from_bits(one.bits() & two.bits());
                    let has_gaps = contiguous && !both.is_contiguous();
                    let is_legal = !has_gaps && both.count() >= least.max(1);
                    let fewer = if two.count() < one.count() { two } else { one };
                    Value::Mask(if is_legal { both } else { fewer })
                }
                (one, two) => one.min(two),
            };
        }
        strictest
    }

    /// The lines of `schemata` that set the values.
    pub(crate) fn lines(&self) -> String {
        let mut lines: Vec<Line> = Vec::new();
        for ((resource, domain), value) in &self.values {
            let value = (*domain, *value);
            match lines.last_mut().filter(|line| line.resource == *resource) {
                Some(line) => line.domains.push(value),
                None => lines.push(Line { resource: resource.clone(), domains: vec![value] }),
            }
        }
        Schemata::from(lines).to_string()
    }

    /// All limits on one line.
    pub(crate) fn shown(&self) -> String {
        let of = |((resource, domain), value): (&(String, u32), &Value)| {
            format!("{resource}:{domain}={value}")
        };
        let mut shown: Vec<String> = self.values.iter().map(of).collect();
        let unknown = self.unknown_lines();
        shown.extend(unknown.map(|(_, line)| line.trim_end().escape_debug().to_string()));
        shown.join(" ")
    }
}

/// The limits of the groups that programs came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// By program: the limits of its threads' groups, unless these are the root's.
    pub(crate) by_program: BTreeMap<AppId, Limits>,
    /// Those groups; other programs came from the root's.
    origins: BTreeMap<AppId, BTreeSet<String>>,
    /// The limits of each.
    by_group: BTreeMap<String, Limits>,
    /// The part left for a program, if a group's threads are in several classes of ours.
    divided: BTreeMap<AppId, Limits>,
}

impl Carried {
    /// The limits of the groups from which threads were `taken`, for programs with these threads in
    /// their groups.
    pub(crate) fn of<'a>(
        programs: impl Iterator<Item = (AppId, &'a BTreeSet<i32>)>,
        taken: &[TakenThread],
        tree: &Tree,
        found: &Findings,
    ) -> Result<Self, Error> {
        let mut carried = Self::default();
        if taken.is_empty() {
            return Ok(carried);
        }
        let groups: HashMap<i32, &str> =
            taken.iter().map(|task| (task.thread, apart(&task.group).0)).collect();
        for (app, placed) in programs {
            let origins =
                placed.iter().map(|thread| groups.get(thread).copied().unwrap_or_default());
            let origins: BTreeSet<String> = origins.map(str::to_owned).collect();
            for group in &origins {
                if !carried.by_group.contains_key(group) {
                    let limits = found.origin_limits(tree, group)?;
                    carried.by_group.insert(group.clone(), limits);
                }
            }
            let limits = origins.iter().map(|group| carried.by_group[group].clone());
            let limits = limits.reduce(|one, other| found.stricter(&one, &other));
            let limits = limits.filter(|limits| *limits != found.root_limits());
            carried.by_program.extend(limits.map(|limits| (app, limits)));
            carried.origins.insert(app, origins);
        }
        Ok(carried)
    }

    /// The groups that a program's threads came from.
    fn origins_of(&self, app: AppId) -> impl Iterator<Item = &str> {
        let known = self.origins.get(&app).filter(|origins| !origins.is_empty());
        let root = known.is_none().then_some("");
        known.into_iter().flatten().map(String::as_str).chain(root)
    }

    /// Divides the limits that a group has as a whole among the classes of ours that have its
    /// threads; each class is given by its programs. If each class had the whole limit, together
    /// they would move several times as much as the group's owner allows.
    pub(crate) fn divide<'a>(
        &mut self,
        found: &Findings,
        classes: impl Iterator<Item = &'a [AppId]> + Clone,
    ) {
        let mut count: BTreeMap<&str, u32> = BTreeMap::new();
        for members in classes.clone() {
            let origins = members.iter().flat_map(|&app| self.origins_of(app));
            for group in origins.collect::<BTreeSet<&str>>() {
                *count.entry(group).or_default() += 1;
            }
        }
        let root = found.root_limits();
        let mut divided = BTreeMap::new();
        for &app in classes.flatten() {
            let parts = self
                .origins_of(app)
                .map(|group| found.part(self.by_group.get(group).unwrap_or(&root), count[group]));
            let part = parts.reduce(|one, other| found.stricter(&one, &other));
            divided.extend(part.map(|part| (app, part)));
        }
        self.divided = divided;
    }
}

impl Findings {
    /// The values of these lines that others control.
    pub(crate) fn limits_in(&self, schemata: &Schemata) -> Limits {
        let mut limits = Limits::default();
        for line in &schemata.lines {
            let is_l3 = self.survey.sides.contains(&line.resource.as_str());
            for &(domain, value) in &line.domains {
                if !(is_l3 && self.offers.are_free(domain)) {
                    limits.values.insert((line.resource.clone(), domain), value);
                }
            }
        }
        for line in &schemata.unknown {
            let texts = limits.unknown.entry(line.resource.clone());
            // A resource with several lines has all of them, unchanged.
            texts
                .and_modify(|texts| {
                    *texts = texts.take().map(|before| format!("{before}\n{line}"));
                })
                .or_insert_with(|| Some(line.text.clone()));
        }
        limits
    }

    /// These levels of memory bandwidth as limits, by cache.
    pub(crate) fn of_levels(&self, levels: &BTreeMap<u32, BandwidthLevel>) -> Limits {
        let domains = &self.survey.bandwidth_domains;
        let known = levels.iter().filter_map(|(cache, &level)| Some((*domains.get(cache)?, level)));
        Limits::of_levels(known)
    }

    /// The level of memory bandwidth of a cache, if these limits have one.
    pub(crate) fn level_of(&self, limits: &Limits, cache: u32) -> Option<BandwidthLevel> {
        limits.level(*self.survey.bandwidth_domains.get(&cache)?)
    }

    /// A group's values now; `None` if it is gone.
    pub(crate) fn read_limits(&self, tree: &Tree, group: &str) -> Result<Option<Limits>, Error> {
        Ok(schemata(tree, group)?.map(|now| self.limits_in(&now)))
    }

    pub(crate) fn root_limits(&self) -> Limits {
        self.limits_in(&self.survey.root)
    }

    pub(crate) fn stricter(&self, one: &Limits, other: &Limits) -> Limits {
        one.strictest(other, self.survey.least_bits, is_contiguous(&self.survey.cache))
    }

    /// The limits of a group as of the last look; the root's if it is gone.
    fn origin_limits(&self, tree: &Tree, group: &str) -> Result<Limits, Error> {
        let (class, _) = apart(group);
        if class.is_empty() {
            return Ok(self.root_limits());
        }
        if let Some(known) = self.survey.foreign.iter().find(|of| of.name == class) {
            return Ok(self.limits_in(&known.schemata));
        }
        Ok(self.read_limits(tree, class)?.unwrap_or_else(|| self.root_limits()))
    }

    /// The values read after these bandwidths were written that the kernel did not make of them:
    /// others have written them since.
    pub(crate) fn not_made_of(&self, written: &Limits, now: &Limits) -> Limits {
        let mut theirs = now.clone();
        theirs.unknown.clear();
        theirs.values.retain(|(line, domain), now| {
            let lever = self.survey.lever(*domain).filter(|_| line == "MB");
            let written = written.values.get(&(line.clone(), *domain));
            match (lever, written, now) {
                (Some(lever), Some(Value::Number(written)), Value::Number(now)) => {
                    !is_made_of(&lever, *written, *now)
                }
                _ => false,
            }
        });
        theirs
    }

    /// The levels that a class of these programs would have, for which these were planned.
    pub(crate) fn levels_for(
        &self,
        members: &[AppId],
        planned: &BTreeMap<u32, BandwidthLevel>,
        carried: &Carried,
    ) -> BTreeMap<u32, BandwidthLevel> {
        let others = self.limits_for(members, carried);
        let limits = self.stricter(&others, &self.of_levels(planned));
        let caches = planned.keys();
        caches.filter_map(|&cache| Some((cache, self.level_of(&limits, cache)?))).collect()
    }

    /// The strictest of these programs' limits, [divided](Carried::divide) if necessary; the root's
    /// without programs.
    pub(crate) fn limits_for(&self, members: &[AppId], carried: &Carried) -> Limits {
        self.strictest_for(members, &|app| {
            carried.divided.get(&app).or_else(|| carried.by_program.get(&app))
        })
    }

    /// The strictest of these programs' limits in their original groups.
    pub(crate) fn undivided_limits_for(&self, members: &[AppId], carried: &Carried) -> Limits {
        self.strictest_for(members, &|app| carried.by_program.get(&app))
    }

    fn strictest_for<'a>(
        &self,
        members: &[AppId],
        known: &dyn Fn(AppId) -> Option<&'a Limits>,
    ) -> Limits {
        let root = self.root_limits();
        let all = members.iter().map(|&app| known(app).unwrap_or(&root).clone());
        all.reduce(|one, other| self.stricter(&one, &other)).unwrap_or(root)
    }

    /// One of `classes` equal parts of a group's limits. Limits that a class has as a whole are
    /// divided, down to the lowest level. The highest level means no limit.
    fn part(&self, limits: &Limits, classes: u32) -> Limits {
        let mut part = limits.clone();
        // Limits of slow memory apply to a class if those of all memory do. Other lines have no
        // numbers.
        let lever = self.survey.any_bandwidth();
        let lever = lever.filter(|lever| lever.scope == LimitScope::Class);
        for value in part.values.values_mut() {
            if let (Some(lever), Value::Number(number)) = (lever, value)
                && *number < lever.most.get()
                && classes > 1
            {
                let step = lever.step.get();
                *number = (*number / classes / step * step).max(lever.least.get());
            }
        }
        part
    }
}

/// Whether the kernel may show this value after that one was written: it takes the next step, or a
/// value near it if hardware stores a fraction (MPAM) (`bw_validate`, `percent_to_mbw_max`).
fn is_made_of(lever: &BandwidthLever, written: u32, now: u32) -> bool {
    let step = match lever.unit {
        // Some kernels round these to steps of ten, others do not.
        BandwidthUnit::MibPerSecond => lever.step.get().max(10),
        _ => lever.step.get(),
    };
    let next = written.div_ceil(step).saturating_mul(step);
    let is_fraction = lever.unit == BandwidthUnit::Percent && lever.scope == LimitScope::Class;
    now == written || now == next || is_fraction && now.abs_diff(next) <= step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_makes_of_a_bandwidth_is_not_somebody_elses() {
        fn lever(unit: BandwidthUnit, step: u32, scope: LimitScope) -> BandwidthLever {
            let [step, most] = [step, 100].map(|level| BandwidthLevel::new(level).unwrap());
            BandwidthLever { unit, least: step, step, most, scope, capacity_mbps: None }
        }
        let intel = lever(BandwidthUnit::Percent, 10, LimitScope::Core);
        let amd = lever(BandwidthUnit::EighthGbps, 1, LimitScope::Class);
        let mpam = lever(BandwidthUnit::Percent, 2, LimitScope::Class);
        let steered = lever(BandwidthUnit::MibPerSecond, 1, LimitScope::Class);
        for (lever, written, made, theirs) in [
            (intel, 50, &[50][..], &[40, 49, 51, 60, 100][..]),
            (intel, 11, &[11, 20], &[10, 12, 30]),
            (amd, 17, &[17], &[16, 18, 2048]),
            (mpam, 33, &[33, 34, 32, 36], &[30, 37, 50]),
            (steered, 1234, &[1234, 1240], &[1233, 1235, 1230]),
        ] {
            for &now in made {
                assert!(is_made_of(&lever, written, now), "{written} became {now}");
            }
            for &now in theirs {
                assert!(!is_made_of(&lever, written, now), "{written} became {now}");
            }
        }
    }

    #[test]
    fn what_two_masks_have_in_common_may_have_gaps_where_masks_may() {
        fn of(bits: u32) -> Limits {
            let value = Value::Mask(WayMask::from_bits(bits));
            let values = BTreeMap::from([(("L2".to_owned(), 0), value)]);
            Limits { values, ..Limits::default() }
        }
        for (one, other, least, contiguous, expected) in [
            (0b1011, 0b1110, 1, false, 0b1010),
            (0b1011, 0b1110, 1, true, 0b1011),
            (0b1011, 0b1110, 3, false, 0b1011),
            (0b0011, 0b0110, 1, true, 0b0010),
            (0b0011, 0b1100, 1, false, 0b0011),
        ] {
            let found = of(one).strictest(&of(other), least, contiguous);
            assert_eq!(found, of(expected), "{one:b} {other:b}");
        }
    }

    /// Unknown lines are either all the same, or left unchanged: nothing is computed from them.
    #[test]
    fn unknown_lines_are_one_or_none() {
        fn of(lines: &[(&str, &str)]) -> Limits {
            let lines = lines.iter().map(|&(name, text)| (name.to_owned(), Some(text.to_owned())));
            Limits { unknown: lines.collect(), ..Limits::default() }
        }
        let (on, off) = (of(&[("MB_HLIM", "0=1"), ("X", "0=5")]), of(&[("MB_HLIM", "0=0")]));
        let both = on.strictest(&off, 1, true);
        let written: Vec<String> = both.unknown_lines().map(|(_, line)| line).collect();
        assert_eq!(written, ["X:0=5\n"]);
        // A third does not decide between two.
        assert_eq!(both.strictest(&off, 1, true), both);
        assert!(both.differing(&of(&[("MB_HLIM", "0=0"), ("X", "0=5")])).is_empty());
        assert_eq!(on.differing(&off), of(&[("MB_HLIM", "0=1")]));
        let refused = BTreeSet::from(["MB_HLIM".to_owned()]);
        assert!(!both.lines_can_be_had(&off, &BTreeSet::new()), "which is not known");
        assert!(on.lines_can_be_had(&off, &BTreeSet::new()));
        assert!(!on.lines_can_be_had(&off, &refused));
        assert!(on.lines_can_be_had(&on, &refused), "they are there already");
        assert!(on.changed_bandwidths(&off).is_empty());
        assert_eq!(on.lines(), "", "values alone");
    }
}
