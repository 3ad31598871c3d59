//! Programs that do well, and programs that fail in every way.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use fairways_core::{Action, AppId, Counter, Event, Llc, PartitionError, PlanId, Time, Ways, Wish};
use fairways_policy::parameter::Value;
use fairways_policy::table::{DecisionScope, OwnerRequest};

use crate::connection::{Deadline, ProgramConnection};
use crate::start::DirectStart;
use crate::{ExecPolicy, PREFIX, described, faults, given_up};

/// Answers every line alike.
const QUIET: &str = r#"while read line; do echo '{"actions":[]}'; done"#;

fn policy(script: &str) -> ExecPolicy {
    let words = shell_words::join(["sh", "-c", script]);
    let start = DirectStart::new(&words).unwrap();
    let timeout = Value::Time(Duration::from_millis(500));
    ExecPolicy::new("exec:test", std::sync::Arc::new(start), false, &[("answer_timeout", timeout)])
}

fn machine() -> Event {
    Event::Machine(Llc::with_ways(Ways::new(4).unwrap()).into())
}

fn started(app: u32) -> Event {
    Event::Started { app: AppId(app), wish: Wish::default(), profile: None }
}

fn seconds(count: u64) -> Time {
    Time::ZERO.after(Duration::from_secs(count))
}

/// The action by which a program is started again at this second.
fn restart(at: u64) -> [String; 1] {
    [format!(r#"{{"wake":{{"at":{at}000000000}}}}"#)]
}

/// The actions that follow from an event, as JSON.
fn actions(policy: &mut ExecPolicy, at: Time, event: &Event) -> Vec<String> {
    let mut actions = Vec::new();
    fairways_core::Policy::handle(policy, at, event, &mut |action: Action<'_>| {
        actions.push(serde_json::to_string(&action).unwrap());
    });
    actions
}

/// The first fault of this policy's last failure that `faults` has not had before.
fn fault_of(script: &str) -> String {
    let mut policy = policy(script);
    let start = Instant::now();
    let made = [machine(), started(0)].map(|event| actions(&mut policy, Time::ZERO, &event));
    // Only the restart's alarm.
    assert_eq!(made.concat(), restart(1), "{script}");
    assert!(start.elapsed() < Duration::from_secs(5), "{script}");
    assert!(policy.running.is_none(), "{script}");
    policy.last_fault.take().unwrap()
}

#[test]
fn a_program_that_answers_is_asked_about_every_event() {
    let mut policy = policy(
        r#"read line
           echo '{"actions":[]}'
           read line
           echo '{"actions":[{"wake":{"at":5}}]}'
           while read line; do
             echo '{"actions":[{"watch":{"app":3,"every":{"time":2000000}}}]}'
           done"#,
    );
    // An alarm that would ring at once is set a little later.
    let wake = r#"{"wake":{"at":100000}}"#;
    assert_eq!(actions(&mut policy, Time::ZERO, &machine()), [wake]);
    let watch = r#"{"watch":{"app":3,"every":{"time":2000000}}}"#;
    assert_eq!(actions(&mut policy, Time::ZERO, &started(3)), [watch]);
}

#[test]
fn every_failure_is_named_and_costs_no_more_than_the_timeout() {
    for (script, said) in [
        (r#"read a; echo '{"actions":[]}'; sleep 60"#, "no answer within"),
        ("exit 0", "it ended"),
        ("echo hello; cat", "expected {\"actions\": [...]}"),
        ("head -c 3000000 /dev/zero | tr '\\0' x; cat", "longer than 1024 KiB"),
        ("yes '{\"actions\":[]}'", "more than one answer"),
        (r#"echo '{"actions":[{"rob":{}}]}'; cat"#, "unknown variant `rob`"),
        (r#"echo '{"actions":[{"watch":{"app":9,"every":{"time":5000000}}}]}'; cat"#, "app 9"),
        (
            r#"echo '{"actions":[{"quantum":{"thread":{"app":0,"number":0},"time":5,"reason":""}}]}'; cat"#,
            "decides turns",
        ),
    ] {
        let found = fault_of(script);
        assert!(found.contains(said) && found.lines().count() == 1, "{script}: {found}");
    }
    let (count, first) = faults();
    assert!(!first.is_empty() && first.len() <= 16 && count >= first.len() as u64, "{first:?}");
    // A text that would reach a terminal as it is.
    let found = fault_of(
        r#"read a; echo '{"actions":[]}'; read a; echo '{"actions":[]}'; read a
           echo '{"actions":[{"classified":{"app":0,"class":"\u001b[2J","reason":""}}]}'; cat"#,
    );
    assert!(found.contains("plain text"), "{found}");
}

/// A program that ends after a plan is started again, learns what runs, and its plans are numbered
/// on; answers to the earlier program's plans do not reach it. After five starts it is left alone.
#[test]
fn a_program_that_ends_is_started_again_a_few_times() {
    let plan = r#"{"actions":[{"partition":{"plan":0,"partition":[{"mask":"0xf","apps":[0]}],"reason":"all"}}]}"#;
    let script = format!(
        r#"read line; echo '{{"actions":[]}}'
           read line; echo '{{"actions":[]}}'
           read line; case "$line" in *started*) echo '{plan}';; *) echo 'no program';; esac"#
    );
    let mut policy = policy(&script);
    assert!(actions(&mut policy, Time::ZERO, &machine()).is_empty());
    assert!(actions(&mut policy, Time::ZERO, &started(0))[0].contains(r#""plan":0"#));
    let refused = Event::Refused { plan: PlanId(0), why: PartitionError::NoMember { cluster: 0 } };
    // It has ended: that shows when it is asked next.
    assert_eq!(actions(&mut policy, Time::ZERO, &refused), restart(1));
    assert!(actions(&mut policy, Time::ZERO, &started(0)).is_empty());
    let mut now = 0;
    for number in 1..=5 {
        now += 1 << (number - 1);
        let made = actions(&mut policy, seconds(now), &refused);
        assert!(made[0].contains(&format!(r#""plan":{number}"#)), "{made:?}");
        let next = actions(&mut policy, seconds(now), &started(0));
        match number {
            5 => assert!(next.is_empty(), "{next:?}"),
            _ => assert_eq!(next, restart(now + (1 << number))),
        }
    }
    assert!(actions(&mut policy, seconds(now + 3600), &Event::Woke).is_empty());
    let last = policy.last_fault.unwrap();
    assert!(last.contains("not started again"));
    assert!(given_up().contains(&last));
}

#[test]
fn a_program_that_does_well_for_a_minute_is_forgiven() {
    let mut policy = policy(QUIET);
    policy.failures = 5;
    actions(&mut policy, seconds(100), &machine());
    assert_eq!(policy.failures, 0);
}

/// The name of a policy that describes itself so.
fn described_by(answer: &str) -> String {
    let script = format!("read line; echo '{answer}'");
    format!("{PREFIX}{}", shell_words::join(["sh", "-c", &script]))
}

#[test]
fn a_program_describes_itself() {
    let named = described_by(
        r#"{"describe":{"summary":"two ways each","knows":"profiles","honours":["baselines"],
            "counters":["llc_misses"],"parameters":[{"name":"ways","kind":"count","default":2,"least":1,"most":4,"help":"How many."},
            {"name":"how","kind":"word","words":["a","b"],"default":"b"}]}}"#
            .replace('\n', "")
            .as_str(),
    );
    let found = described(&named, false).unwrap();
    assert_eq!((found.summary, found.decides), ("two ways each", DecisionScope::Ways));
    assert!(found.honours(OwnerRequest::Baselines) && !found.honours(OwnerRequest::Objectives));
    assert_eq!(found.counters, [Counter::LlcMisses]);
    let silent = described(&described_by(r#"{"describe":{}}"#), false).unwrap();
    assert_eq!(silent.counters, Counter::ALL);
    let ways = found.parameter("ways").unwrap();
    assert_eq!(ways.read("5").unwrap_err(), "a whole number from 1 to 4");
    let made = found.make(&[("ways", Value::Count(3))]).parameters;
    let timeout = Value::Time(Duration::from_secs(1));
    assert_eq!(
        made,
        [("answer_timeout", timeout), ("ways", Value::Count(3)), ("how", Value::Word("b"))]
    );
    assert!(std::ptr::eq(found, described(&named, false).unwrap()));
    for (answer, said) in [
        ("hello", "expected a description"),
        (r#"{"describe":{"decides":"all"}}"#, "unknown variant"),
        (r#"{"describe":{"counters":["misses"]}}"#, "expected some of instructions, cycles,"),
        (
            r#"{"describe":{"parameters":[{"name":"A","kind":"count","default":1}]}}"#,
            "small letters",
        ),
        (r#"{"describe":{"parameters":[{"name":"a","kind":"count","default":"x"}]}}"#, "default"),
        (
            r#"{"describe":{"parameters":[{"name":"answer_timeout","kind":"count","default":1}]}}"#,
            "each name once",
        ),
    ] {
        let error = described(&described_by(answer), false).unwrap_err();
        assert!(error.contains(said) && error.lines().count() == 1, "{answer}: {error}");
    }
    for (name, said) in [("exec:", "expected exec:COMMAND"), ("exec:/nonesuch", "can't start it")] {
        let error = described(name, false).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

/// The program that is started again does not hear of the end of one that it never knew.
#[test]
fn a_restarted_program_hears_of_what_runs_only() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let script = format!(
        r#"while read line; do
             echo "$line" >> {}
             case "$line" in *woke*) exit;; esac
             echo '{{"actions":[]}}'
           done"#,
        heard.display()
    );
    let mut policy = policy(&script);
    for event in [machine(), started(0), started(1), Event::Woke] {
        actions(&mut policy, Time::ZERO, &event);
    }
    std::fs::remove_file(&heard).unwrap();
    actions(&mut policy, seconds(1), &Event::Exited { app: AppId(0) });
    let heard = std::fs::read_to_string(&heard).unwrap();
    assert!(heard.contains(r#""started":{"app":1"#), "{heard}");
    assert!(!heard.contains("exited") && !heard.contains(r#""started":{"app":0"#), "{heard}");
}

/// It answers each plan that is applied with another one.
#[test]
fn plans_without_end_are_a_failure() {
    let script = r#"n=0; read line; echo '{"actions":[]}'
        while read line; do
          echo '{"actions":[{"partition":{"plan":'$n',"partition":[{"mask":"0xf","apps":[0]}],"reason":""}}]}'
          n=$((n + 1))
        done"#;
    let mut policy = policy(script);
    let mut plans = 0;
    while policy.failures == 0 {
        plans += actions(&mut policy, Time::ZERO, &Event::Woke).len();
    }
    // The last action is the restart's alarm.
    plans -= 1;
    assert_eq!(plans, 1000);
    assert!(policy.last_fault.unwrap().contains("at most 1000 plans at a time"));
}

/// How many alarms a program has noted in this file.
fn wakes(heard: &Path) -> usize {
    std::fs::read_to_string(heard).unwrap().matches("woke").count()
}

/// No event is needed for that: an alarm of its own starts it, which it does not hear of.
#[test]
fn a_program_that_failed_is_started_again_by_an_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let script = format!(
        r#"read line; echo '{{"actions":[]}}'
           while read line; do
             echo "$line" >> {}
             case "$line" in
               *exited*) exit;;
               *started*) echo '{{"actions":[{{"wake":{{"at":5000000000}}}}]}}';;
               *) echo '{{"actions":[]}}';;
             esac
           done"#,
        heard.display()
    );
    let mut policy = policy(&script);
    let own = r#"{"wake":{"at":5000000000}}"#;
    assert_eq!(actions(&mut policy, Time::ZERO, &started(0)), [own]);
    assert_eq!(actions(&mut policy, Time::ZERO, &Event::Exited { app: AppId(1) }), restart(1));
    // The alarm of the earlier program, which was under way already.
    assert_eq!(actions(&mut policy, Time::ZERO, &Event::Woke), restart(1));
    assert_eq!(actions(&mut policy, seconds(1), &Event::Woke), [own]);
    assert!(policy.running.is_some());
    assert_eq!(wakes(&heard), 0);
    assert!(actions(&mut policy, seconds(5), &Event::Woke).is_empty());
    assert_eq!(wakes(&heard), 1);
    // Another event starts it before the alarm rings.
    assert_eq!(actions(&mut policy, seconds(6), &Event::Exited { app: AppId(1) }), restart(8));
    assert_eq!(actions(&mut policy, seconds(8), &started(0)).len(), 1);
    assert!(actions(&mut policy, seconds(8), &Event::Woke).is_empty());
    assert_eq!(wakes(&heard), 1);
}

/// A text of the program is in the error only in part.
#[test]
fn a_long_wrong_answer_is_cut_short() {
    let found = fault_of(
        r#"echo '{"actions":[{"'$(head -c 300000 /dev/zero | tr '\0' x | sed 's/x/\xc3\xa4/g')'":{}}]}'; cat"#,
    );
    assert!(found.contains("unknown variant `ää") && found.contains("... (cut short)"));
    assert!(found.len() < 1300, "{}", found.len());
}

/// The time for an answer bounds the writing of the line, too, however slowly that is read.
#[test]
fn a_line_that_is_read_slowly_is_late() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 1 << 14];
        while theirs.read(&mut piece).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let start = Instant::now();
    let mut connection = ProgramConnection::new(ours, Box::new(()));
    // It takes 20 s to read.
    let line = vec![b'x'; 32 << 20];
    let found = connection.ask(line, Deadline::after(Duration::from_secs(1))).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(found.to_string(), "no answer within 1s");
    drop(connection);
    reader.join().unwrap();
}

/// Starting, and all that a program that is started again must know, has one limit.
#[test]
fn a_start_is_late_as_a_whole() {
    let script = r#"read line; sleep 1.5; echo '{"actions":[]}'
        while read line; do sleep 1; echo '{"actions":[]}'; done"#;
    let mut policy = policy(script);
    policy.first_answer = Duration::from_secs(2);
    policy.timeout = Duration::from_secs(30);
    assert_eq!(actions(&mut policy, Time::ZERO, &machine()).len(), 1);
    let found = policy.last_fault.unwrap();
    assert!(
        found.contains("it did not start, and answer about all programs that run, within 2s"),
        "{found}"
    );
}

/// Each mistake in a parameter is named in a line of its own.
#[test]
fn a_parameter_that_is_described_wrongly_is_named() {
    for (parameter, said) in [
        (r#""kind":"time","default":"5ms""#, r#"default: expected whole nanoseconds, found "5ms""#),
        (
            r#""kind":"time","default":5,"least":"1ms""#,
            r#"least: expected whole nanoseconds, found "1ms""#,
        ),
        (r#""kind":"word","default":"x""#, "words: expected at least one"),
        (
            r#""kind":"switch","default":true,"least":1"#,
            "least: expected only with a count, a fraction or a time",
        ),
        (
            r#""kind":"word","words":["a"],"default":"a","most":1"#,
            "most: expected only with a count,",
        ),
        (
            r#""kind":"fraction","default":"0.5","least":"0.7","most":"0.2""#,
            "least: expected at most 0.2 (`most`), found 0.7",
        ),
        (
            r#""kind":"count","default":2,"least":3,"most":1"#,
            "least: expected at most 1 (`most`), found 3",
        ),
        (
            r#""kind":"count","default":2,"most":"many""#,
            r#"most: expected a whole number, found "many""#,
        ),
        (
            r#""kind":"fraction","default":"0.1","most":"many""#,
            r#"most: expected a number, found "many""#,
        ),
        (
            r#""kind":"count","default":2,"most":1"#,
            "default: expected a whole number, at most 1, found 2",
        ),
    ] {
        let answer = format!(r#"{{"describe":{{"parameters":[{{"name":"a",{parameter}}}]}}}}"#);
        let error = described(&described_by(&answer), false).unwrap_err();
        let said = format!("parameter \"a\": {said}");
        assert!(error.contains(&said) && error.lines().count() == 1, "{parameter}: {error}");
    }
}
