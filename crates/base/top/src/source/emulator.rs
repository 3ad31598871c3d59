//! An emulator, by its control socket and its files: the programs, and their ways, whichever
//! process set these.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairways_command_kit::BadInput;
use fairways_command_kit::input::shown;
use fairways_command_kit::plain::plain;
use fairways_core::{BandwidthLever, Counters, WayMask};
use fairways_emulated::socket_of;
use fairways_emulated::{Client, ProgramState};
use fairways_record::status::{
    ClusterStatus, Decision, DomainStatus, ProgramStatus, SCHEMA, Status, unique_name,
};
use fairways_resctrl::language::{Bandwidth, IN_MBPS_FILE, Info, Reading, Schemata, Value};

/// The connection, and the counters at the last poll with its time.
pub(super) struct Emulated {
    at: PathBuf,
    client: Option<Client>,
    before: BTreeMap<i32, (u64, Counters)>,
}

/// A control group: its ways in each domain, all its lines, its programs, and the monitoring groups
/// with their programs, its own the last.
struct ControlGroup {
    masks: Vec<(u32, WayMask)>,
    schemata: Schemata,
    tasks: Vec<i32>,
    monitored: Vec<(PathBuf, Vec<i32>)>,
}

impl Emulated {
    /// Connects to the emulator that is mounted there, or that listens on this socket.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn open(dir: &Path) -> anyhow::Result<Self> {
        let at = socket_of(dir);
        let client = Client::connect(&at).map_err(|why| BadInput(why.to_string()))?;
        let client = Some(client);
        Ok(Self { at, client, before: BTreeMap::new() })
    }

    pub(super) fn shown_source(&self) -> String {
        format!("emulator {}", shown(&self.at))
    }

    /// The emulator's status; it makes no decisions.
    ///
    /// # Errors
    /// If it does not answer; the next poll connects again.
    pub(super) fn ask(&mut self) -> anyhow::Result<(Status, Vec<Decision>)> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(&self.at)?,
        };
        let status = self.status(&mut client)?;
        self.client = Some(client);
        Ok((status, Vec::new()))
    }

    fn status(&mut self, client: &mut Client) -> anyhow::Result<Status> {
        let answer = client.status()?;
        let all = client.programs()?;
        let counted = client.counters(None)?;
        let root = PathBuf::from(&answer.mount);
        let running: Vec<&ProgramState> = all.iter().filter(|state| state.running).collect();
        let pids: Vec<i32> = running.iter().map(|state| state.pid).collect();
        let mut names: BTreeMap<i32, String> = BTreeMap::new();
        // Programs that have ended count, too: a name belongs to one program.
        for state in &all {
            let name =
                unique_name(plain(&state.name), |name| names.values().any(|taken| taken == name));
            names.insert(state.pid, name);
        }
        let name = |state: &ProgramState| names.get(&state.pid).unwrap_or(&state.name).clone();
        let mut groups = vec![group(&root, &pids)?];
        for dir in folders(&root)? {
            // A group that has just been removed is skipped.
            groups.extend(group(&dir, &pids).ok());
        }
        let closids = fs::read_to_string(root.join("info/L3/num_closids")).unwrap_or_default();
        let clos = closids.trim().parse().unwrap_or(0);
        let cache = fs::read_to_string(root.join("info/L3/cbm_mask")).unwrap_or_default();
        let cache = u32::from_str_radix(cache.trim(), 16).map(WayMask::from_bits).ok();
        let mut status = Status {
            schema: SCHEMA,
            version: answer.version,
            pid: u32::try_from(answer.pid).unwrap_or_default(),
            policy: "no policy of its own".to_owned(),
            mode: "emulator".to_owned(),
            now_ns: answer.now_ns,
            ..Status::default()
        };
        let bandwidth = bandwidth(&root);
        let ids: Vec<u32> = groups[0].masks.iter().map(|&(id, _)| id).collect();
        for id in ids {
            let way_bytes = way_bytes(&root, id, &groups[0]);
            let is_in_mbps = root.join(IN_MBPS_FILE).is_file();
            let lever = bandwidth.as_ref();
            let lever = lever.and_then(|of| of.lever(&groups[0].schemata, id, is_in_mbps));
            let mut domain = DomainStatus {
                id,
                cache: cache.map(|mask| mask.to_string()),
                offered: cache.map(|mask| mask.to_string()),
                way_bytes,
                ways: cache.map_or(0, WayMask::count),
                clos,
                bandwidth: lever,
                ..DomainStatus::default()
            };
            for group in groups.iter().filter(|group| !group.tasks.is_empty()) {
                let Some(&(_, mask)) = group.masks.iter().find(|(other, _)| *other == id) else {
                    continue;
                };
                let bandwidth_level = lever.and_then(|lever| group.limit(id, lever));
                let cluster = u32::try_from(domain.clusters.len()).ok();
                let members = running.iter().filter(|state| group.tasks.contains(&state.pid));
                for state in members.clone() {
                    let occupancy = occupancy_bytes(group, state.pid, id).zip(way_bytes);
                    let mut program = ProgramStatus {
                        app: u32::try_from(state.pid).unwrap_or_default(),
                        name: name(state),
                        domain: id,
                        mask: Some(mask.to_string()),
                        ways: Some(mask.count()),
                        bandwidth_level,
                        cluster,
                        occupancy_ways: occupancy.map(|(bytes, way)| bytes as f64 / way as f64),
                        ..ProgramStatus::default()
                    };
                    if let Some(now) = counted.iter().find(|now| now.pid == state.pid)
                        && let Some((then, before)) = self.before.get(&state.pid)
                        // Another emulator has another clock.
                        && let Some(nanos) = now.now_ns.checked_sub(*then).filter(|&ns| ns > 0)
                    {
                        set_window(&mut program, before, &now.counters, nanos);
                    }
                    status.programs.push(program);
                }
                let (programs, tasks) = members.map(|state| (name(state), state.pid)).unzip();
                let mask = mask.to_string();
                domain.clusters.push(ClusterStatus { mask, bandwidth_level, programs, tasks });
            }
            status.domains.push(domain);
        }
        // A clock that stands still ends no window.
        for now in counted {
            if self
                .before
                .get(&now.pid)
                .is_none_or(|(then, _): &(u64, Counters)| now.now_ns != *then)
            {
                self.before.insert(now.pid, (now.now_ns, now.counters));
            }
        }
        Ok(status)
    }
}

/// Sets a program's counts between two readings.
fn set_window(program: &mut ProgramStatus, before: &Counters, now: &Counters, nanos: u64) {
    fn since(
        count: fn(&Counters) -> Option<u64>,
        now: &Counters,
        before: &Counters,
    ) -> Option<u64> {
        count(now)?.checked_sub(count(before)?)
    }
    let instructions =
        since(|counters| counters.instructions, now, before).filter(|&count| count > 0);
    let cycles = since(|counters| counters.cycles, now, before).filter(|&count| count > 0);
    fn ratio(over: Option<u64>, under: Option<u64>) -> Option<f64> {
        Some(over? as f64 / under? as f64)
    }
    program.ipc = ratio(instructions, cycles);
    let misses = since(|counters| counters.llc_misses, now, before);
    program.llcmpki = ratio(misses, instructions).map(|ratio| 1000.0 * ratio);
    program.llcmpkc = ratio(misses, cycles).map(|ratio| 1000.0 * ratio);
    program.memory_bytes = since(|counters| counters.memory_bytes, now, before);
    program.window_ns = Some(nanos);
}

fn group(dir: &Path, pids: &[i32]) -> anyhow::Result<ControlGroup> {
    let file = dir.join("schemata");
    let text = fs::read_to_string(&file).with_context(|| shown(&file))?;
    let schemata = Schemata::parse(&text).with_context(|| shown(&file))?;
    let line = schemata.line("L3").or_else(|| schemata.line("L3DATA"));
    let masks = line.into_iter().flat_map(|line| &line.domains);
    let masks = masks.filter_map(|&(id, value)| match value {
        Value::Mask(mask) => Some((id, mask)),
        Value::Number(_) => None,
    });
    let tasks = tasks(dir, pids)?;
    let below = folders(&dir.join("mon_groups")).unwrap_or_default().into_iter();
    let mut monitored: Vec<_> =
        below.filter_map(|dir| Some((dir.clone(), self::tasks(&dir, pids).ok()?))).collect();
    monitored.push((dir.to_owned(), tasks.clone()));
    let masks = masks.collect();
    Ok(ControlGroup { masks, schemata, tasks, monitored })
}

impl ControlGroup {
    /// Its limit of memory bandwidth in a domain: the highest level is none.
    fn limit(&self, domain: u32, lever: BandwidthLever) -> Option<u32> {
        match self.schemata.line("MB")?.value(domain)? {
            Value::Number(level) => Some(level).filter(|level| *level < lever.most.get()),
            Value::Mask(_) => None,
        }
    }
}

/// How memory bandwidth can be limited, if it can.
fn bandwidth(root: &Path) -> Option<Bandwidth> {
    let info = Info::read(["MB"], |file| fs::read_to_string(root.join("info").join(file)).ok());
    info.ok()?.bandwidths.into_iter().next()
}

/// The programs of `pids` that are in a group.
fn tasks(dir: &Path, pids: &[i32]) -> anyhow::Result<Vec<i32>> {
    let file = dir.join("tasks");
    let text = fs::read_to_string(&file).with_context(|| shown(&file))?;
    let tasks = text.lines().filter_map(|line| line.parse().ok());
    Ok(tasks.filter(|task| pids.contains(task)).collect())
}

/// The groups in a folder.
fn folders(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = fs::read_dir(dir).with_context(|| shown(dir))?;
    let all = read.flatten().map(|entry| entry.path());
    let mut groups: Vec<_> = all.filter(|path| path.join("tasks").is_file()).collect();
    groups.sort();
    Ok(groups)
}

/// The bytes that a program occupies, if it is monitored alone.
fn occupancy_bytes(group: &ControlGroup, pid: i32, domain: u32) -> Option<u64> {
    let (dir, _) = group.monitored.iter().find(|(_, tasks)| *tasks == [pid])?;
    let file = dir.join(format!("mon_data/mon_L3_{domain:02}/llc_occupancy"));
    match Reading::parse(&fs::read_to_string(file).ok()?).ok()? {
        Reading::Value(bytes) => Some(bytes),
        _ => None,
    }
}

fn way_bytes(root: &Path, domain: u32, group: &ControlGroup) -> Option<u64> {
    let sizes = Schemata::parse_sizes(&fs::read_to_string(root.join("size")).ok()?).ok()?;
    let line = sizes.line("L3").or_else(|| sizes.line("L3DATA"))?;
    let Some(Value::Number(bytes)) = line.value(domain) else { return None };
    let (_, mask) = group.masks.iter().find(|(id, _)| *id == domain)?;
    u64::from(bytes).checked_div(u64::from(mask.count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_limit_below_the_highest_level() {
        let root = tempfile::tempdir().unwrap();
        let mb = root.path().join("info/MB");
        fs::create_dir_all(&mb).unwrap();
        assert!(bandwidth(root.path()).is_none());
        for (name, text) in [
            ("num_closids", "8\n"),
            ("min_bandwidth", "10\n"),
            ("bandwidth_gran", "10\n"),
            ("delay_linear", "1\n"),
            ("thread_throttle_mode", "max\n"),
        ] {
            fs::write(mb.join(name), text).unwrap();
        }
        fs::write(root.path().join("tasks"), "7\n").unwrap();
        fs::write(root.path().join("schemata"), "L3:0=fff;1=fff\nMB:0=100;1=20\n").unwrap();
        let group = group(root.path(), &[7]).unwrap();
        let bandwidth = bandwidth(root.path()).unwrap();
        let limits = [0, 1, 2]
            .map(|domain| group.limit(domain, bandwidth.lever(&group.schemata, domain, false)?));
        assert_eq!(limits, [None, Some(20), None]);
    }
}
