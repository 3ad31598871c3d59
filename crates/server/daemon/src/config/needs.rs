//! Checks that a host has what its policy needs.

use fairways_command_kit::plain::plain;
use fairways_exec_policy::policies;
use fairways_policy::Descriptor;
use fairways_policy::table::{KnowledgeSource, OwnerRequest};

use super::{Config, ProgramConfig};

impl Config {
    /// Whether there is nothing to manage: no programs, and no requests of pods.
    pub(crate) fn manages_none(&self) -> bool {
        self.program.is_empty() && !self.kubernetes.nri
    }

    /// Whether a program of that name has another source of latencies here.
    pub(crate) fn has_other_latency(&self, other: &ProgramConfig) -> bool {
        let own = self.program.iter().find(|own| own.name == other.name);
        own.is_some_and(|own| own.latency != other.latency)
    }

    /// What the policy needs and this host lacks; without it, the policy would decide nothing.
    pub(crate) fn missing_need(&self) -> Option<String> {
        let policy = self.policy.as_str();
        let described = self.descriptor();
        if described.is_some_and(|policy| policy.knows == KnowledgeSource::Profiles) {
            let others = policies::names(Descriptor::learns);
            return Some(format!(
                "policy {policy}: it needs profiles of programs before they start, which a host \
                 does not have: expected {others}, which measure the programs themselves, or \
                 fairways-lab for a simulation"
            ));
        }
        let latencies = described.filter(|policy| policy.knows == KnowledgeSource::Latencies)?;
        let has_objectives = latencies.honours(OwnerRequest::Objectives);
        if self.program.iter().any(|of| is_service(of, has_objectives)) {
            return None;
        }
        let needed = if has_objectives { "`objective` and `latency`" } else { "`latency`" };
        let page = match policies::is_program(policy) {
            true => String::new(),
            false => format!(" (docs/policies/{policy}.md)"),
        };
        Some(format!(
            "policy {policy}: expected a program with {needed}, from which it decides{page}"
        ))
    }

    /// Requests of programs that the policy does not honour, a line each. Objectives are not
    /// included: every policy reports whether they are met.
    pub(crate) fn not_honoured(&self) -> Vec<String> {
        let Some(policy) = self.descriptor() else { return Vec::new() };
        let requests = [
            ("baseline_ways", OwnerRequest::Baselines),
            ("best_effort", OwnerRequest::BestEffort),
            ("importance", OwnerRequest::Importance),
        ];
        let ignored = requests.into_iter().filter(|(_, request)| !policy.honours(*request));
        ignored
            .filter_map(|(key, request)| {
                let asking = self.program.iter().filter(|of| asks(of, request));
                let names: Vec<String> = asking.map(|of| plain(&of.name)).collect();
                let fitting = policies::names(|policy| policy.honours(request));
                (!names.is_empty()).then(|| {
                    format!(
                        "{key} of {}: policy {} does not honour it; {fitting} would",
                        names.join(", "),
                        plain(&self.policy)
                    )
                })
            })
            .collect()
    }
}

const fn asks(program: &ProgramConfig, request: OwnerRequest) -> bool {
    match request {
        OwnerRequest::Baselines => program.baseline_ways.is_some(),
        OwnerRequest::Objectives => program.objective.is_some(),
        OwnerRequest::BestEffort => program.best_effort,
        OwnerRequest::Importance => program.importance.is_some(),
    }
}

/// Whether a policy from latencies can decide about this program.
const fn is_service(program: &ProgramConfig, has_objectives: bool) -> bool {
    program.latency.is_some() && (program.objective.is_some() || !has_objectives)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "[[program]]\nname = \"a\"\nselect = \"pid:1\"\n";

    /// What this policy lacks, with one program that has `more` keys.
    fn missing(policy: &str, more: &str) -> Option<String> {
        let text = format!("policy = '''{policy}'''\n{PROGRAM}{more}");
        toml::from_str::<Config>(&text).unwrap().missing_need()
    }

    #[test]
    fn a_policy_is_named_with_what_it_lacks() {
        for policy in ["ucp", "ucp-slowdown", "yu-petrov"] {
            assert!(missing(policy, "").unwrap().contains("it needs profiles of programs"));
        }
        for more in ["", "objective = \"5ms\"", "latency = \"file:/run/a\""] {
            let found = missing("locpart", more).unwrap();
            assert!(found.contains("expected a program with `objective`"), "{found}");
        }
        let service = "objective = \"5ms\"\nlatency = \"file:/run/a\"";
        assert_eq!(missing("locpart", service), None);
        assert_eq!(toml::from_str::<Config>(PROGRAM).unwrap().missing_need(), None);
        let expected = "policy parties: expected a program with `objective` and `latency`, from which it decides (docs/policies/parties.md)";
        assert_eq!(missing("parties", "").unwrap(), expected);
    }

    #[test]
    fn what_a_policy_does_not_honour_is_named() {
        let more = "baseline_ways = 2\nbest_effort = true\nimportance = 3\n";
        for (policy, keys) in [
            ("fairways", &[][..]),
            ("dcat", &["best_effort", "importance"]),
            ("lfoc", &["baseline_ways", "best_effort", "importance"]),
        ] {
            let text = format!("policy = \"{policy}\"\n{PROGRAM}{more}");
            let found = toml::from_str::<Config>(&text).unwrap().not_honoured();
            assert_eq!(found.len(), keys.len(), "{found:?}");
            for (line, key) in found.iter().zip(keys) {
                let start = format!("{key} of a: policy {policy} does not honour it; ");
                assert!(line.starts_with(&start), "{line}");
            }
        }
        assert!(toml::from_str::<Config>(PROGRAM).unwrap().not_honoured().is_empty());
    }

    /// Such a policy states which requests of owners it honours.
    #[test]
    fn a_program_that_decides_from_latencies_is_named() {
        let latency = "latency = \"file:/run/a\"\n";
        let objective = "objective = \"5ms\"\n";
        for (honours, needed, enough) in [
            ("[]", "`latency`", latency.to_owned()),
            (r#"[\"objectives\"]"#, "`objective` and `latency`", latency.to_owned() + objective),
        ] {
            let answer = format!(
                r#"read line; echo "{{\"describe\":{{\"knows\":\"latencies\",\"honours\":{honours}}}}}""#
            );
            let policy = format!("exec:sh -c '{answer}'");
            fairways_exec_policy::described(&policy, false).unwrap();
            let expected =
                format!("policy {policy}: expected a program with {needed}, from which it decides");
            assert_eq!(missing(&policy, "").unwrap(), expected);
            assert_eq!(missing(&policy, objective).unwrap(), expected);
            assert_eq!(missing(&policy, &enough), None);
        }
    }
}
