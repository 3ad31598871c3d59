//! What is not run or compared as the pages show it, with the reason.

use fairways_testing::needs::Need;

/// A command that is run in another form than the page shows.
pub(crate) struct Named {
    pub(crate) page: &'static str,
    /// How the command begins.
    pub(crate) command: &'static str,
    pub(crate) instead: Instead,
    pub(crate) why: &'static str,
}

/// What is run in place of a command.
#[derive(Clone, Copy)]
pub(crate) enum Instead {
    /// Nothing.
    Nothing,
    /// This.
    Run(&'static str),
    /// The command, with each first text replaced by the second.
    With(&'static [(&'static str, &'static str)]),
}
use Instead::{Nothing, Run, With};

/// Files that the reader is assumed to have, made before the page's first command.
pub(crate) struct Given {
    pub(crate) page: &'static str,
    pub(crate) script: &'static str,
}

/// Output that may differ in some bytes.
pub(crate) struct Output {
    pub(crate) page: &'static str,
    /// How the block that prints it begins.
    pub(crate) block: &'static str,
    pub(crate) like: Like,
    pub(crate) why: &'static str,
}

/// How much of an output is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Like {
    /// All text; numbers with a fraction need only be within a quarter of each other, and times
    /// since the beginning may differ.
    Nearly,
    /// All but numbers, bars, and the widths of columns.
    Shape,
    /// Nothing here: another test checks the page.
    Elsewhere,
}

/// Where pages put things; each has its own, `$PAGE`.
pub(crate) const TEMPORARY: &str = "/tmp/";

/// In replacements: a TCP port on which nothing listens.
pub(crate) const FREE_PORT: &str = "FREE_PORT";

/// What pages need of this system.
pub(crate) const NEEDS: &[(&str, &[Need])] = &[
    ("docs/daemon.md", &EMULATOR),
    ("docs/emulator.md", &EMULATOR),
    ("docs/noisy-neighbour.md", &EMULATOR),
    ("docs/quick-start.md", &EMULATOR),
    ("docs/scheduling.md", &EMULATOR),
    ("docs/chip.md", &[Need::Program("qemu-x86_64"), Need::Program("redis-benchmark")]),
    ("docs/profile.md", &[Need::Program("qemu-x86_64"), Need::Program("xz")]),
    ("docs/streams.md", &[Need::Program("qemu-x86_64"), Need::Program("xz")]),
    ("docs/traces.md", &[Need::Program("valgrind")]),
];

const EMULATOR: [Need; 3] = [Need::Root, Need::Fuse, Need::Program("unshare")];

const WORKSPACE: &str = "the whole test suite, of which this test is a part";
const NO_HOST: &str = "what `doctor` says of a machine without resctrl ends with another code";
const PACKAGES: &str =
    "crates/proof/doors/tests/packages makes and installs the packages, in a container of its own";
const CLUSTER: &str = "it needs a registry and a cluster; crates/server/fairways/tests/kubernetes has the files judged";
const INSTALLS: &str = "tests install nothing; what is tested is what cargo test built";
const FEATURE: &str = "minutes, and clang; cargo xtask ci builds with the feature, without optimisation, and tries it in the kernel lab";
const IN_FOLDER: &str = "into the page's folder";
const WHEEL: &str =
    "crates/lab/python/tests/wheel builds the wheel, and installs it into an environment";
const FOREVER: &str = "it runs until it is stopped";
const MINUTES: &str =
    "seconds to minutes; crates/lab/fairways-lab/tests/paper*.rs run them with --quick";

const SLOW: &str = "it takes half a minute; on a smaller scale of time it is the same command";
const TENTH: Instead = With(&[("--time-scale 0.1", "--time-scale 0.002")]);
const LARGE: Instead = With(&[("--time-scale 0.1", "--time-scale 0.001")]);
const TWENTIETH: Instead = With(&[("--time-scale 0.05", "--time-scale 0.0005")]);

const fn named(
    page: &'static str,
    command: &'static str,
    instead: Instead,
    why: &'static str,
) -> Named {
    Named { page, command, instead, why }
}

/// The commands that are run in another form.
pub(crate) const NAMED: &[Named] = &[
    named("README.md", "cargo install", Nothing, INSTALLS),
    named("README.md", "fairways doctor", Run("fairways doctor || test $? = 3"), NO_HOST),
    named("README.md", "cargo test --workspace", Nothing, WORKSPACE),
    named("CONTRIBUTING.md", "cargo test --workspace", Nothing, WORKSPACE),
    named("CONTRIBUTING.md", "cargo xtask", Nothing, WORKSPACE),
    named("docs/python.md", "pip install", Nothing, WHEEL),
    named("docs/python.md", "maturin build", Nothing, WHEEL),
    named("docs/install.md", "packaging/build", Nothing, PACKAGES),
    named("docs/install.md", "sudo apt-get install", Nothing, PACKAGES),
    named("docs/install.md", "sudo rpm --install", Nothing, PACKAGES),
    named("docs/install.md", "fairways doctor", Run("fairways doctor || test $? = 3"), NO_HOST),
    named(
        "docs/install.md",
        "fairways config check",
        Run("fairways config check $PROJECT/packaging/fairways.toml"),
        "the configuration that is installed, from where it comes",
    ),
    named("docs/install.md", "systemctl start", Nothing, PACKAGES),
    named("docs/install.md", "systemctl enable", Nothing, PACKAGES),
    named("docs/install.md", "fairways status", Nothing, PACKAGES),
    named("docs/install.md", "cargo install", Nothing, INSTALLS),
    named("docs/install.md", "cargo build -p fairways --release", Nothing, FEATURE),
    named("docs/install.md", "fairways man", With(&[("/usr/local/share/man", "man")]), IN_FOLDER),
    named(
        "docs/install.md",
        "fairways completions",
        With(&[("/usr/local/share/bash-completion/completions/fairways", "completions")]),
        IN_FOLDER,
    ),
    named("docs/kubernetes.md", "podman", Nothing, CLUSTER),
    named("docs/kubernetes.md", "kubectl", Nothing, CLUSTER),
    named("docs/kubernetes.md", "helm", Nothing, CLUSTER),
    named("docs/kubernetes.md", "diff before.yaml", Nothing, CLUSTER),
    named(
        "docs/metrics.md",
        "curl",
        Nothing,
        "it asks a daemon that runs; crates/proof/doors/tests/metrics/values.rs has one, and promtool judge it",
    ),
    named(
        "docs/report.md",
        "fairways-lab simulate --dynamic",
        With(&[("--dynamic", "--dynamic --mix lbm,svm-train")]),
        "of twelve mixes it takes a minute in a build for tests",
    ),
    named(
        "docs/report.md",
        "fairways-lab paper lfoc",
        Run("fairways-lab optimum --mix lbm,svm-train --json > lfoc.json"),
        "a minute in a build for tests; crates/lab/fairways-lab/tests/report shows a paper's claims",
    ),
    named("docs/daemon.md", "fairways doctor", Run("fairways doctor || test $? = 3"), NO_HOST),
    named(
        "docs/daemon.md",
        "mount -t resctrl",
        Run(
            "mkdir here && { fairways-lab emulate --quiet --machine chip:xeon-e5 --programs lookbusy $PAGE/here & } && \
             until [ -e here/schemata ]; do sleep 0.1; done",
        ),
        "an emulator's mount stands for the kernel's",
    ),
    named(
        "docs/daemon.md",
        "fairways run --dry-run --duration 30s",
        Run(
            "fairways run --resctrl-root $PAGE/here --state $PAGE/state --control $PAGE/socket --counters none \
             --dry-run --duration 1s --program web=unit:nginx.service --program 'batch=process:make'",
        ),
        "on the emulator's mount, for a second",
    ),
    named(
        "docs/daemon.md",
        "fairways run --program",
        Run(
            "fairways run --resctrl-root $PAGE/here --state $PAGE/state --control $PAGE/socket --counters none \
             --duration 1s --program web=unit:nginx.service --program 'batch=process:make'; umount here",
        ),
        FOREVER,
    ),
    named(
        "docs/daemon.md",
        "fairways restore",
        Run("fairways restore --resctrl-root $here/resctrl --state $here/state"),
        "on the emulator's mount",
    ),
    named(
        "docs/scan.md",
        "fairways scan --duration 1m",
        With(&[(" 1m", " 200ms")]),
        "it takes a minute there",
    ),
    named(
        "docs/trial.md",
        "fairways trial --program",
        Nothing,
        "it takes ten minutes on a host; crates/proof/doors/tests/daemon/tried.rs has one on the emulator",
    ),
    named(
        "docs/emulator.md",
        "fairways-lab emulate --machine",
        Run(
            "fairways-lab emulate --machine chip:xeon-e5 --programs mlr:8M,mload:60M,lookbusy $PAGE/resctrl & \
             until [ -e $PAGE/resctrl/schemata ]; do sleep 0.1; done",
        ),
        "the page has it in a terminal of its own",
    ),
    named(
        "docs/top.md",
        "fairways top",
        Nothing,
        "it takes the whole terminal; crates/proof/doors/tests/top has it on one",
    ),
    named(
        "docs/top.md",
        "fairways-lab top",
        Nothing,
        "it takes the whole terminal; crates/proof/doors/tests/top has it on one",
    ),
    named("docs/scheduling.md", "fairways doctor", Run("fairways doctor || test $? = 3"), NO_HOST),
    named(
        "docs/scheduling.md",
        "fairways run --policy casc",
        Run(
            "fairways run --policy casc --scheduler affinity --counters profiles --state $PAGE/state --control $PAGE/socket \
             --duration 1s --program web=unit:nginx.service --program 'batch=process:make'",
        ),
        FOREVER,
    ),
    named(
        "docs/scheduling.md",
        "fairways run --policy cache-fair",
        Run(
            "fairways run --policy cache-fair --scheduler affinity --counters profiles --state $PAGE/state --control $PAGE/socket \
             --duration 1s --config fairways.toml",
        ),
        FOREVER,
    ),
    named("docs/paper.md", "fairways-lab paper", Nothing, MINUTES),
    named(
        "docs/own-policy.md",
        "cargo run -p fairways-policy",
        Nothing,
        "crates/base/policy/tests/own_policy.rs holds the page to what it prints",
    ),
    named("docs/quick-start.md", "cargo install", Nothing, INSTALLS),
    named(
        "docs/quick-start.md",
        "fairways top --control",
        Run(
            "fairways top --once --control $here/fairways.sock > screen; grep -q '^  A reader ' screen",
        ),
        "it takes the whole terminal, but for --once",
    ),
    named(
        "docs/resctrl.md",
        "FAIRWAYS_FIDELITY=1000 cargo test",
        Nothing,
        "crates/proof/kernel-lab/tests/fidelity does 60 of the thousand",
    ),
    named(
        "docs/profiles.md",
        "cargo run -p fairways-profiles --example generate",
        Nothing,
        "a test in crates/lab/profiles holds the file to what is written",
    ),
    named(
        "docs/policies/fairways-worst.md",
        "cargo run --release -p fairways-experiments --example fairways_worst",
        Nothing,
        "minutes; crates/lab/experiments/tests/corpus.rs holds the page's plans to the model",
    ),
    named(
        "docs/lfoc-online.md",
        "cargo run --release -p fairways-experiments --example lfoc_online",
        Nothing,
        "two minutes; crates/lab/experiments/tests/lfoc_online.rs holds it on fewer mixes",
    ),
    named(
        "docs/chip.md",
        "fairways-lab simulate --machine chip:xeon-e5 --programs mlr",
        LARGE,
        SLOW,
    ),
    named("docs/chip.md", "fairways-lab run --machine chip:xeon-e5", LARGE, SLOW),
    named("docs/chip.md", "fairways-lab run --machine chip:t1", TENTH, SLOW),
    named("docs/chip.md", "fairways-lab simulate --machine chip:t1-single", TENTH, SLOW),
    named(
        "docs/chip.md",
        "fairways-lab simulate --machine chip:xeon-e5 --time-scale 0.1 --policies stock,static,dcat \\\n    \
         --programs 'live:overlap",
        With(&[
            ("--time-scale 0.1", "--time-scale 0.001"),
            ("stock,static,dcat", "dcat --warm-up 100ms --duration 200ms"),
            ("-n 300000 -r 100000 -d 128 -P 64", "-n 1000 -r 100000 -d 128 -P 64 -c 1"),
            ("7000", FREE_PORT),
        ]),
        "crates/lab/experiments/tests/real_redis.rs has a server with all its records, and compares",
    ),
    named("docs/chip.md", "fairways-lab simulate --machine chip:xeon-e5 --time-scale", LARGE, SLOW),
    named("docs/policies/casc.md", "fairways-lab run --machine chip:t1", TENTH, SLOW),
    named("docs/policies/cache-fair.md", "fairways-lab simulate --machine chip:t1", TENTH, SLOW),
    named(
        "docs/policies/locpart.md",
        "fairways-lab run --machine",
        With(&[("--time-scale 0.1", "--time-scale 0.0002")]),
        SLOW,
    ),
    named("docs/policies/locpart.md", "fairways-lab simulate --machine", LARGE, SLOW),
    named("docs/profile.md", "apt-get install qemu-user", Nothing, "tests install nothing"),
    named("docs/streams.md", "apt-get install qemu-user", Nothing, "tests install nothing"),
    named("docs/streams.md", "fairways-lab simulate --machine", TWENTIETH, SLOW),
    named("docs/traces.md", "fairways-lab simulate --machine", TWENTIETH, SLOW),
];

/// The files that the reader has.
pub(crate) const GIVEN: &[Given] = &[
    Given { page: "docs/profile.md", script: "seq 20000 > text" },
    Given { page: "docs/streams.md", script: "seq 900000 > text" },
    Given { page: "docs/traces.md", script: "seq 2000 > text" },
    Given { page: "docs/chip.md", script: "seq 20000 > text" },
    Given {
        page: "docs/scheduling.md",
        script: "printf '[[program]]\\nname = \"batch\"\\nselect = \"process:make\"\\nbest_effort = true\\n' > fairways.toml",
    },
];

/// The outputs that are compared in another way.
pub(crate) const OUTPUTS: &[Output] = &[
    Output {
        page: "docs/profile.md",
        block: "apt-get install qemu-user",
        like: Like::Shape,
        why: "the text that xz is given is the reader's, and how long it takes is up to the machine",
    },
    Output {
        page: "docs/own-policy.md",
        block: "cargo run -p fairways-policy",
        like: Like::Elsewhere,
        why: "crates/base/policy/tests/own_policy.rs",
    },
    Output {
        page: "docs/quick-start.md",
        block: "fairways run --config $here/fairways.toml --log-level error & daemon=$!\nuntil",
        like: Like::Nearly,
        why: "a daemon that runs is asked, at whatever instant",
    },
];
