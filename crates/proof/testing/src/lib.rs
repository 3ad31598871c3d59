//! For tests only: what they need of this system ([`needs`]), and inputs that fuzz targets have
//! found ([`corpora`]).

pub mod corpora;
pub mod needs;
