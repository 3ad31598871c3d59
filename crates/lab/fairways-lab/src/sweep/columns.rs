//! A table as Parquet, each column of the narrowest type that all its cells are of.

use std::sync::Arc;

use anyhow::Context;
use csv::StringRecord;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// The type of a column; an empty cell of any type is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Whole,
    Number,
    Text,
}

impl ColumnKind {
    fn of<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> Self {
        let filled = cells.filter(|cell| !cell.is_empty());
        if filled.clone().next().is_none() {
            return Self::Text;
        }
        if filled.clone().all(is_whole) {
            Self::Whole
        } else if filled.clone().all(is_number) || are_results(filled) {
            Self::Number
        } else {
            Self::Text
        }
    }
}

fn is_whole(cell: &str) -> bool {
    cell.parse::<i64>().is_ok_and(|number| number.to_string() == cell)
}

/// Whether a cell is a number as a label has it. 1.10, 007 and +7 are names: as numbers they would
/// not be printed so again, and two names could become one number.
fn is_number(cell: &str) -> bool {
    finite(cell).is_some_and(|number| number.to_string() == cell)
}

/// Whether all cells are numbers as the CSV of results has them, such as 1.0.
fn are_results<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> bool {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    cells.clone().all(|cell| finite(cell).is_some_and(|number| csv.serialize(number).is_ok()))
        && csv.into_inner().is_ok_and(|text| cells.map(str::as_bytes).eq(lines(&text)))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn finite(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The cells of a column.
fn column(rows: &[StringRecord], number: usize) -> impl Iterator<Item = &str> + Clone {
    rows.iter().map(move |row| row.get(number).unwrap_or_default())
}

/// The file's bytes.
pub(crate) fn parquet(header: &StringRecord, rows: &[StringRecord]) -> anyhow::Result<Vec<u8>> {
    let kinds: Vec<ColumnKind> =
        (0..header.len()).map(|number| ColumnKind::of(column(rows, number))).collect();
    let fields = header.iter().zip(&kinds).map(|(name, kind)| {
        let (physical, logical) = match kind {
            ColumnKind::Whole => (PhysicalType::INT64, None),
            ColumnKind::Number => (PhysicalType::DOUBLE, None),
            ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("sweep").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (number, kind) in kinds.into_iter().enumerate() {
        let cells = column(rows, number);
        match kind {
            ColumnKind::Whole => {
                add::<Int64Type>(&mut group, cells, |cell| Ok(cell.parse()?))?;
            }
            ColumnKind::Number => {
                add::<DoubleType>(&mut group, cells, |cell| Ok(cell.parse()?))?;
            }
            ColumnKind::Text => {
                add::<ByteArrayType>(&mut group, cells, |cell| Ok(ByteArray::from(cell)))?;
            }
        }
    }
    group.close()?;
    Ok(writer.into_inner()?)
}

/// Writes the next column.
fn add<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = &'a str> + Clone,
    value: impl Fn(&str) -> anyhow::Result<T::T>,
) -> anyhow::Result<()> {
    let mut column = group.next_column()?.context("no such column")?;
    let levels: Vec<i16> = cells.clone().map(|cell| i16::from(!cell.is_empty())).collect();
    let filled = cells.filter(|cell| !cell.is_empty()).map(value);
    let filled = filled.collect::<anyhow::Result<Vec<T::T>>>()?;
    column.typed::<T>().write_batch(&filled, Some(&levels), None)?;
    Ok(column.close()?)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn columns_have_the_types_of_their_cells_and_empty_ones_are_null() {
        let header = StringRecord::from(vec!["app", "slowdown", "mask", "code", "nothing"]);
        let rows = [["0", "1", "0x3", "007", ""], ["12", "1.25", "", "1", ""]];
        let rows = rows.map(|row| StringRecord::from(row.to_vec()));
        let bytes = parquet(&header, &rows).unwrap();
        assert_eq!(bytes, parquet(&header, &rows).unwrap());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let reader = SerializedFileReader::new(file.reopen().unwrap()).unwrap();
        let read: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            read,
            [
                r#"{app: 0, slowdown: 1.0, mask: "0x3", code: "007", nothing: null}"#,
                r#"{app: 12, slowdown: 1.25, mask: null, code: "1", nothing: null}"#,
            ]
        );
    }

    #[test]
    fn a_column_is_of_numbers_if_each_is_printed_as_it_was_written() {
        for (cells, expected) in [
            (&["1.1", "1.10"][..], ColumnKind::Text),
            (&["1000", "1e3"], ColumnKind::Text),
            (&["5", "5."], ColumnKind::Text),
            (&["0.5", ".5"], ColumnKind::Text),
            (&["45", "45.0"], ColumnKind::Text),
            (&["+7.5"], ColumnKind::Text),
            // More digits than a number has.
            (&["18446744073709551615", "18446744073709551614"], ColumnKind::Text),
            // As results print numbers, and as labels do.
            (&["1.0", "", "1.25", "1e20"], ColumnKind::Number),
            (&["45", "0.5", "-2.25", "0.0000001"], ColumnKind::Number),
            (&["45", "-1"], ColumnKind::Whole),
        ] {
            assert_eq!(ColumnKind::of(cells.iter().copied()), expected, "{cells:?}");
        }
    }
}
