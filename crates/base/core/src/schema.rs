//! The JSON Schema of values whose JSON form differs from how they are stored (`text.rs`).

use alloc::borrow::Cow;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::text::JournalCluster;
use crate::{BandwidthLevel, Curve, Partition, Q32, WayMask, Ways};

/// Implements [`JsonSchema`] for a value by its name and its schema.
macro_rules! schemas {
    ($($value:ident: $schema:tt,)*) => {$(
        impl JsonSchema for $value {
            fn schema_name() -> Cow<'static, str> {
                stringify!($value).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    Ways: {
        "description": "How many ways a cache has.",
        "type": "integer", "minimum": 1, "maximum": 32
    },
    WayMask: {
        "description": "A set of ways, a bit each.",
        "type": "string", "pattern": "^0x[0-9a-f]{1,8}$"
    },
    Q32: {
        "description": "A number that is exact in units of 2^-32, in decimals.",
        "type": "string", "pattern": "^[0-9]+([.][0-9]+)?$"
    },
    BandwidthLevel: {
        "description": "A limit of memory bandwidth, in the machine's unit.",
        "type": "integer", "minimum": 1, "maximum": 4294967295_u32
    },
}

impl JsonSchema for Curve {
    fn schema_name() -> Cow<'static, str> {
        "Curve".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<Q32>();
        json_schema!({
            "description": "A value for each number of ways, from one on.",
            "type": "array", "items": values, "minItems": 1, "maxItems": 32
        })
    }
}

impl JsonSchema for Partition {
    fn schema_name() -> Cow<'static, str> {
        "Partition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<JournalCluster>::json_schema(generator)
    }
}
