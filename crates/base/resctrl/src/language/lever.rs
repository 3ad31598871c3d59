//! The lever that a line of bandwidth is.

use fairways_core::{BandwidthLevel, BandwidthLever, BandwidthUnit, LimitScope};

use super::{Bandwidth, Schemata, Value};

/// The greatest value of AMD's, 256 GB/s in eighths (resctrl.rst): `info` does not show it.
const MOST_EIGHTHS: u32 = 2048;

/// The mount option for values of `MB` in MiB/s, to which the kernel steers.
pub const IN_MBPS_OPTION: &str = "mba_MBps";

/// The file that each group has under [`IN_MBPS_OPTION`], since Linux 6.14.
pub const IN_MBPS_FILE: &str = "mba_MBps_event";

impl Bandwidth {
    /// The lever of memory bandwidth that `MB` is in a domain of the root's `schemata`; `None` for
    /// slow memory, where the domain has no such value, and where the unit is not known.
    ///
    /// `is_in_mbps` says whether the mount has the option `mba_MBps`. Values above 100 of a line of
    /// percents show that, too.
    #[must_use]
    pub fn lever(&self, root: &Schemata, domain: u32, is_in_mbps: bool) -> Option<BandwidthLever> {
        let line = root.line(&self.resource).filter(|_| self.resource == "MB")?;
        let Value::Number(own) = line.value(domain)? else { return None };
        let values = line.domains.iter().filter_map(|(_, value)| match value {
            Value::Number(value) => Some(*value),
            Value::Mask(_) => None,
        });
        let greatest = values.max().unwrap_or(own);
        let is_percent = self.linear?;
        // `per-thread` and `max` are of Intel's cores; AMD and MPAM limit a class as a whole, and
        // have no such file, or one of another content.
        let is_of_cores = matches!(self.throttle.as_deref(), Some("max" | "per-thread"));
        let (unit, scope, [least, step, most]) = if is_in_mbps || is_percent && greatest > 100 {
            (BandwidthUnit::MibPerSecond, LimitScope::Class, [1, 1, u32::MAX])
        } else if is_percent {
            let scope = if is_of_cores { LimitScope::Core } else { LimitScope::Class };
            (BandwidthUnit::Percent, scope, [self.min, self.step, 100])
        } else {
            let most = greatest.max(MOST_EIGHTHS);
            (BandwidthUnit::EighthGbps, LimitScope::Class, [self.min, self.step, most])
        };
        // AMD's least value is 0, of which it is not known what it does to a class.
        let [least, step, most] = [least, step, most].map(|of| BandwidthLevel::new(of.max(1)));
        Some(BandwidthLever {
            unit,
            least: least?,
            step: step?,
            most: most?,
            scope,
            // No file shows it.
            capacity_mbps: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lever(text: &str, linear: Option<bool>, throttle: Option<&str>) -> Option<BandwidthLever> {
        let (min, step) = if linear == Some(true) { (10, 10) } else { (0, 1) };
        let throttle = throttle.map(str::to_owned);
        let mb = Bandwidth { resource: "MB".to_owned(), closids: 8, min, step, linear, throttle };
        mb.lever(&Schemata::parse(text).unwrap(), 0, false)
    }

    fn shown(lever: BandwidthLever) -> (BandwidthUnit, LimitScope, [u32; 3]) {
        let BandwidthLever { unit, least, step, most, scope, .. } = lever;
        (unit, scope, [least, step, most].map(BandwidthLevel::get))
    }

    #[test]
    fn each_platform_has_its_unit() {
        use BandwidthUnit::{EighthGbps, MibPerSecond, Percent};
        use LimitScope::{Class, Core};
        let intel = lever("MB:0=100;1=100\n", Some(true), Some("max"));
        assert_eq!(intel.map(shown), Some((Percent, Core, [10, 10, 100])));
        let mpam = lever("MB:0=100\n", Some(true), None);
        assert_eq!(mpam.map(shown), Some((Percent, Class, [10, 10, 100])));
        let amd = lever("MB:0=2048\n", Some(false), None);
        assert_eq!(amd.map(shown), Some((EighthGbps, Class, [1, 1, 2048])));
        let mbps = lever("MB:0=4294967295\n", Some(true), Some("max"));
        assert_eq!(mbps.map(shown), Some((MibPerSecond, Class, [1, 1, u32::MAX])));
        // A percent would be MiB/s there.
        let one = lever("MB:0=50;1=4294967295\n", Some(true), Some("max"));
        assert_eq!(one.map(shown), Some((MibPerSecond, Class, [1, 1, u32::MAX])));
    }

    #[test]
    fn a_limit_of_the_root_is_not_the_greatest_value() {
        let amd = lever("MB:0=16\n", Some(false), None);
        assert_eq!(amd.map(|lever| lever.most.get()), Some(2048));
        let wide = lever("MB:0=16;1=4096\n", Some(false), None);
        assert_eq!(wide.map(|lever| lever.most.get()), Some(4096));
    }

    #[test]
    fn without_a_value_or_a_unit_there_is_none() {
        assert_eq!(lever("MB:1=100\n", Some(true), Some("max")), None);
        assert_eq!(lever("L3:0=fff\n", Some(true), Some("max")), None);
        assert_eq!(lever("MB:0=100\n", None, None), None);
    }
}
