//! fairways.toml(5), of docs/config.md: the page that a test holds to the keys there are.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{MANUAL, files, see_also, source, tidy};

const PAGE: &str = include_str!("../../../../../docs/config.md");
const EXAMPLE: &str = include_str!("../../../../../docs/config.in/fairways.toml");

/// The page.
pub(super) fn page(date: &str) -> String {
    let mut page = Roff::new();
    page.control("TH", ["fairways.toml", "5", date, &source(), MANUAL]);
    page.control("SH", ["NAME"]);
    page.text([roman("fairways.toml - configuration of the daemon that fairways run is")]);
    page.control("SH", ["DESCRIPTION"]);
    Writer { page: &mut page, text: Vec::new(), cells: Vec::new(), skipping: false, style: roman }
        .write(PAGE);
    page.control("SH", ["EXAMPLE"]).control("EX", []);
    for line in EXAMPLE.lines() {
        page.text([roman(line)]);
    }
    page.control("EE", []);
    files(&mut page);
    see_also(
        &["fairways(1)", "fairways-run(1)", "fairways-config(1)"].map(str::to_owned),
        "fairways",
        &mut page,
    );
    tidy(&page.render())
}

/// What Markdown becomes.
struct Writer<'page> {
    page: &'page mut Roff,
    /// Of the paragraph, heading or cell that is being read.
    text: Vec<Inline>,
    /// Of the row of a table that is being read: a key, its default, what it is.
    cells: Vec<Vec<Inline>>,
    /// In an example, the title, or a table's head.
    skipping: bool,
    style: fn(String) -> Inline,
}

impl Writer<'_> {
    fn write(&mut self, markdown: &str) {
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
            match event {
                Event::Start(tag) => self.start(&tag),
                Event::End(tag) => self.end(tag),
                Event::Text(text) if !self.skipping => {
                    self.text.push((self.style)(text.into_string()));
                }
                Event::Code(code) if !self.skipping => self.text.push(bold(code.into_string())),
                Event::SoftBreak => self.text.push(roman(" ")),
                _ => {}
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) | Tag::TableHead => self.skipping = true,
            Tag::Emphasis | Tag::Strong => self.style = italic,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock | TagEnd::TableHead => {
                self.skipping = false;
                self.text.clear();
                self.cells.clear();
            }
            TagEnd::Emphasis | TagEnd::Strong => self.style = roman,
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                let text: String = text.into_iter().map(plain).collect();
                if level > pulldown_cmark::HeadingLevel::H1 {
                    self.page.control("SH", [text.to_uppercase().as_str()]);
                }
            }
            TagEnd::Paragraph => {
                let text = std::mem::take(&mut self.text);
                self.page.control("PP", []).text(text);
            }
            TagEnd::Item => {
                let text = std::mem::take(&mut self.text);
                self.page.control("IP", ["\\(bu", "2"]).text(text);
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.text)),
            TagEnd::TableRow => self.row(),
            _ => {}
        }
    }

    /// A key of the configuration.
    fn row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        let [key, default, mut what] = [(); 3].map(|()| cells.next().unwrap_or_default());
        self.page.control("TP", []).text(key);
        let needed = matches!(&default[..], [Inline::Roman(word)] if word == "needed");
        if !default.is_empty() {
            what.push(roman(if needed { " (" } else { " (default: " }));
            what.extend(default);
            what.push(roman(")"));
        }
        self.page.text(what);
    }
}

fn plain(inline: Inline) -> String {
    match inline {
        Inline::Roman(text) | Inline::Bold(text) | Inline::Italic(text) => text,
        Inline::LineBreak => " ".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line by line, blank ones too.
    #[test]
    fn the_example_is_the_one_that_is_tested() {
        let text = page("2000-01-01").replace("\\-", "-").replace("\\&", "");
        let (_, rest) = text.split_once("\n.EX\n").unwrap();
        let (example, _) = rest.split_once(".EE\n").unwrap();
        assert_eq!(example, EXAMPLE);
        assert!(example.contains("\n\n"));
    }
}
