//! The metrics under a policy that schedules: it does not use resctrl, which is only observed here.

use std::fs;
use std::process::{Child, Command};

use fairways_testing::needs::{Need, has};
use rustix::process::Signal;

use super::common::{Sleeper, end, eventually, this};
use super::page::{Page, get};

/// A process that ends with the test, whatever its result.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn threads_are_shown_with_their_scheduler() {
    if !has("scheduling", &[Need::Root]) {
        return;
    }
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, other) = (Sleeper::start(), Sleeper::start());
    let text = format!(
        "policy = \"cache-fair\"\nobserve = true\n[scheduler]\nkind = \"affinity\"\nquantum = \"20ms\"\n\
         [counters]\nsource = \"none\"\n[log]\ntarget = \"stderr\"\n[metrics]\nlisten = \"127.0.0.1:0\"\n\
         [resctrl]\nstate = \"{}\"\n[control]\nsocket = \"{}\"\n\
         [[program]]\nname = \"one\"\nselect = \"pid:{}\"\n\
         [[program]]\nname = \"other\"\nselect = \"pid:{}\"\nbest_effort = true\n",
        at("state"),
        at("control"),
        one.id(),
        other.id()
    );
    fs::write(at("fairways.toml"), text).unwrap();
    let said = fs::File::create(at("said")).unwrap();
    let child = Command::new(this())
        .args(["run", "--config", &at("fairways.toml")])
        .stdout(std::process::Stdio::null())
        .stderr(said)
        .spawn()
        .unwrap();
    let mut child = Killed(child);
    let address = || {
        let said = fs::read_to_string(at("said")).unwrap();
        let line = said.lines().find_map(|line| line.split_once("metrics listen="))?.1;
        line.trim().parse().ok()
    };
    eventually("it says where it answers", || {
        let ended = child.0.try_wait().unwrap();
        assert!(ended.is_none(), "{}", fs::read_to_string(at("said")).unwrap());
        address().is_some()
    });
    let address = address().unwrap();
    let page = || Page::parse(&get(address, "/metrics", "").body);
    eventually("both are there", || page().all("fairways_program_best_effort").count() >= 2);
    let page = page();
    assert_eq!(page.get("fairways_scheduler_info{scheduler=\"affinity\"}"), Some(1.0));
    assert_eq!(page.get("fairways_policy_info{policy=\"cache-fair\",mode=\"observe\"}"), Some(1.0));
    assert!(page.all("fairways_quantum_seconds").all(|(_, seconds)| seconds == 0.02));
    let cpus: f64 = page.all("fairways_domain_cpus").map(|(_, cpus)| cpus).sum();
    let on_line = std::thread::available_parallelism().unwrap().get() as f64;
    assert!(cpus >= on_line, "{cpus} of at least {on_line}");
    let best_effort = |name: &str| {
        let mut of = page.all("fairways_program_best_effort");
        of.find(|(labels, _)| labels.contains(&format!("program=\"{name}\""))).unwrap().1
    };
    assert_eq!((best_effort("one"), best_effort("other")), (0.0, 1.0));
    // The metrics of resctrl are missing.
    for metric in
        ["fairways_domain_ways", "fairways_closids", "fairways_rmids", "fairways_program_ways"]
    {
        assert_eq!(page.all(metric).count(), 0, "{metric}");
    }
    assert_eq!(page.all("fairways_thread_decisions_total").count(), 3);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child.0), Signal::TERM)
        .unwrap();
    assert_eq!(end(&mut child.0).code(), Some(0));
}
