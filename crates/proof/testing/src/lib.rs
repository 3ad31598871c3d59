//! For tests only: what they need of this system ([`needs`]), inputs that fuzz targets have found
//! ([`corpora`]), and tables of pages that follow from the code ([`pages`]).

pub mod corpora;
pub mod needs;
pub mod pages;
