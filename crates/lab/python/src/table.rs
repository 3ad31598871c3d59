//! Tables: columns in Arrow's memory, which pandas, polars and pyarrow take as they are.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, UInt64Builder};
use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::error::CallFailure;

/// A table of results. It is data for pandas, polars and pyarrow, without a copy of each row.
#[pyclass(frozen, module = "fairways", name = "Table")]
#[derive(Clone, Debug)]
pub(crate) struct PyTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// A column's name and its values.
pub(crate) type Column = (&'static str, ArrayRef);

impl PyTable {
    /// # Errors
    /// If the columns have different lengths.
    pub(crate) fn new(columns: Vec<(impl Into<String>, ArrayRef)>) -> Result<Self, CallFailure> {
        let (names, arrays): (Vec<String>, Vec<ArrayRef>) =
            columns.into_iter().map(|(name, array)| (name.into(), array)).unzip();
        let fields = names
            .iter()
            .zip(&arrays)
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(wrong)?;
        Ok(Self { schema, batches: vec![batch] })
    }

    /// A table of these parts, which have the same columns; at least one.
    pub(crate) fn of_parts(parts: Vec<Self>) -> Option<Self> {
        let schema = Arc::clone(&parts.first()?.schema);
        let batches = parts.into_iter().flat_map(|part| part.batches).collect();
        Some(Self { schema, batches })
    }
}

fn wrong(why: ArrowError) -> CallFailure {
    CallFailure::Said(why.to_string())
}

/// Numbers; those that are not known are missing.
pub(crate) fn numbers(values: impl IntoIterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<Float64Array>())
}

/// Whole numbers; those that are not known are missing.
pub(crate) fn wholes(values: impl IntoIterator<Item = Option<u64>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<UInt64Array>())
}

/// Texts.
pub(crate) fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<StringArray>())
}

/// Whether something is so.
pub(crate) fn truths(values: impl IntoIterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.into_iter().collect::<BooleanArray>())
}

/// A list of numbers in each row.
pub(crate) fn number_lists<'a>(rows: impl IntoIterator<Item = Option<&'a [f64]>>) -> ArrayRef {
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in rows {
        lists.append_option(row.map(|row| row.iter().copied().map(Some)));
    }
    Arc::new(lists.finish())
}

/// A list of whole numbers in each row.
pub(crate) fn whole_lists<'a>(rows: impl IntoIterator<Item = Option<&'a [u64]>>) -> ArrayRef {
    let mut lists = ListBuilder::new(UInt64Builder::new());
    for row in rows {
        lists.append_option(row.map(|row| row.iter().copied().map(Some)));
    }
    Arc::new(lists.finish())
}

#[pymethods]
impl PyTable {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<fairways.Table of {} rows: {}>", self.__len__(), self.columns().join(", "))
    }

    /// The table as Arrow's C stream (the Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A request is a wish: the consumer casts what it gets.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The columns as lists of Python's own values, by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (place, field) in self.schema.fields().iter().enumerate() {
            let values = PyList::empty(py);
            for batch in &self.batches {
                let array = batch.column(place);
                for row in 0..array.len() {
                    values.append(value(py, array, row)?)?;
                }
            }
            columns.set_item(field.name(), values)?;
        }
        Ok(columns)
    }

    /// The table as a data frame of pandas, which takes it through pyarrow.
    fn to_pandas(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        let table = slf.py().import("pyarrow")?.call_method1("table", (slf,))?;
        table.call_method0("to_pandas")
    }

    /// The table as a data frame of polars.
    fn to_polars(slf: Bound<'_, Self>) -> PyResult<Bound<'_, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }
}

/// One value of a column.
fn value<'py>(py: Python<'py>, array: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Float64 => {
            Ok(array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any())
        }
        DataType::UInt64 => {
            Ok(array.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any())
        }
        DataType::UInt32 => {
            Ok(array.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any())
        }
        DataType::Boolean => {
            let is = array.as_boolean().value(row).into_pyobject(py)?;
            Ok(is.to_owned().into_any())
        }
        DataType::Utf8 => Ok(array.as_string::<i32>().value(row).into_pyobject(py)?.into_any()),
        DataType::List(_) => {
            let inner = array.as_list::<i32>().value(row);
            let values = (0..inner.len()).map(|row| value(py, &inner, row));
            Ok(PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        DataType::Dictionary(_, _) => {
            let of = array.as_dictionary::<Int8Type>();
            value(py, of.values(), of.key(row).unwrap_or_default())
        }
        other => unreachable!("a column of {other}"),
    }
}
