//! The cgroups that a process is in (cgroups(7), `/proc/PID/cgroup`).

/// A line of the file: a hierarchy, and the process's place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership<'t> {
    hierarchy: &'t str,
    controllers: &'t str,
    /// The cgroup's path from the hierarchy's root, beginning with `/`.
    pub path: &'t str,
}

impl<'t> Membership<'t> {
    /// Reads a line; `None` if it has another form. A path may contain colons.
    #[must_use]
    pub fn parse(line: &'t str) -> Option<Self> {
        let mut parts = line.splitn(3, ':');
        let (hierarchy, controllers) = (parts.next()?, parts.next()?);
        Some(Self { hierarchy, controllers, path: parts.next()? })
    }

    /// Whether the hierarchy is v2's only one.
    #[must_use]
    pub fn is_unified(&self) -> bool {
        self.hierarchy == "0" && self.controllers.is_empty()
    }

    /// The controllers of a hierarchy of v1 (`name=systemd` is one), none for v2.
    pub fn controllers(&self) -> impl Iterator<Item = &'t str> {
        self.controllers.split(',').filter(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_contain_colons() {
        let of = Membership::parse("3:cpu,cpuacct:/docker/a:b").unwrap();
        assert_eq!((of.path, of.is_unified()), ("/docker/a:b", false));
        assert_eq!(of.controllers().collect::<Vec<_>>(), ["cpu", "cpuacct"]);
        let of = Membership::parse("0::/").unwrap();
        assert!(of.is_unified() && of.controllers().next().is_none());
        assert_eq!(Membership::parse("0:/"), None);
    }
}
