//! A real Prometheus.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{Machine, can, eventually};
use super::dashboard;
use super::managed::{configure, daemon, machine, signal, stop};
use super::page::send;

/// A Prometheus that scrapes the daemon every second.
struct Prometheus {
    child: Child,
    at: SocketAddr,
}

impl Prometheus {
    /// Starts it at a free port; if another process takes the port first, at another.
    fn start(machine: &Machine, target: SocketAddr) -> Self {
        (0..5).find_map(|_| Self::try_start(machine, target)).expect("a port that stays free")
    }

    /// `None` if the port was taken.
    fn try_start(machine: &Machine, target: SocketAddr) -> Option<Self> {
        let free = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let at = free.local_addr().unwrap();
        drop(free);
        let config = machine.at("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 3s\n  scrape_timeout: 3s\nscrape_configs:\n  - job_name: fairways\n    \
             static_configs:\n      - targets: ['{target}']\n"
        );
        fs::write(&config, text).unwrap();
        let said = fs::File::create(machine.at("prometheus.said")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", machine.at("tsdb").display()))
            .arg(format!("--web.listen-address={at}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut prometheus = Self { child, at };
        let mut is_taken = false;
        eventually("Prometheus is ready", || {
            // Once it has ended, another process may answer at its port.
            if prometheus.child.try_wait().unwrap().is_some() {
                let said = fs::read_to_string(machine.at("prometheus.said")).unwrap();
                is_taken = said.contains("address already in use");
                assert!(is_taken, "{said}");
                return true;
            }
            prometheus.is_ready()
        });
        (!is_taken).then_some(prometheus)
    }

    fn is_ready(&self) -> bool {
        // Another process may answer first.
        let stream = std::net::TcpStream::connect(self.at);
        let answer = stream.and_then(|stream| send(stream, b"GET /-/ready HTTP/1.0\r\n\r\n"));
        answer.is_ok_and(|answer| answer.code == 200)
    }

    /// The answer to an expression: the series, or the error.
    fn query(&self, expression: &str) -> Result<Vec<Value>, String> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let request =
            format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: {}\r\n\r\n", self.at);
        let stream = super::page::connect(self.at);
        let answer = super::page::send(stream, request.as_bytes()).unwrap();
        let response: Value = serde_json::from_str(&answer.body).unwrap();
        if response["status"] == "success" {
            Ok(response["data"]["result"].as_array().unwrap().clone())
        } else {
            Err(response["error"].to_string())
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_prometheus_scrapes_it_and_answers_with_the_same_values() {
    if !can(&["prometheus"]) {
        return;
    }
    let machine = machine();
    configure(&machine, "emulator", "");
    let (daemon, at) = daemon(&machine, &[]);
    let prometheus = Prometheus::start(&machine, at);
    let (status, page) = stop(&machine, &daemon, at, |page| {
        page.all("fairways_program_class_info").count() == 3
            && page.all("fairways_llc_occupancy_bytes").count() == 3
            && page.all("fairways_latency_seconds").count() == 1
    });
    let clock = page.get("fairways_clock_seconds").unwrap();
    let number = |series: &Value| series["value"][1].as_str().unwrap().parse::<f64>().unwrap();
    let two_scrapes = format!(
        "count_over_time(fairways_clock_seconds[30s]) > 1 and fairways_clock_seconds == {clock}"
    );
    eventually("it has scraped since", || prometheus.query(&two_scrapes).unwrap().len() == 1);
    for program in status["programs"].as_array().unwrap() {
        let name = program["name"].as_str().unwrap();
        let of = format!("{{program={name:?},domain=\"0\"}}");
        let escaped = name.replace('"', "\\\"");
        for metric in
            ["fairways_program_ways", "fairways_instructions_total", "fairways_llc_occupancy_bytes"]
        {
            let [series] = &prometheus.query(&format!("{metric}{of}")).unwrap()[..] else {
                panic!("{metric}{of}: expected one series")
            };
            assert_eq!(Some(number(series)), page.of(metric, &escaped), "{metric}{of}");
        }
        let ways = format!("sum(fairways_program_ways{of})");
        assert_eq!(Some(number(&prometheus.query(&ways).unwrap()[0])), program["ways"].as_f64());
    }

    // The dashboard's expressions are answered, with series for those about lfoc on this machine.
    let mut answered = 0;
    for expression in dashboard::expressions() {
        let series =
            prometheus.query(&expression).unwrap_or_else(|why| panic!("{expression}: {why}"));
        answered += usize::from(!series.is_empty());
    }
    assert!(answered >= 15, "{answered} expressions have series");
    signal(&machine, Signal::CONT);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
