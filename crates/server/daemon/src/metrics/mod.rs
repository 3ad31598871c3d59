//! Answers Prometheus, and probes of the daemon's health: HTTP, read only.
//!
//! prometheus-client writes the page as OpenMetrics; [`plain`] converts it to the older text format
//! for clients that prefer it. The server uses the standard library and httparse, because tiny_http
//! waits for a slow client without limit, and lets in any number of clients.

mod estimate;
mod families;
mod http;
mod page;
mod plain;
mod process;
mod row;
mod server;
mod stream;
mod token;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairways_core::{Event, Time};
use fairways_host::machine::{Host, SchedulerCounts};
use fairways_resctrl_client::{Actuator, Errors, Ids};
use parking_lot::Mutex;

use super::control::Served;
use super::notify::Pulse;
use super::observer::HostObserver;
use crate::config::Listen;
use http::{Answer, Request};
use page::Snapshot;
use process::Process;
use server::{Pages, Server};
pub(super) use token::Token;

/// The endpoint, which answers until it is dropped.
pub(super) struct Metrics {
    shared: Arc<Shared>,
    server: Server,
}

/// The data for answers.
struct Shared {
    served: Served,
    pulse: Pulse,
    /// Whether the daemon manages the machine yet.
    begun: AtomicBool,
    means: Mutex<Means>,
    /// The token that a client must send to read the metrics.
    token: Option<Token>,
    /// The commit that the daemon was built from.
    commit: &'static str,
}

/// The state of resctrl, the scheduler and the other means of policies.
#[derive(Clone, Debug, Default)]
struct Means {
    closids: Option<Ids>,
    rmids: Option<Ids>,
    /// Counters of memory traffic, by domain.
    traffic_counters: Vec<(u32, Ids)>,
    /// Domains in which traffic is counted otherwise than by default.
    filtered: Vec<u32>,
    errors: Errors,
    scheduler: Option<SchedulerCounts>,
    /// Programs that pods request but that have no place.
    without_place: u64,
}

impl Metrics {
    /// Starts to answer there. If a token is set, only clients that show it get the metrics.
    ///
    /// # Errors
    /// If the address is in use, or can't be used.
    pub(super) fn start(
        at: &Listen,
        token: Option<Token>,
        commit: &'static str,
        served: Served,
        pulse: Pulse,
    ) -> io::Result<Self> {
        let (begun, means) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { served, pulse, begun, means, token, commit });
        let server = Server::start(at, Arc::clone(&shared) as Arc<dyn Pages>)?;
        Ok(Self { shared, server })
    }

    /// The address, with the port that the system chose if the configured one is 0.
    pub(super) fn at(&self) -> &Listen {
        self.server.at()
    }

    /// Records what events and actions do not report.
    pub(super) fn see(&self, host: &Host) {
        self.shared.see(host);
    }
}

impl HostObserver for Metrics {
    fn ready(&mut self) {
        self.shared.begun.store(true, Ordering::Relaxed);
    }

    fn turn(&mut self, host: &Host) {
        self.see(host);
    }

    fn handled(&mut self, host: &Host, _: Time, event: &Event) {
        if !matches!(event, Event::Sampled(_) | Event::Latency(_)) {
            self.see(host);
        }
    }
}

impl Shared {
    fn see(&self, host: &Host) {
        let actuator = host.actuator();
        let means = &mut *self.means.lock();
        means.closids = actuator.map(|actuator| actuator.closids());
        means.rmids = actuator.and_then(|actuator| actuator.rmids());
        means.traffic_counters =
            actuator.map(|actuator| actuator.traffic_counters()).unwrap_or_default();
        means.filtered = actuator.map(filtered).unwrap_or_default();
        means.scheduler = host.scheduler_counts();
        means.without_place = host.without_place() as u64;
        if means.errors != *host.errors() {
            means.errors.clone_from(host.errors());
        }
    }

    fn metrics(&self, accept: &str) -> Answer {
        // Made from a copy, so that the loop does not wait for a page to be written.
        let (status, totals) = {
            let watched = self.served.watched.lock();
            (watched.status.clone(), watched.totals.clone())
        };
        let losses = self.served.losses.as_ref().map(|losses| losses.reports(&status, false));
        let losses = losses.unwrap_or_default();
        let means = self.means.lock().clone();
        let nri = self.served.nri.as_ref().map(|totals| *totals.lock());
        let (process, commit) = (Process::now(), self.commit);
        let Ok(text) = (Snapshot { status, totals, losses, means, nri, process, commit }).page()
        else {
            return Answer::of(Err("the page could not be written".to_owned()));
        };
        if http::wants_plain(accept) {
            Answer::page(plain::TYPE, plain::plain(&text))
        } else {
            Answer::page(page::TYPE, text)
        }
    }

    /// The refusal for a client that may not read the metrics.
    fn refused(&self, request: &Request) -> Option<Answer> {
        let token = self.token.as_ref()?;
        let may = request.token.as_deref().is_some_and(|shown| token.is(shown));
        let why = "expected the token of metrics.token_file, as in `Authorization: Bearer TOKEN`";
        (!may).then(|| Answer::error(401, why))
    }

    /// Ok if a policy is in force, with any degradation; otherwise the reason.
    fn is_ready(&self) -> Result<String, String> {
        if !self.begun.load(Ordering::Relaxed) {
            return Err("it has not begun yet, or has ended".to_owned());
        }
        let watched = self.served.watched.lock();
        if let Some(why) = &watched.status.failed {
            return Err(format!("the policy has failed: {why}"));
        }
        let refused =
            |of: &fairways_record::status::DomainStatus| Some((of.id, of.refused.clone()?));
        match watched.status.domains.iter().find_map(refused) {
            Some((domain, why)) => {
                Err(format!("domain {domain}: the last plan was refused: {why}"))
            }
            None if watched.status.degraded.is_empty() => Ok("ready".to_owned()),
            None => Ok(format!("ready, degraded: {}", watched.status.degraded.join("; "))),
        }
    }
}

/// The domains in which traffic is counted otherwise than by default.
fn filtered(actuator: &Actuator) -> Vec<u32> {
    let traffic = actuator.traffic();
    let domains = actuator.domains().iter();
    let filtered = domains.filter(|of| traffic.is_filtered("mbm_total_bytes", of.cache_id));
    filtered.map(|domain| domain.id).collect()
}

impl Pages for Shared {
    fn at_once(&self, request: &Request) -> Option<Answer> {
        match request.path.as_str() {
            "/metrics" => self.refused(request),
            "/healthz" => Some(Answer::of(self.pulse.beats().map(|()| "ok".to_owned()))),
            "/readyz" => Some(Answer::of(self.is_ready())),
            "/" => Some(Answer::ok(
                "fairways: /metrics for Prometheus, /healthz whether the daemon goes on, /readyz whether its policy is in force\n",
            )),
            _ => Some(Answer::error(404, "expected /metrics, /healthz, /readyz or /")),
        }
    }

    fn page(&self, request: &Request) -> Answer {
        self.metrics(&request.accept)
    }
}

/// Reads any bytes as the start of a request. It waits for the rest of an incomplete request, and
/// answers everything else.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn fuzzed(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(http::LONGEST)];
    match http::request(bytes) {
        Some(Ok(request)) => {
            let _ = http::wants_plain(&request.accept);
            let answer = request.answer(Answer::ok("page\n"));
            assert!(answer.bytes().starts_with(b"HTTP/1.1 200 "));
        }
        Some(Err(answer)) => assert!(answer.bytes().starts_with(b"HTTP/1.1 4")),
        None => assert!(bytes.len() < http::LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use fairways_record::status::{DomainStatus, MachineRecord, Status};

    use super::*;

    #[test]
    fn a_policy_that_failed_or_is_not_in_force_is_not_ready() {
        let watched = Arc::new(Mutex::new(MachineRecord::new(Status::default())));
        let shared = Shared {
            served: Served { watched: Arc::clone(&watched), losses: None, nri: None },
            pulse: Pulse::new(std::time::Duration::from_secs(30)),
            begun: AtomicBool::new(false),
            means: Mutex::default(),
            token: None,
            commit: "",
        };
        let answer = |path: &str| {
            let asked = format!("GET {path} HTTP/1.1\r\n\r\n");
            shared.at_once(&http::request(asked.as_bytes()).unwrap().unwrap())
        };
        let code = |path: &str| answer(path).map(|answer| answer.code);
        assert_eq!((code("/healthz"), code("/readyz")), (Some(200), Some(503)));
        assert_eq!((code("/x"), code("/metrics")), (Some(404), None));
        shared.begun.store(true, Ordering::Relaxed);
        assert_eq!(code("/readyz"), Some(200));
        let refused = Some("why".to_owned());
        watched.lock().status.domains.push(DomainStatus { refused, ..DomainStatus::default() });
        assert_eq!(code("/readyz"), Some(503));
        watched.lock().status.domains.clear();
        watched.lock().status.degraded = vec!["one".to_owned(), "two".to_owned()];
        let degraded = answer("/readyz").unwrap();
        assert_eq!((degraded.code, &degraded.body[..]), (200, "ready, degraded: one; two\n"));
        watched.lock().status.failed = Some("a test's".to_owned());
        let answer = answer("/readyz").unwrap();
        assert_eq!((answer.code, &answer.body[..]), (503, "the policy has failed: a test's\n"));
        assert_eq!(code("/healthz"), Some(200));
    }
}
