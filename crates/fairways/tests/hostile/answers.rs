//! Control characters, huge histories and impostors behind the sockets.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::this;

/// The kernel's ticks of CPU time a second, as programs see them (`USER_HZ`).
const TICKS: u32 = 100;

/// The promise is 2 s; this leaves room for builds without optimization.
const BUSY: Duration = Duration::from_secs(20);

/// Waits for the end of a command that must succeed; the CPU time that it took.
fn busy(mut child: Child) -> Duration {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks = [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap());
        let busy = Duration::from_secs(ticks.iter().sum()) / TICKS;
        if fields[0] == "Z" {
            assert!(child.wait().unwrap().success());
            return busy;
        }
        if busy > BUSY || began.elapsed() > 20 * BUSY {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{busy:?} of CPU time, and no end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A journal of 60,000 programs that start, each with what follows its start.
fn starts(path: &Path, name: impl Fn(u32) -> String, then: impl Fn(u32) -> String) {
    let run = fs::read_to_string("tests/data/run.journal").unwrap();
    let mut text: String = run.lines().take(2).map(|line| format!("{line}\n")).collect();
    let wish = r#"{"baseline_ways":null,"best_effort":false,"objective":null}"#;
    for app in 0..60_000 {
        let name = name(app);
        let started = format!(r#"{{"started":{{"app":{app},"wish":{wish},"profile":null}}}}"#);
        writeln!(text, r#"{{"at":{app},"event":{started},"name":"{name}"}}"#).unwrap();
        text += &then(app);
    }
    fs::write(path, text).unwrap();
}

#[test]
fn sixty_thousand_starts_are_explained_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let plan = |app| {
        let places = format!(r#"[{{"mask":"0xf","apps":[{app}]}}]"#);
        let plan = format!(r#"{{"plan":{app},"partition":{places},"reason":"alone"}}"#);
        format!("{{\"at\":{app},\"action\":{{\"partition\":{plan}}}}}\n")
    };
    let over = |app| format!("{{\"at\":{app},\"event\":{{\"exited\":{{\"app\":{app}}}}}}}\n");
    let nothing = |_| String::new();
    type Then<'a> = &'a dyn Fn(u32) -> String;
    let cases: [(&str, Then<'_>, Then<'_>); 4] = [
        ("of one name", &|_| "web".to_owned(), &nothing),
        ("of different names", &|app| format!("web{app}"), &nothing),
        ("each with a plan", &|_| "web".to_owned(), &plan),
        ("each with an end", &|_| "web".to_owned(), &over),
    ];
    for (what, name, then) in cases {
        starts(&path, name, then);
        let mut command = Command::new(this());
        command.args(["explain", "--journal"]).arg(&path).stdout(Stdio::null());
        let busy = busy(command.spawn().unwrap());
        assert!(busy < BUSY, "{what}: {busy:?}");
    }
}
