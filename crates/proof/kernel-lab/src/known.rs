//! The rules that are known for a kernel: sid's moves on, and the rules do not by themselves.

use fairways_resctrl_rules::platform::Kernel as Rules;

/// Major and minor number.
type Version = (u32, u32);

/// The version at the beginning of `text`: `7.2`.
fn version(text: &str) -> Option<Version> {
    let (major, rest) = text.split_once('.')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..end].parse().ok()?))
}

/// A package's version: `7.2` for `linux-binary-7.2.13+deb14-cloud-amd64`.
fn of_package(name: &str) -> Option<Version> {
    version(&name[name.find(|c: char| c.is_ascii_digit())?..])
}

/// Rules with their versions, oldest first, without those queued for the next version.
fn known() -> Vec<(Version, Rules)> {
    let rules = Rules::all().into_iter();
    rules.filter_map(|rules| Some((version(rules.name)?, rules))).collect()
}

/// The newest rules that are not newer than the package; the newest of all if its name has no
/// version.
pub(crate) fn rules(package: &str) -> Rules {
    let found = of_package(package).unwrap_or((u32::MAX, 0));
    let (older, newer): (Vec<_>, Vec<_>) = known().into_iter().partition(|(of, _)| *of <= found);
    let nearest = older.into_iter().next_back().or_else(|| newer.into_iter().next());
    nearest.map_or_else(Rules::v7_2, |(_, rules)| rules)
}

/// A line if the suite's kernel has a version whose rules are not known.
pub(crate) fn surprise(suite: &str, package: &str) -> Option<String> {
    let Some(found) = of_package(package) else {
        return Some(format!("{suite}'s kernel {package} says no version"));
    };
    let rules = rules(package).name;
    let (major, minor) = found;
    match known().into_iter().find(|(of, _)| *of >= found) {
        Some((of, _)) if of == found => None,
        Some(_) => {
            Some(format!("{suite} is now {major}.{minor}; compared with the rules of {rules}"))
        }
        None => Some(format!("{suite} is now {major}.{minor}; known up to {rules}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{rules, surprise};

    #[test]
    fn a_kernel_is_compared_with_the_newest_rules_that_are_not_newer() {
        for (package, rules_of, line) in [
            ("linux-binary-7.2.13+deb14-cloud-amd64", "7.2", None),
            (
                "linux-binary-7.3.1+deb15-cloud-amd64",
                "7.2",
                Some("sid is now 7.3; known up to 7.2"),
            ),
            ("linux-binary-7.10-cloud-amd64", "7.2", Some("sid is now 7.10; known up to 7.2")),
            (
                "linux-image-6.18.3-cloud-amd64",
                "6.12",
                Some("sid is now 6.18; compared with the rules of 6.12"),
            ),
            ("linux-image-6.12.107+deb13-cloud-amd64", "6.12", None),
            ("linux-image-6.1.0-41-cloud-amd64", "6.1", None),
            (
                "linux-image-5.10.0-cloud-amd64",
                "6.1",
                Some("sid is now 5.10; compared with the rules of 6.1"),
            ),
            ("linux-image-cloud", "7.2", Some("sid's kernel linux-image-cloud says no version")),
        ] {
            assert_eq!(rules(package).name, rules_of, "{package}");
            assert_eq!(surprise("sid", package).as_deref(), line, "{package}");
        }
    }
}
