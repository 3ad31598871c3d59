//! The guides: every command that README.md, CONTRIBUTING.md and docs/ show in a block of shell is
//! run, and prints what the page shows; what cannot be run is named in a table with the reason.
//! `TRYCMD=overwrite` writes the present output into the pages.

#![allow(clippy::unwrap_used)]

mod allowed;
mod likeness;
mod named;
mod page;
mod scales;
mod shell;
mod words;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use named::{GIVEN, NAMED, NEEDS, OUTPUTS};
use page::{Page, commands, pages};

#[test]
fn every_shell_block_runs_and_prints_what_is_shown() {
    let wanted = std::env::var("FAIRWAYS_PAGE").ok();
    let pages = pages();
    let pages: Vec<&Page> = pages
        .iter()
        .filter(|page| wanted.as_ref().is_none_or(|wanted| page.name.contains(wanted)))
        .collect();
    let wrong: Vec<String> = pages
        .par_iter()
        .with_max_len(1)
        .filter_map(|page| {
            let began = std::time::Instant::now();
            let done = shell::run(page);
            eprintln!("{}: {:.1} s", page.name, began.elapsed().as_secs_f64());
            done.err()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn blocks_are_of_a_kind_that_is_looked_at() {
    let mut shell = 0;
    for page in pages() {
        for block in &page.blocks {
            let line = block.lines.start;
            let known = ["sh", "console", "text", "rust", "toml", "yaml"]
                .contains(&block.language.as_str());
            // `tests/exec.rs` and the suite `wheel` run what is in Python.
            let is_python = block.language == "python"
                && ["docs/exec.md", "docs/python.md"].contains(&page.name.as_str());
            assert!(known || is_python, "{}:{line}: {:?}", page.name, block.language);
            // documentation.rs runs these, but looks only into these folders.
            let folder = page.name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let looked_at = ["docs", "docs/policies"].contains(&folder) || page.name == "README.md";
            assert!(block.language != "console" || looked_at, "{}:{line}", page.name);
            shell += usize::from(block.language == "sh");
        }
    }
    assert!(shell > 20, "{shell}");
}

/// Every entry of the tables is shown by some page, and has a reason.
#[test]
fn the_tables_name_what_pages_show() {
    let pages = pages();
    let page = |name: &str| pages.iter().find(|page| page.name == name).unwrap();
    let shell = |page: &Page| -> Vec<String> {
        let blocks = page.blocks.iter().filter(|block| block.language == "sh");
        blocks.map(|block| block.text.clone()).collect()
    };
    for named in NAMED {
        let shown = shell(page(named.page));
        let mut commands = shown.iter().flat_map(|block| commands(block));
        let known = commands.any(|command| command.starts_with(named.command));
        assert!(known && !named.why.is_empty(), "{}: {}", named.page, named.command);
    }
    for output in OUTPUTS {
        let page = page(output.page);
        let mut blocks = page.blocks.iter().enumerate();
        let known = blocks
            .any(|(at, block)| block.text.starts_with(output.block) && page.shown(at).is_some());
        assert!(known && !output.why.is_empty(), "{}: {}", output.page, output.block);
    }
    for name in NEEDS.iter().map(|(name, _)| *name).chain(GIVEN.iter().map(|given| given.page)) {
        assert!(!shell(page(name)).is_empty(), "{name}");
    }
}

/// The policy in docs/own-policy.md is the one that is compiled, and that crates/lab/experiments
/// and crates/base/policy run.
#[test]
fn the_policy_of_ones_own_is_the_example() {
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "docs/own-policy.md").unwrap();
    let file = page::project().join("crates/base/policy/examples/climb/policy.rs");
    let code = std::fs::read_to_string(file).unwrap();
    let mut shown = page.blocks.iter().filter(|block| block.language == "rust");
    assert!(shown.any(|block| block.text == code), "docs/own-policy.md shows another text");
}

#[test]
fn commands_in_running_text_are_understood() {
    let mut helps = words::Helps::default();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in pages() {
        for command in words::said(&page) {
            count += 1;
            let why = match words::door_of(&command) {
                Some(_) => helps.misses(&command),
                None => words::cargo_misses(&command),
            };
            wrong.extend(why.map(|why| format!("{}: `{command}`: {why}", page.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count}");
}

/// A policy whose windows are shorter than filling the ways takes shows something else than on the
/// unscaled machine.
#[test]
fn no_page_has_a_time_scale_that_is_too_small_for_its_policies() {
    let (warnings, count): (Vec<Vec<String>>, Vec<usize>) =
        pages().par_iter().map(scales::warnings).unzip();
    let wrong = warnings.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count.iter().sum::<usize>() > 20, "{count:?}");
}

#[test]
fn the_index_lists_every_page() {
    let pages = pages();
    let index = pages.iter().find(|page| page.name == "docs/README.md").unwrap();
    let missing = |page: &&Page| {
        let below = page.name.strip_prefix("docs/").filter(|below| !below.contains('/'));
        below.is_some_and(|name| {
            !["README.md", "SUMMARY-lab.md", "SUMMARY-server.md"].contains(&name)
                && !index.text.contains(&format!("]({name})"))
        })
    };
    let missing: Vec<&str> = pages.iter().filter(missing).map(|page| &*page.name).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
