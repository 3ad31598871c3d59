//! Lines of `schemata`: what can be shared out under this mount.

use crate::platform::{Platform, Resource};

/// The contents of a cache that a mask is for (`enum resctrl_conf_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Code and data alike.
    Both,
    /// Code only.
    Code,
    /// Data only.
    Data,
}

impl Side {
    /// The other of code and data (`resctrl_peer_type`).
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Both => Self::Both,
            Self::Code => Self::Data,
            Self::Data => Self::Code,
        }
    }
}

/// A line of `schemata`, and its directory of `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId {
    /// The resource.
    pub resource: Resource,
    /// The contents.
    pub side: Side,
}

impl SchemaId {
    /// Its name: `L3`, `L3CODE`, `MB`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.resource, self.side) {
            (Resource::L3, Side::Code) => "L3CODE",
            (Resource::L3, Side::Data) => "L3DATA",
            (Resource::L2, Side::Code) => "L2CODE",
            (Resource::L2, Side::Data) => "L2DATA",
            (resource, _) => resource.name(),
        }
    }
}

/// The options of the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// `cdp`.
    pub(super) cdp: bool,
    /// `cdpl2`.
    pub(super) cdpl2: bool,
    /// `mba_MBps`.
    pub(super) mba_mbps: bool,
    /// `debug`.
    pub(super) debug: bool,
}

impl Options {
    /// Whether code and data are apart in that cache.
    pub(super) const fn parts(self, resource: Resource) -> bool {
        match resource {
            Resource::L3 => self.cdp,
            Resource::L2 => self.cdpl2,
            Resource::Mb | Resource::Smba => false,
        }
    }
}

/// A [`SchemaId`] with its classes of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) id: SchemaId,
    pub(super) closids: u32,
}

/// The lines in their order: each resource goes before those that the kernel counts before it
/// (`schemata_list_create`).
pub(super) fn schemas(platform: &Platform, options: Options) -> Vec<Schema> {
    let mut schemas = Vec::new();
    for resource in Resource::ALL {
        let Some(closids) = platform.closids(resource) else { continue };
        let sides: &[Side] =
            if options.parts(resource) { &[Side::Code, Side::Data] } else { &[Side::Both] };
        for &side in sides {
            let closids = if options.parts(resource) { closids / 2 } else { closids };
            schemas.insert(0, Schema { id: SchemaId { resource, side }, closids });
        }
    }
    schemas
}

/// Width of the names in `schemata`, the same whether code and data are apart or not
/// (`max_name_width`).
pub(super) fn name_width(platform: &Platform) -> usize {
    Resource::ALL
        .into_iter()
        .filter_map(|resource| {
            let cdp = platform.cache(resource).is_some_and(|cache| cache.cdp);
            platform.closids(resource).map(|_| resource.name().len() + if cdp { 4 } else { 0 })
        })
        .max()
        .unwrap_or(0)
}
