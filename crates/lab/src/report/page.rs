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

/// A page: results, a section each.
#[derive(Clone, Debug, Template)]
#[template(path = "report/page.html")]
pub struct Page {
    /// What it is called.
    pub title: String,
    /// What it holds.
    pub sections: Vec<Section>,
}

/// The results of one file.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What it is called.
    pub heading: String,
    /// What wrote the file, as it is typed.
    pub kind: String,
    /// The file.
    pub source: String,
    /// What came out, in a sentence or two.
    pub headline: String,
    /// What a reader has to know of these results, such as that their end is missing.
    pub warnings: Vec<String>,
    /// Its numbers at a glance.
    pub facts: Vec<Fact>,
    /// What it is made of.
    pub parts: Vec<Part>,
}

/// A number at a glance.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// As it is shown.
    pub value: String,
    /// What there is to say of it; may be empty.
    pub note: String,
}

impl Fact {
    /// Words.
    #[must_use]
    pub fn words(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), note: String::new() }
    }

    /// A number with every digit, and its unit.
    #[must_use]
    pub fn number(name: &str, value: impl Display, unit: &str) -> Self {
        Self::words(name, format!("{value} {unit}").trim_end())
    }

    /// With what there is to say of it.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

/// A part of a section, such as a mix.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// What it is called; may be empty.
    pub heading: String,
    /// Whether it is shown only on demand.
    pub folded: bool,
    /// What it is made of.
    pub blocks: Vec<Block>,
}

/// Something to read.
#[derive(Clone, Debug)]
pub enum Block {
    /// A sentence or two.
    Words(String),
    /// Figures, beside each other where there is room.
    Figures(Vec<Figure>),
    /// A table.
    Table(Table),
}

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// If it can't be formatted, which does not happen to strings.
    pub fn html(&self) -> Result<String, PageError> {
        Ok(self.render()?)
    }
}
