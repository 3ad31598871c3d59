//! Recorded streams on the chip, beside the analytic model with what they do alone on that chip.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use fairways_chip::program::parse;
use fairways_chip::{AfterRun, Geometry, Job, Phase, Settings, preset};
use fairways_core::Ways;
use fairways_experiments::{
    ChipComparison, ChipProtocol, ComparisonSettings, ProgramOutcome, compare, compare_on_chip,
};
use fairways_policy::by_name;
use fairways_profiles::{Mix, ProfileMetric, ProfileTable};

/// The four streams with the largest files, which miss most.
const STREAMS: [&str; 4] = ["ngspice", "bzip2", "glpsol", "gpmetis"];

/// The largest difference of a slowdown, as a share.
const BAND: f64 = 0.05;

fn job(name: &str) -> Job {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/streams");
    let text = format!("stream:{}", folder.join(format!("{name}.stream")).display());
    let phases = parse(&text, |_| None).expect("a stream of the corpus").into_iter();
    let phases = phases
        .map(|(program, length)| Phase { program: program.map(std::sync::Arc::new), length })
        .collect();
    Job { phases, then: AfterRun::Restart, key: Some(0), ..Job::default() }
}

fn chip(ways: u32, jobs: &[Job]) -> ChipComparison {
    let geometry = preset::preset("skylake").expect("a preset's name");
    let mut llc = geometry.llc;
    llc.ways = Ways::new(ways).expect("ways");
    let settings = Settings { time_scale: 10, ..Settings::new(Geometry { llc, ..geometry }) };
    let half = Duration::from_millis(500);
    let protocol = ChipProtocol { warm_up: half, span: half, profile: half, profiles_known: false };
    compare_on_chip(settings, jobs, &protocol, &["stock", "equal"], &by_name, &|| {})
        .expect("a comparison")
}

/// What a program does alone with each number of ways.
fn alone(name: &str) -> Vec<ProgramOutcome> {
    (1..=11).map(|ways| chip(ways, &[job(name)]).outcomes[0].programs[0]).collect()
}

fn profile(name: &str, alone: &[ProgramOutcome]) -> ProfileTable {
    ProfileTable::measured(name, Ways::new(11).unwrap(), 0.0, |metric, ways| {
        let ProgramOutcome { rate, occupancy, .. } = &alone[ways as usize - 1];
        match metric {
            ProfileMetric::Ipc => rate.ipc,
            ProfileMetric::Llcrpki => rate.llcrpki,
            ProfileMetric::Llcmpki => rate.llcmpki,
            ProfileMetric::Llcrpkc => rate.llcrpki * rate.ipc,
            ProfileMetric::Llcmpkc => rate.llcmpki * rate.ipc,
            ProfileMetric::LlcUsageKb => occupancy * 2560.0,
            ProfileMetric::BandwidthMbps | ProfileMetric::LlcmBandwidth => rate.bandwidth_mbps,
            _ => rate.stalls_l2_miss,
        }
    })
}

/// The slowdown of a program alone where it occupies this many ways.
fn at_occupancy(alone: &[ProgramOutcome], occupancy: f64) -> f64 {
    let slowdown = |place: usize| alone[10].rate.ipc / alone[place].rate.ipc;
    let Some(next) = alone.iter().position(|outcome| outcome.occupancy >= occupancy) else {
        return 1.0;
    };
    let Some(before) = next.checked_sub(1) else { return slowdown(0) };
    let (from, to) = (alone[before].occupancy, alone[next].occupancy);
    let share = (occupancy - from) / (to - from);
    slowdown(before) + share * (slowdown(next) - slowdown(before))
}

#[test]
fn four_streams_slow_down_as_in_the_model() {
    let solo: Vec<Vec<ProgramOutcome>> = STREAMS.iter().map(|name| alone(name)).collect();
    let mut table = profile(STREAMS[0], &solo[0]);
    for (name, solo) in STREAMS.iter().zip(&solo).skip(1) {
        table.put(profile(name, solo));
    }
    let mix = Mix { name: "streams".to_owned(), programs: vec![0, 1, 2, 3] };
    let llc = preset::preset("skylake").expect("a preset's name").llc;
    let settings = ComparisonSettings { llc, bandwidth: None, wishes: Vec::new() };
    let policies = ["stock", "equal"].map(|name| by_name(name).expect("a policy's name"));
    let model = compare(&table, &mix, &settings, policies).expect("a comparison");
    let chip = chip(11, &STREAMS.map(job));

    // Each in its own ways: the curves are all that counts.
    for (place, name) in STREAMS.iter().enumerate() {
        let (model, chip) = (model.outcomes[1].slowdowns[place], chip.outcomes[1].slowdowns[place]);
        println!("{name}, equal: {chip:.3} on the chip, {model:.3} in the model");
        assert!((chip / model - 1.0).abs() <= BAND, "{name}: {chip} against {model}");
    }
    // Sharing all ways, they keep what they use again, which the model's division does not see.
    // With the lines that each really occupies, its curve gives its slowdown.
    for (place, name) in STREAMS.iter().enumerate() {
        let (outcome, model) = (&chip.outcomes[0], model.outcomes[0].slowdowns[place]);
        let (chip, occupancy) = (outcome.slowdowns[place], outcome.programs[place].occupancy);
        let curve = at_occupancy(&solo[place], occupancy);
        println!(
            "{name}, stock: {chip:.3} on the chip, {model:.3} in the model, {curve:.3} with the \
             {occupancy:.2} ways that it occupies on the chip"
        );
        assert!((chip / curve - 1.0).abs() <= BAND, "{name}: {chip} against {curve}");
    }
}
