//! A class of service for what devices fill (resctrl.rst, "io_alloc"; fs/resctrl/ctrlmondata.c).
//!
//! Linux 6.19 and later, on AMD's processors with L3 Smart Data Cache Injection Allocation
//! Enforcement. The highest class is taken for it, and its masks are those of code and data alike.

use std::collections::BTreeMap;

use super::schema::Schema;
use super::text;
use super::{Errno, Resctrl, SchemaId};
use crate::platform::Resource;
use fairways_resctrl::language::Mode;

impl Resctrl {
    /// Whether its files are there (`io_alloc_init`): in every cache's directory.
    pub(super) fn io_alloc_is_known(&self) -> bool {
        self.platform.kernel.io_alloc && self.can_io_alloc(Resource::L3)
    }

    fn can_io_alloc(&self, resource: Resource) -> bool {
        self.platform.cache(resource).is_some_and(|cache| cache.io_alloc)
    }

    /// The class that no group can have, since devices have it. Mounting again gives all classes
    /// back (`closid_init`), though devices keep theirs.
    pub(super) fn reserved_class(&self) -> Option<u32> {
        self.io_alloc_class().filter(|_| self.is_io_class_reserved)
    }

    /// The class of devices, where they have one of their own.
    pub(super) fn io_alloc_class(&self) -> Option<u32> {
        self.io_alloc.then(|| self.highest_class())
    }

    /// `resctrl_io_alloc_closid`.
    fn highest_class(&self) -> u32 {
        let all = self.platform.closids(Resource::L3).unwrap_or(1);
        let parts = if self.options().parts(Resource::L3) { 2 } else { 1 };
        (all / parts).saturating_sub(1)
    }

    /// The ways that devices fill in a domain under their class.
    pub(super) fn io_alloc_mask(&self, id: SchemaId, domain: u32) -> u32 {
        let class = self.io_alloc_class().filter(|_| id.resource == Resource::L3);
        class.and_then(|of| self.controls.value(id.resource, domain, id.side, of)).unwrap_or(0)
    }

    /// `resctrl_io_alloc_show`.
    pub(super) fn show_io_alloc(&self, id: SchemaId) -> Vec<u8> {
        let word = match (self.can_io_alloc(id.resource), self.io_alloc) {
            (false, _) => "not supported\n",
            (true, true) => "enabled\n",
            (true, false) => "disabled\n",
        };
        word.into()
    }

    /// `resctrl_io_alloc_cbm_show`.
    pub(super) fn show_io_alloc_cbm(&mut self, id: SchemaId) -> Result<Vec<u8>, Errno> {
        let class = self.io_alloc_class_of(id)?;
        let domains = self.controls.domains(id.resource).into_iter().map(|domain| {
            let value = self.controls.value(id.resource, domain, id.side, class).unwrap_or(0);
            format!("{domain}={value:x}")
        });
        Ok((domains.collect::<Vec<_>>().join(";") + "\n").into_bytes())
    }

    /// The class of devices; an error with its message where they have none.
    fn io_alloc_class_of(&mut self, id: SchemaId) -> Result<u32, Errno> {
        self.status.clear();
        if !self.can_io_alloc(id.resource) {
            let text = format!("io_alloc is not supported on {}\n", id.name());
            return self.fail(&text, Errno::Enodev);
        }
        match self.io_alloc_class() {
            Some(class) => Ok(class),
            None => {
                let text = format!("io_alloc is not enabled on {}\n", id.name());
                self.fail(&text, Errno::Einval)
            }
        }
    }

    /// `resctrl_io_alloc_write`.
    pub(super) fn write_io_alloc(&mut self, id: SchemaId, bytes: &[u8]) -> Result<(), Errno> {
        let enable = text::switch(text::string(bytes)).ok_or(Errno::Einval)?;
        self.status.clear();
        if !self.can_io_alloc(id.resource) {
            let text = format!("io_alloc is not supported on {}\n", id.name());
            return self.fail(&text, Errno::Enodev);
        }
        if enable == self.io_alloc {
            return Ok(());
        }
        let class = self.highest_class();
        if class >= self.closids_supported() {
            let text = format!("io_alloc CLOSID (ctrl_hw_id) {class} is not available\n");
            return self.fail(&text, Errno::Einval);
        }
        if enable {
            let holder = self.order.iter().map(|&group| self.group(group));
            let holder = holder.into_iter().find(|group| group.class.closid == class);
            if let Some(holder) = holder {
                let text = format!(
                    "CLOSID (ctrl_hw_id) {class} for io_alloc is used by {} group\n",
                    holder.name
                );
                return self.fail(&text, Errno::Enospc);
            }
            self.initialise_io_alloc(id, class)?;
        }
        (self.io_alloc, self.is_io_class_reserved) = (enable, enable);
        self.changed();
        Ok(())
    }

    /// `resctrl_io_alloc_init_cbm`: as a new group's, of this side for both.
    fn initialise_io_alloc(&mut self, id: SchemaId, class: u32) -> Result<(), Errno> {
        let schema = self.schemas.iter().copied().find(|schema| schema.id == id);
        let schema = schema.ok_or(Errno::Enodev)?;
        let mut staged = BTreeMap::new();
        for domain in self.controls.domains(id.resource) {
            let Some(mask) = self.initial_mask(schema, domain, class) else {
                let place = format!("No space on {}:{domain}\n", id.name());
                self.status.print(&[place.as_bytes()]);
                return self.fail("Failed to initialize io_alloc allocations\n", Errno::Enospc);
            };
            staged.insert(domain, mask);
        }
        self.set_io_alloc(id, class, &staged);
        Ok(())
    }

    fn set_io_alloc(&mut self, id: SchemaId, class: u32, masks: &BTreeMap<u32, u32>) {
        for (&domain, &mask) in masks {
            for side in [id.side, id.side.peer()] {
                self.controls.set(id.resource, domain, side, class, mask);
            }
        }
    }

    /// `resctrl_io_alloc_cbm_write`.
    pub(super) fn write_io_alloc_cbm(&mut self, id: SchemaId, bytes: &[u8]) -> Result<(), Errno> {
        let line = text::line(bytes).ok_or(Errno::Einval)?;
        let class = self.io_alloc_class_of(id)?;
        let schema = self.schemas.iter().copied().find(|schema| schema.id == id);
        let masks = self.read_io_alloc_cbm(schema.ok_or(Errno::Enodev)?, class, line)?;
        self.set_io_alloc(id, class, &masks);
        self.changed();
        Ok(())
    }

    /// `resctrl_io_alloc_parse_line`: `id=mask;id=mask`; `*` is every domain.
    fn read_io_alloc_cbm(
        &mut self,
        schema: Schema,
        class: u32,
        line: &[u8],
    ) -> Result<BTreeMap<u32, u32>, Errno> {
        let mut masks = BTreeMap::new();
        let mut rest = Some(line);
        while let Some(text) = rest.filter(|text| !text.is_empty()) {
            let (pair, after) = text::cut(text, b';');
            rest = after;
            let (id, value) = text::cut(pair, b'=');
            let number = text::number(id, 10);
            let (Some(value), true) = (value, id == b"*" || number.is_ok()) else {
                return self.fail("Missing '=' or non-numeric domain\n", Errno::Einval);
            };
            let all = self.controls.domains(schema.id.resource);
            if number.is_err() && rest.is_some_and(|rest| !rest.is_empty()) {
                return self.fail("Configurations after global '*'\n", Errno::Einval);
            }
            let named = all.into_iter().filter(|&of| number.is_err() || number == Ok(of.into()));
            let named: Vec<u32> = named.collect();
            if named.is_empty() {
                let id = number.unwrap_or(0);
                return self.fail(&format!("Invalid domain {id}\n"), Errno::Einval);
            }
            for domain in named {
                if masks.contains_key(&domain) {
                    return self.fail(&format!("Duplicate domain {domain}\n"), Errno::Einval);
                }
                let of = (class, Mode::Shareable);
                masks.insert(domain, self.read_mask(of, schema, domain, text::trim(value))?);
            }
        }
        Ok(masks)
    }
}
