//! The report: results as one self-contained HTML page.
//!
//! These are the elements of a page, and their drawing; the command line knows the schemas of
//! results, and makes the elements. A page has no date and no random numbers: the same results give
//! the same bytes. It works on paper, on a telephone, in light and dark mode, and uses no network:
//! its policy (CSP) lets it load nothing, and run only the script that copies tables, which is not
//! needed to read it. The hash in that policy is of `templates/report/copy.js` without its last
//! newline: `head -c -1 copy.js | openssl dgst -sha256 -binary | base64`; a browser runs no other
//! script.

mod bars;
mod curve;
mod figure;
mod heat;
mod map;
mod page;
mod strips;
mod svg;
mod table;

pub use bars::{Bar, BarGroup, bars};
pub use curve::curve;
pub use figure::{Figure, letter};
pub use heat::{HeatCell, HeatRow, heat_map};
pub use map::{Span, way_map};
pub use page::{Block, Fact, Page, PageError, Part, Section};
pub use strips::{Strip, strips};
pub use table::{Cell, Column, Table, change};
