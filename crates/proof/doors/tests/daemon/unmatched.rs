//! Programs in the configuration that do not exist.

use std::fs;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use super::common::{Machine, can, eventually, printed, this};
use super::running::{Daemon, command, configure};

/// A process of this command name, until it is dropped.
pub(crate) struct Named(Child);

impl Named {
    pub(crate) fn start(machine: &Machine, name: &str) -> Self {
        let path = machine.at(name);
        fs::copy("/bin/sleep", &path).unwrap();
        let child = Command::new(path).arg("3600").stdin(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Without programs the service does not start, and what the policy does not honour counts for
/// nothing: `config check` warns, though all of it is right.
#[test]
fn a_configuration_that_does_less_than_it_says_is_checked_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    let with_nri = "policy = \"equal\"\n[kubernetes]\nnri = true\n";
    let this_test = format!("[[program]]\nname = \"a\"\nselect = \"pid:{}\"\n", std::process::id());
    let ignored = format!("policy = \"lfoc\"\n{this_test}baseline_ways = 2\n");
    let honoured = format!("policy = \"dcat\"\n{this_test}baseline_ways = 2\n");
    let warning =
        "baseline_ways of a: policy lfoc does not honour it; static, dcat or fairways would";
    for (text, warning) in [
        ("policy = \"equal\"\n", Some("no [[program]]")),
        (with_nri, None),
        (&ignored, Some(warning)),
        (&honoured, None),
    ] {
        fs::write(&file, text).unwrap();
        let mut check = Command::new(this());
        let output = check.args(["config", "check"]).arg(&file).output().unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"ok\n"[..]));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), usize::from(warning.is_some()), "{said}");
        assert!(said.contains(warning.unwrap_or_default()), "{said}");
    }
}

/// A misspelt name has a row in `status`, with the running program that may be meant; the log warns
/// once, and the row disappears once a program has the name.
#[test]
fn a_missing_program_is_shown_with_the_one_that_may_be_meant() {
    if !can(&[]) {
        return;
    }
    let machine = Machine::start("mlr:500K");
    let _runs = Named::start(&machine, "fwtest-web");
    let reads = format!("select = \"pid:{}\"", machine.pids["mlr:500K"]);
    let misspelt = "select = \"process:fwtest-wbe\"";
    let none = "select = \"unit:fwtest-nonesuch.service\"";
    let programs = [("reads", &*reads), ("web", misspelt), ("cache", none)];
    configure(&machine, "policy = \"equal\"", &programs);
    let config = fs::read_to_string(machine.at("fairways.toml")).unwrap();
    let metrics = machine.at("metrics");
    let config = format!("{config}[metrics]\nlisten = \"unix:{}\"\n", metrics.display());
    fs::write(machine.at("fairways.toml"), config).unwrap();
    let why = "no process matches process:fwtest-wbe; fwtest-web runs";

    // `config check` reports it; the configuration is otherwise valid.
    let mut check = Command::new(this());
    let check = check.args(["config", "check"]).arg(machine.at("fairways.toml")).output().unwrap();
    assert_eq!((check.status.code(), &check.stdout[..]), (Some(0), &b"ok\n"[..]));
    let said = String::from_utf8(check.stderr).unwrap();
    assert!(said.contains(&format!("web: {why}\n")), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");

    let daemon = Daemon::start(&machine, command(&machine));
    eventually("it is known", || daemon.status()["unmatched"].as_array().unwrap().len() == 2);
    let status = daemon.status();
    assert_eq!(
        (&status["unmatched"][0]["name"], &status["unmatched"][0]["why"]),
        (&"web".into(), &why.into())
    );
    let text = printed(&mut daemon.ask(&[]));
    assert!(text.lines().any(|line| line.trim_start().starts_with("web ")), "{text}");
    assert!(text.contains(&format!("web is not there: {why}\n")), "{text}");
    assert!(
        text.contains("cache is not there: no process matches unit:fwtest-nonesuch.service\n"),
        "{text}"
    );
    let mut top = Command::new(this());
    top.args(["top", "--once", "--width", "100", "--control"]).arg(machine.at("control"));
    let top = printed(&mut top);
    assert!(top.contains(why), "{top}");
    let page = || {
        let mut curl = std::os::unix::net::UnixStream::connect(&metrics).unwrap();
        std::io::Write::write_all(&mut curl, b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut curl, &mut text).unwrap();
        text
    };
    let line = format!("fairways_program_unmatched{{program=\"web\",reason=\"{why}\"}} 1\n");
    assert!(page().contains(&line), "{}", page());
    eventually("it is warned of", || daemon.said().matches(why).count() == 1);

    // A program of that name starts after all.
    let _comes = Named::start(&machine, "fwtest-wbe");
    eventually("it is there", || daemon.programs() == ["reads", "web"]);
    eventually("it is no longer missing", || {
        daemon.status()["unmatched"].as_array().unwrap().len() == 1
    });
    assert!(!page().contains("fairways_program_unmatched{program=\"web\"}"));
    assert_eq!(daemon.said().matches(why).count(), 1);
    assert_eq!(daemon.end(Signal::TERM), Some(0));
}
