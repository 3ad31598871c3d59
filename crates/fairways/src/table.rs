//! How tables look.

use comfy_table::{LineStyle, TableStyle, presets};

/// Lines between the header and the rows only.
pub(crate) const STYLE: TableStyle = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());
