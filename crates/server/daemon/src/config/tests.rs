use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::values::{ClockSource, CounterSource};
use super::{Config, SchedulerKind, load};

/// A configuration in a folder, with its drop-ins.
fn written(main: &str, drop_ins: &[(&str, &str)]) -> (TempDir, PathBuf) {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fairways.toml");
    std::fs::write(&file, main).unwrap();
    let beside = folder.path().join("fairways.toml.d");
    std::fs::create_dir(&beside).unwrap();
    for (name, text) in drop_ins {
        std::fs::write(beside.join(name), text).unwrap();
    }
    (folder, file)
}

fn loaded(main: &str, drop_ins: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let (folder, file) = written(main, drop_ins);
    let strip = |error: String| error.replace(&format!("{}/", folder.path().display()), "");
    load(Some(&file))
        .map(|(config, _)| config)
        .map_err(|errors| errors.into_iter().map(strip).collect())
}

#[test]
fn nothing_is_needed() {
    assert_eq!(loaded("", &[]).unwrap(), Config::default());
    let shown = toml::to_string(&Config::default()).unwrap();
    assert_eq!(loaded(&shown, &[]).unwrap(), Config::default(), "{shown}");
}

const ALL: &str = r#"
policy = "locpart"
observe = true
sandbox = false
dry_run = true
counters_only = false
interval = "1s"
[parameters]
util_th = "0.9"
[resctrl]
root = "/mnt/resctrl"
state = "/var/lib/other"
take_over = true
adopt_monitors = true
confine_others = 2
confine_io = 3
use_shareable = true
rmids = 64
memory_mbps = 102000
[scheduler]
kind = "sched_ext"
quantum = "4ms"
[counters]
source = "none"
descriptors = 4096
windows = "polled"
[clock]
source = "emulator:/run/emulator.sock"
[log]
target = "stderr"
level = "debug"
format = "json"
[control]
socket = "/run/other.sock"
[metrics]
listen = "[::1]:19750"
token_file = "/etc/fairways/metrics.token"
[journal]
file = "/var/log/fairways.journal"
size = "64M"
parts = 4
[kubernetes]
nri = true
socket = "/run/other/nri.sock"
annotations = ["team-*"]
all = true
guaranteed_ways = 2
most_programs = 300
most_per_namespace = 20
[[kubernetes.pods]]
select = "app=web,!debug"
namespace = "team-*"
baseline_ways = 2
best_effort = false
importance = 2
objective = "p99:5ms"
policy_group = "web"
[[program]]
name = "web"
select = "unit:nginx.service"
each = true
baseline_ways = 4
best_effort = true
importance = 3
objective = "p99.9:2ms"
latency = "redis:127.0.0.1:6379"
"#;

#[test]
fn every_key_is_read_and_shown_again() {
    let config = loaded(ALL, &[]).unwrap();
    assert_eq!(config.counters.source, CounterSource::None);
    let scheduler = config.scheduler;
    assert_eq!(scheduler.kind, SchedulerKind::SchedExt);
    assert_eq!(scheduler.quantum, Duration::from_millis(4));
    assert_eq!(config.clock.source, ClockSource::Emulator(Some("/run/emulator.sock".into())));
    assert_eq!((config.journal.size, config.journal.parts), (64 << 20, Some(4)));
    let program = &config.program[0];
    let objective = program.objective.as_ref().unwrap();
    assert_eq!(objective.value.slo, std::time::Duration::from_millis(2));
    assert_eq!((program.baseline_ways, program.each), (Some(4), true));
    assert_eq!(program.importance, Some(3));
    let shown = toml::to_string(&config).unwrap();
    assert_eq!(loaded(&shown, &[]).unwrap(), config, "{shown}");
}

#[test]
fn drop_ins_are_laid_over_in_order() {
    let program = |name: &str| format!("[[program]]\nname = {name:?}\nselect = \"pid:1\"\n");
    let config = loaded(
        &format!("policy = \"dcat\"\n[resctrl]\nrmids = 8\n{}", program("a")),
        &[
            ("20.toml", &format!("policy = \"lfoc\"\n{}", program("c"))),
            (
                "10.toml",
                &format!("policy = \"ucp\"\n[resctrl]\ntake_over = true\n{}", program("b")),
            ),
            ("30.conf", "policy = 1"),
        ],
    );
    let config = config.unwrap();
    assert_eq!(config.policy, "lfoc");
    assert_eq!((config.resctrl.rmids, config.resctrl.take_over), (Some(8), true));
    let names: Vec<&str> = config.program.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn parameters_are_the_policys() {
    let config = loaded("[parameters]\nstake_percent = 2\ndecision_period = \"250ms\"", &[]);
    assert!(config.unwrap().make_policy().is_ok());
}

#[test]
fn every_mistake_is_reported_with_its_file_line_and_key() {
    for (text, expected) in [
        ("polcy = \"lfoc\"", "fairways.toml:1: polcy: unknown field `polcy`, expected one of"),
        ("\npolicy = \"best\"", "fairways.toml:2: policy: expected one of stock, equal"),
        ("policy = 3", "fairways.toml:1: policy: invalid type: integer `3`, expected a string"),
        ("interval = \"soon\"", "fairways.toml:1: interval: expected a time from 10ms to 1h"),
        (
            "counters_only = true",
            "fairways.toml:1: counters_only: expected policy stock, which gives",
        ),
        (
            "policy = \"stock\"\ncounters_only = true\nobserve = true",
            "fairways.toml:2: counters_only: expected counters and nothing else, found observe = true",
        ),
        (
            "policy = \"stock\"\ncounters_only = true\ndry_run = true",
            "counters_only: expected counters and nothing else, found dry_run = true",
        ),
        (
            "policy = \"stock\"\ncounters_only = true\n[counters]\nsource = \"none\"",
            "counters_only: expected counters and nothing else, found counters.source = \"none\"",
        ),
        ("interval = \"1ms\"", "interval: expected a time from 10ms"),
        ("[resctrl]\nroot = \"x\"", "fairways.toml:2: resctrl.root: expected an absolute path"),
        ("[resctrl]\nrmids = 0", "resctrl.rmids: expected a number from 1 on, found 0"),
        ("[resctrl]\nconfine_others = -1", "resctrl.confine_others: expected a number from 1 on"),
        ("[resctrl]\nrotate = 1", "fairways.toml:2: resctrl.rotate: unknown field `rotate`"),
        ("[counters]\nsource = \"pcm\"", "counters.source: expected perf, none, emulator"),
        ("[counters]\nsource = \"profiles\"", "counters.source: expected perf, none, emulator"),
        ("[clock]\nsource = \"sun\"", "clock.source: expected real, emulator"),
        ("[log]\nlevel = \"loud\"", "log.level: unknown variant `loud`, expected one of `error`"),
        ("[journal]\nsize = \"0\"", "journal.size: expected a size such as 500K"),
        ("[[program]]\nname = \"a\"", "program[0]: missing field `select`"),
        ("[[program]]\nname = \" \"\nselect = \"pid:1\"", "program[0].name: expected a name"),
        (
            "[[program]]\nname = \"a\"\nselect = \"nginx\"",
            "fairways.toml:3: program[0].select: selector `nginx`: expected",
        ),
        (
            "[[program]]\nname = \"a\"\nselect = \"pid:1\"\nobjective = \"fast\"",
            "fairways.toml:4: program[0].objective: expected a time from 1us to 1h",
        ),
        (
            "[[program]]\nname = \"a\"\nselect = \"pid:1\"\nlatency = \"http:\"",
            "program[0].latency: latency source `http:`: expected `openmetrics:`",
        ),
        (
            "[metrics]\nlisten = 19750",
            "fairways.toml:2: metrics.listen: invalid type: integer `19750`, expected a string",
        ),
        (
            "[metrics]\nlisten = \"localhost:19750\"",
            "fairways.toml:2: metrics.listen: expected an address and a port such as 127.0.0.1:19750",
        ),
        ("a = ", "fairways.toml:1: "),
        (
            "policy = \"lfoc\"\n[parameters]\nloudness = 1",
            "fairways.toml:3: parameters.loudness: parameters of lfoc: expected one of",
        ),
        (
            "policy = \"lfoc\"\n[parameters]\nwarm_up_intervals = -1",
            "fairways.toml:3: parameters.warm_up_intervals: parameter warm_up_intervals of lfoc",
        ),
    ] {
        let errors = loaded(text, &[]).unwrap_err();
        let [error] = errors.as_slice() else { panic!("{text}: {errors:?}") };
        assert!(error.contains(expected) && error.lines().count() == 1, "{text}: {error}");
    }
}

#[test]
fn each_files_mistake_is_reported() {
    let errors = loaded("policy = 1", &[("a.toml", "observe = 1"), ("b.toml", "[log]\nx = 1")]);
    let errors = errors.unwrap_err();
    for (error, file) in
        errors.iter().zip(["fairways.toml:1", "fairways.toml.d/a.toml:1", "b.toml:2"])
    {
        assert!(error.contains(file), "{error}");
    }
    assert_eq!(errors.len(), 3);
    let program = "[[program]]\nname = \"a\"\nselect = \"pid:1\"\n";
    let errors = loaded(program, &[("a.toml", program)]).unwrap_err();
    assert!(
        errors[0].contains("expected programs of different names, found two \"a\""),
        "{errors:?}"
    );
    let errors = loaded("[log]\ntarget = \"journald\"\nformat = \"json\"", &[]).unwrap_err();
    assert!(errors[0].contains("fairways.toml:3: log.format: expected text"), "{errors:?}");
    let missing = load(Some(Path::new("/nonesuch/fairways.toml"))).unwrap_err();
    assert!(missing[0].contains("/nonesuch/fairways.toml: can't read it"), "{missing:?}");
}

/// The value of a key; of a list of tables, that of the first.
fn below(value: toml::Value, part: &str) -> Option<toml::Value> {
    match value.get(part)? {
        toml::Value::Array(list) if list.first().is_some_and(toml::Value::is_table) => {
            list.first().cloned()
        }
        value => Some(value.clone()),
    }
}

/// docs/config.md has a row for each key, with its default.
#[test]
fn every_key_stands_in_the_documentation_with_its_default() {
    let page = include_str!("../../../../../docs/config.md");
    let defaults = toml::Value::try_from(Config::default()).unwrap();
    let all: toml::Value = toml::from_str(ALL).unwrap();
    let keys = super::keys();
    assert!(keys.len() > 25);
    for key in &keys {
        let within = |value: &toml::Value| key.split('.').try_fold(value.clone(), below);
        assert!(within(&all).is_some(), "{key} is not among all that these tests set");
        let default = within(&defaults).filter(|value| !value.is_table());
        let row = match default {
            Some(default) => format!("| `{key}` | `{default}` |"),
            None => format!("| `{key}` |"),
        };
        assert!(page.lines().any(|line| line.starts_with(&row)), "docs/config.md has no {row}");
    }
    let documented = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(documented, keys.len(), "docs/config.md has rows of no key");
}
