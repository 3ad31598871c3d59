//! Sources that are damaged, hostile, or something else, and files that are there already.

use std::fs;

use super::super::{ImportOptions, SourceKind, import};
use super::*;
use crate::config::load;

#[test]
fn what_is_not_known_or_damaged_is_refused_in_a_line() {
    for (text, expected) in [
        ("", "source-0: expected one of these: goresctrl's YAML"),
        ("hello\n", "source-0: expected one of these: "),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "expected one of these: "),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {a: 'b: 1'}\n", "expected one of these: "),
        ("partitions: [1]\n", "source-0:1: partitions: expected keys with values, found a list"),
        (
            "partitions:\n  a: 7\n",
            "source-0:2: partitions.a: expected keys with values, found \"7\"",
        ),
        ("partitions:\n  a: {l3Allocation: [60%]}\n", "expected a share of the cache such as"),
        (
            "partitions:\n  a:\n    l3Allocation: 0x5\n",
            "source-0:3: partitions.a.l3Allocation: expected a share",
        ),
        (
            "partitions:\n  a: {l3Allocation: 60%}\n  b: {l3Allocation: 60%}\n",
            "at most 100 % of the cache together, found 120 %",
        ),
        (
            "partitions:\n  a: {l3Allocation: '0xfffff0'}\n",
            "expected at most 20 ways, found 0xfffff0",
        ),
        (
            "partitions:\n  a: {l3Allocation: 0xf, classes: {b: {l3Allocation: 0xff}}}\n",
            "at most the 4 ways of its partition",
        ),
        ("partitions:\n  a: {mbAllocation: [50]}\n", "expected limits such as"),
        (
            "partitions:\n  a: {classes: {c: }}\n  b: {classes: {c: }}\n",
            "expected each class once, found \"c\" again",
        ),
        ("partitions: {a: 1\n", "expected YAML or JSON: "),
        ("partitions:\n  a: 1\n  a: 2\n", "source-0:3: expected each key once, found \"a\" again"),
        ("partitions: &x\n  a: *x\n", "expected an alias of a value that ends before it"),
        ("? [a]\n: b\n", "a key: expected a text, found a list"),
        (
            "clusterStrategy: {beClass: {resctrlQOS: {catRangeEndPercent: -3}}}",
            "expected a whole number from 0 to 100, found \"-3\"",
        ),
        (
            "clusterStrategy: {beClass: {resctrlQOS: {enable: 3}}}",
            "expected true or false, found \"3\"",
        ),
        (
            "clusterStrategy: {lsClass: {resctrlQOS: {enable: true, catRangeStartPercent: 100}}}",
            "a range that begins below 100 %",
        ),
        (
            "{\"dynCache\": {\"l3Percent\": {\"low\": \"a\"}}}",
            "dynCache.l3Percent.low: expected a whole number",
        ),
        (
            "{\"dynCache\": {\"defaultLimitMode\": \"x\"}}",
            "expected static or dynamic, found \"x\"",
        ),
        ("{\"dynCache\": 3}", "dynCache: expected keys with values"),
        ("<network/>", "source-0:1: expected a libvirt <domain>, found <network>"),
        ("<domain>\n<name>a</name", "expected XML: "),
        ("<domain type='kvm'/>", "domain: expected a <name>"),
        ("<!DOCTYPE d [<!ENTITY a 'aa'>]><domain><name>&a;</name></domain>", "expected XML: "),
        (
            "<domain><name>a</name><cputune><cachetune><cache id='x'/></cachetune></cputune></domain>",
            "expected a whole number as id, found \"x\"",
        ),
        (
            "<domain><name>a</name><cputune><cachetune><cache id='0' level='3' type='both' size='9' unit='ells'/></cachetune></cputune></domain>",
            "expected a size such as",
        ),
        (
            "<domain><name>a</name><cputune><cachetune><cache id='0' level='3' type='both' size='41' unit='M'/></cachetune></cputune></domain>",
            "expected at most the 41943040 bytes of the cache",
        ),
    ] {
        let error = imported(&[text], CACHE).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
        assert!(error.starts_with("source-0:") && !error.contains('\n'), "{text}: {error}");
    }
}

/// Text that unfolds to far more than it is, or is nested deeper than a stack is.
#[test]
fn hostile_text_is_refused_before_it_grows() {
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        laughs += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 10].join(","));
    }
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..5000 {
        chain += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    let nested = format!("partitions: {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let blocks: String = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let elements = format!("<domain>{}</domain>", "<a/>".repeat(600_000));
    for (text, expected) in [
        (laughs, "values, aliases counted"),
        (chain, "nested at most 64 deep"),
        (nested, "source-0:1: expected "),
        (blocks, "source-0:"),
        (elements, "expected XML: "),
    ] {
        let error = imported(&[&text], CACHE).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    // Deep XML is no recursion.
    let deep = format!("<domain>{}{}</domain>", "<a>".repeat(50_000), "</a>".repeat(50_000));
    assert!(imported(&[&deep], CACHE).unwrap_err().contains("expected a <name>"));
}

/// Every sample, cut off or changed anywhere, gives a configuration that is right, or one line.
#[test]
fn damaged_samples_are_read_or_refused() {
    let rubik = r#"{"dynCache": {"l3Percent": {"low": 20}, "defaultLimitMode": "static"}}"#;
    let domain = "<domain type='kvm'><name>a</name><cputune><cachetune vcpus='0'><cache id='0' level='3' type='both' size='3' unit='MiB'/></cachetune></cputune></domain>";
    let koordlet = "clusterStrategy: {beClass: {resctrlQOS: {enable: true, mbaPercent: 5}}}";
    for sample in [SHARES, PODS, rubik, domain, koordlet] {
        for at in (0..sample.len()).step_by(7) {
            let mut changed = vec![sample[..at].to_owned()];
            for letter in ["\0", "\u{202e}", "-", "&a ", "*a", "999999999999", "\n", "{", "'"] {
                changed.push(format!("{}{letter}{}", &sample[..at], &sample[at + 1..]));
            }
            for text in changed {
                match imported(&[&text], CACHE) {
                    Ok((_, text)) => assert!(!text.contains(['\0', '\u{202e}']), "{text}"),
                    Err(error) => assert!(!error.contains('\n'), "{error}"),
                }
            }
        }
    }
}

#[test]
fn a_file_is_never_overwritten_and_what_is_written_is_accepted() {
    fairways_testing::needs::keep_to_owner();
    let folder = tempfile::tempdir().unwrap();
    let [source, file] = ["rdt.yaml", "fairways.toml"].map(|name| folder.path().join(name));
    fs::write(&source, SHARES).unwrap();
    let mut options = ImportOptions {
        sources: vec![source],
        live: false,
        from: Some(SourceKind::Goresctrl),
        output: Some(file.clone()),
        ways: Some(11),
        cache_size: None,
    };
    let mut said = Vec::new();
    import(&options, &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("wrote ") && said.contains("\nnot carried over: "), "{said}");
    let (config, _) = load(Some(&file)).unwrap();
    assert_eq!(config.program.len(), 3);
    let before = fs::read(&file).unwrap();
    let again = import(&options, &mut Vec::new()).unwrap_err().to_string();
    assert!(again.contains("expected a name that is free"), "{again}");
    assert_eq!(fs::read(&file).unwrap(), before);
    for (from, expected) in [
        (SourceKind::Koordinator, "expected koordlet's levels"),
        (SourceKind::Rubik, "expected rubik's config.json"),
        (SourceKind::Libvirt, "expected XML"),
        (SourceKind::Resctrl, "expected a folder where resctrl is mounted"),
    ] {
        options = ImportOptions { from: Some(from), output: None, ..options };
        let error = import(&options, &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    options = ImportOptions { from: None, sources: vec![folder.path().into()], ..options };
    let error = import(&options, &mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains("expected a folder where resctrl is mounted, found a folder"),
        "{error}"
    );
    options.sources = vec!["/dev/zero".into()];
    let error = import(&options, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("expected a file, - for standard input"), "{error}");
}
