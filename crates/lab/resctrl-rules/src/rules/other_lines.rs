//! Lines of `schemata` that Linux itself does not have.

use std::collections::BTreeMap;

use super::text;
use super::{Errno, Resctrl};
use crate::platform::Resource;

/// Values by line, class and cache, where they are not a new group's.
pub(super) type OtherValues = BTreeMap<(usize, u32, u32), u32>;

impl Resctrl {
    /// A class's lines.
    pub(super) fn show_other_lines(&self, closid: u32) -> String {
        let mut shown = String::new();
        for (at, line) in self.platform.other_lines.iter().enumerate() {
            let domains = self.controls.domains(Resource::L3).into_iter().map(|domain| {
                let value = self.other_values.get(&(at, closid, domain)).unwrap_or(&line.first);
                format!("{domain}={value}")
            });
            let domains = domains.collect::<Vec<_>>().join(";");
            shown.push_str(&format!("{}:{domains}\n", line.name));
        }
        shown
    }

    /// Reads the values of one of these lines, to be set with the other values if all could be
    /// read. Returns whether it is one of them.
    pub(super) fn read_other_line(
        &mut self,
        closid: u32,
        name: &[u8],
        values: &[u8],
        staged: &mut OtherValues,
    ) -> Result<bool, Errno> {
        let mut lines = self.platform.other_lines.iter().copied().enumerate();
        let Some((at, line)) = lines.find(|(_, line)| line.name.as_bytes() == name) else {
            return Ok(false);
        };
        for pair in values.split(|&byte| byte == b';') {
            let (id, value) = text::cut(pair, b'=');
            let (Ok(domain), Some(value)) = (text::number(id, 10), value) else {
                return self.fail("Missing '=' or non-numeric domain\n", Errno::Einval);
            };
            let domains = self.controls.domains(Resource::L3);
            let domain = domains.into_iter().find(|&known| u64::from(known) == domain);
            let value = text::number(text::trim(value), 10).ok();
            let value = value.and_then(|value| u32::try_from(value).ok());
            let value = value.filter(|value| (line.least..=line.most).contains(value));
            let (Some(domain), Some(value)) = (domain, value) else {
                return self.fail("Value out of range\n", Errno::Einval);
            };
            staged.insert((at, closid, domain), value);
        }
        Ok(true)
    }
}
