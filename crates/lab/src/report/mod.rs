//! The report: results as one page of HTML that needs nothing besides itself.
//!
//! This is what a page is made of, and how it is drawn; which results become which parts is the business of the
//! command line, which knows their schemas. A page holds no date and draws no random numbers: the same results
//! give the same bytes. It runs on paper, on a telephone, in the light and in the dark, and asks no network for anything:
//! its policy (CSP) lets it load nothing, and run only the script that copies tables, which nobody needs to read it. The hash
//! in that policy is of `templates/report/copy.js` without its last newline:
//! `head -c -1 copy.js | openssl dgst -sha256 -binary | base64`; a browser runs no other.

mod bars;
mod curve;
mod figure;
mod map;
mod page;
mod strips;
mod svg;
mod table;

pub use bars::{Bar, BarGroup, bars};
pub use curve::curve;
pub use figure::{Figure, letter};
pub use map::{Span, way_map};
pub use page::{Block, Fact, Page, PageError, Part, Section};
pub use strips::{Strip, strips};
pub use table::{Cell, Column, Table, change};
