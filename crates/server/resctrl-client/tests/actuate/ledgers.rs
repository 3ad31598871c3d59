//! Ledgers that were damaged, or that another user wrote.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fairways_core::AppId;
use fairways_resctrl_client::{Actuator, OpenError, Restored, Thing, restore};
use fairways_resctrl_rules::platform::Platform;

use crate::common::{Host, Sleeper, can_mount, plan};
use crate::sealed::{opened, sealed};

/// How many ledgers are damaged.
const DAMAGED: u64 = 1_500;

/// A host with another manager, and what a client that was killed has left.
struct Left {
    host: Host,
    processes: [Sleeper; 2],
    before: BTreeMap<String, String>,
    left: BTreeMap<String, String>,
    ledger: String,
}

impl Left {
    fn new() -> Self {
        let mut host = Host::new(Platform::broadwell());
        host.settings.take_over = true;
        host.settings.confine_others = Some(2);
        let processes = [(); 2].map(|()| Sleeper::start());
        host.group("COS1", "L3:0=f\n");
        host.write("COS1/tasks", &processes[0].id().to_string()).unwrap();
        let before = host.snapshot();
        let mut left =
            Self { host, processes, before, left: BTreeMap::new(), ledger: String::new() };
        drop(left.client());
        left.left = left.host.snapshot();
        assert_ne!(left.left, left.before);
        left.ledger = fs::read_to_string(left.path("")).unwrap();
        left
    }

    /// A client that has programs and a plan.
    fn client(&self) -> Actuator {
        let mut client = self.host.open();
        client.add(AppId(1), "x", &[self.processes[0].id()]).unwrap();
        client.add(AppId(2), "y", &[self.processes[1].id()]).unwrap();
        client.apply(&[(0, &plan(&[(0x1, &[1]), (0x6, &[2])]))], "a test").unwrap();
        client
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.host.at(&format!("state/resctrl.json{kind}"))
    }

    /// Restores with this ledger, and none before it.
    fn with(&self, ledger: &[u8]) -> Restored {
        let _ = fs::remove_file(self.path(".before"));
        fs::write(self.path(""), ledger).unwrap();
        restore(&self.host.settings).unwrap()
    }

    /// Checks that a ledger was kept as it is, and reported as what could not be restored.
    fn was_kept(&self, restored: &Restored, ledger: &[u8]) {
        let [(Thing::Ledger(kept), _)] = &restored.failed[..] else {
            panic!("{restored}");
        };
        assert_eq!(fs::read(kept).unwrap(), ledger, "{}", kept.display());
        assert!(!self.path("").exists());
        fs::remove_file(kept).unwrap();
    }
}

/// The same for the same seed (splitmix64).
fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    usize::try_from((mixed ^ (mixed >> 31)) >> 16).unwrap()
}

fn damage(text: &[u8], mut seed: u64) -> Vec<u8> {
    let mut text = text.to_vec();
    let at = random(&mut seed) % text.len();
    let end = (at + 1 + random(&mut seed) % 64).min(text.len());
    match seed % 6 {
        0 => text[at] ^= 1 << (random(&mut seed) % 8),
        1 => text.truncate(at),
        2 => text[at..end].fill(0),
        3 => drop(text.drain(at..end)),
        4 => text.extend_from_within(at..end),
        _ => {
            let digits = (at..text.len()).find(|&at| text[at].is_ascii_digit()).unwrap_or(at);
            text[digits] = b'0' + u8::try_from(random(&mut seed) % 10).unwrap();
        }
    }
    text
}

/// Texts that say something else, or nothing: blanks that come or go are no damage.
fn damaged(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let says = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
    let said = says(text);
    (0..).map(move |seed| damage(text, seed)).filter(move |text| says(text) != said)
}

/// A ledger that differs from what was written is not believed: it is kept, it is reported that
/// something could not be restored, and nothing is touched. The right one restores all of it then.
#[test]
fn damaged_ledgers_are_kept_and_nothing_is_touched() {
    if !can_mount() {
        return;
    }
    let left = Left::new();
    let ledger = left.ledger.as_bytes();
    for (number, text) in (0..DAMAGED).zip(damaged(ledger)) {
        let restored = left.with(&text);
        assert_eq!(restored.done, [], "{}", String::from_utf8_lossy(&text));
        left.was_kept(&restored, &text);
        if number % 100 == 0 {
            assert_eq!(left.host.snapshot(), left.left);
        }
    }
    assert_eq!(left.host.snapshot(), left.left);
    let restored = left.with(ledger);
    assert_eq!((&restored.left[..], &restored.failed[..]), (&[][..], &[][..]), "{restored}");
    assert_eq!(left.host.snapshot(), left.before);
}

/// The next start restores what the ledger before the damaged one records, and goes on.
#[test]
fn where_a_ledger_is_damaged_the_one_before_it_counts() {
    if !can_mount() {
        return;
    }
    let left = Left::new();
    for number in 0..10 {
        let mut client = left.client();
        client.apply(&[(0, &plan(&[(0x3, &[1]), (0x4, &[2])]))], "a test").unwrap();
        client.remove(AppId(2)).unwrap();
        client.look().unwrap();
        drop(client);
        assert!(left.path(".before").exists());
        let text = fs::read(left.path("")).unwrap();
        let damaged = damaged(&text).nth(number).unwrap();
        fs::write(left.path(""), &damaged).unwrap();
        if number % 2 == 0 {
            let restored = restore(&left.host.settings).unwrap();
            assert_eq!(restored.left, [], "{restored}");
            left.was_kept(&restored, &damaged);
        } else {
            drop(left.host.open());
            fs::remove_file(left.path(".damaged.1")).unwrap();
        }
        assert_eq!(left.host.snapshot(), left.before, "{number}");
        assert!(!left.path("").exists() && !left.path(".before").exists());
    }
}

/// A mount that the ledger is not for leaves the ledger where it is, and is left as it is.
#[test]
fn a_ledger_is_not_put_aside_by_another_mount() {
    if !can_mount() {
        return;
    }
    let left = Left::new();
    let other = Host::new(Platform::broadwell());
    let untouched = other.snapshot();
    let mut settings = left.host.settings.clone();
    settings.root.clone_from(&other.settings.root);
    for refused in [restore(&settings).unwrap_err(), Actuator::open(settings.clone()).unwrap_err()]
    {
        let (path, root, found) = (left.path(""), &left.host.settings.root, &other.settings.root);
        let said = format!(
            "{}: it is for the resctrl at {}: expected that, found {}",
            path.display(),
            root.display(),
            found.display()
        );
        assert!(matches!(&refused, OpenError::Input(why) if *why == said), "{refused}");
    }
    assert_eq!(fs::read_to_string(left.path("")).unwrap(), left.ledger);
    assert_eq!((left.host.snapshot(), other.snapshot()), (left.left.clone(), untouched));
    assert_eq!(restore(&left.host.settings).unwrap().failed, []);
    assert_eq!(left.host.snapshot(), left.before);
}

/// Names in it that are none of groups are not followed, whatever its checksum is.
#[test]
fn a_ledger_whose_names_lead_elsewhere_is_refused() {
    if !can_mount() {
        return;
    }
    let left = Left::new();
    let ledger = opened(&left.ledger);
    assert_eq!(sealed(&ledger), left.ledger);
    for (name, other) in [
        ("\"fairways.0\"", "\"COS1\""),
        ("\"fairways.0\"", "\"fairways.0/../COS1\""),
        ("\"fairways.0\"", "\"../fairways.0\""),
        ("\"fairways.0\"", "\"/tmp\""),
        ("\"fairways.0\"", "\"fairways.\\n0\""),
        ("\"COS1\"", "\"../COS1\""),
        ("\"COS1\"", "\"/COS1\""),
        ("\"COS1\"", "\"COS1/mon_groups/..\""),
        ("\"COS1\"", "\"COS1/tasks\""),
        ("\"L3\"", "\"L3:0=1\\nL3\""),
    ] {
        let text = sealed(&ledger.replace(name, other));
        assert_ne!(text, left.ledger, "{name}");
        let restored = left.with(text.as_bytes());
        assert_eq!(restored.done, [], "{other}: {restored}");
        assert!(restored.failed[0].1.contains("expected"), "{other}: {restored}");
        left.was_kept(&restored, text.as_bytes());
        assert_eq!(left.host.snapshot(), left.left, "{other}");
    }
    assert_eq!(left.with(left.ledger.as_bytes()).failed, []);
    assert_eq!(left.host.snapshot(), left.before);
}
