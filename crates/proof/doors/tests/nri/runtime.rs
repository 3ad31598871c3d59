//! A container runtime without containers: nri-runtime of the folder `shared`, which has the real
//! runtime side of NRI in it, and starts a process where a container would be.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Machine, can};

/// A machine, and a runtime whose socket is beside it; `None`, with the reason printed, where
/// something is missing.
pub(crate) fn machine_and_runtime() -> Option<(Machine, Runtime)> {
    if !can(&["go"]) {
        return None;
    }
    let program = built("nri-runtime")?;
    let machine = Machine::start("lookbusy");
    let runtime = Runtime::start(&program, &machine.at("nri.sock"));
    Some((machine, runtime))
}

/// Builds a program of the folder `shared/nri-lab/go`; `None`, with the reason printed, where that
/// folder is not there.
pub(crate) fn built(program: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    let shared = std::env::var_os("FAIRWAYS_SHARED").map_or(beside, PathBuf::from);
    let source = shared.join("nri-lab/go");
    if !source.is_dir() {
        let required = std::env::var_os("FAIRWAYS_REQUIRE_SHARED").is_some();
        assert!(!required, "expected the folder {}", source.display());
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        fairways_testing::needs::withheld(&test, "no folder shared/nri-lab");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nri");
    std::fs::create_dir_all(&folder).unwrap();
    let out = folder.join(program);
    // One test builds; the others find Go's cache filled.
    static BUILDS: Mutex<()> = Mutex::new(());
    let _alone = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let build = || {
        Command::new("timeout")
            .args(["600", "go", "build", "-trimpath", "-tags", "nri_no_wasm", "-o"])
            .arg(&out)
            .arg(format!("{program}.go"))
            .current_dir(&source)
            .env("CGO_ENABLED", "0")
            .output()
            .unwrap()
    };
    // Its dependencies come over a network, and not always at once.
    let mut done = build();
    for pause in [10, 30, 60] {
        if done.status.success() {
            break;
        }
        std::thread::sleep(Duration::from_secs(pause));
        done = build();
    }
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(out)
}

/// A running runtime.
pub(crate) struct Runtime {
    child: Child,
    commands: ChildStdin,
    lines: Receiver<Value>,
    /// What happened by itself, in order.
    pub(crate) events: Vec<Value>,
}

impl Runtime {
    /// Starts one that listens for plugins at `socket`.
    pub(crate) fn start(program: &Path, socket: &Path) -> Self {
        let mut child = Command::new(program)
            .arg("-socket")
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (said, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let Ok(value) = serde_json::from_str(&line) else { continue };
                if said.send(value).is_err() {
                    return;
                }
            }
        });
        let commands = child.stdin.take().unwrap();
        let mut runtime = Self { child, commands, lines, events: Vec::new() };
        while !runtime.events.iter().any(|event| event["event"] == "listening") {
            let line = runtime.line();
            runtime.events.push(line);
        }
        runtime
    }

    fn line(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(300)).expect("a line of the runtime")
    }

    /// Has it do something; returns its answer.
    pub(crate) fn asked(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        loop {
            let line = self.line();
            if line["do"] == command["do"] {
                return line;
            }
            self.events.push(line);
        }
    }

    /// Has it do something that must not fail.
    pub(crate) fn done(&mut self, command: &Value) -> Value {
        let answer = self.asked(command);
        assert_eq!(answer["error"], Value::Null, "{command}");
        answer
    }

    /// Waits until it has the plugin.
    pub(crate) fn has_plugins(&mut self, count: u32) {
        self.done(&json!({"do": "plugins", "count": count}));
    }

    /// Makes a pod with one container, `app`, and these annotations.
    pub(crate) fn pod(&mut self, namespace: &str, name: &str, annotations: &Value) {
        let pod = format!("{namespace}-{name}");
        let of = json!({
            "id": pod, "name": name, "namespace": namespace, "uid": format!("uid-{pod}"),
            "annotations": annotations, "labels": {"app": name},
        });
        self.done(&json!({"do": "run-pod", "pod": of}));
        let container = json!({"id": format!("c-{pod}"), "podSandboxId": pod, "name": "app"});
        self.done(&json!({"do": "create", "container": container}));
    }

    /// Starts the container of a pod; returns its process.
    pub(crate) fn start_container(&mut self, pod: &str, exec: &[&str]) -> i32 {
        let answer = self.done(&json!({"do": "start", "id": format!("c-{pod}"), "exec": exec}));
        i32::try_from(answer["pid"].as_i64().unwrap()).unwrap()
    }

    /// Stops and removes the pod and its container.
    pub(crate) fn remove(&mut self, pod: &str) {
        for (verb, id) in [("stop", format!("c-{pod}")), ("remove", format!("c-{pod}"))] {
            self.done(&json!({"do": verb, "id": id}));
        }
        for verb in ["stop-pod", "remove-pod"] {
            self.done(&json!({"do": verb, "id": pod}));
        }
    }

    /// How long the plugin took for each request of this kind, in microseconds.
    pub(crate) fn took_us(&self, operation: &str) -> Vec<u64> {
        let asked = self.events.iter().filter(|event| event["op"] == operation);
        asked.filter_map(|event| event["us"].as_u64()).collect()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
