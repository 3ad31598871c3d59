//! The mixes, drawn by seed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fairways_chip::program::{SimulatedProgram, parse, profiled};
use fairways_chip::{AfterRun, Geometry, Job, Phase, Settings, preset};
use fairways_profiles::embedded;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::draw::pick;
use crate::executed::ChipProtocol;

/// Synthetic programs besides the streams and the profiles (dCat §5).
const OURS: [&str; 2] = ["mload:60M", "mlr:2M"];

/// Models of services (TailBench).
const SERVICES: [&str; 3] = ["silo-like", "masstree-like", "xapian-like"];

/// The bus of every other mix: MB/s for each program.
const NARROW_BUS: usize = 4000;

/// Everything takes this part of the time: one of so many.
pub const TIME_SCALE: u32 = 40;

/// Programs on a chip.
pub struct MixOnChip {
    /// The seed by which it was drawn, and its number among those.
    pub seed: u64,
    /// From 0.
    pub number: usize,
    /// What the programs are called.
    pub programs: Vec<String>,
    /// How commands name the chip and the programs.
    pub chip: String,
    /// The same of the programs.
    pub texts: Vec<String>,
    /// The chip.
    pub settings: Settings,
    /// The programs, in the same order.
    pub jobs: Vec<Job>,
}

/// How long a mix runs, on the policy's clock: the first half to warm up, and for the attribution
/// to learn.
pub(super) const PROTOCOL: ChipProtocol = ChipProtocol {
    warm_up: Duration::from_secs(2),
    span: Duration::from_secs(2),
    profile: Duration::ZERO,
    profiles_known: false,
};

/// Mixes of these sizes.
///
/// # Panics
/// If the streams of the corpus are not where the repository has them.
#[must_use]
pub fn mixes_on_chip(sizes: &[usize], seed: u64) -> Vec<MixOnChip> {
    mixes_of(&pool(), sizes, seed)
}

/// The same, with services among them.
///
/// # Panics
/// If the streams of the corpus are not where the repository has them.
#[must_use]
pub fn mixes_with_services(sizes: &[usize], seed: u64) -> Vec<MixOnChip> {
    let mut pool = pool();
    pool.extend(SERVICES.map(str::to_owned));
    mixes_of(&pool, sizes, seed)
}

fn mixes_of(pool: &[String], sizes: &[usize], seed: u64) -> Vec<MixOnChip> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mixes = sizes.iter().enumerate().map(|(number, &size)| {
        let texts = (0..size).filter_map(|_| pick(&mut rng, pool.len()).map(|place| &*pool[place]));
        MixOnChip::new(seed, number, &texts.collect::<Vec<&str>>())
    });
    mixes.collect()
}

fn pool() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus/streams");
    let folder = folder.canonicalize().expect("the corpus' streams");
    let streams = folder.read_dir().expect("the corpus' streams").flatten();
    let mut pool: Vec<String> =
        streams.map(|entry| format!("stream:{}", entry.path().display())).collect();
    pool.sort();
    pool.extend(OURS.map(str::to_owned));
    pool.extend(embedded().names().iter().cloned());
    pool
}

impl MixOnChip {
    fn new(seed: u64, number: usize, texts: &[&str]) -> Self {
        let mut text = "skylake:sets=8192".to_owned();
        if number % 2 == 1 {
            text += &format!(":bus=cascade-lake:mbps={}", NARROW_BUS * texts.len());
        }
        let chip = preset::parse(&text).expect("a chip");
        let jobs = (0..).zip(texts).map(|(key, text)| {
            let phases = parse(text, |name| model(&chip, name)).expect("a program").into_iter();
            let phases =
                phases.map(|(program, length)| Phase { program: program.map(Arc::new), length });
            let (phases, then) = (phases.collect(), AfterRun::Restart);
            Job { phases, then, key: Some(key), ..Job::default() }
        });
        let jobs = jobs.collect();
        let programs = texts.iter().map(|text| name_of(text)).collect();
        let settings = Settings { time_scale: TIME_SCALE, seed, ..Settings::new(chip) };
        let texts = texts.iter().map(|&text| text.to_owned()).collect();
        Self { seed, number, programs, chip: text, texts, settings, jobs }
    }
}

/// The model of a profile, as a program on a chip.
fn model(chip: &Geometry, name: &str) -> Option<SimulatedProgram> {
    let index = embedded().find(name)?;
    profiled(embedded(), index, chip.llc.ways, chip.latency).ok()
}

/// What a program is called: a stream by its file.
fn name_of(text: &str) -> String {
    text.rsplit('/').next().unwrap_or(text).trim_end_matches(".stream").to_owned()
}
