//! How a program describes itself.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fairways_core::Counter;
use fairways_policy::Descriptor;
use fairways_policy::parameter::{Parameter, Value, ValueKind};
use fairways_policy::table::{
    ConfiguredPolicy, DecisionScope, KnowledgeSource, Make, MakeFn, OwnerRequest, PolicyNeed,
};
use serde::Deserialize;
use serde_json::json;

use crate::check::text;
use crate::connection::Deadline;
use crate::exec::{ExecPolicy, FIRST_ANSWER, TIMEOUT};
use crate::faults::ProgramFault;
use crate::parameters::DescribedParameter;
use crate::start::{ProgramStart, connect};

/// What a program says of itself; everything may be left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeAnswer {
    describe: Description,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Description {
    summary: String,
    decides: Decides,
    knows: Knows,
    honours: Vec<HonouredRequest>,
    /// The names of the counters that it reads; without it, all.
    counters: Option<Vec<String>>,
    parameters: Vec<DescribedParameter>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decides {
    #[default]
    Ways,
    Turns,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Knows {
    Nothing,
    Profiles,
    #[default]
    Counters,
    Latencies,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HonouredRequest {
    Baselines,
    Objectives,
    BestEffort,
    Importance,
}

/// A program that has described itself.
pub(crate) struct DescribedProgram {
    pub(crate) name: String,
    summary: String,
    decides: Decides,
    knows: Knows,
    honours: Vec<OwnerRequest>,
    counters: Vec<Counter>,
    needs: Vec<PolicyNeed>,
    parameters: Vec<Parameter>,
    /// The default of each parameter, as it reads it.
    defaults: Vec<String>,
    start: Arc<dyn ProgramStart>,
    make: OnceLock<Box<MakeFn>>,
    descriptor: OnceLock<Descriptor>,
}

/// Asks a program to describe itself.
pub(crate) fn ask(
    name: &str,
    start: Arc<dyn ProgramStart>,
) -> Result<DescribedProgram, ProgramFault> {
    let question = json!({ "describe": { "fairways": env!("CARGO_PKG_VERSION"), "protocol": 1 } });
    let mut connection = connect(&*start).map_err(ProgramFault::Start)?;
    let deadline = Deadline::after(FIRST_ANSWER);
    let answer = connection.ask(question.to_string().into_bytes(), deadline)?;
    let DescribeAnswer { describe } = serde_json::from_slice(&answer)
        .map_err(|why| ProgramFault::Wrong(format!("expected a description: {why}")))?;
    read(name, describe, start).map_err(ProgramFault::Wrong)
}

fn read(
    name: &str,
    described: Description,
    start: Arc<dyn ProgramStart>,
) -> Result<DescribedProgram, String> {
    let Description { summary, decides, knows, honours, counters, parameters } = described;
    text("name", name)?;
    text("summary", &summary)?;
    let timeout = Parameter::of_program(
        TIMEOUT.to_owned(),
        ValueKind::Time,
        String::new(),
        [Some(1_000_000), Some(5_000_000_000)],
        "How long the program may take to answer.".to_owned(),
    );
    let mut table = vec![timeout];
    let mut defaults = vec![Duration::from_secs(1).as_nanos().to_string()];
    for parameter in parameters {
        let of = parameter.name.clone();
        let (parameter, default) =
            parameter.read().map_err(|why| format!("parameter {of:?}: {why}"))?;
        if table.iter().any(|other| other.name == parameter.name) {
            return Err(format!("parameter {of:?}: expected each name once"));
        }
        defaults.push(default);
        table.push(parameter);
    }
    // What it names it reads; one that names none reads what there is.
    let named = counters.map(read_counters).transpose()?;
    let needs = named.iter().flatten().copied().map(PolicyNeed::Counter).collect();
    let honours = honours.into_iter().map(|request| match request {
        HonouredRequest::Baselines => OwnerRequest::Baselines,
        HonouredRequest::Objectives => OwnerRequest::Objectives,
        HonouredRequest::BestEffort => OwnerRequest::BestEffort,
        HonouredRequest::Importance => OwnerRequest::Importance,
    });
    Ok(DescribedProgram {
        name: name.to_owned(),
        summary,
        decides,
        knows,
        honours: honours.collect(),
        counters: named.unwrap_or_else(|| Counter::ALL.to_vec()),
        needs,
        parameters: table,
        defaults,
        start,
        make: OnceLock::new(),
        descriptor: OnceLock::new(),
    })
}

impl DescribedProgram {
    /// Its entry in the table of policies.
    pub(crate) fn descriptor(&'static self) -> &'static Descriptor {
        let make = self.make.get_or_init(|| Box::new(|settings| self.made(settings)));
        self.descriptor.get_or_init(|| Descriptor {
            name: &self.name,
            summary: &self.summary,
            paper: "",
            decides: match self.decides {
                Decides::Ways => DecisionScope::Ways,
                Decides::Turns => DecisionScope::Turns,
            },
            knows: match (self.knows, self.decides) {
                (Knows::Nothing, _) => KnowledgeSource::Nothing,
                (Knows::Profiles, _) => KnowledgeSource::Profiles,
                (Knows::Counters, Decides::Ways) => KnowledgeSource::Counters,
                (Knows::Counters, Decides::Turns) => KnowledgeSource::Threads,
                (Knows::Latencies, _) => KnowledgeSource::Latencies,
            },
            honours: &self.honours,
            counters: &self.counters,
            needs: &self.needs,
            parameters: &self.parameters,
            make: Make::new(&**make),
        })
    }

    /// The policy with the parameters that are set, and the defaults of the others.
    fn made(&'static self, settings: &[(&str, Value<'static>)]) -> ConfiguredPolicy {
        let parameters = self.parameters.iter().zip(&self.defaults).map(|(parameter, default)| {
            let set = settings.iter().find(|(set, _)| *set == parameter.name);
            let value = set.map_or_else(|| parameter.read(default), |&(_, set)| Ok(set));
            (&*parameter.name, value.expect("its default was read before"))
        });
        let parameters: Vec<(&str, Value<'_>)> = parameters.collect();
        let schedules = matches!(self.decides, Decides::Turns);
        let policy = ExecPolicy::new(&self.name, Arc::clone(&self.start), schedules, &parameters);
        ConfiguredPolicy { policy: Box::new(policy), parameters }
    }
}

/// The counters with these names.
fn read_counters(names: Vec<String>) -> Result<Vec<Counter>, String> {
    let mut counters = Vec::new();
    for name in &names {
        let known = Counter::ALL.into_iter().find(|counter| counter.name() == name);
        counters.push(known.ok_or_else(|| {
            let all = Counter::ALL.map(Counter::name).join(", ");
            format!("counters: expected some of {all}, found {name:?}")
        })?);
    }
    Ok(counters)
}
