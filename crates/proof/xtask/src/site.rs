//! `cargo xtask site`: the documentation as a site with search, by mdBook. Pages are copied to a
//! folder where they lie as in the project, so that the links which work on a forge work here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use regex::Regex;

use crate::suites::Suites;

/// Only what builds the site: no server, nothing that watches files.
const INSTALL: &str = "install --locked --quiet --debug --root target/tools --no-default-features \
                       --features search mdbook@0.5.4";

/// The folder with the copy.
const FOLDER: &str = "target/site";

/// The page that measures the others.
const WIDTHS: &str = include_str!("widths.html");

/// What stands in a summary for the page of all commands, which the copy alone has.
const COMMANDS: (&str, &str) = ("[Every command and flag]()", "docs/commands.md");

/// A book: the pages for those who use one program.
struct ProgramBook {
    /// Its folder on the site.
    name: &'static str,
    program: &'static str,
    summary: &'static str,
}

const BOOKS: [ProgramBook; 2] = [
    ProgramBook { name: "server", program: "fairways", summary: "docs/SUMMARY-server.md" },
    ProgramBook { name: "lab", program: "fairways-lab", summary: "docs/SUMMARY-lab.md" },
];

/// Builds the site, a book for each program; whether every link in it leads somewhere, and every
/// page fits a phone, a tablet and a desk, as chromium lays it out.
///
/// # Errors
/// If a page is missing, mdBook can't be installed or fails, or chromium can't lay out the pages.
pub(crate) fn site() -> anyhow::Result<bool> {
    run(Command::new("cargo").args(INSTALL.split_whitespace()))?;
    let folder = Path::new(FOLDER);
    let _ = fs::remove_dir_all(folder);
    // Of the selection that everything is built in: tests may be running the programs.
    let arguments = Suites::read()?;
    let arguments = arguments.build_arguments();
    let bins = BOOKS.iter().flat_map(|book| ["--bin", book.program]);
    let build = ["build", "--quiet", "--locked"].into_iter().chain(bins);
    output(Command::new("cargo").args(build).args(arguments))?;
    let site = folder.join("book");
    for book in &BOOKS {
        let place = folder.join(book.name);
        book.copy_pages(&place.join("src"))?;
        for file in ["book.toml", "site.css"] {
            fs::copy(Path::new("docs").join(file), place.join(file)).context(file)?;
        }
        let to = std::path::absolute(site.join(book.name))?;
        run(Command::new("target/tools/bin/mdbook")
            .args(["build", "--dest-dir"])
            .arg(to)
            .arg(place))?;
    }
    let broken = broken_links(&site)?;
    let mut to = std::io::stdout().lock();
    for link in &broken {
        writeln!(to, "{link}")?;
    }
    for book in &BOOKS {
        writeln!(to, "{}", site.join(book.name).join("index.html").display())?;
    }
    writeln!(to, "{} broken links", broken.len())?;
    let wide = wide_elements(&site)?;
    for element in &wide {
        writeln!(to, "{element}")?;
    }
    Ok(broken.is_empty() && wide.is_empty())
}

/// A link in Markdown, or in HTML.
fn link() -> anyhow::Result<Regex> {
    Ok(Regex::new(r##"(\]\(|(?:src|srcset)=")([^)"#]*)"##)?)
}

impl ProgramBook {
    /// The pages that its summary lists.
    fn pages(&self, root: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
        let summary = fs::read_to_string(root.join(self.summary)).context(self.summary)?;
        ensure!(summary.contains(COMMANDS.0), "{}: expected {}", self.summary, COMMANDS.0);
        let link = link()?;
        let listed = link.captures_iter(&summary).map(|parts| parts[2].to_owned());
        let listed = listed.filter(|page| !page.is_empty());
        Ok(listed.map(|page| resolve(Path::new("docs"), &page)).collect())
    }

    /// Copies its pages, and the files to which those pages link. A link to a page of another book
    /// leads there.
    fn copy_pages(&self, source: &Path) -> anyhow::Result<()> {
        let (here, link) = (Path::new(""), link()?);
        let pages = self.pages(here)?;
        let summary = fs::read_to_string(self.summary)?;
        let listed = link.replace_all(&summary, |parts: &regex::Captures<'_>| {
            let page = match &parts[2] {
                "" => PathBuf::from(COMMANDS.1),
                page => resolve(Path::new("docs"), page),
            };
            format!("{}{}", &parts[1], page.display())
        });
        write(&source.join("SUMMARY.md"), listed.as_bytes())?;
        let program = Path::new("target/debug").join(self.program);
        let reference = output(Command::new(program).args(["man", "--markdown"]))?;
        write(&source.join(COMMANDS.1), &reference)?;
        let mut others = Vec::new();
        for book in BOOKS.iter().filter(|book| book.name != self.name) {
            others.push((book.name, book.pages(here)?));
        }
        for page in &pages {
            let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
            let folder = page.parent().unwrap_or(here);
            let mut copied = Vec::new();
            let text = link.replace_all(&text, |parts: &regex::Captures<'_>| {
                let (begin, target) = (&parts[1], &parts[2]);
                let file = resolve(folder, target);
                let is_elsewhere = !target.contains("://") && !pages.contains(&file);
                let other =
                    others.iter().find(|(_, others)| is_elsewhere && others.contains(&file));
                if let Some((book, _)) = other {
                    let up = "../".repeat(1 + folder.components().count());
                    return format!("{begin}{up}{book}/{}", as_html(&file).display());
                }
                // mdBook makes a page of what is listed; any other file is copied as it is.
                if is_elsewhere && file.is_file() {
                    copied.push(file);
                }
                // mdBook makes index.html of a README.md, and does not change links to it.
                format!("{begin}{}", target.replace("README.md", "index.md"))
            });
            for file in copied {
                write(&source.join(&file), &fs::read(&file)?)?;
            }
            write(&source.join(page), text.as_bytes())?;
        }
        Ok(())
    }
}

/// The page that mdBook makes of a file.
fn as_html(page: &Path) -> PathBuf {
    match page.file_name().is_some_and(|name| name == "README.md") {
        true => page.with_file_name("index.html"),
        false => page.with_extension("html"),
    }
}

/// Where a link from a folder leads, without `.` and `..`.
fn resolve(folder: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

/// The links in a folder of HTML that lead to no file, or to no place in one.
fn broken_links(book: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    ensure!(!pages.is_empty(), "{}: no pages", book.display());
    let link = Regex::new(r#" (?:href|src|srcset)="([^"]*)""#)?;
    let mut broken = Vec::new();
    for (page, text) in &pages {
        // It is served at any address, so its links begin at the site's root.
        if page.ends_with("404.html") {
            continue;
        }
        for parts in link.captures_iter(text) {
            let target = &parts[1];
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            if file.contains(':') {
                continue;
            }
            let folder = page.parent().unwrap_or(book);
            let file = if file.is_empty() { page.clone() } else { resolve(folder, file) };
            let leads = match pages.get(&file) {
                Some(text) => place.is_empty() || text.contains(&format!("id=\"{place}\"")),
                None => file.is_file(),
            };
            if !leads {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    Ok(broken)
}

/// The elements of pages that reach beyond the right edge of a browser's window.
fn wide_elements(book: &Path) -> anyhow::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    let names = pages.keys().filter_map(|page| page.strip_prefix(book).ok());
    let names: Vec<_> = names.filter(|page| !page.ends_with("404.html")).collect();
    let sheet = book.canonicalize()?.join("widths.html");
    write(&sheet, WIDTHS.replace("PAGES", &format!("{names:?}")).as_bytes())?;
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=600000"]);
    chromium.args(["--allow-file-access-from-files", "--dump-dom"]);
    let dumped = output(chromium.arg(format!("file://{}", sheet.display())));
    fs::remove_file(&sheet)?;
    let dumped = String::from_utf8(dumped?)?;
    let (_, found) = dumped.split_once("<pre id=\"found\">").unwrap_or_default();
    let (found, _) = found.split_once("</pre>").unwrap_or_default();
    let mut found: Vec<String> = found.lines().map(str::to_owned).collect();
    let measured = found.pop().unwrap_or_default();
    ensure!(measured == format!("measured {} pages", names.len()), "chromium: {measured:?}");
    Ok(found)
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, bytes).with_context(|| file.display().to_string())
}

fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(name)?;
    if !output.status.success() {
        bail!("{command:?}: {}", output.status);
    }
    Ok(output.stdout)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_docs_is_listed() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
        let root = docs.join("..");
        let listed_pages: BTreeSet<PathBuf> =
            BOOKS.iter().flat_map(|book| book.pages(&root).unwrap()).collect();
        let mut listed = 0;
        for folder in ["", "policies/"] {
            for entry in fs::read_dir(docs.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".md") && !name.starts_with("SUMMARY") {
                    let page = Path::new("docs").join(folder).join(&name);
                    assert!(listed_pages.contains(&page), "{folder}{name}");
                    listed += 1;
                }
            }
        }
        assert!(listed > 40, "{listed}");
    }

    /// Checks that each link of a page that the site shows leads to a file: one to a folder works
    /// on a forge, and not here.
    #[test]
    fn links_lead_to_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let link = Regex::new(r"\]\(([^)#:]+)(?:#[^)]*)?\)").unwrap();
        let code = Regex::new(r"(?ms)^ *```.*?^ *```|`[^`\n]*`").unwrap();
        let mut links = 0;
        for page in BOOKS.iter().flat_map(|book| book.pages(&root).unwrap()) {
            let text = fs::read_to_string(root.join(&page)).unwrap();
            for target in link.captures_iter(&code.replace_all(&text, "code")) {
                let file = resolve(page.parent().unwrap(), &target[1]);
                assert!(root.join(&file).is_file(), "{}: {}", page.display(), &target[1]);
                links += 1;
            }
        }
        assert!(links > 200, "{links}");
    }

    /// Where a cell is longer, sentences or a list below the table say the rest.
    #[test]
    fn cells_have_at_most_40_words() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let target = Regex::new(r"\]\([^)]*\)").unwrap();
        let (mut cells, mut long) = (0, Vec::new());
        for page in BOOKS.iter().flat_map(|book| book.pages(&root).unwrap()) {
            let text = fs::read_to_string(root.join(&page)).unwrap();
            for (line, row) in (1..).zip(text.lines().map(str::trim_start)) {
                if !row.starts_with('|') {
                    continue;
                }
                let row = target.replace_all(row, "]").replace(r"\|", "¦");
                for words in row.split('|').map(|cell| cell.split_whitespace().count()) {
                    cells += 1;
                    if words > 40 {
                        long.push(format!("{}:{line}: {words} words", page.display()));
                    }
                }
            }
        }
        assert!(long.is_empty(), "{long:#?}");
        assert!(cells > 1000, "{cells}");
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let book = folder.path();
        let page =
            r##"<h1 id="a"></h1><a href="#a"></a><a href="b/c.html#d"></a><img src="e.svg">"##;
        write(&book.join("index.html"), page.as_bytes()).unwrap();
        write(&book.join("b/c.html"), b"<a href=\"../index.html\">").unwrap();
        let broken = broken_links(book).unwrap();
        let expected = [" b/c.html#d", " e.svg"];
        assert_eq!(broken.len(), expected.len(), "{broken:?}");
        for (link, expected) in broken.iter().zip(expected) {
            assert!(link.ends_with(expected), "{link}");
        }
    }
}
