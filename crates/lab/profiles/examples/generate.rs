//! Writes the embedded profiles to standard output.
#![allow(clippy::print_stdout)]

fn main() {
    print!("{}", fairways_profiles::generate::embedded_csv());
}
