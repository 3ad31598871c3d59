//! What comes to services, and what is asked of them.

use fairways_chip::Job;
use fairways_chip::program::split;
use fairways_chip::service::parse_loads;
use fairways_command_kit::BadInput;
use fairways_command_kit::objective;
use fairways_core::Wish;
use fairways_policy::table::OwnerRequest;

use super::settings::World;

impl World {
    /// Lets requests come to services.
    pub(super) fn load(&mut self, loads: Option<&str>) -> Result<(), BadInput> {
        for (name, text) in pairs("--loads", "PROGRAM=LOAD", loads)? {
            let jobs = self.services("--loads", name)?;
            let loads = parse_loads(text);
            let loads = loads.map_err(|why| BadInput(format!("--loads, {name}: {why}")))?;
            jobs.for_each(|job| job.loads.clone_from(&loads));
        }
        Ok(())
    }

    /// Asks of services how soon they are to answer; all else that owners ask for is known.
    pub(super) fn oblige(&mut self, objectives: Option<&str>) -> Result<(), BadInput> {
        for (name, text) in pairs("--objectives", "PROGRAM=OBJECTIVE", objectives)? {
            let jobs = self.services("--objectives", name)?;
            let objectives = objective::parse(text);
            let objectives =
                objectives.map_err(|why| BadInput(format!("--objectives, {name}: {why}")))?;
            for job in jobs {
                let wish = job.wish;
                let wish = |objective| Wish { objective: Some(objective), ..wish };
                let mut wishes = objectives.iter().map(|&(at, objective)| (at, wish(objective)));
                job.wish = wishes.next().map_or(job.wish, |(_, first)| first);
                job.wishes = wishes.collect();
            }
        }
        Ok(())
    }

    /// Warns of what the user may not have meant.
    pub(crate) fn warn(&self, policies: &[&str]) {
        if let Some(warning) = without_objectives(policies, &self.jobs) {
            fairways_command_kit::warn(&warning);
        }
    }

    fn services(
        &mut self,
        flag: &str,
        name: &str,
    ) -> Result<impl Iterator<Item = &mut Job>, BadInput> {
        if self.named(flag, name)?.any(|job| job.requests().is_none()) {
            let known = "expected a service, such as silo-like or mlr:8M:request=500k";
            return Err(BadInput(format!("{flag}: {known}, found {name:?}")));
        }
        self.named(flag, name)
    }
}

/// The programs of a list, and what is said of each. What is said has no `=`, so a name may.
fn pairs<'a>(
    flag: &str,
    form: &str,
    text: Option<&'a str>,
) -> Result<Vec<(&'a str, &'a str)>, BadInput> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for pair in text.map(split).unwrap_or_default() {
        let (name, said) = pair
            .rsplit_once('=')
            .ok_or_else(|| BadInput(format!("{flag}: expected {form}, found {pair:?}")))?;
        let name = name.trim();
        if pairs.iter().any(|(other, _)| *other == name) {
            let said = format!("{flag}: expected each program once, found {name:?} twice");
            return Err(BadInput(said));
        }
        pairs.push((name, said.trim()));
    }
    Ok(pairs)
}

fn without_objectives(policies: &[&str], jobs: &[Job]) -> Option<String> {
    let policy = policies
        .iter()
        .find(|policy| fairways_command_kit::policies::honours(policy, OwnerRequest::Objectives))?;
    let asked = jobs.iter().any(|job| job.wish.objective.is_some());
    (!asked).then(|| {
        format!("{policy}: no program has an objective (--objectives), so it splits evenly")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::{Objective, Q32};

    use super::*;

    #[test]
    fn a_name_ends_at_the_last_equals_sign() {
        let text = "silo-like=1400@10s+0, mlr:8M:request=500k:cv=0.6=closed:4:2ms";
        let expected =
            [("silo-like", "1400@10s+0"), ("mlr:8M:request=500k:cv=0.6", "closed:4:2ms")];
        assert_eq!(pairs("--loads", "", Some(text)).unwrap(), expected);
        assert_eq!(pairs("--loads", "", None).unwrap(), []);
    }

    #[test]
    fn who_heeds_objectives_is_told_that_there_are_none() {
        let mut job = Job::default();
        let told =
            |policies: &[&str], job: &Job| without_objectives(policies, std::slice::from_ref(job));
        assert!(
            told(&["stock", "locpart"], &job).is_some_and(|said| said.starts_with("locpart: "))
        );
        assert_eq!(told(&["stock", "dcat"], &job), None);
        let slo = Duration::from_millis(2);
        job.wish.objective = Some(Objective { slo, percentile: Q32::from_int(99) });
        assert_eq!(told(&["locpart"], &job), None);
    }
}
