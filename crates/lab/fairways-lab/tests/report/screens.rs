//! The page in a real browser: on a telephone and on a desk, in the light and in the dark.

use std::fs;
use std::path::{Path, PathBuf};

use fairways_testing::needs::{Need, has};
use serde_json::Value;
use tempfile::TempDir;

use super::browser::Browser;
use super::{DATA, fairways, inputs, page};

const LAYOUT: &str = include_str!("layout.js");
/// Opens everything that is shown on demand, and returns how many such elements exist.
const OPEN: &str = "(() => {
    const all = [...document.querySelectorAll('details')];
    all.forEach((of) => { of.open = true; });
    return all.length;
})()";
const PHONE: [u32; 2] = [390, 844];
const DESK: [u32; 2] = [1280, 900];
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report");

/// A page of results of every kind, and a run of five seconds whose plans change.
fn everything(folder: &Path) -> PathBuf {
    let journal = folder.join("journal");
    let args = ["run", "--machine", "model", "-q", "--duration", "5s", "--journal"];
    let mix = ["--profiles", "synthetic", "--mix", "triad,hash-join,btree-lookup,field-solver"];
    fairways(&args).arg(&journal).args(mix).assert().success();
    let mut files = inputs();
    files.insert(1, journal);
    files.push(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab/profiles/data/embedded.csv").into());
    let path = folder.join("page.html");
    fs::write(&path, page(&files)).unwrap();
    path
}

fn list(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// Compares with the committed file, or writes it with `TRYCMD=overwrite`.
fn same(name: &str, found: &str) {
    let path = format!("{HERE}/{name}");
    if std::env::var_os("TRYCMD").is_some_and(|what| what == "overwrite") {
        fs::write(&path, found).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    let differs = kept.lines().zip(found.lines()).find(|(kept, found)| kept != found);
    assert!(kept == found, "{name}: {differs:?}; TRYCMD=overwrite writes it again");
}

/// Checks that the page does not scroll sideways, cuts off no words and has enough contrast;
/// returns its layout.
fn check(browser: &mut Browser, size: [u32; 2], of: &str) -> Value {
    let layout = browser.evaluate(LAYOUT);
    let [content, window] = [0, 1].map(|n| layout["page"][n].as_u64().unwrap());
    assert_eq!((content, window), (size[0].into(), size[0].into()), "{of}: it scrolls sideways");
    assert_eq!(layout["over"].as_array().unwrap().len(), 0, "{of}: {}", layout["over"]);
    assert_eq!(list(&layout["cut"]), [""; 0], "{of}: words are cut off");
    assert_eq!(list(&layout["faint"]), [""; 0], "{of}: too little contrast");
    layout
}

#[test]
fn the_page_is_readable_on_every_screen_and_requests_nothing() {
    if !has("the page in a browser", &[Need::Program("chromium")]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let page = everything(folder.path());
    let own = format!("file://{}", page.display());
    let mut browser = Browser::start();
    for (screen, size) in [("phone", PHONE), ("desk", DESK)] {
        let mut shots = Vec::new();
        for scheme in ["light", "dark"] {
            browser.show(&page, size, scheme);
            let of = format!("{screen}, {scheme}");
            let layout = check(&mut browser, size, &of);
            assert!(layout["texts"].as_u64().unwrap() > 1000, "{of}");
            // The script ran: its hash is the one in the page's policy.
            assert_eq!(layout["buttons"], layout["boxes"], "{of}");
            assert_eq!(browser.complaints(), Vec::<&Value>::new(), "{of}");
            let asked = browser.requests();
            assert!(
                asked.iter().all(|url| *url == own || url.starts_with("data:")),
                "{of}: {asked:?}"
            );
            assert!(asked.contains(&own), "the network was not listened to");
            if scheme == "light" {
                let outline = list(&layout["outline"]).join("\n") + "\n";
                same(&format!("{screen}.txt"), &outline);
            }
            shots.push(browser.screenshot());
            // Again, with everything that is shown on demand.
            let opened = browser.evaluate(OPEN);
            let open = check(&mut browser, size, &format!("{of}, opened"));
            assert!(opened.as_u64().unwrap() > 20, "{of}: {opened} opened");
            assert!(open["texts"].as_u64() > layout["texts"].as_u64(), "{of}");
            assert!(open["hatched"].as_u64().unwrap() > 0, "{of}: no stripes to look at");
        }
        assert_ne!(shots[0], shots[1], "{screen}: the dark is as the light");
        let [light, dark] = [&shots[0], &shots[1]].map(|shot| browser.look(shot));
        assert!(
            light.0 > 50 && dark.0 > 50,
            "{screen}: nothing is to be seen: {light:?}, {dark:?}"
        );
        assert!(light.1 > 200.0 && dark.1 < 80.0, "{screen}: {light:?}, {dark:?}");
    }
}

#[test]
fn names_are_shown_and_never_run() {
    if !has("names in a browser", &[Need::Program("chromium")]) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let evil = "<script>hacked=1</script>";
    let other = "\\\"><img src=x onerror=hacked=2>";
    let text = fs::read_to_string(format!("{DATA}/report/simulate.json")).unwrap();
    let text = text.replace("hash-join", evil).replace("btree-lookup", other);
    let results = folder.path().join("evil.json");
    fs::write(&results, text).unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page(&[results])).unwrap();
    let mut browser = Browser::start();
    browser.show(&path, DESK, "light");
    assert_eq!(browser.evaluate("typeof hacked"), "undefined");
    assert_eq!(browser.evaluate("document.images.length"), 0);
    assert_eq!(browser.evaluate("document.scripts.length"), 1);
    let shown = browser.evaluate("document.body.innerText");
    for name in [evil, "\"><img src=x onerror=hacked=2>"] {
        assert!(shown.as_str().unwrap().contains(name), "{name}");
    }
    assert_eq!(browser.complaints(), Vec::<&Value>::new());
}

#[test]
fn a_table_is_copied_with_every_digit() {
    if !has("a table in a browser", &[Need::Program("chromium")]) {
        return;
    }
    let file = format!("{DATA}/report/run.json");
    let results: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, page(&[file.into()])).unwrap();
    let mut browser = Browser::start();
    browser.show(&path, DESK, "light");
    let copied = browser.evaluate(
        "(() => {
            let copied;
            document.execCommand = () => { copied = document.querySelector('.copied').value; return true; };
            document.querySelectorAll('button')[1].click();
            return copied;
        })()",
    );
    let lines: Vec<Vec<&str>> =
        copied.as_str().unwrap().lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines[0][..2], ["program", "runs finished"]);
    let programs = results["programs"].as_array().unwrap();
    assert_eq!(lines.len(), 1 + programs.len());
    for (n, (line, program)) in lines[1..].iter().zip(programs).enumerate() {
        assert_eq!(line[0], format!("{n} {}", program["program"].as_str().unwrap()));
        for (cell, field) in [(line[2], "slowdown"), (line[3], "stock_slowdown")] {
            assert_eq!(cell.parse::<f64>().unwrap(), program[field].as_f64().unwrap());
        }
    }
}
