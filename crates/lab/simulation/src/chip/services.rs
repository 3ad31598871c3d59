//! Loads and objectives of services.

use fairways_chip::Job;
use fairways_chip::service::Stage;
use fairways_command_kit::BadInput;
use fairways_core::{Objective, Time, Wish};
use fairways_exec_policy::descriptor;
use fairways_policy::table::KnowledgeSource;

use super::World;

impl World {
    /// Sets the loads of services.
    pub fn load(&mut self, loads: &[(String, Vec<Stage>)]) -> Result<(), BadInput> {
        for (name, stages) in loads {
            self.services("--loads", name)?.for_each(|job| job.loads.clone_from(stages));
        }
        Ok(())
    }

    /// Sets the objectives of services; other requests of owners are set already.
    pub fn oblige(
        &mut self,
        objectives: &[(String, Vec<(Time, Objective)>)],
    ) -> Result<(), BadInput> {
        for (name, objectives) in objectives {
            for job in self.services("--objectives", name)? {
                let wish = job.wish;
                let wish = |objective| Wish { objective: Some(objective), ..wish };
                let mut wishes = objectives.iter().map(|&(at, objective)| (at, wish(objective)));
                job.wish = wishes.next().map_or(job.wish, |(_, first)| first);
                job.wishes = wishes.collect();
            }
        }
        Ok(())
    }

    /// Warns of likely mistakes.
    pub fn warn(&self, policies: &[&str]) {
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

fn without_objectives(policies: &[&str], jobs: &[Job]) -> Option<String> {
    let policy = policies.iter().find(|policy| {
        descriptor(policy).is_some_and(|policy| policy.knows == KnowledgeSource::Latencies)
    })?;
    let asked = jobs.iter().any(|job| job.wish.objective.is_some());
    (!asked).then(|| {
        format!("{policy}: no program has an objective (--objectives), so it splits evenly")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairways_core::Q32;

    use super::*;

    #[test]
    fn a_policy_for_objectives_warns_if_no_program_has_one() {
        let mut job = Job::default();
        let warning =
            |policies: &[&str], job: &Job| without_objectives(policies, std::slice::from_ref(job));
        assert!(
            warning(&["stock", "locpart"], &job).is_some_and(|text| text.starts_with("locpart: "))
        );
        assert_eq!(warning(&["stock", "dcat"], &job), None);
        let slo = Duration::from_millis(2);
        job.wish.objective = Some(Objective { slo, percentile: Q32::from_int(99) });
        assert_eq!(warning(&["locpart"], &job), None);
    }
}
