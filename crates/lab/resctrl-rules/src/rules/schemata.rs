//! `schemata` and `size`.

use std::collections::BTreeMap;

use super::controls::first_run;
use super::other_lines::OtherValues;
use super::schema::{Schema, name_width};
use super::text;
use super::{Errno, GroupId, Resctrl, SchemaId};
use crate::platform::Resource;
use fairways_resctrl::language::Mode;

/// Values that were read, to be set if all could be.
type Staged = BTreeMap<(SchemaId, u32), u32>;

impl Resctrl {
    /// A group's value in a domain, as `schemata` shows it.
    fn shown(&self, schema: Schema, domain: u32, closid: u32) -> u32 {
        let resource = schema.id.resource;
        let value = if self.is_mba_sc(resource) {
            self.controls.mbps(domain, closid)
        } else {
            self.controls.value(resource, domain, schema.id.side, closid)
        };
        value.unwrap_or(0)
    }

    /// Digits that older kernels pad values to (`max_data_width`).
    fn value_width(&self) -> usize {
        Resource::ALL
            .into_iter()
            .filter_map(|resource| {
                let cache = self.platform.cache(resource).map(|cache| cache.cbm_len.div_ceil(4));
                let amd = |max: u32| if max > 100 { 4 } else { 3 };
                cache.or_else(|| {
                    self.platform.bandwidth(resource).map(|bandwidth| amd(bandwidth.max))
                })
            })
            .max()
            .unwrap_or(0) as usize
    }

    /// `rdtgroup_schemata_show`.
    pub(super) fn show_schemata(&self, group: GroupId) -> Vec<u8> {
        let closid = self.group(group).class.closid;
        let width = name_width(&self.platform);
        let digits = if self.platform.kernel.padded_schemata { self.value_width() } else { 0 };
        let mut text = self.show_other_lines(closid);
        for &schema in self.schemas.iter().filter(|schema| closid < schema.closids) {
            let resource = schema.id.resource;
            let domains = self.controls.domains(resource).into_iter().map(|domain| {
                let value = self.shown(schema, domain, closid);
                if resource.is_cache() {
                    format!("{domain}={value:0digits$x}")
                } else {
                    format!("{domain}={value:digits$}")
                }
            });
            let domains = domains.collect::<Vec<_>>().join(";");
            text.push_str(&format!("{:>width$}:{domains}\n", schema.id.name()));
        }
        text.into_bytes()
    }

    /// `rdtgroup_size_show`: bytes of each mask; bandwidth as it is.
    pub(super) fn show_size(&self, group: GroupId) -> Vec<u8> {
        let closid = self.group(group).class.closid;
        let width = name_width(&self.platform);
        let mut text = String::new();
        for &schema in &self.schemas {
            let resource = schema.id.resource;
            let domains = self.controls.domains(resource).into_iter().map(|domain| {
                let value = self.shown(schema, domain, closid);
                let size = self.platform.cache(resource).map_or(value, |cache| {
                    cache.cache_bytes / cache.cbm_len * (value & cache.full()).count_ones()
                });
                format!("{domain}={size}")
            });
            let domains = domains.collect::<Vec<_>>().join(";");
            text.push_str(&format!("{:>width$}:{domains}\n", schema.id.name()));
        }
        text.into_bytes()
    }

    /// `rdtgroup_schemata_write`: all lines are read before any is obeyed, except MBps, which apply
    /// at once.
    pub(super) fn write_schemata(&mut self, group: GroupId, bytes: &[u8]) -> Result<(), Errno> {
        let text = self.line("schemata", bytes)?;
        let closid = self.group(group).class.closid;
        let (mut staged, mut others) = (Staged::new(), OtherValues::new());
        for line in text.split(|&byte| byte == b'\n') {
            let (name, values) = text::cut(line, b':');
            let name = text::trim(name);
            let Some(values) = values else {
                return self.fail("Missing ':'\n", Errno::Einval);
            };
            if values.is_empty() {
                self.status.print(&[b"Missing '", name, b"' value\n"]);
                return Err(Errno::Einval);
            }
            if self.read_other_line(closid, name, values, &mut others)? {
                continue;
            }
            let Some(&schema) = self
                .schemas
                .iter()
                .find(|schema| schema.id.name().as_bytes() == name && closid < schema.closids)
            else {
                self.status.print(&[b"Unknown or unsupported resource name '", name, b"'\n"]);
                return Err(Errno::Einval);
            };
            self.read_values(group, schema, values, &mut staged)?;
        }
        for ((id, domain), value) in staged {
            self.controls.set(id.resource, domain, id.side, closid, value);
        }
        self.other_values.extend(others);
        self.changed();
        Ok(())
    }

    /// `parse_line`: `id=value;id=value`, in any order, not every domain needed.
    fn read_values(
        &mut self,
        group: GroupId,
        schema: Schema,
        values: &[u8],
        staged: &mut Staged,
    ) -> Result<(), Errno> {
        let mut rest = Some(values);
        while let Some(text) = rest.filter(|text| !text.is_empty()) {
            let (pair, after) = text::cut(text, b';');
            rest = after;
            let (id, value) = text::cut(pair, b'=');
            let (Some(value), Ok(domain)) = (value, text::number(id, 10)) else {
                return self.fail("Missing '=' or non-numeric domain\n", Errno::Einval);
            };
            let value = text::trim(value);
            // A domain that does not exist has no message.
            let domains = self.controls.domains(schema.id.resource);
            let known = domains.into_iter().find(|&known| u64::from(known) == domain);
            let domain = known.ok_or(Errno::Einval)?;
            if staged.contains_key(&(schema.id, domain)) {
                self.status.print(&[format!("Duplicate domain {domain}\n").as_bytes()]);
                return Err(Errno::Einval);
            }
            if schema.id.resource.is_cache() {
                let of = self.group(group);
                let of = (of.class.closid, of.mode);
                let mask = self.read_mask(of, schema, domain, value)?;
                staged.insert((schema.id, domain), mask);
            } else if let Some(value) = self.read_bandwidth(group, schema, domain, value)? {
                staged.insert((schema.id, domain), value);
            }
        }
        Ok(())
    }

    /// `parse_cbm`, `cbm_validate`.
    pub(super) fn read_mask(
        &mut self,
        (closid, mode): (u32, Mode),
        schema: Schema,
        domain: u32,
        text: &[u8],
    ) -> Result<u32, Errno> {
        let cache = self.platform.cache(schema.id.resource).ok_or(Errno::Einval)?;
        let (full, min) = (cache.full(), cache.min_cbm_bits);
        let sparse = cache.sparse && (min == 0 || self.platform.kernel.intel_sparse_masks);
        let Ok(value) = text::number(text, 16) else {
            self.status.print(&[b"Non-hex character in the mask ", text, b"\n"]);
            return Err(Errno::Einval);
        };
        let mask = u32::try_from(value).ok().filter(|&mask| mask <= full);
        let Some(mask) = mask.filter(|&mask| min == 0 || mask != 0) else {
            return self.fail("Mask out of range\n", Errno::Einval);
        };
        let (_, run) = first_run(mask);
        if !sparse && run != mask.count_ones() {
            let text = format!("The mask {mask:x} has non-consecutive 1-bits\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::Einval);
        }
        if run < min {
            self.status.print(&[format!("Need at least {min} bits in the mask\n").as_bytes()]);
            return Err(Errno::Einval);
        }
        if self.overlaps(schema, domain, mask, closid, true) {
            return self.fail("Overlaps with exclusive group\n", Errno::Einval);
        }
        if mode == Mode::Exclusive && self.overlaps(schema, domain, mask, closid, false) {
            return self.fail("Overlaps with other group\n", Errno::Einval);
        }
        Ok(mask)
    }

    /// `parse_bw`, `bw_validate`: within the limits, rounded up to the next step; MBps are taken as
    /// they are.
    fn read_bandwidth(
        &mut self,
        group: GroupId,
        schema: Schema,
        domain: u32,
        text: &[u8],
    ) -> Result<Option<u32>, Errno> {
        let resource = schema.id.resource;
        let bandwidth = self.platform.bandwidth(resource).ok_or(Errno::Einval)?;
        let (min, max, kept) = (bandwidth.min, bandwidth.max, bandwidth.clone());
        let number = text::number(text, 10).ok().and_then(|number| u32::try_from(number).ok());
        let Some(value) = number else {
            self.status.print(&[b"Invalid MB value ", text, b"\n"]);
            return Err(Errno::Einval);
        };
        if self.is_mba_sc(resource) {
            let closid = self.group(group).class.closid;
            self.controls.set_mbps(domain, closid, value);
            self.changed();
            return Ok(None);
        }
        if value < min || value > max {
            let text = format!("MB value {value} out of range [{min},{max}]\n");
            self.status.print(&[text.as_bytes()]);
            return Err(Errno::Einval);
        }
        Ok(Some(kept.kept(value)))
    }
}
