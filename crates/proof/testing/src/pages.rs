//! Tables of pages that follow from the code. `cargo xtask pages` has the tests write them.

/// Whether tests write the pages rather than compare them.
#[must_use]
pub fn overwrites() -> bool {
    std::env::var("TRYCMD").is_ok_and(|how| how == "overwrite")
}

/// A page of Markdown, with these lines in place of the first table below a heading (`### Name`).
///
/// # Panics
/// If the page has no such heading, or no table below it.
#[must_use]
pub fn with_table(page: &str, heading: &str, table: &str) -> String {
    let heading = format!("\n{heading}\n");
    let start = page.find(&heading).unwrap_or_else(|| panic!("no {heading:?}"));
    let begin = start + page[start..].find("\n|").expect("a table") + 1;
    let end = begin + page[begin..].find("\n\n").map_or(page.len() - begin, |end| end + 1);
    format!("{}{table}{}", &page[..begin], &page[end..])
}
