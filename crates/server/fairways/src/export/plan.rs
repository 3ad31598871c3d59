//! Reading the plans that other commands printed as JSON (docs/simulate.md, docs/optimum.md,
//! docs/daemon.md).

use std::collections::HashMap;

use fairways_core::{BandwidthLevel, BandwidthLever, BandwidthUnit, LevelInUnit};
use serde::Deserialize;

use super::cut;

/// The only schema so far.
const SCHEMA: u32 = 1;

/// What a command printed. Fields that a plan does not need are skipped.
#[derive(Deserialize)]
pub(super) struct Document {
    schema: u32,
    /// From `simulate` and `optimum`.
    #[serde(default)]
    mixes: Vec<Mix>,
    /// From a daemon.
    policy: Option<String>,
    domains: Option<Vec<Domain>>,
}

#[derive(Deserialize)]
struct Domain {
    id: u32,
    #[serde(default)]
    bandwidth: Option<BandwidthLever>,
    reason: Option<String>,
    clusters: Vec<Managed>,
    /// Those of the plan, if others are in force.
    #[serde(default)]
    planned: Option<Vec<Managed>>,
}

#[derive(Deserialize)]
struct Managed {
    mask: String,
    #[serde(default)]
    bandwidth_level: Option<u32>,
    programs: Vec<String>,
    tasks: Vec<i32>,
}

#[derive(Deserialize)]
struct Mix {
    mix: String,
    apps: Vec<String>,
    policies: Vec<Decided>,
}

#[derive(Deserialize)]
struct Decided {
    policy: String,
    reason: Option<String>,
    partition: Option<Vec<Written>>,
}

#[derive(Deserialize)]
struct Written {
    apps: Vec<usize>,
    mask: String,
    #[serde(default)]
    bandwidth_level: Option<u32>,
}

/// What one policy decided for one mix.
pub(super) struct Plan<'a> {
    pub(super) mix: &'a str,
    pub(super) policy: &'a str,
    pub(super) reason: Option<&'a str>,
    /// The domain to which the plan belongs, on a host.
    pub(super) domain: Option<u32>,
    /// The clusters that have programs.
    pub(super) clusters: Vec<Cluster<'a>>,
}

/// Programs that share ways.
pub(super) struct Cluster<'a> {
    pub(super) name: String,
    /// The programs' names, each once.
    pub(super) programs: Vec<&'a str>,
    /// Their threads, if known. Otherwise they are found by the programs' names.
    pub(super) tasks: Option<&'a [i32]>,
    /// The ways, from the lowest bit.
    pub(super) mask: u32,
    /// The level of memory bandwidth and its unit, if there is a limit.
    pub(super) level: Option<LevelInUnit>,
}

impl Document {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let expected =
            "expected what simulate, optimum, run --dry-run or status prints with --json";
        let document: Self =
            serde_json::from_slice(text).map_err(|error| format!("{expected}: {error}"))?;
        match document.schema {
            SCHEMA => Ok(document),
            other => Err(format!("schema: expected {SCHEMA}, found {other}")),
        }
    }

    /// Whether it comes from a daemon, where each domain has a plan of its own.
    pub(super) fn is_of_host(&self) -> bool {
        self.domains.is_some()
    }

    /// The plan of a host's domain.
    pub(super) fn plan_of_domain(&self, id: u32) -> Result<Plan<'_>, String> {
        let domains = self.domains.as_deref().unwrap_or_default();
        let domain = domains.iter().find(|domain| domain.id == id).ok_or_else(|| {
            let known: Vec<String> = domains.iter().map(|of| of.id.to_string()).collect();
            format!("--domain: expected one of {}, found {id}", known.join(", "))
        })?;
        let mut clusters = Vec::new();
        // A daemon that only observes has nothing in force.
        let in_force = Some(&domain.clusters).filter(|clusters| !clusters.is_empty());
        for (index, of) in in_force.or(domain.planned.as_ref()).into_iter().flatten().enumerate() {
            let programs = of.programs.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
            // Scripts of several domains can be run one after the other.
            let (name, tasks) = (format!("domain-{id}-cluster-{index}"), Some(&of.tasks[..]));
            let level = match of.bandwidth_level {
                Some(level) => Some(level_in_unit(level, domain.bandwidth)?),
                None => None,
            };
            clusters.push(Cluster { name, programs, tasks, mask: mask(&of.mask)?, level });
        }
        if clusters.is_empty() {
            return Err(format!("domain {id}: expected a plan, found none yet"));
        }
        let (policy, reason) = (self.policy.as_deref().unwrap_or("?"), domain.reason.as_deref());
        Ok(Plan { mix: "this host", policy, reason, domain: Some(id), clusters })
    }

    /// The plan for a mix and a policy. Their names may be missing if there is only one.
    pub(super) fn plan<'a>(
        &'a self,
        mix: Option<&str>,
        policy: Option<&str>,
    ) -> Result<Plan<'a>, String> {
        let mix = chosen("--mix", mix, &self.mixes, |mix| &mix.mix)?;
        let decided = chosen("--policy", policy, &mix.policies, |decided| &decided.policy)?;
        let partition = decided.partition.as_ref().ok_or_else(|| {
            format!("expected a plan of {}, found how it fared over time", decided.policy)
        })?;
        let mut clusters = Vec::new();
        for (index, written) in partition.iter().enumerate() {
            // The model's levels are percents.
            let level = written.bandwidth_level.and_then(BandwidthLevel::new);
            let cluster = Cluster {
                name: format!("cluster-{index}"),
                programs: programs(written, mix)?,
                tasks: None,
                mask: mask(&written.mask)?,
                level: level.map(|level| LevelInUnit(level, BandwidthUnit::Percent)),
            };
            if !cluster.programs.is_empty() {
                clusters.push(cluster);
            }
        }
        let plan = Plan {
            mix: &mix.mix,
            policy: &decided.policy,
            reason: decided.reason.as_deref(),
            domain: None,
            clusters,
        };
        plan.check_names()?;
        Ok(plan)
    }
}

impl Plan<'_> {
    /// Checks that no name is in two clusters, since processes are found by their names.
    fn check_names(&self) -> Result<(), String> {
        let mut clusters: HashMap<&str, &str> = HashMap::new();
        for cluster in &self.clusters {
            for name in &cluster.programs {
                let known = clusters.insert(cut(name), &cluster.name);
                if let Some(other) = known.filter(|other| *other != cluster.name) {
                    let (name, here) = (cut(name), &cluster.name);
                    return Err(format!(
                        "expected programs whose processes differ in name, found {name:?} in {other} and {here}"
                    ));
                }
            }
        }
        Ok(())
    }
}

fn chosen<'a, T>(
    flag: &str,
    name: Option<&str>,
    all: &'a [T],
    of: impl Fn(&T) -> &String,
) -> Result<&'a T, String> {
    let known = || all.iter().map(|one| of(one).as_str()).collect::<Vec<_>>().join("; ");
    match (name, all) {
        (None, [one]) => Ok(one),
        (None, _) => Err(format!("{flag}: expected one of {}", known())),
        (Some(name), _) => {
            let found = all.iter().find(|one| of(one) == name);
            found.ok_or_else(|| format!("{flag}: expected one of {}, found {name:?}", known()))
        }
    }
}

fn programs<'a>(written: &Written, mix: &'a Mix) -> Result<Vec<&'a str>, String> {
    let mut names: Vec<&str> = Vec::new();
    for &app in &written.apps {
        let count = mix.apps.len();
        let name = mix.apps.get(app).map(String::as_str);
        let name =
            name.ok_or_else(|| format!("apps: expected one of {count} programs, found {app}"))?;
        let name = named(name)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

fn named(name: &str) -> Result<&str, String> {
    if name.is_empty() || name.contains(char::is_control) {
        return Err(format!("apps: expected names in one line, found {name:?}"));
    }
    Ok(name)
}

fn level_in_unit(level: u32, lever: Option<BandwidthLever>) -> Result<LevelInUnit, String> {
    let lever = lever.ok_or("bandwidth: expected the lever that has the clusters' levels")?;
    let BandwidthLever { least, most, unit, .. } = lever;
    let legal = BandwidthLevel::new(level).filter(|level| lever.accepts(*level));
    let legal = legal
        .ok_or_else(|| format!("bandwidth_level: expected {least} to {most}, found {level}"))?;
    Ok(LevelInUnit(legal, unit))
}

fn mask(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let bits = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    bits.filter(|bits| *bits > 0).ok_or_else(|| {
        format!("mask: expected at least one way in hexadecimal, such as 0xf0, found {text:?}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(partition: &str) -> String {
        format!(
            r#"{{"schema":1,"ways":11,"mixes":[{{"mix":"m","apps":["a","b","a"],"policies":[
                {{"policy":"p","reason":"r","partition":{partition}}},{{"policy":"q"}}]}}]}}"#
        )
    }

    fn clusters(partition: &str) -> Result<Vec<(u32, Vec<String>)>, String> {
        let document = Document::parse(document(partition).as_bytes())?;
        let plan = document.plan(None, Some("p"))?;
        let of = |c: &Cluster<'_>| (c.mask, c.programs.iter().map(|&n| n.to_owned()).collect());
        Ok(plan.clusters.iter().map(of).collect())
    }

    #[test]
    fn clusters_have_names_and_masks() {
        let partition = r#"[{"apps":[0,2],"mask":"0x600","ways":2},{"apps":[],"mask":"0x1"},
            {"apps":[1],"mask":"0x1ff","ways":9}]"#;
        let clusters = clusters(partition).unwrap();
        assert_eq!(clusters, [(0x600, vec!["a".to_owned()]), (0x1ff, vec!["b".to_owned()])]);
    }

    #[test]
    fn a_hosts_plan_names_its_threads() {
        let text = r#"{"schema":1,"policy":"lfoc","programs":[],"domains":[{"id":8,"reason":"r",
            "clusters":[{"mask":"0x600","programs":["web"],"tasks":[7,9]}]},{"id":9,"clusters":[]}]}"#;
        let document = Document::parse(text.as_bytes()).unwrap();
        assert!(document.is_of_host());
        let plan = document.plan_of_domain(8).unwrap();
        let [cluster] = &plan.clusters[..] else { panic!("one cluster") };
        assert_eq!((plan.policy, cluster.mask, cluster.tasks), ("lfoc", 0x600, Some(&[7, 9][..])));
        let refused = |id| document.plan_of_domain(id).map(|_| ()).unwrap_err();
        assert_eq!(refused(0), "--domain: expected one of 8, 9, found 0");
        assert_eq!(refused(9), "domain 9: expected a plan, found none yet");
    }

    /// An observing daemon has nothing in force: what it plans is exported, with its threads.
    #[test]
    fn a_plan_that_is_only_observed_is_exported() {
        let text = r#"{"schema":1,"policy":"lfoc","mode":"observe","programs":[],"domains":[
            {"id":8,"reason":"r","clusters":[],
            "planned":[{"mask":"0x600","programs":["web"],"tasks":[7,9]}]}]}"#;
        let document = Document::parse(text.as_bytes()).unwrap();
        let plan = document.plan_of_domain(8).unwrap();
        let [cluster] = &plan.clusters[..] else { panic!("one cluster") };
        assert_eq!((cluster.mask, cluster.tasks), (0x600, Some(&[7, 9][..])));
    }

    /// A host's plan of one cluster with this level, for one of the tools.
    fn limited(level: u32, unit: &str) -> Result<String, String> {
        let text = format!(
            r#"{{"schema":1,"policy":"p","domains":[{{"id":8,"bandwidth":{{"unit":"{unit}",
            "least":10,"step":10,"most":100,"scope":"core"}},"clusters":[{{"mask":"0x600",
            "bandwidth_level":{level},"programs":["web"],"tasks":[7]}}]}}]}}"#
        );
        let document = Document::parse(text.as_bytes())?;
        let plan = document.plan_of_domain(8)?;
        let (domains, mut out) = (crate::export::Domains::Some(vec![8]), Vec::new());
        crate::export::schemata::write(&plan, &domains, &mut out).unwrap();
        crate::export::pqos::write(&plan, &domains, 1, &mut out).unwrap();
        crate::export::goresctrl::write(&plan, &domains, &mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_level_is_exported_in_each_tools_words() {
        let text = limited(20, "percent").unwrap();
        let (check, _) = text.split_once("mkdir").unwrap();
        assert!(check.contains("the domains of MB are not the L3 caches here"), "{check}");
        for line in [
            "echo 'MB:8=20' > \"$root/domain-8-cluster-0/schemata\"",
            "pqos -I -e 'mba@8:1=20'",
            "    l3Allocation: \"100%\"\n    mbAllocation: [\"100%\"]\n    classes:",
            "        mbAllocation:\n          all: [\"100%\"]\n          \"8\": [\"20%\"]",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{text}");
        }
        let text = limited(16, "eighth_gbps").unwrap();
        assert!(text.contains("MB:8=16") && text.contains("'mba@8:1=16'"), "{text}");
        assert!(text.contains("at most 2 GB/s of memory bandwidth: set that by hand"), "{text}");
        let text = limited(50, "mib_per_second").unwrap();
        assert!(text.contains("MB:8=50") && text.contains("'mba_max@8:1=50'"), "{text}");
        let lines = "          all: [\"4294967295MBps\"]\n          \"8\": [\"50MBps\"]\n";
        assert!(text.contains(lines), "{text}");
        let why = limited(9, "percent").unwrap_err();
        assert_eq!(why, "bandwidth_level: expected 10 to 100, found 9");
    }

    /// The model's levels are percents of what memory can move, as no tool's are everywhere.
    #[test]
    fn a_level_of_the_model_is_a_comment() {
        let text = document(r#"[{"apps":[0],"mask":"0x1","bandwidth_level":40}]"#);
        let document = Document::parse(text.as_bytes()).unwrap();
        let plan = document.plan(None, Some("p")).unwrap();
        let (domains, mut out) = (crate::export::Domains::All, Vec::new());
        crate::export::schemata::write(&plan, &domains, &mut out).unwrap();
        crate::export::pqos::write(&plan, &domains, 1, &mut out).unwrap();
        crate::export::goresctrl::write(&plan, &domains, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let count = text.matches("at most 40 % of memory bandwidth: set that by hand").count();
        assert!(count == 3 && !text.contains("MB:") && !text.contains("mba"), "{text}");
    }

    #[test]
    fn what_is_no_plan_is_refused_in_one_line() {
        for (partition, message) in [
            (r#"[{"apps":[3],"mask":"0x1"}]"#, "expected one of 3 programs, found 3"),
            (r#"[{"apps":[0],"mask":"0x0"}]"#, "found \"0x0\""),
            (r#"[{"apps":[0],"mask":"f"}]"#, "found \"f\""),
            (r#"[{"apps":[0],"mask":"0x1"},{"apps":[2],"mask":"0x2"}]"#, "differ in name"),
            (r#"[{"apps":[0]}]"#, "missing field `mask`"),
        ] {
            let error = clusters(partition).unwrap_err();
            assert!(error.contains(message) && error.lines().count() == 1, "{partition}: {error}");
        }
        let text = document("[]");
        let document = Document::parse(text.as_bytes()).unwrap();
        let refused = |mix, policy| document.plan(mix, policy).map(|_| ()).unwrap_err();
        assert_eq!(refused(None, None), "--policy: expected one of p; q");
        assert_eq!(refused(Some("n"), None), "--mix: expected one of m, found \"n\"");
        assert!(refused(None, Some("q")).contains("found how it fared over time"));
        let later = text.replace("\"schema\":1", "\"schema\":2");
        assert!(Document::parse(later.as_bytes()).is_err_and(|why| why.contains("found 2")));
    }
}
