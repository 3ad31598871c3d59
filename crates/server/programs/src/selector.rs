//! How a program is found, as an administrator writes it.

use std::fmt;
use std::str::FromStr;

use super::user::User;

/// How a program is found. As text: `cgroup:/a/b`, `unit:nginx.service`, `user-unit:web.service`,
/// `container:ab12`, `pod:UID`, `pod:NAMESPACE/NAME`, `process:mlr*`,
/// `process:redis-server,user=redis`, `pid:123`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    /// A cgroup and all below it, by its path from the root of the hierarchy; each part may have
    /// `*` and `?`.
    Cgroup(String),
    /// A unit of the system's systemd, as systemctl prints it (`web@1.service`); it may have `*`
    /// and `?`. Without a unit's suffix it is a service. Units of a user's manager do not match:
    /// every user names units at will.
    Unit(String),
    /// A unit of any user's systemd, by the same names.
    UserUnit(String),
    /// A container of Docker, containerd, CRI-O or Podman, by the beginning of its id; `*` is every
    /// container.
    Container(String),
    /// A Kubernetes pod, by its UID.
    Pod(String),
    /// Kubernetes pods, by patterns with `*` and `?` for their namespace and name, if the kubelet
    /// keeps their logs.
    PodsOf {
        /// For the namespace.
        namespace: String,
        /// For the name.
        name: String,
    },
    /// Containers whose pods' owners make them part of the program of this name, as their runtime
    /// [announced](super::Programs::announce) them. It has no text that is read.
    Asked(String),
    /// Processes by a pattern with `*` and `?` for their command (the 15 bytes that the kernel
    /// keeps) or for the file name in `argv[0]`, and all that they fork.
    Process {
        /// For the name, which every process chooses itself.
        pattern: String,
        /// The user that runs them; without it, any.
        user: Option<User>,
    },
    /// The process that has this number at the first look, and all that it forks.
    Pid(i32),
}

/// A text that is no selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("selector `{text}`: expected {expected}")]
pub struct SelectorError {
    text: String,
    expected: &'static str,
}

const UNIT_SUFFIXES: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

/// The hexadecimal digits of a container's whole id (OCI runtimes of all four managers).
pub(super) const ID_DIGITS: usize = 64;

impl Selector {
    /// Whether it selects pods by their names.
    pub(super) const fn selects_pod_names(&self) -> bool {
        matches!(self, Self::PodsOf { .. })
    }

    /// Whether it selects cgroups, rather than processes.
    pub(super) const fn selects_cgroups(&self) -> bool {
        !matches!(self, Self::Process { .. } | Self::Pid(_))
    }
}

/// Whether it is a pod's UID: 36 characters from the API server, or 32 digits, the hash that the
/// kubelet gives to pods from files (`generateUID` in its pkg/kubelet/config/common.go).
pub(super) fn is_uid(text: &str) -> bool {
    let has_dashes = text.len() == 36;
    matches!(text.len(), 32 | 36)
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 if has_dashes => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether it is a pattern of a pod's namespace or name.
fn is_pattern(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.*?".contains(&byte)
        })
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).map_err(|expected| SelectorError { text: text.to_owned(), expected })
    }
}

impl Selector {
    /// Parses a selector; the error is what was expected.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let kinds = "`cgroup:/PATH`, `unit:NAME`, `user-unit:NAME`, `container:ID`, `pod:UID`, `pod:NAMESPACE/NAME`, `process:PATTERN`, `process:PATTERN,user=USER` or `pid:NUMBER`";
        let (kind, value) = text.split_once(':').ok_or(kinds)?;
        if value.is_empty() || value.chars().any(char::is_control) {
            return Err("something printable after the colon");
        }
        match kind {
            "cgroup" => {
                let path =
                    if value.len() > 1 { value.strip_suffix('/').unwrap_or(value) } else { value };
                let parts = path.strip_prefix('/').map(|path| path.split('/').collect::<Vec<_>>());
                let is_whole = parts.is_some_and(|parts| {
                    path == "/" || !parts.iter().any(|part| matches!(*part, "" | "." | ".."))
                });
                match is_whole {
                    true => Ok(Self::Cgroup(path.to_owned())),
                    false => Err(
                        "a path from the root of the cgroup hierarchy, such as `/system.slice/a`",
                    ),
                }
            }
            "unit" | "user-unit" if value.contains('/') => {
                Err("the name of a systemd unit, without a path")
            }
            "unit" | "user-unit" => {
                let whole = UNIT_SUFFIXES.iter().any(|suffix| value.ends_with(suffix));
                let name = if whole { value.to_owned() } else { format!("{value}.service") };
                Ok(if kind == "unit" { Self::Unit(name) } else { Self::UserUnit(name) })
            }
            "container" => {
                let id = value.to_ascii_lowercase();
                let hex = id.len() <= ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
                if hex || id == "*" {
                    Ok(Self::Container(id))
                } else {
                    Err("the first of a container id's 64 hexadecimal digits, or `*`")
                }
            }
            "pod" if value.contains('/') => match value.split_once('/') {
                Some((namespace, name)) if is_pattern(namespace) && is_pattern(name) => {
                    Ok(Self::PodsOf { namespace: namespace.to_owned(), name: name.to_owned() })
                }
                _ => Err("a namespace and a pod's name, such as `web/api-*`"),
            },
            "pod" => {
                let uid = value.to_ascii_lowercase().replace('_', "-");
                if is_uid(&uid) {
                    Ok(Self::Pod(uid))
                } else {
                    Err("a pod's whole UID, or `pod:NAMESPACE/NAME` for its name")
                }
            }
            "process" if value.contains('/') => {
                Err("a pattern of a command's name, without a path")
            }
            "process" => {
                let (pattern, user) = match value.rsplit_once(",user=") {
                    Some(("", _)) => {
                        return Err("a pattern of a command's name before `,user=`");
                    }
                    Some((pattern, user)) => {
                        let known = User::find(user);
                        let known = known
                            .ok_or("after `user=` a name in /etc/passwd or a number of a user")?;
                        (pattern, Some(known))
                    }
                    None => (value, None),
                };
                Ok(Self::Process { pattern: pattern.to_owned(), user })
            }
            "pid" => match value.parse() {
                Ok(pid) if pid > 0 => Ok(Self::Pid(pid)),
                _ => Err("the number of a process, from 1"),
            },
            _ => Err(kinds),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cgroup(path) => write!(f, "cgroup:{path}"),
            Self::Unit(name) => write!(f, "unit:{name}"),
            Self::UserUnit(name) => write!(f, "user-unit:{name}"),
            Self::Container(id) => write!(f, "container:{id}"),
            Self::Pod(uid) => write!(f, "pod:{uid}"),
            Self::PodsOf { namespace, name } => write!(f, "pod:{namespace}/{name}"),
            Self::Asked(program) => write!(f, "annotations of {program}"),
            Self::Process { pattern, user: None } => write!(f, "process:{pattern}"),
            Self::Process { pattern, user: Some(user) } => {
                write!(f, "process:{pattern},user={user}")
            }
            Self::Pid(pid) => write!(f, "pid:{pid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reread(text: &str) -> Result<String, SelectorError> {
        text.parse::<Selector>().map(|selector| selector.to_string())
    }

    #[test]
    fn what_is_read_is_written_again() {
        for text in [
            "cgroup:/",
            "cgroup:/a/b*",
            "unit:web@1.service",
            "unit:user.slice",
            "container:ab12",
            "container:*",
            "pod:0a1b2c3d-0000-1111-2222-333344445555",
            "pod:0a1b2c3d000011112222333344445555",
            "pod:web/api-7d4b",
            "pod:kube-*/*",
            "process:mlr*",
            "process:a:b",
            "process:a,b",
            "process:redis-server,user=root",
            "process:redis*,user=4294967294",
            "process:a,user=b,user=7",
            "user-unit:web@1.service",
            "pid:123",
        ] {
            let selector: Selector = text.parse().expect(text);
            assert_eq!(selector.to_string(), text);
        }
        assert_eq!(reread("unit:nginx").as_deref(), Ok("unit:nginx.service"));
        assert_eq!(reread("cgroup:/a/").as_deref(), Ok("cgroup:/a"));
        let (written, uid) =
            ("0A1b2c3d_0000_1111_2222_333344445555", "0a1b2c3d-0000-1111-2222-333344445555");
        let pod = reread(&format!("pod:{written}"));
        assert_eq!(pod, Ok(format!("pod:{uid}")), "as the cgroup's name has it, too");
    }

    #[test]
    fn an_invalid_selector_is_reported_in_a_line() {
        for text in [
            "",
            "nginx",
            "cgroup:",
            "cgroup:a",
            "cgroup:/a//b",
            "cgroup:/a/../b",
            "unit:a/b",
            "container:xyz",
            "pod:x",
            "pod:cafe",
            "pod:0a1b2c3d-0000-1111-2222-33334444555",
            "pod:0a1b2c3d00-00-1111-2222-333344445555",
            "pod:/a",
            "pod:web/",
            "pod:web/a/b",
            "pod:Web/a",
            "pod:web/a_b",
            "process:/bin/sh",
            "process:a,user=",
            "process:,user=root",
            "process:a,user=no such user",
            "process:a,user=-1",
            "process:a,user=4294967295",
            "process:a,user=4294967296",
            "user-unit:a/b",
            "pid:0",
            "pid:-1",
            "pid:99999999999",
            "program:a",
            "process:a\nb",
        ] {
            let error = text.parse::<Selector>().expect_err(text).to_string();
            assert!(error.contains("expected "), "{error}");
        }
        let error = "pid:x".parse::<Selector>().expect_err("no number").to_string();
        assert_eq!(error, "selector `pid:x`: expected the number of a process, from 1");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*", kind in "cgroup|unit|user-unit|container|pod|process|pid") {
            for text in [text.clone(), format!("{kind}:{text}")] {
                if let Ok(selector) = text.parse::<Selector>() {
                    proptest::prop_assert_eq!(selector.to_string().parse(), Ok(selector));
                }
            }
        }
    }
}
