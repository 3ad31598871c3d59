//! Messages of NRI, with the fields that are used (api.proto of v0.12). Unknown fields are passed
//! over, so that a later runtime can send more.

use std::collections::BTreeMap;

/// The services that each side has.
pub(crate) const RUNTIME_SERVICE: &str = "nri.pkg.api.v1alpha1.Runtime";
pub(crate) const PLUGIN_SERVICE: &str = "nri.pkg.api.v1alpha1.Plugin";

/// Numbers of events. Event n is bit n - 1 of a mask; every version knows these.
pub(crate) const START_CONTAINER: i32 = 6;
pub(crate) const STOP_CONTAINER: i32 = 10;
pub(crate) const REMOVE_CONTAINER: i32 = 11;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RegisterPlugin {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    /// Two digits, by which plugins are asked in order.
    #[prost(string, tag = "2")]
    pub(crate) index: String,
    #[prost(string, tag = "3")]
    pub(crate) nri_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Configure {
    #[prost(string, tag = "2")]
    pub(crate) runtime: String,
    #[prost(string, tag = "3")]
    pub(crate) runtime_version: String,
    /// In milliseconds.
    #[prost(int64, tag = "5")]
    pub(crate) request_timeout: i64,
    /// Empty before 0.12.
    #[prost(string, tag = "6")]
    pub(crate) nri_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Configured {
    #[prost(int32, tag = "2")]
    pub(crate) events: i32,
}

/// All pods and containers, in several parts where they are many.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Synchronize {
    #[prost(message, repeated, tag = "1")]
    pub(crate) pods: Vec<Pod>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) containers: Vec<ApiContainer>,
    #[prost(bool, tag = "3")]
    pub(crate) more: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Synchronized {
    /// As it was asked: else the plugin is dropped.
    #[prost(bool, tag = "2")]
    pub(crate) more: bool,
}

/// An event of a runtime before 0.12.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StateChange {
    #[prost(int32, tag = "1")]
    pub(crate) event: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) pod: Option<Pod>,
    #[prost(message, optional, tag = "3")]
    pub(crate) container: Option<ApiContainer>,
}

/// An event of a container, by a call of its own: StartContainer, StopContainer, RemoveContainer.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ContainerEvent {
    #[prost(message, optional, tag = "1")]
    pub(crate) pod: Option<Pod>,
    #[prost(message, optional, tag = "2")]
    pub(crate) container: Option<ApiContainer>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Pod {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    pub(crate) uid: String,
    #[prost(string, tag = "4")]
    pub(crate) namespace: String,
    #[prost(btree_map = "string, string", tag = "5")]
    pub(crate) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "6")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub(crate) linux: Option<LinuxPod>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LinuxPod {
    #[prost(string, tag = "3")]
    pub(crate) cgroup_parent: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ApiContainer {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) pod_sandbox_id: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    /// 4 is stopped.
    #[prost(int32, tag = "4")]
    pub(crate) state: i32,
    #[prost(message, optional, tag = "11")]
    pub(crate) linux: Option<LinuxContainer>,
    #[prost(uint32, tag = "12")]
    pub(crate) pid: u32,
}

pub(crate) const STOPPED: i32 = 4;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LinuxContainer {
    #[prost(string, tag = "5")]
    pub(crate) cgroups_path: String,
    #[prost(message, optional, tag = "12")]
    pub(crate) rdt: Option<Rdt>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Rdt {
    #[prost(message, optional, tag = "1")]
    pub(crate) clos_id: Option<Text>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Text {
    #[prost(string, tag = "1")]
    pub(crate) value: String,
}
