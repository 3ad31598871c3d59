use std::io::Cursor;

use super::*;

/// What a watcher was recorded, in words.
#[derive(Default)]
struct RecordingWatcher(Vec<String>);

impl ContainerWatcher for RecordingWatcher {
    fn registered(&mut self, runtime: RuntimeInfo) {
        self.0.push(format!("{} {:?}", runtime.name, runtime.request_timeout));
    }

    fn synchronize(&mut self, containers: Vec<Container>, _: Duration) {
        let ids: Vec<String> =
            containers.iter().map(|of| format!("{}/{}", of.pod, of.id)).collect();
        self.0.push(format!("all: {}", ids.join(" ")));
    }

    fn starts(&mut self, container: Container, within: Duration) {
        self.0.push(format!("{} starts as {:?} within {within:?}", container.id, container.pid));
    }

    fn stops(&mut self, id: &str, _: Duration) {
        self.0.push(format!("{id} stops"));
    }

    fn removed(&mut self, id: &str, _: Duration) {
        self.0.push(format!("{id} is removed"));
    }

    fn unreadable(&mut self, _: String) {
        self.0.push("unreadable".to_owned());
    }
}

/// The runtime's messages, and what is written to it.
struct RecordedWire(Cursor<Vec<u8>>, Vec<u8>);

impl Read for RecordedWire {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl Write for RecordedWire {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.1.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn call(method: &str, payload: &impl prost::Message, timeout_nano: i64) -> CallRequest {
    CallRequest {
        service: api::PLUGIN_SERVICE.to_owned(),
        method: method.to_owned(),
        payload: payload.encode_to_vec(),
        timeout_nano,
    }
}

/// What the watcher is recorded of these calls, the answers, and why it ended.
fn served(
    calls: &[CallRequest],
    registered: &TtrpcResponse,
) -> (Vec<String>, Vec<TtrpcResponse>, io::Error) {
    let mut runtime = Mux::new(RecordedWire(Cursor::default(), Vec::new()));
    let answer = Message::answer(1, Ok(Vec::new()));
    let answer = Message { payload: registered.encode_to_vec(), ..answer };
    runtime.send(RUNTIME, &answer).expect("sent");
    for (stream, call) in (1..).step_by(2).zip(calls) {
        runtime.send(PLUGIN, &Message::call(stream, call)).expect("sent");
    }
    let mut recorded = RecordingWatcher::default();
    let mut wire = RecordedWire(Cursor::new(runtime.into_socket().1), Vec::new());
    let why = serve(&mut wire, &mut recorded);
    let mut written = Mux::new(RecordedWire(Cursor::new(wire.1), Vec::new()));
    let (connection, register) = written.receive().expect("the registration");
    assert_eq!((connection, register.kind, register.stream), (RUNTIME, REQUEST, 1));
    let mut answers = Vec::new();
    while let Ok((connection, message)) = written.receive() {
        let stream = u32::try_from(1 + 2 * answers.len()).expect("few");
        assert_eq!((connection, message.stream), (PLUGIN, stream));
        answers.push(TtrpcResponse::decode(&*message.payload).expect("a response"));
    }
    (recorded.0, answers, why)
}

fn event(number: u32) -> ContainerEvent {
    let pod = api::Pod {
        id: "p".to_owned(),
        name: "api-0".to_owned(),
        namespace: "web".to_owned(),
        uid: "u".to_owned(),
        ..api::Pod::default()
    };
    let container = api::ApiContainer {
        id: format!("c{number}"),
        pod_sandbox_id: "p".to_owned(),
        name: "app".to_owned(),
        pid: number,
        ..api::ApiContainer::default()
    };
    ContainerEvent { pod: Some(pod), container: Some(container) }
}

fn change(of: &ContainerEvent, event: i32) -> api::StateChange {
    let ContainerEvent { pod, container } = of.clone();
    api::StateChange { event, pod, container }
}

#[test]
fn both_kinds_of_events_are_understood() {
    let of = event(7);
    let configure = Configure {
        runtime: "containerd".to_owned(),
        request_timeout: 1500,
        ..Configure::default()
    };
    let (recorded, answers, why) = served(
        &[
            call("Configure", &configure, 0),
            call("StartContainer", &of, 2_000_000_000),
            call("StopContainer", &of, 0),
            call("RemoveContainer", &of, 0),
            call("StateChange", &change(&of, api::START_CONTAINER), 0),
            call("StateChange", &change(&of, api::STOP_CONTAINER), 0),
            call("StateChange", &change(&of, 7), 0),
        ],
        &TtrpcResponse::default(),
    );
    assert_eq!(
        recorded,
        [
            "containerd 1.5s",
            "c7 starts as Some(7) within 2s",
            "c7 stops",
            "c7 is removed",
            "c7 starts as Some(7) within 1.5s",
            "c7 stops",
        ]
    );
    assert_eq!(why.kind(), io::ErrorKind::UnexpectedEof);
    assert!(answers.len() == 7 && answers.iter().all(|answer| answer.status.is_none()));
    let configured = Configured::decode(&*answers[0].payload).expect("a mask");
    assert_eq!(configured.events, 0b110_0010_0000);
}

#[test]
fn a_synchronisation_comes_in_parts() {
    let (pod, first, second) = (event(1).pod, event(1).container, event(2).container);
    let waits = api::ApiContainer { pid: 0, ..first.clone().expect("one") };
    let parts = [
        api::Synchronize { pods: pod.into_iter().collect(), containers: vec![waits], more: true },
        api::Synchronize {
            containers: first.into_iter().collect(),
            more: true,
            ..Default::default()
        },
        api::Synchronize { containers: second.into_iter().collect(), ..Default::default() },
        api::Synchronize::default(),
    ];
    let calls: Vec<CallRequest> = parts.iter().map(|part| call("Synchronize", part, 0)).collect();
    let (recorded, answers, _) = served(&calls, &TtrpcResponse::default());
    assert_eq!(recorded, ["all: api-0/c1 api-0/c2", "all: "]);
    let more =
        |answer: &TtrpcResponse| api::Synchronized::decode(&*answer.payload).expect("one").more;
    assert_eq!(answers.iter().map(more).collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn what_is_not_understood_is_answered_and_ends_nothing() {
    let broken = CallRequest { payload: vec![0xff; 3], ..call("StartContainer", &event(1), 0) };
    let elsewhere =
        CallRequest { service: "other".to_owned(), ..call("StartContainer", &event(1), 0) };
    let unnamed = ContainerEvent { pod: Some(api::Pod::default()), ..event(1) };
    let (recorded, answers, _) = served(
        &[
            call("CreateContainer", &event(1), 0),
            elsewhere,
            broken,
            call("StartContainer", &unnamed, 0),
            call("StartContainer", &ContainerEvent::default(), 0),
            call("Shutdown", &ContainerEvent::default(), 0),
        ],
        &TtrpcResponse::default(),
    );
    assert_eq!(recorded, ["unreadable"]);
    let codes: Vec<i32> =
        answers.iter().map(|answer| answer.status.as_ref().map_or(0, |of| of.code)).collect();
    assert_eq!(codes, [UNIMPLEMENTED, UNIMPLEMENTED, 0, 0, 0, 0]);
}

#[test]
fn a_runtime_that_refuses_the_plugin_says_why() {
    let status = Some(CallStatus { code: 7, message: "not here".to_owned() });
    let (_, _, why) = served(&[], &TtrpcResponse { status, payload: Vec::new() });
    assert_eq!(why.to_string(), "the runtime refused the plugin: not here");
}
