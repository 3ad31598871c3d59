//! What this process may do.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::facts::{Facts, field};
use super::{Finding, FindingState};

/// The finding that is missing where resctrl's files can't be written.
pub(super) const ID: &str = "permission";

/// Capabilities by their numbers (include/uapi/linux/capability.h).
#[derive(Clone, Copy)]
pub(super) enum Capability {
    DacOverride = 1,
    NetAdmin = 12,
    SysAdmin = 21,
    SysNice = 23,
    Perfmon = 38,
    Bpf = 39,
}

/// The user and the capabilities of this process.
pub(super) struct Privileges {
    /// Its effective user.
    pub(super) user: u32,
    effective: u64,
}

impl Privileges {
    /// Reads them from `/proc/self/status`.
    pub(super) fn read(facts: &Facts) -> Option<Self> {
        let status = facts.files.text("proc/self/status")?;
        let user = field(&status, "Uid")?.split_whitespace().nth(1)?.parse().ok()?;
        let effective = u64::from_str_radix(&field(&status, "CapEff")?, 16).ok()?;
        Some(Self { user, effective })
    }

    pub(super) fn can(&self, capability: Capability) -> bool {
        self.effective >> (capability as u32) & 1 == 1
    }
}

pub(super) fn check(facts: &Facts, findings: &mut Vec<Finding>) {
    let privileges = Privileges::read(facts);
    findings.push(capabilities(privileges.as_ref()));
    if let Some(resctrl) = &facts.resctrl {
        let why = "groups are made and files are written in it";
        let file = resctrl.root.join("schemata");
        findings.push(match (privileges, std::fs::metadata(&file)) {
            (Some(privileges), Ok(meta)) => {
                let by_owner = meta.uid() == privileges.user && meta.mode() & 0o200 != 0;
                let may =
                    by_owner || meta.mode() & 0o002 != 0 || privileges.can(Capability::DacOverride);
                let read_only = resctrl
                    .mounted
                    .as_ref()
                    .is_some_and(|(_, options)| options.iter().any(|option| option == "ro"));
                let folder = std::fs::metadata(&resctrl.root).ok();
                let makes = privileges.can(Capability::DacOverride)
                    || folder.is_some_and(|meta| meta.mode() & 0o200 != 0);
                if may && !read_only && !makes {
                    groups_are_not_made(&resctrl.root, why)
                } else {
                    permission(may, read_only, &privileges, why)
                }
            }
            _ => {
                let found = "/proc/self/status or the root's schemata cannot be read";
                Finding::new(ID, FindingState::Unknown, found, why)
            }
        });
    }
}

/// The kernel makes resctrl's root without write permission, which only CAP_DAC_OVERRIDE bypasses,
/// as root usually has it.
fn groups_are_not_made(root: &Path, why: &'static str) -> Finding {
    let root = root.display();
    let found =
        format!("files can be written and no groups made: {root} is read-only for its owner");
    Finding::new(ID, FindingState::Missing, found, why)
        .remedy(format!("chmod u+w {root} {root}/mon_groups, or give it CAP_DAC_OVERRIDE"))
}

fn permission(may: bool, read_only: bool, privileges: &Privileges, why: &'static str) -> Finding {
    let user = privileges.user;
    if read_only {
        return Finding::new(ID, FindingState::Missing, "resctrl is mounted read-only", why)
            .remedy("mount -o remount,rw /sys/fs/resctrl");
    }
    if !may {
        let found = format!("user {user} may not write to it");
        return Finding::new(ID, FindingState::Missing, found, why)
            .remedy("run it as root, or give it CAP_DAC_OVERRIDE");
    }
    // rdtgroup_task_write_permission: euid 0, or the task's own user.
    if user != 0 {
        let found = format!("user {user} may write to it, and may move only tasks of its own");
        return Finding::new(ID, FindingState::Limited, found, why).remedy("run it as root");
    }
    Finding::new(ID, FindingState::Ok, "root may write to it and move every task", why)
}

fn capabilities(privileges: Option<&Privileges>) -> Finding {
    let why = "their uses: files of others, arrivals at once, counting, CPU time";
    let Some(privileges) = privileges else {
        let found = "/proc/self/status cannot be read";
        return Finding::new("capabilities", FindingState::Unknown, found, why);
    };
    let wanted = [
        ("CAP_DAC_OVERRIDE", privileges.can(Capability::DacOverride)),
        ("CAP_NET_ADMIN", privileges.can(Capability::NetAdmin)),
        (
            "CAP_PERFMON",
            privileges.can(Capability::Perfmon) || privileges.can(Capability::SysAdmin),
        ),
        ("CAP_SYS_NICE", privileges.can(Capability::SysNice)),
    ];
    let lacks: Vec<&str> = wanted.iter().filter(|(_, has)| !has).map(|&(name, _)| name).collect();
    if lacks.is_empty() {
        let has = wanted.map(|(name, _)| name).join(", ");
        return Finding::new("capabilities", FindingState::Ok, has, why);
    }
    let lacks = lacks.join(", ");
    let found = format!("without {lacks}");
    Finding::new("capabilities", FindingState::Limited, found, why)
        .remedy(format!("run it as root, or add {lacks} (systemd: AmbientCapabilities=)"))
}
