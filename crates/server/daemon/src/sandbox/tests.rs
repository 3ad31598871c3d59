//! A limit applies to the thread that sets it, and those that it starts: each test has a thread of
//! its own.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;
use std::thread;

use super::enter;
use crate::config::Config;

/// A configuration whose folders are all below one, and that folder.
fn below_one() -> (Config, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config { policy: "equal".to_owned(), ..Config::default() };
    config.counters.source = "none".parse().unwrap();
    config.resctrl.root = folder.path().join("resctrl");
    config.resctrl.state = folder.path().join("state");
    config.control.socket = folder.path().join("run/socket");
    for made in ["resctrl", "state", "run", "elsewhere"] {
        fs::create_dir(folder.path().join(made)).unwrap();
    }
    fs::write(folder.path().join("elsewhere/file"), "as it was").unwrap();
    (config, folder)
}

#[test]
fn files_are_changed_below_its_folders_only() {
    let (config, folder) = below_one();
    let at = |path: &str| folder.path().join(path);
    thread::scope(|scope| {
        let limited = scope.spawn(|| {
            let sandbox = enter(&config);
            if sandbox.files != "limited by Landlock" {
                return fairways_testing::needs::withheld("files_are_changed", &sandbox.files);
            }
            for allowed in ["resctrl/a", "state/a", "run/a"] {
                fs::write(at(allowed), "new").unwrap();
            }
            fs::rename(at("resctrl/a"), at("resctrl/b")).unwrap();
            assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), "as it was");
            let refused = |done: std::io::Result<()>| {
                assert_eq!(done.unwrap_err().kind(), ErrorKind::PermissionDenied);
            };
            refused(fs::write(at("elsewhere/file"), "overwritten"));
            refused(fs::write(at("elsewhere/new"), "made"));
            refused(fs::remove_file(at("elsewhere/file")));
            refused(fs::create_dir(at("elsewhere/folder")));
            refused(std::os::unix::fs::symlink("/", at("elsewhere/link")));
        });
        limited.join().unwrap();
    });
    // Others are not limited.
    assert_eq!(fs::read_to_string(at("elsewhere/file")).unwrap(), "as it was");
    fs::write(at("elsewhere/file"), "mine").unwrap();
}

#[test]
fn programs_are_not_started_and_capabilities_are_gone() {
    let (mut config, _folder) = below_one();
    config.dry_run = true;
    let sandbox = thread::spawn(move || {
        let sandbox = enter(&config);
        let started = Command::new("true").status();
        assert_eq!(started.unwrap_err().kind(), ErrorKind::PermissionDenied);
        sandbox
    });
    let sandbox = sandbox.join().unwrap();
    assert_eq!(sandbox.system_calls, "limited by seccomp");
    let kept: &[&str] =
        if super::capabilities::processes_are_reported_to_all() { &[] } else { &["CAP_NET_ADMIN"] };
    assert!(sandbox.capabilities.iter().all(|name| kept.contains(&name.as_str())), "{sandbox:?}");
    assert!(Command::new("true").status().unwrap().success(), "others are not limited");
}

/// Each feature asks for the capabilities in the table of SECURITY.md.
#[test]
fn a_configuration_asks_for_what_its_features_need() {
    use rustix::thread::CapabilitySet as Set;
    let needed = |change: &dyn Fn(&mut Config)| {
        let (mut config, _folder) = below_one();
        change(&mut config);
        // Whether these two are needed depends on the kernel and the distribution.
        super::needed(&config) - Set::NET_ADMIN - Set::SYS_ADMIN
    };
    // Here the owner may write to the folder that stands in for resctrl's root.
    assert_eq!(needed(&|_| ()), Set::empty());
    assert_eq!(
        needed(&|config| config.resctrl.root = "/proc/self/fdinfo".into()),
        Set::DAC_OVERRIDE
    );
    assert_eq!(
        needed(&|config| config.counters.source = "perf".parse().unwrap()) - Set::BPF,
        Set::PERFMON
    );
    let schedules = needed(&|config| config.policy = "casc".to_owned());
    assert_eq!(schedules - Set::BPF, Set::PERFMON | Set::SYS_NICE);
    assert_eq!(schedules.contains(Set::BPF), cfg!(feature = "sched-ext"));
    let left = needed(&|config| {
        fs::write(config.resctrl.state.join("schedule.json"), "{}").unwrap();
    });
    assert_eq!(left, Set::SYS_NICE);
    assert_eq!(
        needed(&|config| {
            config.resctrl.root = "/proc/self/fdinfo".into();
            config.dry_run = true;
        }),
        Set::empty()
    );
}
