//! goresctrl's `rdt`, the library in containerd and CRI-O.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairways_testing::needs::Need;

use crate::emulated::Emulated;
use crate::go;

const VERSION: &str = "v0.14.0";

/// Two classes in one partition, by shares of the cache.
const CONFIGURATION: &str = r#"
partitions:
  all:
    l3Allocation: "100%"
    mbAllocation: ["100%"]
    classes:
      Latency:
        l3Allocation: "60%"
        mbAllocation: ["100%"]
      Batch:
        l3Allocation: "0x00003"
        mbAllocation: ["33%"]
"#;

/// Builds `rdt` for a test, which looks for its mounts in the file `mounts` beside it.
pub(crate) fn rdt(of: &str) -> PathBuf {
    let folder = format!("goresctrl/{of}");
    let path = "github.com/intel/goresctrl";
    let mounts = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&folder).join("mounts");
    let flags = format!("-X {path}/pkg/rdt.mountInfoPath={}", mounts.display());
    go::install(&format!("{path}/cmd/rdt@{VERSION}"), &folder, &["-ldflags", &flags])
}

pub(crate) fn run(rdt: &Path, words: &[&str]) -> String {
    let output = Command::new(rdt).args(words).output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert!(output.status.success(), "rdt {words:?}: {text}");
    text
}

/// A process that does not outlive the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `rdt monitor` serves at `/metrics`.
pub(crate) fn metrics(rdt: &Path) -> String {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let server = Command::new(rdt)
        .args(["monitor", "-port", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let _server = Server(server.unwrap());
    let begun = Instant::now();
    loop {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            return text;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "rdt serves no metrics");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn goresctrl_reports_configures_and_monitors() {
    if !fairways_testing::needs::has("goresctrl", &[Need::Fuse, Need::Root, Need::Program("go")]) {
        return;
    }
    let rdt = rdt("clients");
    let emulated = Emulated::start("mlr:8M,mload:60M");
    let root = emulated.root();
    std::fs::write(
        rdt.with_file_name("mounts"),
        format!("resctrl {} resctrl rw,relatime 0 0\n", root.display()),
    )
    .unwrap();
    let configuration = rdt.with_file_name("configuration.yaml");
    std::fs::write(&configuration, CONFIGURATION).unwrap();

    let info = run(&rdt, &["info"]);
    assert!(info.contains("l3: llc_occupancy, mbm_local_bytes, mbm_total_bytes"), "{info}");

    let configured = run(&rdt, &["configure", "-config-file", configuration.to_str().unwrap()]);
    assert!(configured.contains("Done!"), "{configured}");
    assert_eq!(
        emulated.read("Latency/schemata"),
        "    MB:0=100\n    L3:0=fff\n",
        "60 % of 20 ways"
    );
    assert_eq!(
        emulated.read("Batch/schemata"),
        "    MB:0=40\n    L3:0=3\n",
        "33 % rounded up to a step of 10"
    );
    let info = run(&rdt, &["info"]);
    assert!(info.contains("- Latency") && info.contains("- Batch"), "{info}");

    emulated.write("Batch/tasks", &format!("{}\n", emulated.pid("mload:60M")));
    emulated.control(&["advance", "20ms"]);
    let served = metrics(&rdt);
    for event in ["llc_occupancy", "mbm_total_bytes"] {
        let sample =
            format!("l3_{event}{{cache_id=\"0\",rdt_class=\"Batch\",rdt_mon_group=\"\"}} ");
        let line = served.lines().find_map(|line| line.strip_prefix(&sample));
        let reported: f64 =
            line.unwrap_or_else(|| panic!("no {sample} in:\n{served}")).parse().unwrap();
        let read: f64 =
            emulated.read(format!("Batch/mon_data/mon_L3_00/{event}")).trim().parse().unwrap();
        assert!(reported > 0.0, "{event}");
        assert_eq!(reported, read, "{event}");
    }
}
