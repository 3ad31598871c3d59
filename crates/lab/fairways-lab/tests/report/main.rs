//! `fairways report` as a user runs it, and its page as a browser shows it.

#![allow(clippy::unwrap_used)]

mod browser;
mod headlines;
mod html;
mod journals;
mod leaves;
mod numbers;
mod screens;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
/// A daemon's journal.
const JOURNAL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../base/record/tests/data/run.journal");
const CLAIMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/experiments/claims/results");

/// Results of every kind, committed.
fn inputs() -> Vec<PathBuf> {
    let names = ["simulate", "dynamic", "chip", "optimum", "run", "profile"];
    let mut all: Vec<PathBuf> =
        names.iter().map(|name| format!("{DATA}/report/{name}.json").into()).collect();
    all.push(JOURNAL.into());
    all.push(format!("{CLAIMS}/lfoc-embedded.json").into());
    all
}

fn fairways(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("fairways-lab").unwrap();
    command.args(args);
    command
}

/// The page that shows these files.
fn page(files: &[PathBuf]) -> String {
    let assert = fairways(&["report", "--out", "-"]).args(files).assert().success().stderr("");
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Bad input: exit code 2, one line on standard error, and no page.
fn refused(file: &Path) -> String {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("page.html");
    let assert = fairways(&["report", "--out"]).arg(&out).arg(file).assert().code(2).stdout("");
    let said = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(file.file_name().unwrap().to_str().unwrap()), "{said}");
    assert!(folder.path().read_dir().unwrap().next().is_none(), "something was written");
    said.trim_end().to_owned()
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let all = inputs();
    let once = page(&all);
    assert_eq!(once, page(&all));
    assert_eq!(once.matches("<section").count(), all.len());
}

#[test]
fn the_page_is_written_whole_and_says_where() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("page.html");
    fs::write(&out, "what was there").unwrap();
    let file = &inputs()[..1];
    let mut command = fairways(&["report", "--title", "A <b>title</b>", "-o"]);
    let assert = command.arg(&out).args(file).assert().success();
    let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert_eq!(said, format!("written to {}: the results of one file\n", out.display()));
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains("<h1>A &#60;b&#62;title&#60;/b&#62;</h1>"));
    assert!(written.ends_with("</html>\n") || written.ends_with("</html>"));
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    // Without --out, into the present folder.
    let assert = fairways(&["report"]).args(file).current_dir(folder.path()).assert().success();
    drop(assert);
    assert!(folder.path().join("report.html").is_file());
}

#[test]
fn results_are_not_overwritten_by_their_page() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("run.json");
    fs::copy(format!("{DATA}/report/run.json"), &file).unwrap();
    let before = fs::read(&file).unwrap();
    let assert = fairways(&["report", "-o"]).arg(&file).arg(&file).assert().code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("expected another file than the results"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

/// The output that the commands print today can be read here.
#[test]
fn our_own_commands_are_understood() {
    let folder = TempDir::new().unwrap();
    let mix = ["--profiles", "synthetic", "--mix", "triad,hash-join,btree-lookup"];
    let journal = folder.path().join("journal");
    let journal = journal.to_str().unwrap();
    let commands: [(&str, &[&str]); 4] = [
        ("simulate", &["simulate", "--json", "--policies", "stock,dunn,lfoc"]),
        ("dynamic", &["simulate", "--json", "--dynamic", "--time-scale", "0.01"]),
        ("optimum", &["optimum", "--json", "--ways", "8"]),
        ("run", &["run", "--machine", "model", "--duration", "1s", "--json", "--journal", journal]),
    ];
    let mut files = vec![
        PathBuf::from(journal),
        PathBuf::from(DATA).join("../../../../lab/profiles/data/embedded.csv"),
    ];
    for (name, args) in commands {
        let mut command = fairways(args);
        command.args(mix);
        let path = folder.path().join(name);
        fs::write(&path, command.assert().success().get_output().stdout.clone()).unwrap();
        files.push(path);
    }
    let page = page(&files);
    for said in [
        "<h2>triad,hash-join,btree-lookup</h2>",
        "<h2>triad,hash-join,btree-lookup, over time</h2>",
        "<h2>A run under fairways</h2>",
        "<h2>Journal of a run under fairways</h2>",
        "<h2>Profiles of 30 programs</h2>",
        "fairways-lab optimum",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn a_file_without_results_is_reported_in_one_line() {
    let folder = TempDir::new().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let whole = fs::read_to_string(format!("{DATA}/report/simulate.json")).unwrap();
    let chip = fs::read_to_string(format!("{DATA}/report/chip.json")).unwrap();
    let cases = [
        ("empty", String::new(), "expected the JSON of simulate"),
        ("words", "some words\n".into(), "expected the JSON of simulate"),
        ("binary", "\u{0}\u{1}{".into(), "expected the JSON of simulate"),
        ("cut", whole[..whole.len() / 2].into(), "expected the whole of some results as JSON: EOF"),
        ("two", format!("{whole}{whole}"), "expected the whole of some results as JSON: trailing"),
        ("other", r#"{"schema":1,"events":3}"#.into(), "found JSON of something else"),
        (
            "schema",
            whole.replacen("\"schema\":1", "\"schema\":2", 1),
            "expected schema 1 of simulate, found 2",
        ),
        (
            "none",
            whole.replacen("\"schema\":1,", "", 1),
            "expected schema 1 of simulate, found none",
        ),
        ("ways", whole.replacen("\"ways\":20", "\"ways\":99", 1), "1 to 32 ways"),
        ("mask", whole.replacen("0xfffff", "fffff", 1), "a mask such as"),
        (
            "apps",
            whole.replacen("[0,1,2,3]", "[0,1,2,9]", 1),
            "clusters of programs below 4, found 9",
        ),
        (
            "short",
            whole.replacen("\"slowdowns\":[", "\"slowdowns\":[1.0,", 1),
            "expected 4 slowdowns, found 5",
        ),
        ("field", whole.replacen("\"apps\"", "\"programs\"", 1), "missing field `apps`"),
        (
            "chip",
            chip.replacen("\"slowdowns\":[", "\"slowdowns\":[1.0,", 1),
            "expected the counts of 2 programs",
        ),
        ("paper", r#"{"paper":"lfoc","rows":[]}"#.into(), "expected rows of claims, found none"),
        ("csv", "BENCH,NR_WAYS\np,1\n".into(), "column"),
    ];
    for (name, text, said) in cases {
        let stderr = refused(&put(name, &text));
        assert!(stderr.starts_with("fairways-lab: ") && stderr.contains(said), "{name}: {stderr}");
    }
    refused(&folder.path().join("missing"));
    refused(folder.path());
}

/// However results are damaged, there is a page or a line with the reason.
#[test]
fn damaged_results_are_shown_or_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("damaged");
    let mut random = 1_u64;
    let mut below = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(random >> 33).unwrap() % most
    };
    let (mut shown, mut refused) = (0, 0);
    for file in &inputs()[..7] {
        let whole = fs::read(file).unwrap();
        for _ in 0..12 {
            let mut bytes = whole.clone();
            let number = bytes.iter().skip(below(whole.len())).position(u8::is_ascii_digit);
            for place in [number.unwrap_or_default(), below(whole.len())] {
                bytes[place] = b"0919-.\"[{}]nul,"[below(15)];
            }
            fs::write(&path, &bytes).unwrap();
            let output = fairways(&["report", "-o", "-"]).arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            match output.status.code() {
                Some(0) => shown += 1,
                Some(2) if said.lines().count() == 1 && output.stdout.is_empty() => refused += 1,
                code => panic!("{}: {code:?}: {said}", file.display()),
            }
        }
    }
    assert!(shown > 5 && refused > 5, "{shown} shown, {refused} refused");
}

#[test]
fn a_journal_that_is_cut_short_is_shown_and_says_so() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("journal");
    let whole = fs::read(JOURNAL).unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let said = "The journal&#39;s end is cut short";
    assert!(page(std::slice::from_ref(&path)).contains(said));
    fs::write(&path, &whole).unwrap();
    assert!(!page(std::slice::from_ref(&path)).contains(said));
    // The first line has to be there.
    fs::write(&path, &whole[..100]).unwrap();
    refused(&path);
    // Damage before the end is an error.
    let broken = String::from_utf8(whole).unwrap().replacen("\"event\"", "\"evnet\"", 3);
    fs::write(&path, broken).unwrap();
    assert!(refused(&path).contains(":2:"), "the line is named");
    let other = fs::read_to_string(JOURNAL).unwrap();
    fs::write(&path, other.replacen("\"schema\":2", "\"schema\":7", 1)).unwrap();
    assert!(refused(&path).contains("schema 2 is known here, found 7"));
}

/// A journal in parts is the same as one in a single file.
#[test]
fn a_journal_in_parts_is_read_from_the_first() {
    let folder = TempDir::new().unwrap();
    let run = |name: &str, size: &str| {
        let path = folder.path().join(name).join("journal");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let args = [
            "run",
            "--machine",
            "model",
            "-q",
            "--duration",
            "1s",
            "--journal-size",
            size,
            "--journal",
        ];
        fairways(&args).arg(&path).assert().success();
        path
    };
    let (one, many) = (run("one", "1G"), run("many", "20K"));
    assert!(many.with_extension("3").is_file());
    let shown =
        |path: &PathBuf| page(std::slice::from_ref(path)).replace(path.to_str().unwrap(), "FILE");
    assert_eq!(shown(&one), shown(&many));
}
