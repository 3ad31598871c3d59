//! `fairways report` and `fairways-lab report`: results as one self-contained HTML page.
//!
//! These are the elements of a page, their drawing, and the sections of journals, which both
//! commands show. What else a command shows, it recognises itself ([`Recogniser`]).
//!
//! A page has no date and no random numbers: the same results give the same bytes. It works on
//! paper, on a telephone, in light and dark mode, and uses no network: its policy (CSP) lets it
//! load nothing, and run only the script that copies tables, which is not needed to read it. A
//! browser runs no other script: the policy has the hash of `templates/report/copy.js` without its
//! last newline, `head -c -1 copy.js | openssl dgst -sha256 -binary | base64`.

mod bars;
mod curve;
mod figure;
mod heat;
mod journal;
mod map;
mod page;
mod recognise;
mod report;
mod strips;
mod svg;
mod table;

pub use bars::{Bar, BarGroup, bars};
pub use curve::curve;
pub use figure::{Figure, letter};
pub use heat::{HeatCell, HeatRow, heat_map};
pub use map::{Span, way_map};
pub use page::{Block, Fact, Page, PageError, Part, Section};
pub use recognise::Recogniser;
pub use report::{ReportOptions, report};
pub use strips::{Strip, strips};
pub use table::{Cell, Column, Table, change};
