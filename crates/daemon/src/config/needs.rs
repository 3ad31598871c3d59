//! Checks that a host has what its policy needs.

use fairways_command_kit::policies;
use fairways_policy::Descriptor;
use fairways_policy::table::KnowledgeSource;

use super::Config;

impl Config {
    /// Whether nothing is to be managed: neither programs, nor what pods ask for.
    pub(crate) fn manages_none(&self) -> bool {
        self.program.is_empty() && !self.kubernetes.nri
    }

    /// What the policy lacks on this host; without it, it would decide nothing.
    pub(crate) fn missing_need(&self) -> Option<String> {
        let policy = self.policy.as_str();
        let described = self.descriptor();
        if described.is_some_and(|policy| policy.knows == KnowledgeSource::Profiles) {
            let others = policies::names(Descriptor::learns);
            return Some(format!(
                "policy {policy}: it needs profiles of programs before they start, which a host \
                 does not have: expected {others}, which measure the programs themselves, or \
                 --machine for a simulation"
            ));
        }
        let is_service =
            self.program.iter().any(|of| of.objective.is_some() && of.latency.is_some());
        if described.is_some_and(|policy| policy.knows == KnowledgeSource::Latencies) && !is_service
        {
            return Some(
                "policy locpart: expected a program with `objective` and `latency`, from which it decides (docs/policies/locpart.md)"
                    .to_owned(),
            );
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_named_with_what_it_lacks() {
        let config = |text: &str| toml::from_str::<Config>(text).unwrap();
        let program = "[[program]]\nname = \"a\"\nselect = \"pid:1\"\n";
        for policy in ["ucp", "ucp-slowdown", "yu-petrov"] {
            let missing = config(&format!("policy = \"{policy}\"\n{program}")).missing_need();
            assert!(missing.unwrap().contains("it needs profiles of programs"));
        }
        let locpart =
            |more: &str| config(&format!("policy = \"locpart\"\n{program}{more}")).missing_need();
        for more in ["", "objective = \"5ms\"", "latency = \"file:/run/a\""] {
            assert!(locpart(more).unwrap().contains("expected a program with `objective`"));
        }
        assert_eq!(locpart("objective = \"5ms\"\nlatency = \"file:/run/a\""), None);
        assert_eq!(config(program).missing_need(), None);
    }
}
