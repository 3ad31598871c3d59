//! Which of the programs that pods request get a place: namespaces share the places fairly.
//!
//! Each managed program costs a look at its threads and a share of everything else. So the number
//! of places is limited, while anyone who may create pods can request more. Places are assigned in
//! this order; within each step the namespaces take turns, and within a namespace the programs that
//! came first go first:
//!
//! 1. one to each namespace that requests any, so that no other namespace can take every place;
//! 2. to programs with a promise: a baseline, or an objective;
//! 3. to the others.

use std::collections::{BTreeMap, BTreeSet};

use fairways_core::Wish;

/// How many programs pods may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceLimits {
    /// The most places in all.
    pub most: usize,
    /// The most places of one namespace.
    pub most_per_namespace: usize,
}

impl Default for PlaceLimits {
    fn default() -> Self {
        Self { most: 256, most_per_namespace: 256 }
    }
}

/// What a pod's owner requests.
#[derive(Clone, Copy, Debug)]
struct PodProgram {
    wish: Wish,
    /// Programs that came before it have lower numbers.
    number: u64,
}

impl PodProgram {
    const fn is_promised(&self) -> bool {
        self.wish.baseline_ways.is_some() || self.wish.objective.is_some()
    }
}

/// The programs that pods request, and which of them have a place.
#[derive(Debug, Default)]
pub(super) struct PodPlaces {
    limits: PlaceLimits,
    asked: BTreeMap<String, PodProgram>,
    without: BTreeSet<String>,
    next: u64,
}

/// The most namespaces that a message names.
const MOST_NAMED: usize = 5;

impl PodPlaces {
    /// Sets the limits, which apply from the next assignment of places.
    pub(super) fn limit(&mut self, limits: PlaceLimits) {
        self.limits = limits;
    }

    /// Records that a container's owner requests this program; of several containers, the first
    /// counts.
    pub(super) fn ask(&mut self, program: &str, wish: Wish) {
        if !self.asked.contains_key(program) {
            self.asked.insert(program.to_owned(), PodProgram { wish, number: self.next });
            self.next += 1;
        }
    }

    /// Forgets the programs that no container requests any longer. Returns whether there were any.
    pub(super) fn keep(&mut self, named: &BTreeSet<&str>) -> bool {
        let before = self.asked.len();
        self.asked.retain(|name, _| named.contains(name.as_str()));
        self.asked.len() != before
    }

    /// Assigns the places. Returns the programs that have lost or not received a place, and those
    /// that have one again.
    pub(super) fn share(&mut self) -> (Vec<String>, Vec<String>) {
        let limits = self.limits;
        let are_few = self.asked.len() <= limits.most.min(limits.most_per_namespace);
        if are_few && self.without.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let without: BTreeSet<String> = match are_few {
            true => BTreeSet::new(),
            false => self.in_order().skip(limits.most).map(str::to_owned).collect(),
        };
        let without: BTreeSet<String> =
            without.into_iter().chain(self.beyond_namespace()).collect();
        let before = std::mem::replace(&mut self.without, without);
        let taken = self.without.difference(&before).cloned().collect();
        let given = before.difference(&self.without).cloned().collect();
        (taken, given)
    }

    /// The programs within the limits of their namespaces, in the order in which they get places.
    fn in_order(&self) -> impl Iterator<Item = &str> {
        let mut order: Vec<_> = self.ranked().collect();
        order.retain(|(_, rank, ..)| *rank < self.limits.most_per_namespace);
        order.sort_unstable_by_key(|&(_, rank, of)| {
            let step = if rank == 0 { 0 } else { 2 - u8::from(of.is_promised()) };
            (step, rank, !of.is_promised(), of.number)
        });
        order.into_iter().map(|(name, ..)| name)
    }

    /// The programs beyond the limits of their namespaces.
    fn beyond_namespace(&self) -> Vec<String> {
        let most = self.limits.most_per_namespace;
        if self.asked.len() <= most {
            return Vec::new();
        }
        let beyond = self.ranked().filter(|(_, rank, _)| *rank >= most);
        beyond.map(|(name, ..)| name.to_owned()).collect()
    }

    /// Each program, with the number of programs of its namespace that come before it.
    fn ranked(&self) -> impl Iterator<Item = (&str, usize, PodProgram)> {
        let mut by_namespace: BTreeMap<&str, Vec<(&str, PodProgram)>> = BTreeMap::new();
        for (name, &of) in &self.asked {
            by_namespace.entry(namespace(name)).or_default().push((name, of));
        }
        by_namespace.into_values().flat_map(|mut programs| {
            programs.sort_unstable_by_key(|(_, of)| (!of.is_promised(), of.number));
            programs.into_iter().enumerate().map(|(rank, (name, of))| (name, rank, of))
        })
    }

    /// What a program's owner requests, if the program has a place.
    pub(super) fn wish(&self, program: &str) -> Option<Wish> {
        let of = self.asked.get(program).filter(|_| !self.without.contains(program))?;
        Some(of.wish)
    }

    /// The programs that have a place, by name.
    pub(super) fn placed(&self) -> impl Iterator<Item = (&str, Wish)> {
        let placed = self.asked.iter().filter(|(name, _)| !self.without.contains(*name));
        placed.map(|(name, of)| (name.as_str(), of.wish))
    }

    /// The number of programs without a place.
    pub(super) fn count_without(&self) -> usize {
        self.without.len()
    }

    /// The programs without a place, in a line; `None` if all have one.
    pub(super) fn degraded(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in &self.without {
            *counts.entry(namespace(name)).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut named: Vec<String> = counts
            .iter()
            .take(MOST_NAMED)
            .map(|(namespace, count)| format!("{count} of namespace {namespace}"))
            .collect();
        if counts.len() > MOST_NAMED {
            named.push(format!("those of {} more namespaces", counts.len() - MOST_NAMED));
        }
        let PlaceLimits { most, most_per_namespace } = self.limits;
        (!named.is_empty()).then(|| {
            format!(
                "{} programs that pods ask for are not managed: {}; there are {most} places, at most \
                 {most_per_namespace} for a namespace (kubernetes.most_programs, \
                 kubernetes.most_per_namespace)",
                self.without.len(),
                named.join(", ")
            )
        })
    }
}

/// The namespace of a program that pods request: `NAMESPACE/POD/CONTAINER` or `NAMESPACE/GROUP`.
fn namespace(program: &str) -> &str {
    program.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISED: Wish =
        Wish { baseline_ways: Some(2), best_effort: false, objective: None, importance: None };

    fn places(most: usize, most_per_namespace: usize) -> PodPlaces {
        PodPlaces { limits: PlaceLimits { most, most_per_namespace }, ..PodPlaces::default() }
    }

    /// Requests `count` programs of a namespace.
    fn ask(places: &mut PodPlaces, namespace: &str, count: usize, wish: Wish) {
        (0..count).for_each(|number| places.ask(&format!("{namespace}/{number:03}/app"), wish));
        places.share();
    }

    fn placed_of(places: &PodPlaces, of: &str) -> usize {
        places.placed().filter(|(name, _)| namespace(name) == of).count()
    }

    #[test]
    fn a_namespace_cannot_take_every_place() {
        let mut places = places(16, 16);
        ask(&mut places, "greedy", 300, Wish::default());
        assert_eq!(placed_of(&places, "greedy"), 16);
        ask(&mut places, "honest", 1, PROMISED);
        assert_eq!((placed_of(&places, "greedy"), placed_of(&places, "honest")), (15, 1));
        // Without a promise, or against promises, too.
        ask(&mut places, "modest", 1, Wish::default());
        assert_eq!(placed_of(&places, "modest"), 1);
        let mut places = super::tests::places(16, 16);
        ask(&mut places, "greedy", 300, PROMISED);
        ask(&mut places, "modest", 20, Wish::default());
        assert_eq!((placed_of(&places, "greedy"), placed_of(&places, "modest")), (15, 1));
        // With the same promises they share.
        ask(&mut places, "honest", 20, PROMISED);
        assert_eq!((placed_of(&places, "greedy"), placed_of(&places, "honest")), (8, 7));
    }

    #[test]
    fn promises_come_first_whenever_they_came() {
        let mut places = places(10, 10);
        ask(&mut places, "a", 20, Wish::default());
        ask(&mut places, "b", 20, Wish::default());
        assert_eq!((placed_of(&places, "a"), placed_of(&places, "b")), (5, 5));
        places.ask("a/late/app", PROMISED);
        let (taken, given) = places.share();
        assert_eq!((taken, given), (vec!["a/004/app".to_owned()], vec![]));
        assert_eq!(places.wish("a/late/app"), Some(PROMISED));
        ask(&mut places, "c", 8, PROMISED);
        assert_eq!((placed_of(&places, "c"), placed_of(&places, "b")), (8, 1));
    }

    #[test]
    fn a_namespace_has_at_most_its_limit_and_gets_places_back() {
        let mut places = places(16, 4);
        ask(&mut places, "a", 6, PROMISED);
        assert_eq!((placed_of(&places, "a"), places.count_without()), (4, 2));
        let said = places.degraded().unwrap();
        assert!(said.starts_with("2 programs that pods ask for are not managed: 2 of namespace a"));
        let left: BTreeSet<&str> =
            BTreeSet::from(["a/001/app", "a/003/app", "a/004/app", "a/005/app"]);
        assert!(places.keep(&left) && !places.keep(&left));
        let (taken, given) = places.share();
        assert_eq!((taken, given), (vec![], vec!["a/004/app".to_owned(), "a/005/app".to_owned()]));
        assert_eq!((places.degraded(), places.count_without()), (None, 0));
    }

    #[test]
    fn a_line_names_few_namespaces() {
        let mut places = places(1, 1);
        for namespace in ["a", "b", "c", "d", "e", "f", "g"] {
            ask(&mut places, namespace, 2, Wish::default());
        }
        let said = places.degraded().unwrap();
        assert!(said.contains("those of 2 more namespaces"), "{said}");
        assert_eq!(places.count_without(), 13);
    }
}
