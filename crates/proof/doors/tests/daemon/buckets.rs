//! `config check` of objectives that fall between the bounds of a histogram.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use crate::common::this;

/// A page whose histogram has bounds of 10 ms, 25 ms and 100 ms.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let _ = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
            let buckets = ["0.01", "0.025", "0.1", "+Inf"];
            let buckets = buckets.map(|bound| format!("rpc_seconds_bucket{{le=\"{bound}\"}} 7\n"));
            let page = buckets.concat();
            let _ =
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
        }
    });
    address
}

#[test]
fn buckets_too_coarse_for_an_objective_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    let address = server();
    let me = std::process::id();
    let checked = |objective: &str, latency: &str| {
        let program = format!("name = \"web\"\nselect = \"pid:{me}\"\nobjective = \"{objective}\"");
        let text =
            format!("policy = \"locpart\"\n[[program]]\n{program}\nlatency = \"{latency}\"\n");
        fs::write(&file, text).unwrap();
        let output = Command::new(this()).args(["config", "check"]).arg(&file).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"ok\n"[..]));
        String::from_utf8(output.stderr).unwrap()
    };
    let page = format!("openmetrics:http://{address}/metrics#rpc_seconds");
    assert_eq!(
        checked("p95:20ms", &page),
        "fairways: warning: web: its objective of 20ms lies between two bounds of its histogram, 10ms and 25ms: where requests lie in \
         between is estimated; an objective of 10ms or 25ms is judged exactly\n"
    );
    assert_eq!(checked("p95:25ms", &page), "");
    let beyond = checked("p95:200ms", &page);
    assert!(beyond.contains("beyond the last bound of its histogram, 100ms"), "{beyond}");
    let redis = checked("p95:1ms", "redis:/run/nobody.sock");
    assert!(redis.contains("an objective of 529us or 1ms 57us is judged exactly"), "{redis}");
    let silent = checked("p95:20ms", "openmetrics:http://127.0.0.1:1/metrics#rpc_seconds");
    assert!(silent.contains("is not known: http://127.0.0.1:1"), "{silent}");
    assert_eq!(silent.lines().count(), 1, "{silent}");
    assert_eq!(checked("p95:20ms", "file:/run/latencies"), "");
}
