//! `mode`.

use super::{Errno, GroupId, Resctrl};
use fairways_resctrl::language::Mode;

impl Resctrl {
    /// `rdtgroup_mode_show`.
    pub(super) fn show_mode(&self, group: GroupId) -> Vec<u8> {
        format!("{}\n", self.group(group).mode).into_bytes()
    }

    /// `rdtgroup_mode_write`. Pseudo-locking itself is not modelled: machines answer as those for
    /// which the kernel has no way to do it, which are all but Broadwell servers and two Atoms.
    pub(super) fn write_mode(&mut self, group: GroupId, bytes: &[u8]) -> Result<(), Errno> {
        let word = self.line("mode", bytes)?;
        let mode = match word {
            b"shareable" => Mode::Shareable,
            b"exclusive" => Mode::Exclusive,
            b"pseudo-locksetup" if self.platform.pseudo_lock => {
                return self.refuse_locksetup(group);
            }
            _ => return self.fail("Unknown or unsupported mode\n", Errno::Einval),
        };
        if mode == Mode::Exclusive && self.group(group).mode != Mode::Exclusive {
            self.check_exclusive(group)?;
        }
        self.group_mut(group).mode = mode;
        Ok(())
    }

    /// `rdtgroup_locksetup_enter`, up to where hardware must be known.
    fn refuse_locksetup(&mut self, group: GroupId) -> Result<(), Errno> {
        let options = self.options();
        let message = if group == self.root {
            "Cannot pseudo-lock default group\n"
        } else if options.cdp || options.cdpl2 {
            "CDP enabled\n"
        } else {
            "Pseudo-locking not supported\n"
        };
        self.fail(message, Errno::Einval)
    }

    /// An exclusive group's masks overlap no other's, shareable bits included
    /// (`rdtgroup_mode_test_exclusive`).
    fn check_exclusive(&mut self, group: GroupId) -> Result<(), Errno> {
        let closid = self.group(group).class.closid;
        let mut has_cache = false;
        for schema in self.schemas.clone() {
            let resource = schema.id.resource;
            if !resource.is_cache() {
                continue;
            }
            has_cache = true;
            for domain in self.controls.domains(resource) {
                let side = schema.id.side;
                let mask = self.controls.value(resource, domain, side, closid).unwrap_or(0);
                if self.overlaps(schema, domain, mask, closid, false) {
                    return self.fail("Schemata overlaps\n", Errno::Einval);
                }
            }
        }
        if has_cache {
            Ok(())
        } else {
            self.fail("Cannot be exclusive without CAT/CDP\n", Errno::Einval)
        }
    }
}
