//! The tables of a page, read back.

/// A table as it stands in the page.
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// The text of a cell, and the number behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) value: Option<f64>,
}

/// The text between tags, entities resolved.
fn text(html: &str) -> String {
    let pieces = html.split('<').enumerate();
    let pieces =
        pieces.map(|(n, piece)| if n == 0 { piece } else { piece.split_once('>').unwrap().1 });
    let text: String = pieces.collect();
    let entities =
        [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    entities
        .iter()
        .fold(text, |text, (entity, letter)| text.replace(entity, letter))
        .trim()
        .to_owned()
}

/// All texts between two marks.
fn between<'a>(html: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(open).skip(1).map(move |rest| rest.split(close).next().unwrap())
}

impl Table {
    /// Every table of a page, in order.
    pub(crate) fn all(html: &str) -> Vec<Self> {
        between(html, "<table>", "</table>").map(Self::read).collect()
    }

    fn read(html: &str) -> Self {
        let caption = text(between(html, "<caption>", "</caption>").next().unwrap());
        let (head, body) = html.split_once("<tbody>").unwrap();
        // Without the explanation of a column.
        let head = between(head, "<th ", "</th>");
        let head = head.map(|cell| text(&format!("<{}", cell.split("<small>").next().unwrap())));
        let cell = |html: &str| {
            let value = between(html, "<data value=\"", "\"").next();
            Cell {
                text: text(&format!("<{html}")),
                value: value.map(|value| value.parse().unwrap()),
            }
        };
        Self {
            caption,
            head: head.collect(),
            rows: between(body, "<tr>", "</tr>")
                .map(|row: &str| row.split("<t").skip(1).map(cell).collect())
                .collect(),
        }
    }

    /// The cells of a column.
    pub(crate) fn column(&self, name: &str) -> Vec<Cell> {
        let place = self.head.iter().position(|head| head == name);
        let place = place.unwrap_or_else(|| panic!("{name}: {:?}", self.head));
        self.rows.iter().map(|row| row[place].clone()).collect()
    }
}

/// The first table whose caption begins like this.
pub(crate) fn table<'a>(tables: &'a [Table], caption: &str) -> &'a Table {
    let found = tables.iter().find(|table| table.caption.starts_with(caption));
    found.unwrap_or_else(|| panic!("no table {caption:?}"))
}
