//! Machines to look at.

use fairways_core::{BandwidthLevel, BandwidthLever, BandwidthUnit, LimitScope};
use fairways_record::status::{
    ClusterStatus, Decision, DomainStatus, Member, ObjectiveStatus, Outcome, ProgramStatus,
    RecordedAction, SCHEMA, Share, Status,
};

use serde_json::{Value, json};

use crate::history::History;
use crate::source::Scene;

fn scene(status: Status, decisions: Vec<Decision>) -> Scene {
    let mut history = History::new(1_000_000_000);
    // The twenty seconds before: up and down, and a gap.
    let second = 1_000_000_000;
    for ago in (0..20_u32).rev() {
        let mut then = status.clone();
        then.now_ns = then.now_ns.saturating_sub(u64::from(ago) * second);
        for (place, program_then) in (0_u32..).zip(&mut then.programs) {
            let factor = f64::from(1 + (ago * (place + 1)) % 5) / 5.0;
            let is_there = ago != 7;
            program_then.ipc = program_then.ipc.map(|ipc| ipc * factor).filter(|_| is_there);
            program_then.llcmpki =
                program_then.llcmpki.map(|mpki| mpki / factor).filter(|_| is_there);
        }
        history.record(&then);
    }
    let (from, pace) = ("/run/fairways/fairways.sock".to_owned(), "every 1s".to_owned());
    Scene { status, decisions, losses: Vec::new(), history, source: from, pace, note: None }
}

fn status(policy: &str, domains: Vec<DomainStatus>, programs: Vec<ProgramStatus>) -> Status {
    Status {
        schema: SCHEMA,
        policy: policy.to_owned(),
        mode: "manage".to_owned(),
        now_ns: 83_512_000_000,
        domains,
        programs,
        ..Status::default()
    }
}

/// Eleven ways, of which the lowest two are not given out.
fn domain(id: u32, clusters: &[(&str, &[&str])]) -> DomainStatus {
    DomainStatus {
        id,
        cache: Some("0x7ff".to_owned()),
        way_bytes: Some(1_441_792),
        ways: 9,
        clos: 15,
        offered: Some("0x7fc".to_owned()),
        plan: Some(23),
        reason: Some("streaming programs confined".to_owned()),
        clusters: clusters
            .iter()
            .map(|(mask, programs): &(&str, &[&str])| ClusterStatus {
                mask: (*mask).to_owned(),
                programs: programs.iter().map(|&name| name.to_owned()).collect(),
                ..ClusterStatus::default()
            })
            .collect(),
        ..DomainStatus::default()
    }
}

fn program(app: u32, name: &str, (cluster, mask): (u32, &str), class: &str) -> ProgramStatus {
    let bits = u32::from_str_radix(&mask[2..], 16).unwrap();
    let factor = f64::from(app + 1);
    ProgramStatus {
        app,
        name: name.to_owned(),
        mask: Some(mask.to_owned()),
        ways: Some(bits.count_ones()),
        cluster: Some(cluster),
        class: Some(class.to_owned()),
        ipc: Some(2.0 / factor),
        llcmpki: Some(3.21 * factor),
        llcmpkc: Some(4.0),
        occupancy_ways: Some(0.75 * factor),
        memory_bytes: Some(123_456_789 * u64::from(app)),
        window_ns: Some(500_000_000),
        ..ProgramStatus::default()
    }
}

fn objective(latency_ns: Option<u64>, met: Option<bool>) -> Option<ObjectiveStatus> {
    Some(ObjectiveStatus {
        percentile: 99.0,
        slo_ns: 2_000_000,
        latency_ns,
        requests: Some(70),
        met,
    })
}

/// The same, with limits of memory bandwidth: one in force as planned, one rounded, one that could
/// not be set.
pub(super) fn limited() -> Scene {
    let mut scene = several();
    let [least, most] = [10, 100].map(|level| BandwidthLevel::new(level).unwrap());
    let (unit, scope) = (BandwidthUnit::Percent, LimitScope::Core);
    scene.status.domains[0].bandwidth =
        Some(BandwidthLever { unit, least, step: least, most, scope, capacity_mbps: None });
    let levels = [(1, Some(20), None), (3, Some(20), Some(11)), (4, None, Some(30))];
    for (program, level, planned) in levels {
        let program = &mut scene.status.programs[program];
        (program.bandwidth_level, program.planned_bandwidth_level) = (level, planned);
    }
    scene
}

/// Three clusters, of which two overlap, with services and missing readings.
pub(super) fn several() -> Scene {
    let clusters: [(&str, &[&str]); 3] =
        [("0x600", &["nightly-backup", "scrub"]), ("0x1f8", &["web"]), ("0x00c", &["redis"])];
    let mut domain = domain(0, &clusters);
    domain.clusters[2].mask = "0x018".to_owned();
    let mut programs = vec![
        program(0, "web", (1, "0x1f8"), "sensitive"),
        program(1, "nightly-backup", (0, "0x600"), "streaming"),
        program(2, "redis", (2, "0x018"), "light"),
        program(3, "scrub", (0, "0x600"), "streaming"),
        ProgramStatus { app: 4, name: "new".to_owned(), ..ProgramStatus::default() },
    ];
    programs[0].estimates.insert("expected slowdown".to_owned(), 1.07);
    programs[0].objective = objective(Some(1_830_000), Some(true));
    programs[2].objective = objective(Some(2_450_000), Some(false));
    programs[4].objective = objective(None, None);
    fn share(mask: &str, ways: u32, before: u32, programs: &[&str]) -> Share {
        Share {
            mask: mask.to_owned(),
            ways,
            bandwidth: None,
            members: programs
                .iter()
                .map(|&name: &&str| Member { program: name.to_owned(), before: Some(before) })
                .collect(),
        }
    }
    let clusters = vec![
        share("0x600", 2, 3, &["nightly-backup", "scrub"]),
        share("0x018", 2, 2, &["redis"]),
        share("0x1f8", 6, 5, &["web"]),
    ];
    fn classified(program: &str, class: &str, reason: &str) -> RecordedAction {
        RecordedAction::Classified {
            program: program.to_owned(),
            class: class.to_owned(),
            reason: reason.to_owned(),
        }
    }
    let slowdown = RecordedAction::Estimated {
        program: "web".to_owned(),
        what: "expected slowdown".to_owned(),
        value: 1.0625,
    };
    let first = Decision {
        number: 40,
        at_ns: 61_000_000_000,
        event: "a window of web ended".to_owned(),
        actions: vec![classified("web", "sensitive", "every size was sampled"), slowdown],
        ..Decision::default()
    };
    let planned = RecordedAction::Planned {
        plan: 23,
        reason: "streaming programs confined, sensitive ones own ways by lookahead".to_owned(),
        clusters,
        outcome: Outcome::Done,
    };
    let second = Decision {
        number: 41,
        at_ns: 83_012_000_000,
        event: "a window of scrub ended".to_owned(),
        actions: vec![
            classified("scrub", "streaming", "it misses much, and has gained little by more cache"),
            planned,
        ],
        ..Decision::default()
    };
    scene(status("lfoc", vec![domain], programs), vec![first, second])
}

/// The same, with what is known of losses.
pub(super) fn blamed() -> Scene {
    let mut scene = several();
    fn by(program: &str, cache: f64, bus: f64) -> Value {
        json!({"program": program, "cache": cache, "bus": bus})
    }
    let web = json!({"program": "web", "slowdown": 1.52, "least": 1.4, "most": 1.71,
        "worst": "nightly-backup",
        "by": [by("nightly-backup", 0.38, 0.06), by("scrub", 0.08, 0.001), by("redis", 0.0, 0.0)]});
    let redis = json!({"program": "redis", "slowdown": 1.01, "least": 1.0, "most": 1.3, "by": []});
    let scrub = json!({"program": "scrub", "slowdown": null, "slowdown_at_least": 1.1,
        "least": 1.1, "most": 2.3, "by": []});
    let backup = json!({"program": "nightly-backup", "slowdown": null, "least": 1.0, "most": 1.9,
        "by": []});
    let report = json!({"domain": 0, "programs": [web, redis, scrub, backup]});
    scene.losses = vec![serde_json::from_value(report).unwrap()];
    scene
}

/// More programs than lines.
pub(super) fn many() -> Scene {
    let letters: Vec<String> = (0..9).map(|way| format!("{:#x}", 4 << way)).collect();
    let clusters: Vec<(&str, &[&str])> =
        letters.iter().map(|mask| (mask.as_str(), &[][..])).collect();
    let programs = (0..45).map(|app| {
        let cluster = app % 9;
        let mask = &letters[usize::try_from(cluster).unwrap()];
        program(app, &format!("worker-{app:02}"), (cluster, mask), "sensitive")
    });
    scene(status("equal", vec![domain(0, &clusters)], programs.collect()), Vec::new())
}

/// Two caches, each with its own programs.
pub(super) fn two_domains() -> Scene {
    let mut domains = vec![
        domain(0, &[("0x7fc", &["web"])]),
        domain(3, &[("0x400", &["batch"]), ("0x3fc", &["web"])]),
    ];
    domains[1].plan = Some(7);
    let mut programs = vec![
        program(0, "web", (0, "0x7fc"), "sensitive"),
        program(0, "web", (1, "0x3fc"), "light"),
        program(1, "batch", (0, "0x400"), "streaming"),
    ];
    (programs[1].domain, programs[2].domain) = (3, 3);
    scene(status("lfoc", domains, programs), Vec::new())
}

/// Threads that take turns.
pub(super) fn threads() -> Scene {
    let domain = DomainStatus {
        cpus: Some("0-3".to_owned()),
        quantum_ns: Some(10_000_000),
        ..DomainStatus::default()
    };
    fn thread(app: u32, name: &str, class: &str, cpus: Option<&str>) -> ProgramStatus {
        ProgramStatus {
            mask: None,
            ways: None,
            cluster: None,
            occupancy_ways: None,
            cpus: cpus.map(str::to_owned),
            ..program(app, name, (0, "0x1"), class)
        }
    }
    let mut programs = vec![
        thread(0, "web/4711", "greedy", Some("0-1")),
        thread(1, "web/4712", "frugal", None),
        thread(2, "batch/99", "frugal", Some("2,3")),
    ];
    programs[1].raised = true;
    programs[0].estimates.insert("PCMR, misses per 100 L2 references".to_owned(), 17.25);
    programs[2].ordered_ns = Some(12_500_000);
    let mut status = status("casc", vec![domain], programs);
    status.scheduler = Some("affinity".to_owned());
    status.scheduler_reason = Some("this kernel has no sched_ext".to_owned());
    let allowed = RecordedAction::Allowed {
        program: "web/4711".to_owned(),
        cpus: vec![0, 1],
        reason: "it misses more than the others".to_owned(),
    };
    let event = "threads ran together".to_owned();
    let (number, at_ns) = (3, 5_000_000);
    let decision = Decision { number, at_ns, event, actions: vec![allowed], ..Decision::default() };
    scene(status, vec![decision])
}

/// A policy that failed, whose last plan was refused, and a daemon that has gone since.
pub(super) fn failed() -> Scene {
    let mut scene = several();
    scene.status.failed = Some("attempt to subtract with overflow".to_owned());
    scene.status.domains[0].refused = Some("class 7 is in use".to_owned());
    scene.note =
        Some("last known state; /run/fairways/fairways.sock: no daemon answers there".into());
    scene
}

/// No program runs yet.
pub(super) fn no_program() -> Scene {
    let mut domain = domain(0, &[]);
    domain.plan = None;
    scene(status("dcat", vec![domain], Vec::new()), Vec::new())
}

/// Nothing is known yet, not even a cache.
pub(super) fn nothing() -> Scene {
    scene(Status::default(), Vec::new())
}

/// More ways than columns to draw them in.
pub(super) fn wide() -> Scene {
    let mut scene = many();
    let domain = &mut scene.status.domains[0];
    domain.cache = Some("0xffffffff".to_owned());
    domain.offered = Some("0xfffffffe".to_owned());
    for (at, cluster) in domain.clusters.iter_mut().enumerate() {
        cluster.mask = format!("{:#x}", 0xe_u64 << (3 * at));
    }
    let masks: Vec<String> = domain.clusters.iter().map(|cluster| cluster.mask.clone()).collect();
    scene.status.programs.truncate(9);
    for (program, mask) in scene.status.programs.iter_mut().zip(masks) {
        program.mask = Some(mask);
    }
    scene
}
