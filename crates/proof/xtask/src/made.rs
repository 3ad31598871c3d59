//! A small checkout for tests: git, a workspace of four crates, a folder `shared` beside it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::inputs::{CheckSubject, Checkout, SuiteInputs, ToolVersions};
use crate::suites::Suites;

/// The checkout's suites: `upper reads` and `upper other`, which reach `middle` and `core`, but not
/// `aside`.
const SUITES: &str = r#"
features = []
suite = []
step = []
[needs]
tracer = { programs = { strace = "strace" } }
[reads]
made-middle = ["tables"]
"#;

const FILES: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[workspace]\nmembers = [\"crates/*/*\"]\nresolver = \"3\"\n[profile.dev]\nopt-level = 1\n",
    ),
    ("rust-toolchain.toml", ""),
    (".gitignore", "/target\n"),
    ("tables/one.csv", "1"),
    ("docs/page.md", "a page"),
    ("docs/named.md", "named"),
    ("notes/page.md", "no input of any suite"),
    ("crates/base/core/src/lib.rs", "#[cfg(test)]\nmod tests;\n"),
    ("crates/base/core/src/tests.rs", ""),
    ("crates/base/policy/src/lib.rs", "mod alpha;\nmod beta;\nmod gamma;\nmod words;\n"),
    ("crates/base/policy/src/words.rs", ""),
    ("crates/base/policy/src/alpha/mod.rs", "use crate::{beta, words};\n"),
    ("crates/base/policy/src/beta/mod.rs", ""),
    ("crates/base/policy/src/gamma/mod.rs", ""),
    (
        "crates/base/middle/src/lib.rs",
        "pub fn f() {}\n\n#[cfg(test)]\nmod tests {\n    // One.\n}\n",
    ),
    ("crates/base/middle/tests/own.rs", ""),
    ("crates/base/aside/src/lib.rs", ""),
    ("crates/base/upper/src/lib.rs", ""),
    ("crates/base/upper/tests/reads.rs", "const NAMED: &str = \"../../../docs/named.md\";\n"),
    ("crates/base/upper/tests/other/main.rs", "mod part;\n"),
    ("crates/base/upper/tests/other/part.rs", ""),
    ("crates/base/upper/tests/common/mod.rs", ""),
    ("crates/base/upper/benches/speed.rs", ""),
];

const CRATES: [(&str, &[&str]); 5] = [
    ("core", &[]),
    ("policy", &["core"]),
    ("middle", &["core", "policy"]),
    ("aside", &["core"]),
    ("upper", &["middle"]),
];

pub(crate) struct MadeCheckout {
    /// Removed with it.
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) suites: Suites,
    pub(crate) tools: ToolVersions,
}

impl MadeCheckout {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("checkout");
        let tools = ToolVersions {
            common: vec!["rustc 1".to_owned()],
            running: "Linux 6".to_owned(),
            needs: [("tracer".to_owned(), "strace 6".to_owned())].into(),
        };
        let made = Self { _folder: folder, root, suites: toml::from_str(SUITES).unwrap(), tools };
        for (file, text) in FILES {
            made.write(file, text);
        }
        for (name, imports) in CRATES {
            let mut manifest = format!(
                "[package]\nname = \"made-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n"
            );
            for import in imports {
                manifest += &format!("made-{import} = {{ path = \"../{import}\" }}\n");
            }
            made.write(&format!("crates/base/{name}/Cargo.toml"), &manifest);
        }
        made.write("../shared/golden/a.csv", "2");
        let mut cargo = Command::new("cargo");
        cargo.args(["generate-lockfile", "--offline"]).current_dir(&made.root);
        assert!(cargo.output().unwrap().status.success());
        made.git(&["init", "--quiet"]);
        made
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Puts a line before those of a file.
    pub(crate) fn touch(&self, file: &str) {
        let path = self.root.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("# touched\n{text}")).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        self.git_at(arguments, 1_700_000_000);
    }

    /// Runs git at a time in seconds since 1970.
    pub(crate) fn git_at(&self, arguments: &[&str], time: u64) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=made", "-c", "user.email=made@localhost"]).args(arguments);
        for variable in ["GIT_COMMITTER_DATE", "GIT_AUTHOR_DATE"] {
            git.env(variable, format!("{time} +0000"));
        }
        let output = git.current_dir(&self.root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    pub(crate) fn checkout(&self) -> Checkout {
        Checkout::read(&self.root, &[], &self.suites.reads, self.tools.clone()).unwrap()
    }

    /// The suite `upper reads`.
    pub(crate) fn subject(&self) -> CheckSubject {
        CheckSubject {
            name: "upper reads".to_owned(),
            package: Some("made-upper".to_owned()),
            test: Some("reads".to_owned()),
            is_of_the_system: true,
            data: ["docs/page.md", "shared/golden"].map(str::to_owned).into(),
            needs: vec!["tracer".to_owned()],
            command: vec!["--skip".to_owned(), "slow".to_owned()],
            profile: self.suites.profile(&self.root).unwrap(),
            ..CheckSubject::default()
        }
    }

    pub(crate) fn inputs(&self) -> SuiteInputs {
        self.checkout().inputs(&self.subject()).unwrap()
    }
}
