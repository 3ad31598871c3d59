//! Latencies of a real Redis, and of a page over HTTP.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fairways_latency::{Source, Spec, UNBOUNDED};
use fairways_testing::needs::{Need, has};

fn open(spec: &str) -> Box<dyn Source> {
    // A busy machine may answer late.
    spec.parse::<Spec>().unwrap().open_with(Duration::from_secs(10)).unwrap()
}

fn requests(source: &mut dyn Source) -> Option<u64> {
    Some(source.answered()?.iter().map(|answered| answered.requests).sum())
}

/// A Redis of the test's own, on a socket; it ends with the test.
struct RedisServer {
    child: Child,
    socket: PathBuf,
}

impl RedisServer {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("redis.sock");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(&socket)
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(began.elapsed() < Duration::from_secs(300), "redis-server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Self { child, socket }
    }

    fn benchmark(&self, requests: u32) {
        let status = Command::new("redis-benchmark")
            .arg("-s")
            .arg(&self.socket)
            .args(["-t", "get,set", "-q", "-n"])
            .arg(requests.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success());
    }

    fn run(&self, command: &str) {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        writeln!(stream, "{command}\r").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "+OK\r\n", "{command}");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

const REDIS: [Need; 2] = [Need::Program("redis-server"), Need::Program("redis-benchmark")];

#[test]
fn as_many_requests_are_reported_as_were_sent_to_redis() {
    if !has("as_many_requests_are_reported_as_were_sent_to_redis", &REDIS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let redis = RedisServer::start(folder.path());
    let mut source = open(&format!("redis:{}#get,set", redis.socket.display()));
    assert_eq!(requests(&mut *source), Some(0), "nothing was asked of it yet");
    redis.benchmark(3000);
    let answered = source.answered().unwrap();
    assert_eq!(answered.iter().map(|answered| answered.requests).sum::<u64>(), 6000);
    assert!(answered.is_sorted_by_key(|answered| answered.latency));
    assert!(answered[0].latency < Duration::from_millis(1), "{answered:?}");
    assert_eq!(requests(&mut *source), Some(0));
    redis.benchmark(500);
    assert_eq!(requests(&mut *source), Some(1000));
    let mut sets = open(&format!("redis:{}#set", redis.socket.display()));
    assert_eq!(requests(&mut *sets), Some(0));
    redis.benchmark(500);
    assert_eq!(requests(&mut *sets), Some(500));
}

#[test]
fn a_redis_that_starts_over_is_unknown_and_then_reported_again() {
    if !has("a_redis_that_starts_over_is_unknown_and_then_reported_again", &REDIS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let redis = RedisServer::start(folder.path());
    let mut source = open(&format!("redis:{}#get,set", redis.socket.display()));
    assert_eq!(requests(&mut *source), Some(0));
    redis.benchmark(1000);
    assert_eq!(requests(&mut *source), Some(2000));
    redis.run("CONFIG RESETSTAT");
    redis.benchmark(100);
    assert_eq!(requests(&mut *source), None, "its statistics were reset");
    redis.benchmark(100);
    assert_eq!(requests(&mut *source), Some(200));
    drop(redis);
    assert_eq!(requests(&mut *source), None, "it is gone");
    let redis = RedisServer::start(folder.path());
    redis.benchmark(300);
    assert_eq!(requests(&mut *source), None, "what was in between is not known");
    redis.benchmark(100);
    assert_eq!(requests(&mut *source), Some(200));
}

#[test]
fn a_redis_with_a_password_is_asked_as_the_user() {
    if !has("a_redis_with_a_password_is_asked_as_the_user", &REDIS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let redis = RedisServer::start(folder.path());
    redis.run("ACL SETUSER app on >secret ~* +@all");
    redis.run("ACL SETUSER default on >other");
    let password = folder.path().join("password");
    let spec =
        format!("redis:{}?user=app&password-file={}", redis.socket.display(), password.display());
    fs::write(&password, "wrong\n").unwrap();
    let mut source = open(&spec);
    assert_eq!(requests(&mut *source), None);
    fs::write(&password, "secret\n").unwrap();
    assert_eq!(requests(&mut *source), None, "the first that is reported");
    assert_eq!(requests(&mut *source), Some(0), "the source's own commands are left out");
}

/// A server that answers every request with the last page it was sent, on a thread of its own.
fn server(first: String) -> (String, Sender<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (pages, received) = channel::<String>();
    thread::spawn(move || {
        let mut answer = first;
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            if let Some(newest) = received.try_iter().last() {
                answer = newest;
            }
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> =
                lines.map(Result::unwrap).take_while(|l| !l.is_empty()).collect();
            assert_eq!(head[0], "GET /metrics HTTP/1.1");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, pages)
}

fn page(fast: u64, slow: u64, endless: u64) -> String {
    let (slow, endless) = (fast + slow, fast + slow + endless);
    format!(
        "# TYPE rpc_seconds histogram\nrpc_seconds_bucket{{le=\"0.01\"}} {fast}\nrpc_seconds_bucket{{le=\"0.1\"}} {slow}\n\
         rpc_seconds_bucket{{le=\"+Inf\"}} {endless}\nrpc_seconds_count {endless}\n# EOF\n"
    )
}

fn whole(page: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len())
}

fn chunked(page: &str) -> String {
    let (first, rest) = page.split_at(40);
    format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n",
        first.len(),
        rest.len()
    )
}

#[test]
fn a_page_reports_its_histograms_growth() {
    let (address, pages) = server(whole(&page(5, 1, 0)));
    let mut source = open(&format!("openmetrics:http://{address}/metrics#rpc_seconds"));
    assert_eq!(requests(&mut *source), Some(0));
    pages.send(chunked(&page(15, 1, 2))).unwrap();
    let answered = source.answered().unwrap();
    let answered: Vec<_> =
        answered.iter().map(|answered| (answered.latency, answered.requests)).collect();
    let (last, within) = answered.split_last().unwrap();
    assert_eq!(*last, (UNBOUNDED, 2));
    assert_eq!(within.iter().map(|of| of.1).sum::<u64>(), 10);
    assert!(within.iter().all(|of| of.0 < Duration::from_millis(10)), "{within:?}");
    for (answer, expected) in [
        (whole(&page(3, 0, 0)), None),
        (whole(&page(4, 3, 0)), Some(4)),
        ("HTTP/1.1 503 Service Unavailable\r\n\r\n".to_owned(), None),
        (whole(&page(9, 9, 9)), None),
        (whole("other 1\n"), None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nrpc".to_owned(), None),
        ("nonsense".to_owned(), None),
        (whole(&page(9, 9, 9)), None),
        (whole(&page(9, 10, 9)), Some(1)),
    ] {
        pages.send(answer.clone()).unwrap();
        assert_eq!(requests(&mut *source), expected, "{answer}");
    }
}

fn hasty(spec: &str) -> Box<dyn Source> {
    spec.parse::<Spec>().unwrap().open().unwrap()
}

#[test]
fn a_server_that_hangs_or_is_missing_is_unknown_and_keeps_no_caller_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [listener.local_addr().unwrap(), closed] {
        for spec in [
            format!("openmetrics:http://{address}/metrics#rpc_seconds"),
            format!("redis:{address}"),
        ] {
            // The best of some, since other programs use this machine, too.
            let waited = [(); 5].map(|()| {
                let mut source = hasty(&spec);
                let began = Instant::now();
                assert_eq!(source.answered(), None);
                began.elapsed()
            });
            assert!(waited.into_iter().min() < Some(Duration::from_secs(1)), "{waited:?}");
        }
    }
}
