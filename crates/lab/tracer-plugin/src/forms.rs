//! What an instruction's first bytes reveal about its accesses.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use crate::qemu::{Instruction, bytes};

/// The version of QEMU's interface.
pub(crate) static QEMU_VERSION: AtomicI32 = AtomicI32::new(0);

/// An instruction's memory accesses, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It accesses memory once, whenever it runs.
    OneAccess,
    /// QEMU may report its access as several: x86's of 16 bytes and more are split into parts of 8
    /// up to version 7.
    Wide,
    /// Anything.
    Other,
}

/// # Safety
/// The instruction is QEMU's, from a block that is being translated.
pub(crate) unsafe fn form_of(instruction: *const Instruction) -> Form {
    if !cfg!(target_arch = "x86_64") {
        return Form::Other;
    }
    // SAFETY: as the caller promises.
    form(unsafe { bytes(instruction, QEMU_VERSION.load(Relaxed)) })
}

/// Whether an operand is in memory; two high bits set mean between registers.
fn in_memory(modrm: Option<u8>) -> bool {
    modrm.is_some_and(|modrm| modrm < 0xc0)
}

/// For x86-64 (Intel's manual, volume 2, appendix A).
fn form(bytes: [u8; 8]) -> Form {
    let mut bytes = bytes.into_iter().peekable();
    // Segments, sizes, REX. With F0, F2 and F3 it is another instruction, or repeated.
    while bytes.next_if(|byte| matches!(byte, 0x2e | 0x36 | 0x3e | 0x64..=0x66)).is_some() {}
    let repeats = bytes.next_if(|byte| matches!(byte, 0xf0 | 0xf2 | 0xf3)).is_some();
    let _ = bytes.next_if(|byte| matches!(byte, 0x40..=0x4f));
    let (opcode, second, third) = (bytes.next(), bytes.next(), bytes.next());
    match (opcode, second) {
        (Some(0x62 | 0xc4 | 0xc5), _) => Form::Wide,
        // Opcodes of two bytes: SSE and its kin.
        (
            Some(0x0f),
            Some(
                0x10..=0x17 | 0x28..=0x2f | 0x38..=0x3a | 0x50..=0x7f | 0xae | 0xc2..=0xc6 | 0xd0..,
            ),
        ) => Form::Wide,
        _ if repeats => Form::Other,
        // MOVZX and MOVSX.
        (Some(0x0f), Some(0xb6 | 0xb7 | 0xbe | 0xbf)) if in_memory(third) => Form::OneAccess,
        // PUSH, POP, RET, CALL.
        (Some(0x50..=0x5f | 0xc3 | 0xe8), _) => Form::OneAccess,
        // CMP, MOVSXD, TEST, MOV.
        (Some(0x38..=0x3b | 0x63 | 0x84 | 0x85 | 0x88..=0x8b), modrm) if in_memory(modrm) => {
            Form::OneAccess
        }
        // MOV of a constant: other values of the middle bits are other instructions.
        (Some(0xc6 | 0xc7), Some(modrm)) if modrm & 0x38 == 0 && modrm < 0xc0 => Form::OneAccess,
        _ => Form::Other,
    }
}
