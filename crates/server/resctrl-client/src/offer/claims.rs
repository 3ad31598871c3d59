//! What other managers leave: the only rule that decides whether ways can be assigned. The daemon
//! uses it in every mode, and the doctor uses it, too.

use std::collections::BTreeMap;

use fairways_core::WayMask;
use fairways_resctrl::language::Cache;

use super::foreign::Foreign;
use super::ways::{Offer, Rules, highest, is_contiguous, offer};
use crate::settings::Settings;

/// A host's cache, and the parts that others use.
#[derive(Clone, Debug)]
pub struct Claims<'a> {
    /// The cache whose ways are assigned; with CDP, its data.
    pub cache: &'a Cache,
    /// Resctrl's ids of the caches on line.
    pub domains: Vec<u32>,
    /// Classes of service that every resource has (`closid_init`), the root's among them.
    pub closids: u32,
    /// The ways that devices fill, by domain, if they have a class of their own.
    pub io: Option<&'a BTreeMap<u32, WayMask>>,
    /// Other managers' groups.
    pub groups: &'a [Foreign],
}

impl Claims<'_> {
    /// Why no ways can be assigned in some domains, or in all, and who uses them; `None` if there
    /// are free ways in each domain.
    #[must_use]
    pub fn lack(&self, settings: &Settings) -> Option<String> {
        let mut full = self.domains.clone();
        full.retain(|&domain| self.free(settings, domain).is_none());
        if full.is_empty() && !self.domains.is_empty() {
            return None;
        }
        let groups: Vec<String> = self.groups.iter().map(ToString::to_string).collect();
        let groups = if groups.is_empty() { "none".to_owned() } else { groups.join(", ") };
        if self.classes() == 0 {
            let closids = self.closids;
            return Some(format!(
                "no class of service is free of {closids}; other managers' groups: {groups}"
            ));
        }
        let place = match &full[..] {
            some if some.len() == self.domains.len() => "any domain".to_owned(),
            [one] => format!("domain {one}"),
            some => {
                let ids: Vec<String> = some.iter().map(u32::to_string).collect();
                format!("domains {}", ids.join(", "))
            }
        };
        let (all, shareable) = (self.cache.mask, self.cache.shareable);
        let avoided = match settings.use_shareable || shareable.is_empty() || shareable == all {
            true => String::new(),
            false => format!(" without shareable {shareable}"),
        };
        Some(format!(
            "no ways are free in {place}, of {all}{avoided}; other managers' groups: {groups}"
        ))
    }

    /// Whether there are no free ways in any domain.
    #[must_use]
    pub fn leave_nothing(&self, settings: &Settings) -> bool {
        self.domains.iter().all(|&domain| self.free(settings, domain).is_none())
    }

    /// What an administrator can do if something is [lacking](Self::lack), and what works without
    /// that.
    #[must_use]
    pub fn remedy(&self, settings: &Settings) -> String {
        let mut remedies = vec!["remove a group that is not needed"];
        if self.classes() > 0 {
            remedies.push("have its manager narrow its masks");
            if !settings.take_over {
                remedies.push(
                    "fairways run --take-over, which counts the ways of groups that are empty or \
                     have only the programs' tasks",
                );
            }
            if !self.leave_nothing(&Settings { use_shareable: true, ..settings.clone() }) {
                remedies.push("fairways run --use-shareable");
            }
            if !self.leave_nothing(&Settings { confine_others: None, ..settings.clone() }) {
                remedies.push("fairways run without --confine-others");
            }
        }
        format!(
            "{}; fairways scan, and run with --observe or --dry-run, need no free way",
            remedies.join(", or ")
        )
    }

    /// Classes of service besides the root's, the devices' and others'.
    #[must_use]
    pub fn classes(&self) -> u32 {
        let others = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.classes_of_all().saturating_sub(others)
    }

    /// Classes of service besides the root's and the devices', which is the highest one.
    pub(crate) fn classes_of_all(&self) -> u32 {
        self.closids.saturating_sub(1 + u32::from(self.io.is_some()))
    }

    /// What a domain offers, if it has free ways.
    pub(crate) fn free(&self, settings: &Settings, domain: u32) -> Option<Offer> {
        if self.classes() == 0 {
            return None;
        }
        offer(&self.rules(settings, domain), self.reserved(settings, domain))
    }

    /// What a policy is shown of a domain without free ways: the ways that it could assign if there
    /// were no other managers.
    pub(crate) fn shown(&self, settings: &Settings, domain: u32) -> Offer {
        let rules = Rules { confined: None, ..self.rules(settings, domain) };
        let ways = offer(&rules, WayMask::default()).map_or(self.cache.mask, |of| of.ways);
        Offer { ways, others: None, is_free: false }
    }

    fn rules(&self, settings: &Settings, domain: u32) -> Rules {
        Rules {
            full: self.cache.mask,
            min_bits: self.cache.min_bits.max(1),
            contiguous: is_contiguous(self.cache),
            avoided: self.avoided(settings, domain),
            confined: settings.confine_others,
        }
    }

    /// The ways that others have in a domain: those of groups that do not have the whole cache, or
    /// have it exclusively. The kernel gives exclusive ways to no other group, whether used or not.
    fn reserved(&self, settings: &Settings, domain: u32) -> WayMask {
        let full = self.cache.mask.bits();
        let held = self.groups.iter().filter_map(|group| {
            let mask = group.masks.get(&domain)?.bits();
            let is_taken = settings.take_over && group.is_idle;
            (group.exclusive || mask & full != full && !is_taken).then_some(mask)
        });
        WayMask::from_bits(held.fold(0, |all, mask| all | mask))
    }

    /// The ways of a domain that are left to hardware other than CPUs, including those that devices
    /// fill, or will fill once they are confined.
    fn avoided(&self, settings: &Settings, domain: u32) -> WayMask {
        if settings.use_shareable {
            return WayMask::default();
        }
        let Some(&now) = self.io.and_then(|masks| masks.get(&domain)) else {
            return self.cache.shareable;
        };
        let confined =
            settings.confine_io.map(|count| highest(self.cache.mask, count, self.cache.min_bits));
        WayMask::from_bits(self.cache.shareable.bits() | confined.unwrap_or(now).bits())
    }
}

#[cfg(test)]
mod tests {
    use fairways_resctrl::language::{Mode, Schemata};

    use super::*;

    fn cache() -> Cache {
        Cache {
            resource: "L3".to_owned(),
            closids: 8,
            mask: WayMask::from_bits(0x7ff),
            min_bits: 1,
            shareable: WayMask::from_bits(0x600),
            sparse: Some(false),
        }
    }

    fn group(name: &str, line: &str, mode: Mode, is_idle: bool) -> Foreign {
        let schemata = Schemata::parse(&format!("L3:{line}\n")).unwrap();
        Foreign { is_idle, ..Foreign::new(name, &schemata, Some(mode)) }
    }

    /// Checks which ways are free in each of two domains under these settings; 0: none.
    fn free(groups: &[Foreign], settings: &Settings, expected: [u32; 2]) {
        let cache = cache();
        let claims = Claims { cache: &cache, domains: vec![0, 1], closids: 8, io: None, groups };
        let found = [0, 1].map(|domain| claims.free(settings, domain));
        assert_eq!(found.map(|offer| offer.map_or(0, |of| of.ways.bits())), expected);
        assert_eq!(claims.leave_nothing(settings), expected == [0, 0]);
        let place = match expected {
            [0, 0] => "any domain",
            [0, _] => "domain 0",
            _ => return assert_eq!(claims.lack(settings), None),
        };
        let lack = claims.lack(settings).unwrap();
        assert!(lack.starts_with(&format!("no ways are free in {place}, of 0x7ff")), "{lack}");
    }

    /// A cache in three, of which these groups are idle.
    fn partitioned(idle: [bool; 3], mode: Mode) -> [Foreign; 3] {
        [
            group("COS1", "0=3f;1=3f", mode, idle[0]),
            group("COS2", "0=3c0;1=3c0", mode, idle[1]),
            group("COS3", "0=400;1=400", mode, idle[2]),
        ]
    }

    #[test]
    fn ways_of_empty_groups_count_where_tasks_are_taken_over() {
        let usual = Settings::default();
        let taking = Settings { take_over: true, ..Settings::default() };
        let shared = Settings { use_shareable: true, ..Settings::default() };
        let all_idle = partitioned([true; 3], Mode::Shareable);
        free(&all_idle, &usual, [0, 0]);
        free(&all_idle, &shared, [0, 0]);
        free(&all_idle, &taking, [0x1ff, 0x1ff]);
        free(&partitioned([false, true, false], Mode::Shareable), &taking, [0x1c0, 0x1c0]);
        free(&partitioned([false; 3], Mode::Shareable), &taking, [0, 0]);
        // The kernel gives them to no other group.
        free(&partitioned([true; 3], Mode::Exclusive), &taking, [0, 0]);
        free(&partitioned([true; 3], Mode::PseudoLocked), &taking, [0, 0]);
        let halves = [group("a", "0=7ff;1=f", Mode::Shareable, false)];
        free(&halves, &usual, [0x1ff, 0x1f0]);
        let one = [group("a", "0=7fe;1=f", Mode::Shareable, false)];
        free(&one, &usual, [1, 0x1f0]);
        let one = [group("a", "0=1ff;1=f", Mode::Shareable, false)];
        free(&one, &usual, [0, 0x1f0]);
        free(&one, &shared, [0x600, 0x7f0]);
    }

    #[test]
    fn what_is_lacking_is_named_with_what_to_do() {
        let cache = cache();
        let groups = [group("COS1", "0=1ff", Mode::Shareable, false)];
        let claims =
            Claims { cache: &cache, domains: vec![0], closids: 8, io: None, groups: &groups };
        let usual = Settings::default();
        let expected = "no ways are free in any domain, of 0x7ff without shareable 0x600; \
                        other managers' groups: COS1 (L3:0=0x1ff)";
        assert_eq!(claims.lack(&usual).as_deref(), Some(expected));
        let remedy = claims.remedy(&usual);
        for part in ["--take-over", "--use-shareable", "--observe", "--dry-run"] {
            assert!(remedy.contains(part), "{part}: {remedy}");
        }
        assert!(!remedy.contains("--confine-others"), "{remedy}");
        let few = Claims { closids: 2, ..claims.clone() };
        let lack = few.lack(&usual).unwrap();
        assert!(lack.starts_with("no class of service is free of 2; "), "{lack}");
        assert!(!few.remedy(&usual).contains("--take-over"), "a group keeps its class");
        // What a policy is shown if no ways can be assigned.
        let shown = claims.shown(&usual, 0);
        assert_eq!((shown.ways.bits(), shown.is_free), (0x1ff, false));
    }

    /// Not others, but the ways of the root's programs are in the way.
    #[test]
    fn ways_that_confined_programs_would_have_are_named() {
        let cache = cache();
        let claims = Claims { cache: &cache, domains: vec![0], closids: 8, io: None, groups: &[] };
        let confining = Settings { confine_others: Some(9), ..Settings::default() };
        assert!(claims.lack(&confining).is_some_and(|lack| lack.ends_with("groups: none")));
        assert!(claims.remedy(&confining).contains("run without --confine-others"));
        assert_eq!(claims.lack(&Settings::default()), None);
    }
}
