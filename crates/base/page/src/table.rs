//! Tables; each number is in the page in full, too.

/// The sign for a number that is not known; never 0.
pub(super) const MISSING: &str = "–";

/// A table.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The caption.
    pub caption: String,
    /// The columns; the first one names the rows.
    pub columns: Vec<Column>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<Cell>>,
    /// Whether it is shown only on demand.
    pub folded: bool,
}

/// The head of a column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name.
    pub name: String,
    /// A remark in small letters; may be empty.
    pub hint: &'static str,
    /// Whether the column has numbers.
    pub is_numeric: bool,
    /// Whether the column has sentences, which take room.
    pub is_prose: bool,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn words(name: &str) -> Self {
        Self { name: name.to_owned(), hint: "", is_numeric: false, is_prose: false }
    }

    /// A column of sentences.
    #[must_use]
    pub fn prose(name: &str) -> Self {
        Self { is_prose: true, ..Self::words(name) }
    }

    /// The class for the style sheet, which sets the alignment.
    pub(super) fn class(&self) -> &'static str {
        match (self.is_numeric, self.is_prose) {
            (true, _) => "n",
            (_, true) => "p",
            _ => "",
        }
    }

    /// A column of numbers.
    #[must_use]
    pub fn numbers(name: &str, hint: &'static str) -> Self {
        Self { hint, is_numeric: true, ..Self::words(name) }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The text that is shown.
    pub(super) text: String,
    /// The number with every digit; empty where there is none.
    pub(super) value: String,
    pub(super) class: &'static str,
    /// A drawing in place of the text.
    pub(super) drawing: String,
}

impl Cell {
    /// Words; a dash if there are none.
    #[must_use]
    pub fn words(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::missing() } else { Self { text, ..Self::default() } }
    }

    /// An empty cell: there is no value.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A dash: the value is not known.
    #[must_use]
    pub fn missing() -> Self {
        Self { text: MISSING.into(), class: "missing", ..Self::default() }
    }

    /// A number with this many decimals; a dash if it is not known.
    #[must_use]
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        let Some(value) = value.filter(|value| value.is_finite()) else { return Self::missing() };
        Self { text: format!("{value:.decimals$}"), value: value.to_string(), ..Self::default() }
    }

    /// A number with as many digits as it takes.
    #[must_use]
    pub fn short(value: Option<f64>) -> Self {
        let Some(value) = value.filter(|value| value.is_finite()) else { return Self::missing() };
        let rounded = (value * 1e4).round() / 1e4;
        // A tiny number shows its first digits.
        let text = if rounded.abs() < 1e-3 && value != 0.0 {
            format!("{value:.2e}")
        } else {
            rounded.to_string()
        };
        Self { text, value: value.to_string(), ..Self::default() }
    }

    /// A count.
    #[must_use]
    pub fn count(value: Option<u64>) -> Self {
        let Some(value) = value else { return Self::missing() };
        Self { text: value.to_string(), value: value.to_string(), ..Self::default() }
    }

    /// The change of `value` against `stock` in percent, coloured by what is better.
    #[must_use]
    pub fn change(value: Option<f64>, stock: Option<f64>, less_is_better: bool) -> Self {
        let Some(change) = change(value, stock) else { return Self::missing() };
        let class = match (change.abs() < 0.05, (change < 0.0) == less_is_better) {
            (true, _) => "",
            (_, true) => "better",
            (_, false) => "worse",
        };
        // Not "-0.0".
        let shown = if change.abs() < 0.05 { 0.0 } else { change };
        let text = format!("{shown:+.1} %").replace('-', "\u{2212}");
        Self { text, value: change.to_string(), class, ..Self::default() }
    }

    /// Whether something holds, in words and colour; a dash if it is not judged.
    #[must_use]
    pub fn holds(holds: Option<bool>) -> Self {
        let (text, class) = match holds {
            Some(true) => ("✓ yes", "better"),
            Some(false) => ("✗ no", "worse"),
            None => return Self::missing(),
        };
        Self { text: text.into(), class, ..Self::default() }
    }

    /// A value's position relative to its band: between 0 and 1 it is within.
    #[must_use]
    pub fn beside_band(place: f64) -> Self {
        let class = if (-1e-6..=1.0 + 1e-6).contains(&place) { "" } else { "out" };
        Self { drawing: super::figure::beside_band(place, class), ..Self::default() }
    }
}

/// The change of `value` against `stock`, in percent; `None` if a value is not known, or the change
/// is not finite.
#[must_use]
pub fn change(value: Option<f64>, stock: Option<f64>) -> Option<f64> {
    Some(100.0 * (value? / stock? - 1.0)).filter(|change| change.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_a_dash_and_never_a_zero() {
        for cell in [
            Cell::number(None, 3),
            Cell::number(Some(f64::NAN), 3),
            Cell::short(None),
            Cell::count(None),
            Cell::words(""),
            Cell::holds(None),
            Cell::change(Some(1.0), None, true),
            Cell::change(Some(1.0), Some(0.0), true),
        ] {
            assert_eq!((cell.text.as_str(), cell.value.as_str()), (MISSING, ""));
        }
        assert_eq!(Cell::count(Some(0)).text, "0");
    }

    #[test]
    fn a_number_is_there_in_full_beside_what_is_shown() {
        let cell = Cell::number(Some(1.061_016_806_877_866_7), 3);
        assert_eq!((cell.text.as_str(), cell.value.as_str()), ("1.061", "1.0610168068778667"));
        assert_eq!(Cell::short(Some(50_388.0)).text, "50388");
        assert_eq!(Cell::short(Some(0.865_449_1)).text, "0.8654");
        assert_eq!(Cell::short(Some(0.000_012_34)).text, "1.23e-5");
    }

    #[test]
    fn a_change_shows_its_direction_and_whether_it_is_good() {
        let cell = Cell::change(Some(0.8), Some(1.0), true);
        assert_eq!((cell.text.as_str(), cell.class), ("\u{2212}20.0 %", "better"));
        assert_eq!(Cell::change(Some(0.8), Some(1.0), false).class, "worse");
        let same = Cell::change(Some(0.999_999), Some(1.0), true);
        assert_eq!((same.text.as_str(), same.class), ("+0.0 %", ""));
    }
}
