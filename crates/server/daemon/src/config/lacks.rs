//! What a policy needs to have measured, and this host lacks.

use fairways_core::Counter;
use fairways_policy::table::PolicyNeed;
use fairways_policy::{Descriptor, descriptor};
use fairways_resctrl_client::counted_events;

use super::Config;
use super::values::CounterSource;

/// The policies to suggest if another one lacks something, the best first; the last one needs
/// nothing.
const OTHERS: [&str; 6] = ["fairways", "lfoc-plus", "lfoc", "kpart", "dunn", "equal"];

/// What policies may need.
pub(crate) fn all_needs() -> impl Iterator<Item = PolicyNeed> {
    let counters = Counter::ALL.into_iter().map(PolicyNeed::Counter);
    counters.chain([PolicyNeed::Occupancy, PolicyNeed::Bandwidth])
}

/// What is missing according to the configuration and to the mounts that it names; the processor is
/// not considered.
pub(super) fn missing(config: &Config) -> Vec<PolicyNeed> {
    let counts_nothing = matches!(config.counters.source, CounterSource::None);
    let events = counted_events(&config.resctrl.root);
    all_needs()
        .filter(|&need| match need {
            PolicyNeed::Occupancy => are_without(events.as_deref(), "llc_occupancy"),
            PolicyNeed::Counter(Counter::MemoryBytes) => {
                are_without(events.as_deref(), "mbm_total_bytes")
            }
            PolicyNeed::Bandwidth => false,
            PolicyNeed::Counter(_) => counts_nothing,
        })
        .collect()
}

/// Whether these events are known and do not include this one.
fn are_without(events: Option<&[String]>, name: &str) -> bool {
    events.is_some_and(|events| events.iter().all(|event| event != name))
}

/// The names of a policy's needs that are missing.
fn lacked(policy: &Descriptor, missing: &[PolicyNeed]) -> Vec<&'static str> {
    policy.needs.iter().filter(|need| missing.contains(need)).map(|need| need.name()).collect()
}

/// A line about what a policy lacks, with a policy that would work here.
pub(crate) fn lacks(policy: &Descriptor, missing: &[PolicyNeed]) -> Option<String> {
    let names = lacked(policy, missing);
    if names.is_empty() {
        return None;
    }
    let mut others = OTHERS.iter().filter_map(|name| descriptor(name));
    let other = others.find(|other| lacked(other, missing).is_empty());
    let other = match other {
        Some(other) if other.needs.is_empty() => {
            format!("policy {} works here, as it needs no measurement", other.name)
        }
        Some(other) => format!("policy {} works here", other.name),
        None => "no other policy works here either".to_owned(),
    };
    Some(format!(
        "policy {} needs what is missing here ({}): without it, all programs stay as they are; {other}",
        policy.name,
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use fairways_policy::POLICIES;

    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_policy_that_works_is_named_instead() {
        for (missing, of, named) in [
            (vec![PolicyNeed::Occupancy], "fairways", " missing here (occupancy): "),
            (vec![PolicyNeed::Occupancy], "fairways", "; policy lfoc-plus works here"),
            (
                vec![PolicyNeed::Counter(Counter::LlcMisses)],
                "lfoc",
                "(llc_misses): without it, all programs stay as they are; policy dunn works here",
            ),
            (all_needs().collect(), "dunn", "(cycles, stalls_l2_miss)"),
            (all_needs().collect(), "dunn", "; policy equal works here, as it needs no"),
            (vec![PolicyNeed::Bandwidth], "mba-feedback", "a limit of memory bandwidth"),
        ] {
            let line = lacks(descriptor(of).unwrap(), &missing).unwrap();
            assert!(line.starts_with(&format!("policy {of} ")) && line.contains(named), "{line}");
        }
        for (missing, of) in [
            (vec![], "fairways"),
            (vec![PolicyNeed::Occupancy], "lfoc"),
            (all_needs().collect(), "equal"),
            (all_needs().collect(), "stock"),
        ] {
            assert_eq!(lacks(descriptor(of).unwrap(), &missing), None, "{of}");
        }
    }

    /// Every policy that decides by counters states which ones it can't do without; it reads all of
    /// them.
    #[test]
    fn every_policy_that_learns_says_what_it_needs() {
        for policy in POLICIES {
            let is_online = policy.learns() || policy.name == "mba-feedback";
            assert_eq!(!policy.needs.is_empty(), is_online, "{}", policy.name);
            for need in policy.needs {
                let is_read = match need {
                    PolicyNeed::Counter(counter) => policy.counters.contains(counter),
                    PolicyNeed::Occupancy | PolicyNeed::Bandwidth => true,
                };
                assert!(is_read, "{}: {need:?}", policy.name);
            }
        }
    }

    #[test]
    fn a_configuration_that_counts_nothing_lacks_all_counters() {
        let root = tempfile::tempdir().unwrap();
        let [as_usual, none] = ["", "counters.source = \"none\""]
            .map(|keys| config(&format!("{keys}\n[resctrl]\nroot = {:?}\n", root.path())));
        // Nothing is mounted there: what it counts is not known.
        assert_eq!(missing(&as_usual), []);
        let none = missing(&none);
        assert!(none.contains(&PolicyNeed::Counter(Counter::LlcMisses)), "{none:?}");
        assert!(!none.contains(&PolicyNeed::Occupancy), "{none:?}");
        let named = lacks(descriptor("fairways").unwrap(), &none).unwrap();
        assert!(named.contains("(instructions, cycles, llc_misses)"), "{named}");
        // An L2 alone.
        std::fs::create_dir_all(root.path().join("info/L2")).unwrap();
        let expected = [PolicyNeed::Counter(Counter::MemoryBytes), PolicyNeed::Occupancy];
        assert_eq!(missing(&as_usual), expected);
    }
}
