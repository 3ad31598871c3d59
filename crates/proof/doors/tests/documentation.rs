//! The documentation: its links, and its examples, run. `cargo xtask pages` writes what they print.

#![allow(clippy::unwrap_used)]

use std::path::Path;

const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// What `](...)` points at in the project is there.
#[test]
fn links_lead_somewhere() {
    let project = Path::new(PROJECT);
    let pages = [
        "docs",
        "docs/policies",
        "crates/lab/emulator/benches/results",
        "crates/lab/experiments/benches/results",
        "crates/lab/optimum/benches/results",
        "crates/lab/python/benches/results",
        ".",
    ];
    let mut links = 0;
    for page in pages.iter().flat_map(|folder| std::fs::read_dir(project.join(folder)).unwrap()) {
        let page = page.unwrap().path();
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let link = link.split('#').next().unwrap();
            if link.is_empty() || link.contains("://") {
                continue;
            }
            links += 1;
            let there = page.parent().unwrap().join(link);
            assert!(there.exists(), "{}: {link}", page.display());
        }
    }
    assert!(links > 20);
}

#[test]
fn examples_print_what_they_show() {
    fairways_testing::needs::keep_to_owner();
    // Examples name files as a reader in a clone does.
    std::env::set_current_dir(PROJECT).unwrap();
    trycmd::TestCases::new()
        .register_bin("fairways", fairways_doors::fairways())
        .register_bin("fairways-lab", fairways_doors::fairways_lab())
        .case("README.md")
        .case("docs/*.md")
        .case("docs/policies/*.md");
}
