//! The few functions of QEMU that the plugin uses, which are the same from its version 7 to 10
//! (docs/devel/tcg-plugins of QEMU), and the version by which they are requested.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// A block of code that is being translated.
#[repr(C)]
pub(crate) struct Block([u8; 0]);

/// An instruction of it.
#[repr(C)]
pub(crate) struct Instruction([u8; 0]);

/// The plugin's number.
pub(crate) type Id = u64;

/// Callbacks do not look at registers.
pub(crate) const NO_REGISTERS: c_int = 0;
/// Loads and stores. Version 7.2 reports other accesses, too, if only one kind is requested.
pub(crate) const ALL_ACCESSES: c_int = 3;

pub(crate) type OnThread = extern "C" fn(Id, c_uint);
pub(crate) type OnTranslation = extern "C" fn(Id, *mut Block);
pub(crate) type OnRun = extern "C" fn(c_uint, *mut c_void);
pub(crate) type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);
pub(crate) type OnCall = extern "C" fn(Id, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
pub(crate) type OnReturn = extern "C" fn(Id, c_uint, i64, i64);

unsafe extern "C" {
    pub(crate) safe fn qemu_plugin_register_vcpu_init_cb(id: Id, on: OnThread);
    pub(crate) safe fn qemu_plugin_register_vcpu_exit_cb(id: Id, on: OnThread);
    pub(crate) safe fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, on: OnTranslation);
    pub(crate) safe fn qemu_plugin_register_vcpu_syscall_cb(id: Id, on: OnCall);
    pub(crate) safe fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, on: OnReturn);
    pub(crate) safe fn qemu_plugin_mem_is_store(access: u32) -> bool;
    pub(crate) safe fn qemu_plugin_mem_size_shift(access: u32) -> c_uint;
    pub(crate) fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub(crate) fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    /// Up to version 2 the bytes themselves; from version 3 on they are copied.
    fn qemu_plugin_insn_data(
        instruction: *const Instruction,
        bytes: *mut c_void,
        count: usize,
    ) -> *const c_void;
    fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub(crate) fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    pub(crate) fn qemu_plugin_insn_haddr(instruction: *const Instruction) -> *mut c_void;
    pub(crate) fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        on: OnRun,
        registers: c_int,
        data: *mut c_void,
    );
    pub(crate) fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        on: OnAccess,
        registers: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
}

/// The version of the interface that the plugin is for: QEMU looks at it once the plugin is loaded.
/// Version 7.2 takes 0 and 1; version 10.0 takes 2 to 4.
#[unsafe(export_name = "qemu_plugin_version")]
pub(crate) static VERSION: AtomicI32 = AtomicI32::new(1);

/// Runs while the plugin is loaded, before QEMU looks at the version.
#[used]
#[unsafe(link_section = ".init_array")]
static CHOOSE: extern "C" fn() = choose;

extern "C" fn choose() {
    if !symbol(c"qemu_plugin_num_vcpus").is_null() {
        VERSION.store(2, Ordering::Relaxed);
    }
}

/// QEMU's description of itself, as far as it is the same in all versions.
#[repr(C)]
pub struct Info {
    target: *const c_char,
    oldest: c_int,
    version: c_int,
}

impl Info {
    /// The newest version of the interface that QEMU has.
    pub(crate) fn version(&self) -> c_int {
        self.version
    }
}

/// The first bytes of an instruction, which include prefixes and opcode.
///
/// # Safety
/// The instruction is from a block that is being translated.
pub(crate) unsafe fn bytes(instruction: *const Instruction, version: c_int) -> [u8; 8] {
    let mut bytes = [0; 8];
    // SAFETY: as the caller promises. QEMU copies at most that many bytes, or returns its own,
    // whose number it states.
    unsafe {
        let count = qemu_plugin_insn_size(instruction).min(bytes.len());
        let own = qemu_plugin_insn_data(instruction, bytes.as_mut_ptr().cast(), count);
        if version <= 2 {
            bytes.as_mut_ptr().copy_from_nonoverlapping(own.cast(), count);
        }
    }
    bytes
}

fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a name that ends with a zero.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}
