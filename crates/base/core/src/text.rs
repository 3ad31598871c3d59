//! The JSON form of values that a journal does not write as they are stored.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AppId, BandwidthLevel, Curve, NotANumber, Partition, Q32, Resources, WayMask, Ways};

/// Spans of time as whole nanoseconds, for `#[serde(with)]`.
pub mod nanos {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes nanoseconds.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads nanoseconds.
    ///
    /// # Errors
    /// If it is not a whole number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}

impl Serialize for Ways {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

impl<'de> Deserialize<'de> for Ways {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let count = u32::deserialize(deserializer)?;
        Self::new(count).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Unsigned(count.into()), &"1 to 32 ways")
        })
    }
}

impl Serialize for WayMask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WayMask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bits = text.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
        bits.map(Self::from_bits).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Str(&text), &"a mask such as \"0x7ff\"")
        })
    }
}

impl Serialize for Q32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Q32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Decimals;

        impl Visitor<'_> for Decimals {
            type Value = Q32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{NotANumber}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Q32, E> {
                text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Q32, E> {
                self.visit_str(&value.to_string())
            }
        }

        deserializer.deserialize_any(Decimals)
    }
}

impl Serialize for Curve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Curve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for BandwidthLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

impl<'de> Deserialize<'de> for BandwidthLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = u32::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| {
            D::Error::invalid_value(Unexpected::Unsigned(value.into()), &"a level of 1 or more")
        })
    }
}

/// A cluster of a partition, as a journal writes it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cluster"))]
pub(crate) struct JournalCluster {
    /// The ways that its programs may fill.
    mask: WayMask,
    /// The limit of their memory bandwidth, in the unit of the machine's lever; missing: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bandwidth: Option<BandwidthLevel>,
    /// Its programs.
    apps: Vec<AppId>,
}

impl Serialize for Partition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut clusters = serializer.serialize_seq(Some(self.clusters().len()))?;
        for (cluster, &Resources { mask, bandwidth }) in (0..).zip(self.clusters()) {
            let apps = self.members(cluster).collect();
            clusters.serialize_element(&JournalCluster { mask, bandwidth, apps })?;
        }
        clusters.end()
    }
}

impl<'de> Deserialize<'de> for Partition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut partition = Self::default();
        for JournalCluster { mask, bandwidth, apps } in
            Vec::<JournalCluster>::deserialize(deserializer)?
        {
            let cluster = partition.add(Resources { mask, bandwidth });
            apps.into_iter().for_each(|app| partition.place(app, cluster));
        }
        Ok(partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_people_write_them() {
        let mut partition = Partition::default();
        partition.add_cluster(WayMask::from_bits(0x700));
        partition.place(AppId(3), 0);
        let text = serde_json::to_string(&partition).unwrap();
        assert_eq!(text, r#"[{"mask":"0x700","apps":[3]}]"#);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        assert!(serde_json::from_str::<Ways>("0").is_err());
        assert!(serde_json::from_str::<Ways>("33").is_err());
        assert!(serde_json::from_str::<WayMask>("\"7ff\"").is_err());
        assert!(serde_json::from_str::<Curve>("[]").is_err());
        assert!(serde_json::from_str::<Curve>("[16777217]").is_err());
    }
}
