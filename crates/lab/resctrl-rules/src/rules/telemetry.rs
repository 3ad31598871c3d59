//! Energy of groups, which each package reports (Intel's application energy telemetry; resctrl.rst,
//! "PERF_PKG_MON"; arch/x86/kernel/cpu/resctrl/intel_aet.c; since Linux 7.0).

use super::{Errno, GroupId, Resctrl, World};
use crate::platform::PackageEvent;
use fairways_resctrl::language::Reading;

/// Bits of a count after its binary point.
const FRACTION: u32 = 18;

/// The kernel's decimals for so many bits: the least that show all of them (`decplaces`).
const MILLIONTHS: u64 = 1_000_000;

/// A count as the kernel prints it, rounded to the nearest (`print_event_value`).
fn decimal(raw: u64) -> String {
    let fraction = raw & ((1 << FRACTION) - 1);
    let decimals = (fraction * MILLIONTHS + (1 << (FRACTION - 1))) >> FRACTION;
    format!("{}.{decimals:06}\n", raw >> FRACTION)
}

impl Resctrl {
    /// Whether packages report energy.
    pub(super) fn has_telemetry(&self) -> bool {
        self.platform.telemetry().is_some()
    }

    /// `info/PERF_PKG_MON/mon_features`.
    pub(super) fn show_package_features(&self) -> Vec<u8> {
        PackageEvent::ALL.map(|event| format!("{}\n", event.name())).concat().into_bytes()
    }

    /// An event's file: a CTRL_MON group's is the sum with its MON groups'. Counts go on when an id
    /// gets another group.
    pub(super) fn show_package_event(
        &self,
        group: GroupId,
        package: u32,
        event: PackageEvent,
        world: &mut dyn World,
    ) -> Result<Vec<u8>, Errno> {
        if self.monitored_in(package).is_empty() {
            return Err(Errno::Enodev);
        }
        let group = self.group(group);
        let children = group.children.iter().map(|&child| self.group(child).class);
        let classes: Vec<_> = [group.class].into_iter().chain(children).collect();
        let counts = classes.into_iter().filter_map(|class| world.telemetry(class, package, event));
        Ok(match counts.reduce(u64::saturating_add) {
            Some(raw) => decimal(raw),
            None => format!("{}\n", Reading::Unavailable),
        }
        .into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::decimal;

    /// The examples that resctrl.rst's authors discussed: 5775 of 2^18 is 0.02203.
    #[test]
    fn counts_are_printed_as_the_kernel_prints_them() {
        for (raw, shown) in [
            (0, "0.000000\n"),
            (5775, "0.022030\n"),
            (1, "0.000004\n"),
            (1 << 17, "0.500000\n"),
            ((1 << 18) - 1, "0.999996\n"),
            ((7 << 18) + 3, "7.000011\n"),
            ((1 << 63) - 1, "35184372088831.999996\n"),
        ] {
            assert_eq!(decimal(raw), shown, "{raw}");
        }
    }
}
