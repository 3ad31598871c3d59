//! The daemon as a plugin of the container runtime (NRI): a thread keeps a connection, and has each
//! container put into its class before it starts.
//!
//! No error here keeps a container from starting. If the loop does not respond in time, the
//! container starts, and a look finds it later; if the daemon is gone, the runtime continues
//! without it.

mod totals;
mod wishes;

use std::collections::BTreeSet;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairways_command_kit::plain::plain;
use fairways_host::machine::{Announcement, ContainerAnnouncer, NewContainer};
use fairways_nri::{Container, ContainerWatcher, RuntimeInfo};
use fairways_programs::AnnouncedContainer;
use parking_lot::Mutex;
use tracing::{debug, info, warn};

use crate::config::Kubernetes;
use crate::observer::HostObserver;
pub(super) use totals::NriTotals;
use wishes::PodRequest;

/// How long a container waits for the loop at most: a quarter of NRI's own timeout, after which the
/// runtime would drop the plugin.
const PATIENCE: Duration = Duration::from_millis(500);

/// The same for the list of all existing containers, for which the runtime stops everything else.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(1);

/// How long to wait before another attempt to connect: a runtime that starts again makes a new
/// socket.
const RETRY: Duration = Duration::from_millis(200);

/// The same after a runtime has dropped the plugin, as it may do so again. After short connections
/// the wait doubles, as containers wait while each begins.
const DROPPED: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A connection that lasts less than this is short.
const SOON: Duration = Duration::from_secs(5);

/// A runtime that has not had the plugin for this long is reported as silent; one that starts with
/// the host takes a moment.
const SILENT: Duration = Duration::from_secs(5);

/// Why a runtime that took the connection has not had the plugin.
const NO_ANSWER: &str = "it does not answer the registration";

/// The most wrong annotations that are logged: a pod that restarts repeats them, and its owner can
/// write new ones each time.
const MOST_REPORTED: usize = 1000;

/// A plugin's thread, until it is dropped.
pub(super) struct Nri {
    shared: Arc<NriConnection>,
    thread: Option<JoinHandle<()>>,
}

pub(super) struct NriConnection {
    socket: PathBuf,
    over: AtomicBool,
    /// The connection, to end it.
    stream: Mutex<Option<UnixStream>>,
    /// Since when no runtime has the plugin, and why; `None` while one has it.
    silent: Mutex<Option<(Instant, String)>>,
}

impl NriConnection {
    /// The problem with the runtime, if it has not had the plugin for a while.
    pub(super) fn silence(&self) -> Option<String> {
        let silent = self.silent.lock();
        let (_, why) = silent.as_ref().filter(|(since, _)| since.elapsed() >= SILENT)?;
        let socket = plain(&self.socket.display().to_string());
        Some(format!(
            "the container runtime at {socket} (NRI) does not announce containers, which start outside their classes until they are found: {why}"
        ))
    }

    /// Records that no runtime has the plugin, and why.
    fn is_silent(&self, why: &str) {
        let mut silent = self.silent.lock();
        let since = silent.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        *silent = Some((since, why.to_owned()));
    }
}

impl Nri {
    /// Connects to the runtime's socket at this path, now or as soon as it exists.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(
        settings: Kubernetes,
        announcer: ContainerAnnouncer,
        totals: Arc<Mutex<NriTotals>>,
    ) -> io::Result<Self> {
        let shared = Arc::new(NriConnection {
            socket: settings.socket.clone(),
            over: AtomicBool::new(false),
            stream: Mutex::default(),
            silent: Mutex::new(Some((Instant::now(), NO_ANSWER.to_owned()))),
        });
        let reported = BTreeSet::new();
        let plugin =
            Plugin { settings, announcer, totals, reported, connection: Arc::clone(&shared) };
        let thread = std::thread::Builder::new().name("nri".to_owned());
        let of = Arc::clone(&shared);
        let thread = thread.spawn(move || follow(&of, plugin))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The connection, which shows whether the runtime answers.
    pub(super) fn connection(&self) -> Arc<NriConnection> {
        Arc::clone(&self.shared)
    }
}

/// It announces containers until the run ends: those that start later do not wait for this daemon.
impl HostObserver for Nri {}

impl Drop for Nri {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        if let Some(stream) = &*self.shared.stream.lock() {
            // This fails if the runtime has closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Serves one connection after the other.
fn follow(shared: &NriConnection, mut plugin: Plugin) {
    let socket = &shared.socket;
    // The reason that was logged last, so that it is logged once.
    let mut logged = String::new();
    let mut after_drop = DROPPED;
    while !shared.over.load(Ordering::SeqCst) {
        let (why, pause) = match UnixStream::connect(socket) {
            Ok(stream) => match stream.try_clone() {
                Ok(clone) => {
                    let began = Instant::now();
                    *shared.stream.lock() = Some(clone);
                    shared.is_silent(NO_ANSWER);
                    // The plugin may have been dropped before the connection was stored.
                    let why = match shared.over.load(Ordering::SeqCst) {
                        true => return,
                        false => fairways_nri::serve(&stream, &mut plugin),
                    };
                    *shared.stream.lock() = None;
                    let was_connected = plugin.totals.lock().disconnect();
                    if was_connected {
                        logged.clear();
                    }
                    let pause = after_drop;
                    let ended_soon = began.elapsed() < SOON;
                    after_drop = if ended_soon { (pause * 2).min(LONGEST_WAIT) } else { DROPPED };
                    (why, pause)
                }
                Err(why) => (why, RETRY),
            },
            Err(why) => (why, RETRY),
        };
        if shared.over.load(Ordering::SeqCst) {
            return;
        }
        let why = plain(&why.to_string());
        shared.is_silent(&why);
        if why != logged {
            let socket = socket.display();
            warn!(%socket, "not connected to the container runtime (NRI), pods are looked for: {why}");
            logged = why;
        }
        std::thread::park_timeout(pause);
    }
}

/// Passes the runtime's reports to the loop.
struct Plugin {
    settings: Kubernetes,
    announcer: ContainerAnnouncer,
    totals: Arc<Mutex<NriTotals>>,
    /// The wrong annotations that were logged, to log each only once.
    reported: BTreeSet<String>,
    connection: Arc<NriConnection>,
}

impl Plugin {
    /// A container for the loop; `None` if it has no process, or if the runtime itself puts it into
    /// a class of resctrl, in which it stays.
    fn new_container(&mut self, container: Container) -> Option<NewContainer> {
        if container.runtime_class.is_some() {
            return None;
        }
        let PodRequest { program, wish, wrong } = wishes::asked(&container, &self.settings);
        for line in wrong {
            self.totals.lock().wrong_annotations += 1;
            if self.reported.len() < MOST_REPORTED && self.reported.insert(line.clone()) {
                warn!("{line}");
            }
        }
        let pod = (container.namespace, container.pod);
        let Container { id, pod_uid, pid, .. } = container;
        // Now, while the runtime waits: later the number may belong to another process.
        let announced = AnnouncedContainer::new(id, pod_uid, pod, pid?, program);
        Some(NewContainer { announced, wish })
    }

    fn announce(&self, what: Announcement, within: Duration) -> bool {
        self.announcer.announce(what, within)
    }
}

impl ContainerWatcher for Plugin {
    fn registered(&mut self, runtime: RuntimeInfo) {
        let RuntimeInfo { name, version, nri_version, request_timeout } = &runtime;
        let [name, version, nri] = [name, version, nri_version].map(|text| plain(text));
        info!(
            runtime = name,
            version,
            nri,
            ?request_timeout,
            "registered with the container runtime"
        );
        self.totals.lock().connected = true;
        *self.connection.silent.lock() = None;
    }

    fn synchronize(&mut self, containers: Vec<Container>, within: Duration) {
        let count = containers.len();
        let containers = containers.into_iter().filter_map(|of| self.new_container(of)).collect();
        let is_done =
            self.announce(Announcement::Exist(containers), PATIENCE_FOR_ALL.min(within / 2));
        info!(containers = count, is_done, "the container runtime's containers are known");
    }

    fn starts(&mut self, container: Container, within: Duration) {
        let began = Instant::now();
        let name = format!("{}/{}/{}", container.namespace, container.pod, container.name);
        let Some(new) = self.new_container(container) else { return };
        // Half of the remaining time, as the answer takes time, too.
        let is_done = self.announce(Announcement::Starts(new), PATIENCE.min(within / 2));
        let took = began.elapsed();
        self.totals.lock().started(took, is_done);
        if is_done {
            debug!(container = name, ?took, "starts");
        } else {
            warn!(container = name, ?took, "starts before it is in its class: the loop is late");
        }
    }

    fn stops(&mut self, id: &str, within: Duration) {
        self.announce(Announcement::Stops(id.to_owned()), PATIENCE.min(within / 2));
    }

    fn removed(&mut self, id: &str, within: Duration) {
        self.announce(Announcement::Removed(id.to_owned()), PATIENCE.min(within / 2));
    }

    fn unreadable(&mut self, why: String) {
        let line = format!("an event of the container runtime can't be read: {}", plain(&why));
        if self.reported.len() < MOST_REPORTED && self.reported.insert(line.clone()) {
            warn!("{line}");
        }
    }
}
