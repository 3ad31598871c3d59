//! A plugin of NRI, the Node Resource Interface of containerd and CRI-O: it learns of each
//! container before the container's first instruction.
//!
//! The runtime waits for a plugin's answer to `StartContainer` before the container's process
//! executes its program, so what is done before the answer holds from the first instruction on. A
//! plugin that is gone, or does not answer in time, is dropped by the runtime, and the container
//! starts without it.
//!
//! [`serve`] keeps one connection: it registers, hands the containers that exist to its
//! [`ContainerWatcher`], then each one that starts or stops, until the connection ends.
//! Nothing that a pod's owner writes can end a connection or fail a container: containers whose
//! names are not as Kubernetes makes them are left out.
//!
//! Sources: containerd's NRI, pkg/api/api.proto, pkg/net/multiplex and pkg/adaptation at v0.12;
//! containerd's ttrpc, PROTOCOL.md.

mod api;
mod container;
mod mux;
mod plugin;
mod ttrpc;

pub use container::{ANNOTATIONS, Container, MOST_CONTAINERS, QosClass};
pub use plugin::{ContainerWatcher, RuntimeInfo, serve};
