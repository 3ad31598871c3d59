//! A machine for a package: this machine's files below an overlay, and systemd as process 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use fairways_testing::needs::{Need, find, has, withheld};

/// What no booted machine may do, because it would affect the kernel that all share.
const LOST: &str = "--bounding-set=-sys_module,-sys_rawio,-sys_time,-sys_boot";

/// How long anything may take. It ends sooner if all is well, however busy this machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// The machine, and everything that ends with it.
pub(crate) struct Machine {
    unshare: Child,
    /// Its process 1, as this machine numbers it.
    first: u32,
    cgroup: String,
    folder: tempfile::TempDir,
    /// Two at a time would disturb each other on a small machine.
    _alone: MutexGuard<'static, ()>,
}

impl Machine {
    /// Boots it with [`packages`] at /mnt/packages; prints the reason and returns `None` where that
    /// is not possible.
    pub(crate) fn boot() -> Option<Self> {
        let booted = Self::boot_by(&std::env::var("PATH").unwrap());
        booted.inspect_err(|why| withheld("packages", why)).ok()
    }

    /// Boots it with the programs of that `PATH`; the error names what is withheld.
    fn boot_by(path: &str) -> Result<Self, String> {
        static ALONE: Mutex<()> = Mutex::new(());
        let packages = packages().now.parent().unwrap();
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packages/machine.sh");
        let cgroup = format!("fairways-packages-{}", folder.path().file_name().unwrap().display());
        let said = folder.path().join("log");
        // Neither it nor its processes outlive the test.
        let unshare = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "bash"])
            .arg(script)
            .args([folder.path(), packages, Path::new(&cgroup)])
            .arg(LOST.trim_start_matches("--bounding-set="))
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let mut machine = Self { unshare, first: 0, cgroup, folder, _alone: alone };
        let began = Instant::now();
        while !machine.is_up() {
            let log = || fs::read_to_string(&said).unwrap();
            if let Some(status) = machine.unshare.try_wait().unwrap() {
                assert_eq!(status.code(), Some(77), "{}", log());
                return Err(log().trim().replace('\n', ": "));
            }
            assert!(began.elapsed() < PATIENCE, "it does not boot: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
        machine.is_apart();
        Ok(machine)
    }

    /// Checks that its network is not this machine's, and that it lacks the dangerous capabilities.
    fn is_apart(&self) {
        let network = fs::read_link("/proc/self/ns/net").unwrap();
        let status = format!("/proc/{}/status", self.first);
        let of_first = fs::read_to_string(status).unwrap();
        for (network_there, status) in [
            (fs::read_link(format!("/proc/{}/ns/net", self.first)).unwrap(), of_first),
            (
                self.run("readlink /proc/self/ns/net").trim().into(),
                self.run("cat /proc/self/status"),
            ),
        ] {
            assert_ne!(network_there, network);
            let may = status.lines().find_map(|line| line.strip_prefix("CapBnd:\t")).unwrap();
            let may = u64::from_str_radix(may, 16).unwrap();
            // SYS_MODULE, SYS_RAWIO, SYS_BOOT, SYS_TIME (linux/capability.h).
            assert!(
                [16, 17, 22, 25].iter().all(|capability| may >> capability & 1 == 0),
                "{may:x}"
            );
        }
    }

    /// The folder where only the machine sees its files.
    fn root(&self) -> PathBuf {
        self.folder.path().join("machine/root")
    }

    fn is_up(&mut self) -> bool {
        let id = self.unshare.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let Some(first) = children.ok().and_then(|all| all.trim().parse().ok()) else {
            return false;
        };
        let is_systemd = fs::read_to_string(format!("/proc/{first}/comm"));
        self.first = first;
        is_systemd.is_ok_and(|name| name.trim() == "systemd")
            && self.output("systemctl is-active --quiet packages.target").status.success()
    }

    /// Runs a shell command there, for a minute at most.
    pub(crate) fn output(&self, line: &str) -> Output {
        Command::new("nsenter")
            .args([
                "--mount",
                "--pid",
                "--uts",
                "--ipc",
                "--net",
                "--cgroup",
                "--target",
                &self.first.to_string(),
                "setpriv",
                LOST,
                "chroot",
            ])
            .arg(self.root())
            .args(["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "HOME=/root"])
            .args(["DEBIAN_FRONTEND=noninteractive", "timeout"])
            .arg(PATIENCE.as_secs().to_string())
            .args(["bash", "-c", line])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The output of a shell command that has to succeed.
    pub(crate) fn run(&self, line: &str) -> String {
        let Output { status, stdout, stderr } = self.output(line);
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(status.success(), "{line}: {status}: {stdout}{stderr}{}", self.journal());
        stdout
    }

    /// The last messages of its units.
    pub(crate) fn journal(&self) -> String {
        let output = self.output("journalctl --no-pager --lines 25 --output cat");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Every file in the folders where packages put theirs: kind, mode, owner, link target and,
    /// below /etc, a checksum. Files that logs, dpkg and systemd's timers change all the time are
    /// left out.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let listed = self.run(
            r"find /etc /usr/bin /usr/lib/systemd /usr/share /var -xdev -printf '%p %y %m %U:%G %l\n'; \
              find /etc -xdev -type f -exec sha256sum {} +",
        );
        let kept = [
            "/var/log/",
            "/var/lib/dpkg/",
            "/var/lib/systemd/timers/",
            "/var/lib/systemd/random-seed",
            "/var/cache/",
            "/var/tmp/",
        ];
        let other = |line: &&str| !kept.iter().any(|kept| line.starts_with(kept));
        listed.lines().filter(other).map(str::to_owned).collect()
    }

    /// Mounts the emulator in place of resctrl, with two programs of one process each.
    pub(crate) fn emulate(&self) {
        self.run(
            "systemd-run --quiet --unit=emulator fairways-lab emulate --machine chip:xeon-d:cores=4:sets=1024 \
             --time-scale 0.1 --programs mlr:500K,lookbusy /sys/fs/resctrl",
        );
        self.eventually("test -e /sys/fs/resctrl/schemata");
    }

    /// Runs `fairways doctor` and checks the exit code, the last line (the verdict), and that a
    /// line begins with `found`.
    pub(crate) fn doctor_says(&self, code: i32, verdict: &str, found: &str) {
        let Output { status, stdout, stderr } = self.output("fairways doctor");
        let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
        let said = format!("{status}: {stdout}{stderr}");
        assert_eq!(status.code(), Some(code), "{said}");
        assert_eq!(stdout.lines().last(), Some(verdict), "{said}");
        assert!(stdout.lines().any(|line| line.starts_with(found)), "no '{found}': {said}");
        assert_eq!(stderr, "");
    }

    /// Starts a daemon that no package's service started, and waits until it manages.
    pub(crate) fn run_by_hand(&self) {
        self.run(
            "systemd-run --quiet --unit=by-hand --property=RuntimeDirectory=fairways fairways run",
        );
        self.eventually("ls -d /sys/fs/resctrl/fairways.*");
    }

    /// The properties of the service, by name.
    pub(crate) fn properties(&self, names: &str) -> BTreeMap<String, String> {
        let shown = self.run(&format!("systemctl show fairways --property {names}"));
        let pairs = shown.lines().map(|line| line.split_once('=').unwrap());
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Waits until a shell command succeeds, for a minute at most.
    pub(crate) fn eventually(&self, line: &str) {
        let began = Instant::now();
        while !self.output(line).status.success() {
            assert!(began.elapsed() < PATIENCE, "{line}: {}", self.journal());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
        if !self.folder.path().join("cgroup").exists() {
            return;
        }
        // Its cgroups stay until they are removed, which fails as long as a process in them is
        // ending.
        let line = "mount -t cgroup2 cgroup2 \"$0\" && cd \"$0\" && for i in $(seq 1200); do [ -d \"$1\" ] || exit 0; \
                    find \"$1\" -depth -type d -exec rmdir {} + 2> /dev/null; sleep 0.05; done; exit 1";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", line]);
        command.arg(self.folder.path().join("machine")).arg(&self.cgroup);
        let removed = command.status().is_ok_and(|status| status.success());
        assert!(removed || std::thread::panicking(), "{} is left", self.cgroup);
    }
}

/// Where the kernel, or the container that tests run in, withholds a mount or namespaces, the error
/// says which; nothing stays behind, and no test fails.
#[test]
fn a_machine_that_is_not_available_is_reported_and_leaves_nothing() {
    if !can(&[]) {
        return;
    }
    for (program, refused) in [
        ("mount", "-t overlay"),
        ("mount", "-t cgroup2"),
        ("mount", "-t proc"),
        ("mount", "--bind"),
        ("mount", "-t tmpfs"),
        ("unshare", "--net"),
        ("unshare", "--cgroup"),
        ("setpriv", "--bounding-set"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/sh\ncase \" $*\" in *' {refused}'*) echo \"$0: no\" >&2; exit 1;; esac\nexec {} \"$@\"\n",
            find(program).unwrap().display()
        );
        let refuses = folder.path().join(program);
        fs::write(&refuses, script).unwrap();
        fs::set_permissions(&refuses, Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let error = Machine::boot_by(&path).err().unwrap();
        let said = format!("{}: no: {program} ", refuses.display());
        assert!(error.starts_with(&said) && error.ends_with(" is refused"), "{error}");
        assert!(error.contains(refused), "{error}");
    }
}

/// Whether this system lets a test boot a machine, and has these programs.
pub(crate) fn can(programs: &[&'static str]) -> bool {
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let all = ["systemd-analyze", "strip", "dbus-daemon", "dpkg-deb", "dpkg-shlibdeps", "rpmbuild"]
        .iter()
        .chain(programs);
    let programs = all.map(|name| Need::Program(name));
    has(&test, &[Need::Root, Need::Fuse].into_iter().chain(programs).collect::<Vec<_>>())
}

/// Folders with the packages of this build's binary, and with those of a later version; made once.
pub(crate) struct Packages {
    pub(crate) now: PathBuf,
    pub(crate) newer: PathBuf,
}

/// Unchanged.
pub(crate) fn packages() -> &'static Packages {
    static MADE: OnceLock<Packages> = OnceLock::new();
    MADE.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
        let _ = fs::remove_dir_all(&all);
        let (now, newer) = (all.join("now"), all.join("newer"));
        make(&now, &[]);
        make(&newer, &["--version", "99.0"]);
        Packages { now, newer }
    })
}

/// Makes packages in a folder, with these arguments; returns their paths.
pub(crate) fn make(folder: &Path, args: &[&str]) -> Vec<PathBuf> {
    let output =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/build"))
            .arg("--programs")
            .arg(stripped())
            .arg("--out")
            .arg(folder)
            .arg("--quick")
            .args(args)
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .output()
            .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let packages: Vec<PathBuf> = printed.lines().map(PathBuf::from).collect();
    assert!(packages.iter().all(|package| package.is_file()), "{packages:?}");
    packages
}

/// This build's programs without debug information, which takes long to remove, in a folder.
fn stripped() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        fs::create_dir_all(&to).unwrap();
        for door in [fairways_doors::fairways(), fairways_doors::fairways_lab()] {
            let mut strip = Command::new("strip");
            strip.arg("-o").arg(to.join(door.file_name().unwrap())).arg(door);
            assert!(strip.status().unwrap().success());
        }
        to
    })
}
