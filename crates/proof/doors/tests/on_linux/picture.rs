//! resctrl at one moment: groups, tasks, registers, and the daemon's status.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Where the registers of masks begin (Intel SDM, IA32_L3_QOS_MASK_0).
const MASKS: u32 = 0xc90;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) tasks: BTreeSet<i32>,
    pub(crate) monitors: BTreeMap<String, BTreeSet<i32>>,
    pub(crate) schemata: Vec<String>,
    /// `mode` and `cpus`.
    pub(crate) others: Vec<String>,
    /// The class of service.
    pub(crate) class: u32,
}

impl Group {
    /// The masks of a line, by domain.
    pub(crate) fn masks(&self, line: &str) -> BTreeMap<u32, u64> {
        let all = self.schemata.iter().filter_map(|text| text.trim().split_once(':'));
        let domains = all.filter(|(name, _)| *name == line).flat_map(|(_, of)| of.split(';'));
        let parsed = domains.filter_map(|of| of.split_once('='));
        parsed.map(|(id, mask)| (id.parse().unwrap(), hexadecimal(mask))).collect()
    }
}

#[derive(Debug)]
pub(crate) struct Picture {
    name: String,
    /// By name; the root's is `.`.
    pub(crate) groups: BTreeMap<String, Group>,
    /// The threads of our programs.
    pub(crate) programs: BTreeMap<String, BTreeSet<i32>>,
    /// By number and domain.
    pub(crate) registers: BTreeMap<(u32, u32), u64>,
    status: Option<Value>,
}

impl Picture {
    pub(crate) fn parse(name: &str, text: &str, registers: BTreeMap<(u32, u32), u64>) -> Self {
        let mut of = Self {
            name: name.to_owned(),
            groups: BTreeMap::new(),
            programs: BTreeMap::new(),
            registers,
            status: None,
        };
        for line in text.lines() {
            if line.starts_with('{') {
                of.status = Some(serde_json::from_str(line).unwrap());
            } else if let Some(program) = line.strip_prefix("program ") {
                let (program, task) = program.split_once(':').unwrap();
                let tasks = of.programs.entry(program.to_owned()).or_default();
                tasks.insert(task.parse().unwrap());
            } else {
                of.line(line);
            }
        }
        of
    }

    fn line(&mut self, line: &str) {
        let (path, value) = line.split_once(':').unwrap();
        let (group, file) = path.split_once('/').unwrap_or((path, ""));
        let group = self.groups.entry(group.to_owned()).or_default();
        if let Some(monitor) = file.strip_prefix("mon_groups/") {
            let monitor = monitor.trim_end_matches("/tasks").trim_end_matches('/');
            let tasks = group.monitors.entry(monitor.to_owned()).or_default();
            tasks.extend(value.parse::<i32>());
            return;
        }
        match file {
            "" => {}
            "tasks" => group.tasks.extend(value.parse::<i32>()),
            "schemata" => group.schemata.push(value.to_owned()),
            "ctrl_hw_id" => group.class = value.parse().unwrap(),
            _ => group.others.push(format!("{file}:{value}")),
        }
    }

    /// The groups that Fairways made.
    pub(crate) fn ours(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.groups.iter().filter(|(name, _)| name.starts_with("fairways."))
    }

    /// What Fairways did not make.
    pub(crate) fn theirs(&self) -> BTreeMap<&String, &Group> {
        self.groups.iter().filter(|(name, _)| !name.starts_with("fairways.")).collect()
    }

    /// The group of ours that has all of a program's tasks; checks that they are in a monitoring
    /// group of their own there.
    pub(crate) fn group(&self, program: &str) -> &Group {
        let Self { name, programs, .. } = self;
        let tasks = &programs[program];
        let (_, group) = self
            .ours()
            .find(|(_, group)| tasks.is_subset(&group.tasks))
            .unwrap_or_else(|| panic!("{name}: {program}'s {tasks:?} are in no group of ours"));
        let monitor =
            group.monitors.iter().find(|(name, _)| name.ends_with(&format!("-{program}")));
        assert_eq!(monitor.map(|(_, of)| of), Some(tasks), "{name}: {program} is watched alone");
        group
    }

    /// Whether a task of a program is in another manager's group.
    fn is_theirs(&self, program: &str) -> bool {
        let mut theirs = self.theirs().into_values();
        theirs.any(|group| !group.tasks.is_disjoint(&self.programs[program]))
    }

    /// Checks that groups, masks, registers and the daemon's status agree, and that `status` lists
    /// `programs` programs; those with tasks in another manager's groups are passed over. `lines`
    /// are the lines of code and of data, or the one for both.
    pub(crate) fn agrees(&self, programs: usize, lines: &[&str]) {
        let name = &self.name;
        let status = self.status.as_ref().unwrap_or_else(|| panic!("{name}: no status"));
        let shown = status["programs"].as_array().unwrap();
        assert_eq!(shown.len(), programs, "{name}: {shown:?}");
        for of in shown {
            let program = of["name"].as_str().unwrap();
            if self.is_theirs(program) {
                continue;
            }
            let domain = u32::try_from(of["domain"].as_u64().unwrap()).unwrap();
            let said = hexadecimal(of["mask"].as_str().unwrap());
            let group = self.group(program);
            for line in lines {
                let is = group.masks(line)[&domain];
                assert_eq!(is, said, "{name}: {line} of {program} in domain {domain}");
            }
        }
        for (group, of) in self.ours() {
            for (number, line) in (0..).zip(lines) {
                let number = MASKS + of.class * u32::try_from(lines.len()).unwrap() + number;
                for (domain, mask) in of.masks(line) {
                    let register = self.registers.get(&(number, domain));
                    assert_eq!(register, Some(&mask), "{name}: {number:x} of {group}, {domain}");
                }
            }
        }
    }
}

fn hexadecimal(mask: &str) -> u64 {
    u64::from_str_radix(mask.trim_start_matches("0x"), 16).unwrap()
}
