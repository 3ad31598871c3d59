//! How a program describes itself.

use std::sync::Arc;
use std::time::Duration;

use fairways_core::Counter;
use fairways_policy::Descriptor;
use fairways_policy::parameter::{Parameter, Value, ValueKind};
use fairways_policy::table::{
    ConfiguredPolicy, DecisionScope, KnowledgeSource, Make, OwnerRequest, PolicyNeed,
};
use serde::Deserialize;
use serde_json::json;

use crate::check::text;
use crate::connection::Deadline;
use crate::exec::{ExecPolicy, FIRST_ANSWER, TIMEOUT};
use crate::faults::ProgramFault;
use crate::parameters::{DescribedParameter, leaked};
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

/// Asks a program to describe itself. The description is kept for as long as the process runs, like
/// the table of the policies that are compiled in.
pub(crate) fn ask(
    name: &str,
    start: Arc<dyn ProgramStart>,
) -> Result<&'static Descriptor, ProgramFault> {
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
) -> Result<&'static Descriptor, String> {
    let Description { summary, decides, knows, honours, counters, parameters } = described;
    text("name", name)?;
    text("summary", &summary)?;
    let timeout = Parameter::of_program(
        TIMEOUT,
        ValueKind::Time,
        "",
        [Some(1_000_000), Some(5_000_000_000)],
        "How long the program may take to answer.",
    );
    let mut table = vec![timeout];
    let mut defaults = vec![(TIMEOUT, Value::Time(Duration::from_secs(1)))];
    for parameter in parameters {
        let of = parameter.name.clone();
        let (parameter, default) =
            parameter.read().map_err(|why| format!("parameter {of:?}: {why}"))?;
        if table.iter().any(|other| other.name == parameter.name) {
            return Err(format!("parameter {of:?}: expected each name once"));
        }
        defaults.push((parameter.name, default));
        table.push(parameter);
    }
    // What it names it reads; one that names none reads what there is.
    let named = counters.map(read_counters).transpose()?;
    let needs: Vec<PolicyNeed> = named.iter().flatten().copied().map(PolicyNeed::Counter).collect();
    let counters = named.unwrap_or_else(|| Counter::ALL.to_vec());
    let name = leaked(name.to_owned());
    let honours = honours.into_iter().map(|request| match request {
        HonouredRequest::Baselines => OwnerRequest::Baselines,
        HonouredRequest::Objectives => OwnerRequest::Objectives,
        HonouredRequest::BestEffort => OwnerRequest::BestEffort,
        HonouredRequest::Importance => OwnerRequest::Importance,
    });
    Ok(Box::leak(Box::new(Descriptor {
        name,
        summary: leaked(summary),
        paper: "",
        decides: match decides {
            Decides::Ways => DecisionScope::Ways,
            Decides::Turns => DecisionScope::Turns,
        },
        knows: match (knows, decides) {
            (Knows::Nothing, _) => KnowledgeSource::Nothing,
            (Knows::Profiles, _) => KnowledgeSource::Profiles,
            (Knows::Counters, Decides::Ways) => KnowledgeSource::Counters,
            (Knows::Counters, Decides::Turns) => KnowledgeSource::Threads,
            (Knows::Latencies, _) => KnowledgeSource::Latencies,
        },
        honours: Box::leak(honours.collect()),
        counters: Box::leak(counters.into()),
        needs: Box::leak(needs.into()),
        parameters: Box::leak(table.into()),
        make: Make::new(Box::leak(Box::new(move |settings: &[(&str, Value)]| {
            made(settings, &defaults, name, &start, decides)
        }))),
    })))
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

/// The policy with the parameters that are set, and the defaults of the others.
fn made(
    settings: &[(&str, Value)],
    defaults: &[(&'static str, Value)],
    name: &'static str,
    start: &Arc<dyn ProgramStart>,
    decides: Decides,
) -> ConfiguredPolicy {
    let mut parameters = defaults.to_vec();
    for (name, value) in &mut parameters {
        let set = settings.iter().find(|(set, _)| set == name);
        *value = set.map_or(*value, |&(_, set)| set);
    }
    let schedules = matches!(decides, Decides::Turns);
    let policy = ExecPolicy::new(name, Arc::clone(start), schedules, &parameters);
    ConfiguredPolicy { policy: Box::new(policy), parameters }
}
