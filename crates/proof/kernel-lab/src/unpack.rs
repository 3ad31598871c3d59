//! A kernel as it is in memory, from the image that a boot loader takes.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Sectors of the setup code, at the boot protocol's place; 0 means 4
/// (Documentation/arch/x86/boot.rst).
const SETUP_SECTORS: usize = 0x1f1;
/// Where the compressed kernel begins behind the setup code, and its length.
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// The magic bytes of compressed data, and the program that unpacks them.
const PACKERS: [(&[u8], &str); 4] = [
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ", "xz"),
    (b"\x02\x21\x4c\x18", "lz4"),
];

/// The compressed kernel in an image.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let sectors = match *image.get(SETUP_SECTORS)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + word(image, PAYLOAD_OFFSET)?;
    image.get(start..start + word(image, PAYLOAD_LENGTH)?)
}

fn word(image: &[u8], at: usize) -> Option<usize> {
    let bytes = image.get(at..at + 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

fn bad_image(image: &Path, what: &str) -> Error {
    Error::Image { path: image.into(), what: what.into() }
}

/// Unpacks the kernel of `image` into an ELF file.
pub(crate) fn unpack(image: &Path, to: &Path) -> Result<(), Error> {
    let bytes = fs::read(image).map_err(Error::file(image))?;
    let payload = payload(&bytes).ok_or_else(|| bad_image(image, "not a kernel image"))?;
    let packer = PACKERS.iter().find(|(magic, _)| payload.starts_with(magic));
    let (_, packer) = packer.ok_or_else(|| bad_image(image, "compressed in an unknown way"))?;
    let output = File::create(to).map_err(Error::file(to))?;
    let mut child = Command::new(packer)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Error::program(packer, e))?;
    // The payload ends with its unpacked size, at which the packer stops and complains: only its
    // output counts.
    let _ = child.stdin.take().map(|mut input| input.write_all(payload));
    child.wait().map_err(|e| Error::program(packer, e))?;
    let unpacked = fs::read(to).map_err(Error::file(to))?;
    match unpacked.starts_with(b"\x7fELF") {
        true => Ok(()),
        false => Err(bad_image(image, "contains no ELF file")),
    }
}
