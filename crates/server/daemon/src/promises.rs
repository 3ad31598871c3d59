//! Promised baselines that can't all be kept.

use fairways_record::status::Status;

use crate::rules::honours_baselines;

/// The sum of the ways that are promised to the programs of a domain.
pub(super) fn promised_ways(status: &Status, domain: u32) -> u64 {
    let here = status.programs.iter().filter(|program| program.domain == domain);
    here.filter_map(|program| program.baseline_ways).map(u64::from).sum()
}

/// Whether the policy assigns ways, and keeps promises of ways.
pub(super) fn are_kept(status: &Status) -> bool {
    status.mode == "manage" && status.failed.is_none() && honours_baselines(&status.policy)
}

/// The domains whose programs are promised more ways than can be assigned there, a line each; none
/// if promises are not kept at all.
pub(super) fn beyond(status: &Status) -> Vec<String> {
    if !are_kept(status) {
        return Vec::new();
    }
    let known = status.domains.iter().filter(|domain| domain.ways > 0);
    let promised = known.map(|domain| (domain, promised_ways(status, domain.id)));
    let beyond = promised.filter(|(domain, ways)| *ways > u64::from(domain.ways));
    beyond
        .map(|(domain, ways)| {
            format!(
                "domain {}: programs are promised {ways} ways together, and {} can be given out: \
                 not all of these promises can be kept",
                domain.id, domain.ways
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use fairways_record::status::{DomainStatus, ProgramStatus};

    use super::*;

    #[test]
    fn promises_beyond_the_ways_of_a_domain_are_reported() {
        let (mode, policy) = ("manage".to_owned(), "static".to_owned());
        let mut status = Status { mode, policy, ..Status::default() };
        for (id, ways) in [(0, 11), (1, 4), (2, 0)] {
            status.domains.push(DomainStatus { id, ways, ..DomainStatus::default() });
        }
        for (domain, baseline_ways) in [(0, Some(6)), (0, None), (0, Some(5)), (1, Some(4))] {
            status.programs.push(ProgramStatus { domain, baseline_ways, ..Default::default() });
        }
        assert_eq!(beyond(&status), Vec::<String>::new());
        let more = ProgramStatus { domain: 0, baseline_ways: Some(1), ..Default::default() };
        status.programs.push(more);
        assert_eq!((promised_ways(&status, 0), promised_ways(&status, 1)), (12, 4));
        let said = beyond(&status);
        assert!(said.len() == 1 && said[0].starts_with("domain 0: programs are promised 12 ways"));
        // Without a policy that keeps promises, none is broken.
        status.policy = "lfoc".to_owned();
        assert_eq!(beyond(&status), Vec::<String>::new());
        (status.policy, status.mode) = ("static".to_owned(), "observe".to_owned());
        assert_eq!(beyond(&status), Vec::<String>::new());
    }
}
