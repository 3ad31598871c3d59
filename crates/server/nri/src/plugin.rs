//! One connection to the runtime, from registration to its end.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::time::Duration;

use prost::Message as _;

use crate::api::{self, Configure, Configured, ContainerEvent, RegisterPlugin};
use crate::container::{Container, MOST_CONTAINERS};
use crate::mux::{Mux, PLUGIN, RUNTIME, invalid};
use crate::ttrpc::{
    CallRequest, CallStatus, INVALID_ARGUMENT, Message, REQUEST, TtrpcResponse, UNIMPLEMENTED,
};

/// The plugin's name and index, as the runtime logs them. Nothing depends on the order: the plugin
/// adjusts nothing.
const NAME: &str = "fairways";
const INDEX: &str = "90";

/// The version of NRI that this was written from, for the runtime's log; it is tried with 0.12.5.
const NRI_VERSION: &str = "0.12.2";

/// The events that are asked for: no others delay anything.
const EVENTS: i32 = (1 << (api::START_CONTAINER - 1))
    | (1 << (api::STOP_CONTAINER - 1))
    | (1 << (api::REMOVE_CONTAINER - 1));

/// The most bytes of labels and annotations in a synchronisation. Pods beyond it count as having
/// none, until their next start.
const MOST_BYTES: usize = 16 << 20;

/// How long a runtime waits that does not say (`DefaultPluginRequestTimeout` of NRI).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The runtime that a plugin is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInfo {
    /// Its name, such as `containerd`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of NRI in it; empty before 0.12.
    pub nri_version: String,
    /// How long it waits for an answer before it drops the plugin.
    pub request_timeout: Duration,
}

/// Responds to what a runtime reports. Containers wait while a call runs, so each is to return long
/// before the runtime waits no more, which is `within`.
pub trait ContainerWatcher {
    /// The runtime has accepted the plugin.
    fn registered(&mut self, runtime: RuntimeInfo);

    /// These are all the containers that have a process; others are gone. None starts or stops
    /// meanwhile.
    fn synchronize(&mut self, containers: Vec<Container>, within: Duration);

    /// A container starts as soon as this returns: its process exists and waits before it executes
    /// the container's program.
    fn starts(&mut self, container: Container, within: Duration);

    /// A container was asked to stop, or has ended by itself.
    fn stops(&mut self, id: &str, within: Duration);

    /// A container has stopped and is removed.
    fn removed(&mut self, id: &str, within: Duration);

    /// An event could not be read: it is answered as if nothing depended on it.
    fn unreadable(&mut self, why: String);
}

/// Registers a plugin over a connected socket, and serves it until the connection ends.
///
/// # Errors
/// When the connection ends, which is always: `UnexpectedEof` if the runtime closed it.
pub fn serve(socket: impl Read + Write, watcher: &mut dyn ContainerWatcher) -> io::Error {
    let (pods, all) = (BTreeMap::new(), Vec::new());
    let mut plugin = PluginSession { watcher, timeout: REQUEST_TIMEOUT, pods, bytes: 0, all };
    let mut mux = Mux::new(socket);
    let Err(why) = plugin.follow(&mut mux);
    why
}

struct PluginSession<'a> {
    watcher: &'a mut dyn ContainerWatcher,
    timeout: Duration,
    /// Pods and containers of the parts of a synchronisation that have come.
    pods: BTreeMap<String, api::Pod>,
    /// The bytes of the pods' labels and annotations.
    bytes: usize,
    all: Vec<api::ApiContainer>,
}

impl PluginSession<'_> {
    fn follow<S: Read + Write>(
        &mut self,
        mux: &mut Mux<S>,
    ) -> Result<std::convert::Infallible, io::Error> {
        let register = RegisterPlugin {
            name: NAME.to_owned(),
            index: INDEX.to_owned(),
            nri_version: NRI_VERSION.to_owned(),
        };
        let request = CallRequest {
            service: api::RUNTIME_SERVICE.to_owned(),
            method: "RegisterPlugin".to_owned(),
            payload: register.encode_to_vec(),
            timeout_nano: 0,
        };
        mux.send(RUNTIME, &Message::call(1, &request))?;
        loop {
            let (connection, message) = mux.receive()?;
            if connection == RUNTIME {
                registered(&message)?;
            } else if message.kind == REQUEST {
                let answer = self.answer(&message);
                mux.send(PLUGIN, &Message::answer(message.stream, answer))?;
            }
        }
    }

    /// The answer to a call. No event is answered by an error: that would fail the container.
    fn answer(&mut self, message: &Message) -> Result<Vec<u8>, CallStatus> {
        let request = CallRequest::decode(&*message.payload).map_err(|why| unreadable(&why))?;
        if request.service != api::PLUGIN_SERVICE {
            return Err(unknown(&request));
        }
        let payload = &*request.payload;
        let within = u64::try_from(request.timeout_nano).ok().filter(|nanos| *nanos > 0);
        let within = within.map_or(self.timeout, Duration::from_nanos);
        match request.method.as_str() {
            "Configure" => {
                let of = Configure::decode(payload).map_err(|why| unreadable(&why))?;
                Ok(self.configure(of).encode_to_vec())
            }
            "Synchronize" => {
                let part = api::Synchronize::decode(payload).map_err(|why| unreadable(&why))?;
                Ok(self.synchronize(part, within).encode_to_vec())
            }
            "StateChange" => {
                match api::StateChange::decode(payload) {
                    Ok(api::StateChange { event, pod, container }) => {
                        self.happened(event, &ContainerEvent { pod, container }, within);
                    }
                    Err(why) => self.watcher.unreadable(why.to_string()),
                }
                Ok(Vec::new())
            }
            method => {
                let event = match method {
                    "StartContainer" => api::START_CONTAINER,
                    "StopContainer" => api::STOP_CONTAINER,
                    "RemoveContainer" => api::REMOVE_CONTAINER,
                    "Shutdown" => return Ok(Vec::new()),
                    _ => return Err(unknown(&request)),
                };
                match ContainerEvent::decode(payload) {
                    Ok(of) => self.happened(event, &of, within),
                    Err(why) => self.watcher.unreadable(why.to_string()),
                }
                Ok(Vec::new())
            }
        }
    }

    fn configure(&mut self, of: Configure) -> Configured {
        let timeout = u64::try_from(of.request_timeout).ok().filter(|millis| *millis > 0);
        self.timeout = timeout.map_or(REQUEST_TIMEOUT, Duration::from_millis);
        self.watcher.registered(RuntimeInfo {
            name: of.runtime,
            version: of.runtime_version,
            nri_version: of.nri_version,
            request_timeout: self.timeout,
        });
        Configured { events: EVENTS }
    }

    /// Takes a part of all pods and containers. A container of later parts may be in a pod of an
    /// earlier one.
    fn synchronize(&mut self, part: api::Synchronize, within: Duration) -> api::Synchronized {
        let room = MOST_CONTAINERS.saturating_sub(self.pods.len());
        for pod in part.pods.into_iter().take(room) {
            let mut pod = pod.bounded();
            self.bytes += pod.bytes();
            if self.bytes > MOST_BYTES {
                (pod.labels, pod.annotations) = Default::default();
            }
            self.pods.insert(pod.id.clone(), pod);
        }
        let room = MOST_CONTAINERS.saturating_sub(self.all.len());
        self.all.extend(part.containers.into_iter().take(room));
        if !part.more {
            let (pods, all) = (std::mem::take(&mut self.pods), std::mem::take(&mut self.all));
            self.bytes = 0;
            let known = all.iter().filter_map(|container| {
                Container::new(pods.get(&container.pod_sandbox_id)?, container)
            });
            let alive = known.filter(|container| container.pid.is_some()).collect();
            self.watcher.synchronize(alive, within);
        }
        api::Synchronized { more: part.more }
    }

    fn happened(&mut self, event: i32, of: &ContainerEvent, within: Duration) {
        let (Some(pod), Some(container)) = (&of.pod, &of.container) else { return };
        match event {
            api::START_CONTAINER => {
                if let Some(container) = Container::new(pod, container) {
                    self.watcher.starts(container, within);
                }
            }
            api::STOP_CONTAINER => self.watcher.stops(&container.id, within),
            api::REMOVE_CONTAINER => self.watcher.removed(&container.id, within),
            _ => {}
        }
    }
}

/// Checks the runtime's answer to the registration.
fn registered(message: &Message) -> io::Result<()> {
    let response = TtrpcResponse::decode(&*message.payload).map_err(invalid)?;
    match response.status {
        Some(CallStatus { code, message }) if code != 0 => {
            Err(io::Error::other(format!("the runtime refused the plugin: {message}")))
        }
        _ => Ok(()),
    }
}

fn unknown(of: &CallRequest) -> CallStatus {
    CallStatus { code: UNIMPLEMENTED, message: format!("{}/{}", of.service, of.method) }
}

fn unreadable(why: &prost::DecodeError) -> CallStatus {
    CallStatus { code: INVALID_ARGUMENT, message: why.to_string() }
}

#[cfg(test)]
mod tests;
