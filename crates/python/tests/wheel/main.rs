//! The wheel.
fn main() {}
