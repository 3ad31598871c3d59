//! The page of metrics. A missing value has no sample.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairways_core::{is_plain, plain};
use fairways_perf::events::BY_PROCESSOR;
use fairways_record::blame::BlameReport;
use fairways_record::status::fields::{Metric, MetricKind};
use fairways_record::status::{ProgramStatus, ProgramTotals, Status, Totals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, GaugeValueEncoder, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::Means;
use super::families::{self, EVENTS, OCCUPANCY, OF_DOMAINS, OF_PROGRAMS};
use super::process::Process;
use super::row::{Row, Value, seconds};
use crate::nri::NriTotals;
use crate::promises;

/// The page's media type.
pub(super) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Losses below this are not shown, nor more than this many, as each is a time series.
const LEAST_LOSS: f64 = 0.025;
const MOST_LOSSES: usize = 64;

/// The data for a page.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) status: Status,
    pub(super) totals: Totals,
    /// The recent losses in each domain.
    pub(super) losses: Vec<BlameReport>,
    pub(super) means: Means,
    /// `None` without NRI.
    pub(super) nri: Option<NriTotals>,
    pub(super) process: Process,
    /// The commit that the daemon was built from, as `--version` shows it; empty if git did not
    /// know.
    pub(super) commit: &'static str,
}

impl Snapshot {
    /// The page, as OpenMetrics.
    ///
    /// # Errors
    /// None that is known: writing to a string can't fail.
    pub(super) fn page(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut page = String::new();
        text::encode(&mut page, &registry)?;
        Ok(page)
    }

    fn daemon(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Self { status, totals, means, commit, .. } = self;
        let (policy, mode) = (status.policy.as_str(), status.mode.as_str());
        let build = [("version", status.version.as_str()), ("commit", *commit)];
        let count = build.len() - usize::from(commit.is_empty());
        family(to, &families::BUILD, |put| put.fact(&build[..count]))?;
        family(to, &families::POLICY, |put| put.fact(&[("policy", policy), ("mode", mode)]))?;
        let keeps = promises::are_kept(status);
        single(to, &families::KEEPS_BASELINES, Some(Value::Whole(keeps.into())))?;
        family(to, &families::SCHEDULER, |put| match &status.scheduler {
            Some(scheduler) => put.fact(&[("scheduler", scheduler)]),
            None => Ok(()),
        })?;
        let ended = means.scheduler.map(|counts| Value::Whole(counts.ended));
        single(to, &families::SCHEDULER_ENDED, ended)?;
        let without = means.scheduler.map(|counts| Value::Whole(counts.threads_without_room));
        single(to, &families::THREADS_WITHOUT_ROOM, without)?;
        single(to, &families::FAILED, Some(Value::Whole(status.failed.is_some().into())))?;
        family(to, &families::UNMATCHED, |put| {
            status.unmatched.iter().try_for_each(|program| {
                let labels = [("program", &*program.name), ("reason", &*program.why)];
                put.sample(&labels, Value::Whole(1))
            })
        })?;
        let counted = BY_PROCESSOR.map(|counter| {
            let is_missing = status.uncounted.iter().any(|of| of.counter == counter.name());
            (counter.name(), u64::from(!is_missing))
        });
        labelled(to, &families::COUNTED, &[], "counter", counted)?;
        single(to, &families::CLOCK, Some(seconds(status.now_ns)))?;
        let done = if mode == "manage" { "applied" } else { "observed" };
        labelled(
            to,
            &families::DECISIONS,
            &[("policy", policy)],
            "outcome",
            [(done, totals.planned), ("refused", totals.refused), ("failed", totals.failed)],
        )?;
        let kinds =
            [("allowed", totals.allowed), ("raised", totals.raised), ("ordered", totals.ordered)];
        let kinds = kinds.into_iter().filter(|_| status.scheduler.is_some());
        labelled(to, &families::THREADS, &[("policy", policy)], "kind", kinds)?;
        labelled(to, &families::ERRORS, &[], "errno", means.errors.iter())?;
        let events = EVENTS.map(|(name, counter)| (name, totals.missing[counter as usize]));
        let events = events.into_iter().chain([(OCCUPANCY, totals.missing_occupancy)]);
        labelled(to, &families::UNAVAILABLE, &[], "event", events)?;
        single(to, &families::WINDOWS, Some(Value::Whole(totals.windows)))?;
        self.containers(to)?;
        for (family, ids) in [(&families::CLOSIDS, means.closids), (&families::RMIDS, means.rmids)]
        {
            let states =
                ids.map(|ids| [("used", ids.used), ("others", ids.others), ("free", ids.free)]);
            labelled(to, family, &[], "state", states.into_iter().flatten())?;
        }
        self.traffic(to)?;
        self.energy(to, &families::CORE_ENERGY, |program| program.core_energy_joules)?;
        self.energy(to, &families::ACTIVITY, |program| program.activity_farads)
    }

    /// The counts of packages for whole programs, once for each, whatever its domains.
    fn energy(
        &self,
        to: &mut DescriptorEncoder<'_>,
        of: &Metric,
        value: fn(&ProgramStatus) -> Option<f64>,
    ) -> fmt::Result {
        family(to, of, |put| {
            let mut put_already = BTreeSet::new();
            for program in &self.status.programs {
                if let Some(value) = value(program).filter(|_| put_already.insert(program.app)) {
                    put.sample(&[("program", &*program.name)], Value::Real(value))?;
                }
            }
            Ok(())
        })
    }

    /// How memory traffic is counted.
    fn traffic(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        family(to, &families::TRAFFIC_COUNTERS, |put| {
            self.means.traffic_counters.iter().try_for_each(|(domain, ids)| {
                let states = [("used", ids.used), ("others", ids.others), ("free", ids.free)];
                let domain = domain.to_string();
                states.into_iter().try_for_each(|(state, count)| {
                    put.sample(&[("domain", &*domain), ("state", state)], Value::Whole(count))
                })
            })
        })?;
        family(to, &families::TRAFFIC_FILTERED, |put| {
            let domains = self.means.filtered.iter().map(ToString::to_string);
            domains
                .into_iter()
                .try_for_each(|domain| put.sample(&[("domain", &*domain)], Value::Whole(1)))
        })
    }

    fn containers(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let connected = self.nri.map(|nri| Value::Whole(nri.connected.into()));
        single(to, &families::NRI_CONNECTED, connected)?;
        let outcomes = self.nri.map(|nri| [("in_time", nri.in_time), ("late", nri.late)]);
        labelled(to, &families::NRI_STARTED, &[], "outcome", outcomes.into_iter().flatten())?;
        let wrong = self.nri.map(|nri| Value::Whole(nri.wrong_annotations));
        single(to, &families::WRONG_ANNOTATIONS, wrong)?;
        let waited = self.nri.map(|nri| Value::Real(nri.waited.as_secs_f64()));
        single(to, &families::NRI_WAITED, waited)?;
        let without_place = self.nri.map(|_| Value::Whole(self.means.without_place));
        single(to, &families::WITHOUT_PLACE, without_place)
    }

    fn domains(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let domains: Vec<_> =
            self.status.domains.iter().map(|domain| (domain.id.to_string(), domain)).collect();
        for (of_family, value) in &OF_DOMAINS {
            family(to, of_family, |put| {
                domains.iter().try_for_each(|(id, domain)| match value(domain) {
                    Some(value) => put.sample(&[("domain", id)], value),
                    None => Ok(()),
                })
            })?;
        }
        family(to, &families::PROMISED_WAYS, |put| {
            let are_kept = promises::are_kept(&self.status);
            let mut with_ways = domains.iter().filter(|(_, domain)| are_kept && domain.ways > 0);
            with_ways.try_for_each(|(id, domain)| {
                let ways = Value::Whole(promises::promised_ways(&self.status, domain.id));
                put.sample(&[("domain", id)], ways)
            })
        })
    }

    fn programs(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let nothing = ProgramTotals::default();
        let Self { status, totals, .. } = self;
        let rows: Vec<(String, String, Row<'_>)> = named(&status.programs)
            .into_iter()
            .map(|((name, id), of)| {
                let domain = status.domains.iter().find(|domain| domain.id == id);
                let counted = totals.program(id, of.app).unwrap_or(&nothing);
                let way_bytes = domain.and_then(|domain| domain.way_bytes);
                let unit = domain.and_then(|domain| domain.bandwidth).map(|lever| lever.unit);
                let losses = self.losses.iter().find(|losses| losses.is_of_domain(id));
                let slowdown = losses.and_then(|losses| losses.slowdown(&name));
                (name, id.to_string(), Row { of, counted, way_bytes, unit, slowdown })
            })
            .collect();
        for (of_family, put_samples) in &OF_PROGRAMS {
            family(to, of_family, |put| {
                rows.iter().try_for_each(|(name, domain, row)| {
                    let mut done = Ok(());
                    let here = [("program", name.as_str()), ("domain", domain)];
                    put_samples(row, &mut |more, value| {
                        let labels: Vec<(&str, &str)> = here.iter().chain(more).copied().collect();
                        done = done.and(put.sample(&labels, value));
                    });
                    done
                })
            })?;
        }
        Ok(())
    }

    /// The largest losses, and the number of those that are left out.
    fn losses(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.losses.iter().flat_map(BlameReport::caused);
        let mut all: Vec<_> = all.filter(|caused| caused.loss >= LEAST_LOSS).collect();
        all.sort_by(|one, other| other.loss.total_cmp(&one.loss));
        let left_out = all.len().saturating_sub(MOST_LOSSES);
        all.truncate(MOST_LOSSES);
        family(to, &families::CAUSED, |put| {
            all.iter().try_for_each(|of| {
                let domain = of.domain.unwrap_or_default().to_string();
                let labels = [
                    ("victim", of.victim),
                    ("culprit", of.culprit),
                    ("part", of.part),
                    ("domain", &*domain),
                ];
                put.sample(&labels, Value::Real(of.loss))
            })
        })?;
        let left_out = (!self.losses.is_empty()).then_some(Value::Whole(left_out as u64));
        single(to, &families::CAUSED_LEFT_OUT, left_out)
    }

    fn process(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let process = &self.process;
        single(to, &families::STARTED, process.start_seconds.map(Value::Real))?;
        single(to, &families::CPU, process.cpu_seconds.map(Value::Real))?;
        single(to, &families::RESIDENT, process.resident_bytes.map(Value::Whole))?;
        single(to, &families::OPEN, process.open_fds.map(Value::Whole))?;
        single(to, &families::MOST, process.max_fds.map(Value::Whole))
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.daemon(&mut encoder)?;
        self.domains(&mut encoder)?;
        self.programs(&mut encoder)?;
        self.losses(&mut encoder)?;
        self.process(&mut encoder)
    }
}

/// Programs by name and domain. No two programs of a domain have the same name.
fn named(programs: &[ProgramStatus]) -> BTreeMap<(String, u32), &ProgramStatus> {
    programs.iter().map(|program| ((program.name.clone(), program.domain), program)).collect()
}

/// Where the samples of a metric go.
struct Samples<'a> {
    to: MetricEncoder<'a>,
    kind: MetricType,
}

impl Samples<'_> {
    fn fact(&mut self, labels: &[(&str, &str)]) -> fmt::Result {
        self.sample(labels, Value::Whole(1))
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: Value) -> fmt::Result {
        if !labels.iter().all(|(_, text)| text.chars().all(is_plain)) {
            let shown: Vec<String> = labels.iter().map(|(_, text)| plain(text)).collect();
            let keys = labels.iter().map(|(key, _)| *key);
            let labels: Vec<(&str, &str)> = keys.zip(shown.iter().map(String::as_str)).collect();
            return self.encode_sample(&labels, value);
        }
        self.encode_sample(labels, value)
    }

    fn encode_sample(&mut self, labels: &[(&str, &str)], value: Value) -> fmt::Result {
        match (self.kind, labels) {
            (MetricType::Info, _) => self.to.encode_info(&labels),
            (_, []) => encode(&mut self.to, self.kind, value),
            _ => encode(&mut self.to.encode_family(&labels)?, self.kind, value),
        }
    }
}

fn encode(to: &mut MetricEncoder<'_>, kind: MetricType, value: Value) -> fmt::Result {
    match (kind, value) {
        (MetricType::Counter, Value::Whole(count)) => {
            to.encode_counter::<NoLabelSet, _, f64>(&count, None)
        }
        (MetricType::Counter, Value::Real(count)) => {
            to.encode_counter::<NoLabelSet, _, f64>(&count, None)
        }
        _ => to.encode_gauge(&value),
    }
}

impl EncodeGaugeValue for Value {
    fn encode(&self, encoder: &mut GaugeValueEncoder<'_>) -> fmt::Result {
        match *self {
            Self::Real(value) => EncodeGaugeValue::encode(&value, encoder),
            Self::Whole(value) => match i64::try_from(value) {
                Ok(value) => EncodeGaugeValue::encode(&value, encoder),
                Err(_) => EncodeGaugeValue::encode(&(value as f64), encoder),
            },
        }
    }
}

/// Puts a metric and its samples on the page. A metric without samples is described nevertheless,
/// to show that it exists and is missing.
fn family(
    to: &mut DescriptorEncoder<'_>,
    of: &Metric,
    put_samples: impl FnOnce(&mut Samples<'_>) -> fmt::Result,
) -> fmt::Result {
    let unit = (!of.unit.is_empty()).then(|| Unit::Other(of.unit.to_owned()));
    let kind = match of.kind {
        MetricKind::Gauge => MetricType::Gauge,
        MetricKind::Counter => MetricType::Counter,
        MetricKind::Info => MetricType::Info,
    };
    let to = to.encode_descriptor(of.name, of.help, unit.as_ref(), kind)?;
    put_samples(&mut Samples { to, kind })
}

/// Puts a metric with at most one sample on the page.
fn single(to: &mut DescriptorEncoder<'_>, of: &Metric, value: Option<Value>) -> fmt::Result {
    family(to, of, |put| value.map_or(Ok(()), |value| put.sample(&[], value)))
}

/// Puts a metric with a sample for each value of a label on the page.
fn labelled<'a>(
    to: &mut DescriptorEncoder<'_>,
    of: &Metric,
    here: &[(&str, &str)],
    label: &str,
    samples: impl IntoIterator<Item = (&'a str, u64)>,
) -> fmt::Result {
    family(to, of, |put| {
        samples.into_iter().try_for_each(|(name, count)| {
            let labels: Vec<(&str, &str)> = here.iter().copied().chain([(label, name)]).collect();
            put.sample(&labels, Value::Whole(count))
        })
    })
}

#[cfg(test)]
mod tests;
