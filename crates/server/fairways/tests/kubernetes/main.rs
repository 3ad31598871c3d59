//! The files for Kubernetes and for a builder of images, as far as they can be checked without
//! them: the manifests, the chart that makes them, and what kustomize makes of them.

#![allow(clippy::unwrap_used)]

mod chart;
#[path = "../../../../proof/doors/tests/clients/go.rs"]
mod go;
mod judge;
mod kustomize;
mod manifests;
mod upgrade;
mod values;
