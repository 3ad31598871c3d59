//! The page.

use std::fmt::Display;

use askama::Template;
use thiserror::Error;

use super::figure::Figure;
use super::table::Table;

/// The page could not be written out.
#[derive(Debug, Error)]
#[error("the page: {0}")]
pub struct PageError(#[from] askama::Error);

/// A page: a section for each file of results.
#[derive(Clone, Debug, Template)]
#[template(path = "report/page.html")]
pub struct Page {
    /// The title.
    pub title: String,
    /// The sections.
    pub sections: Vec<Section>,
}

/// The results of one file.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// The command that wrote the file.
    pub kind: String,
    /// The file.
    pub source: String,
    /// The main result, in a sentence or two.
    pub headline: String,
    /// What a reader has to know about these results, such as that their end is missing.
    pub warnings: Vec<String>,
    /// The main numbers.
    pub facts: Vec<Fact>,
    /// The parts.
    pub parts: Vec<Part>,
}

/// A number or a word of the overview.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value as shown.
    pub value: String,
    /// A remark; may be empty.
    pub note: String,
}

impl Fact {
    /// A fact in words.
    #[must_use]
    pub fn words(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), note: String::new() }
    }

    /// A number with every digit, and its unit.
    #[must_use]
    pub fn number(name: &str, value: impl Display, unit: &str) -> Self {
        Self::words(name, format!("{value} {unit}").trim_end())
    }

    /// Adds a remark.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

/// A part of a section, such as a mix.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The heading; may be empty.
    pub heading: String,
    /// Whether it is shown only on demand.
    pub folded: bool,
    /// The content.
    pub blocks: Vec<Block>,
}

/// A block of content.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence or two.
    Words(String),
    /// Figures, side by side where they fit.
    Figures(Vec<Figure>),
    /// A table.
    Table(Table),
}

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// If it can't be formatted, which does not happen with strings.
    pub fn html(&self) -> Result<String, PageError> {
        Ok(self.render()?)
    }
}
