//! The files in the packages, and nothing more.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairways_testing::needs::{Need, has};

use super::machine::{make, packages};

fn printed(program: &str, args: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(args).arg(file).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The paths of all files, without the documentation.
fn paths(listed: &str) -> BTreeSet<String> {
    let paths = listed
        .lines()
        .filter(|line: &&str| !line.ends_with('/'))
        .map(|line| line.trim_start_matches('.').to_owned());
    paths.filter(|path| !path.starts_with("/usr/share/doc/")).collect()
}

/// Packages that are made twice have the same bytes; both kinds have the same files, except for the
/// places of zsh's completions and of licences.
#[test]
fn packages_are_reproducible_and_have_the_same_files() {
    let needs = ["dpkg-deb", "dpkg-shlibdeps", "rpmbuild", "rpm", "strip"];
    if !has("the packages", &needs.map(Need::Program)) {
        return;
    }
    let again = tempfile::tempdir().unwrap();
    let made = make(again.path(), &[]);
    assert_eq!(made.len(), 4);
    let first: Vec<PathBuf> =
        made.iter().map(|one| packages().now.join(one.file_name().unwrap())).collect();
    for (one, two) in first.iter().zip(&made) {
        assert!(fs::read(one).unwrap() == fs::read(two).unwrap(), "{} differs", one.display());
    }
    let later = fs::read_dir(&packages().newer).unwrap().map(|one| one.unwrap().file_name());
    assert!(later.into_iter().all(|name| name.to_str().unwrap().contains("99.0")));
    let files = |of: &[PathBuf]| {
        let listed = printed("sh", &["-c", "dpkg-deb --fsys-tarfile \"$0\" | tar t"], &of[0]);
        let in_rpm = printed("rpm", &["--query", "--list", "--package"], &of[1]);
        let folders = |path: &String| {
            !["/etc/fairways", "/etc/fairways/fairways.toml.d"].contains(&path.as_str())
        };
        let rpm: BTreeSet<String> = paths(&in_rpm).into_iter().filter(folders).collect();
        [paths(&listed), rpm]
    };
    let [deb, rpm] = files(&first[..2]);
    let [lab, lab_rpm] = files(&first[2..]);
    for path in [
        "/usr/bin/fairways-lab",
        "/usr/share/man/man1/fairways-lab.1.gz",
        "/usr/share/man/man1/fairways-lab-run.1.gz",
        "/usr/share/bash-completion/completions/fairways-lab",
        "/usr/share/fish/vendor_completions.d/fairways-lab.fish",
    ] {
        assert!(lab.contains(path) && lab_rpm.contains(path), "{path}: {lab:?} {lab_rpm:?}");
    }
    // A student never meets systemd, and both may be installed.
    assert!(!lab.iter().any(|path| path.contains("systemd") || path.starts_with("/etc")));
    assert_eq!(deb.intersection(&lab).collect::<Vec<_>>(), Vec::<&String>::new());
    for path in [
        "/usr/bin/fairways",
        "/usr/lib/systemd/system/fairways.service",
        "/usr/lib/systemd/system/sys-fs-resctrl.mount",
        "/usr/share/fairways/fairways.toml",
        "/usr/share/fairways/grafana/fairways-fleet.json",
        "/usr/share/fairways/grafana/fairways.json",
        "/usr/share/fairways/prometheus/fairways-fleet.rules.yml",
        "/usr/share/fairways/prometheus/fairways.rules.yml",
        "/usr/share/fairways/slurm/fairways-epilog",
        "/usr/share/fairways/slurm/fairways-prolog",
        "/usr/share/fairways/systemd/counting.conf",
        "/usr/share/fairways/systemd/exec.conf",
        "/usr/share/fairways/systemd/scheduling.conf",
        "/usr/share/fairways/systemd/sched-ext.conf",
        "/etc/fairways/fairways.toml",
        "/usr/share/man/man1/fairways-run.1.gz",
        "/usr/share/man/man5/fairways.toml.5.gz",
        "/usr/share/bash-completion/completions/fairways",
        "/usr/share/fish/vendor_completions.d/fairways.fish",
    ] {
        assert!(deb.contains(path) && rpm.contains(path), "{path}: {deb:?} {rpm:?}");
    }
    let apart: BTreeSet<&str> = deb.symmetric_difference(&rpm).map(String::as_str).collect();
    let expected = [
        "/usr/share/fairways",
        "/usr/share/fairways/grafana",
        "/usr/share/fairways/prometheus",
        "/usr/share/fairways/slurm",
        "/usr/share/fairways/systemd",
        "/usr/share/licenses/fairways",
        "/usr/share/licenses/fairways/LICENSE-APACHE",
        "/usr/share/licenses/fairways/LICENSE-MIT",
        "/usr/share/licenses/fairways/THIRD-PARTY",
        "/usr/share/zsh/site-functions/_fairways",
        "/usr/share/zsh/vendor-completions/_fairways",
    ];
    assert_eq!(apart, BTreeSet::from(expected));
}

/// Everything that is linked into the binary is listed with its licences, and the package's own
/// licence field has them all.
#[test]
fn licences_of_others_are_listed() {
    let needs = ["dpkg-deb", "dpkg-shlibdeps", "rpmbuild", "rpm", "strip"];
    if !has("licences of others", &needs.map(Need::Program)) {
        return;
    }
    for (program, some, licence, debians) in [
        (
            "fairways",
            &["rustix ", "clap ", "libbpf-sys ", "libbpf, ", "The standard library of Rust"][..],
            "(MIT OR Apache-2.0) AND MIT AND Apache-2.0 AND Zlib AND BSD-2-Clause",
            "License: (Expat or Apache-2.0) and Expat and Apache-2.0 and Zlib and BSD-2-clause\n",
        ),
        (
            "fairways-lab",
            &["rustix ", "clap ", "lzma-rust2 ", "parquet ", "The standard library of Rust"],
            "(MIT OR Apache-2.0) AND MIT AND Apache-2.0 AND Zlib",
            "License: (Expat or Apache-2.0) and Expat and Apache-2.0 and Zlib\n",
        ),
    ] {
        licences_are_listed(program, some, licence, debians);
    }
}

/// Checks the list of a program's package: it names these crates, and their licences are those of
/// the package, which the .rpm and the .deb state so.
fn licences_are_listed(program: &str, some: &[&str], licence: &str, debians: &str) {
    let (folder, rpm) = (unpacked(program), package_of(program, "rpm"));
    let doc = folder.path().join("usr/share/doc").join(program);
    let text = fs::read_to_string(doc.join("THIRD-PARTY")).unwrap();
    let (list, texts) = text.split_once("====").unwrap();
    let crates: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once(": ")).collect();
    for of in some {
        assert!(crates.iter().any(|(name, _)| name.starts_with(*of)), "{of}: {list}");
    }
    // Dependencies of tests and build scripts alone, and of the compiler, are not listed.
    for of in ["assert_cmd ", "proptest ", "serde_derive ", "fairways"] {
        assert!(!crates.iter().any(|(name, _)| name.starts_with(of)), "{of}: {list}");
    }
    for (name, expression) in &crates {
        let choices = expression.split(['/', '(', ')']).flat_map(|part| part.split(" OR "));
        assert!(!expression.contains(" AND "), "{name}: {expression}: each choice is one licence");
        assert!(
            choices
                .into_iter()
                .any(|one| licence.split(['(', ')', ' ']).any(|of| of == one.trim())),
            "{name}: {expression}"
        );
    }
    assert!(texts.contains("Copyright (c)") && texts.contains("Apache License"));
    assert_eq!(texts.contains("Copyright (c) 2015 The Libbpf Authors"), program == "fairways");
    let stated = printed("rpm", &["--query", "--queryformat", "%{LICENSE}", "--package"], &rpm);
    assert_eq!(stated, licence);
    let copyright = fs::read_to_string(doc.join("copyright")).unwrap();
    assert!(copyright.contains(debians));
}

/// The packaged programs can load a scheduler into the kernel, and windows, as built: the libraries
/// that this takes are dependencies, and no compiler is.
#[test]
fn packages_carry_programs_for_the_kernel_and_depend_on_what_these_take() {
    let needs = ["dpkg-deb", "dpkg-shlibdeps", "rpmbuild", "rpm", "strip", "readelf"];
    if !has("programs for the kernel", &needs.map(Need::Program)) {
        return;
    }
    let (folder, rpm) = (unpacked("fairways"), package_of("fairways", "rpm"));
    let fairways = folder.path().join("usr/bin/fairways");
    let linked = printed("readelf", &["--dynamic"], &fairways);
    let deb = printed("dpkg-deb", &["--field"], &package_of("fairways", "deb"));
    let depends = deb.lines().find(|line| line.starts_with("Depends:")).unwrap();
    let requires = printed("rpm", &["--query", "--requires", "--package"], &rpm);
    for (library, package) in [("libelf.so.1", "libelf1 "), ("libz.so.1", "zlib1g ")] {
        assert!(linked.contains(library), "{linked}");
        assert!(depends.contains(package), "{depends}");
        assert!(requires.contains(library), "{requires}");
    }
    assert!(!depends.contains("clang") && !requires.contains("clang"));
    let doctor = Command::new(&fairways).args(["doctor", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let said = report["findings"].to_string();
    assert!(!said.contains("built without it") && !said.contains("without the feature"), "{said}");
}

/// The pages that the installed pages link to are installed.
#[test]
fn installed_pages_link_to_what_is_there() {
    if !has(
        "installed pages",
        &["dpkg-deb", "dpkg-shlibdeps", "rpmbuild", "strip"].map(Need::Program),
    ) {
        return;
    }
    for program in ["fairways", "fairways-lab"] {
        links_lead_to_files(program);
    }
}

fn links_lead_to_files(program: &str) {
    let folder = unpacked(program);
    let pages = printed("find", &["-L"], &folder.path().join("usr/share/doc").join(program));
    let mut seen = 0;
    for page in pages.lines().filter(|path| path.ends_with(".md")) {
        let text = fs::read_to_string(page).unwrap();
        for event in pulldown_cmark::Parser::new_ext(&text, pulldown_cmark::Options::ENABLE_TABLES)
        {
            use pulldown_cmark::{Event, Tag};
            let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event
            else {
                continue;
            };
            let to = dest_url.split('#').next().unwrap();
            if to.is_empty() || to.contains("://") {
                continue;
            }
            assert!(Path::new(page).with_file_name(to).exists(), "{page}: {to}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// The files of a program's .deb.
fn unpacked(program: &str) -> tempfile::TempDir {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.arg("--extract").arg(package_of(program, "deb")).arg(folder.path());
    assert!(dpkg.status().unwrap().success());
    folder
}

/// A program's package of a kind.
fn package_of(program: &str, extension: &str) -> PathBuf {
    let mut all = fs::read_dir(&packages().now).unwrap().map(|one| one.unwrap().path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let rest = name.strip_prefix(program).unwrap_or_default();
        let is_its = rest.starts_with(['_', '-']) && !rest.starts_with("-lab");
        is_its && path.extension().is_some_and(|of| of == extension)
    };
    all.find(is_it).unwrap()
}

#[test]
fn bad_input_for_packages_is_reported_in_one_line() {
    for (args, said) in [
        (
            &["--programs", "/nonesuch"][..],
            "--programs: expected a folder with fairways, found '/nonesuch'",
        ),
        (&["--version", "new"], "--version: expected a version such as 0.1.0, found 'new'"),
        (&["--out"], "--out: expected a value after it"),
        (
            &["apk"],
            "expected --programs, --out, --version, --quick, deb, rpm, fairways or fairways-lab, found 'apk'",
        ),
    ] {
        let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/build");
        let output = Command::new(build).args(args).env("SOURCE_DATE_EPOCH", "0").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("packaging/build: {said}\n"));
    }
}

/// The installed configuration is valid and states the defaults; the keys behind `#` are valid,
/// too.
#[test]
fn the_installed_configuration_is_right() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/fairways.toml");
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let show = |text: &str| {
        let path = folder.path().join("fairways.toml");
        fs::write(&path, text).unwrap();
        let fairways = fairways_doors::fairways();
        let output = Command::new(fairways).args(["config", "show"]).arg(path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(show(&text), show(""));
    let bare = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest| !rest.starts_with(' '))
            .map_or(line.to_owned(), str::to_owned)
    };
    let all: Vec<String> = text.lines().map(bare).collect();
    let shown = show(&all.join("\n"));
    let (before, programs) = shown.split_once("[[program]]").unwrap();
    assert_eq!(before.trim(), show("").replace("program = []\n", "").trim());
    assert!(programs.contains("unit:nginx.service") && programs.contains("each = true"), "{shown}");
}
