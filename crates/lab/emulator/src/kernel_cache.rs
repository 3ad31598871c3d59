//! Names and attributes that the kernel keeps, so that it need not ask for them at every open.
//!
//! The kernel notices what its own calls change (mkdir, rename, chmod). Whatever else changes the
//! tree ends the kernel's epoch (`FUSE_NOTIFY_INC_EPOCH` of include/uapi/linux/fuse.h, Linux 6.16):
//! it asks for each name once more. That takes no lock of the kernel's, so it can be done in the
//! middle of any operation. An older kernel keeps nothing.

use std::os::fd::OwnedFd;
use std::time::Duration;

/// How long names and attributes hold, unless an epoch ends.
const LONG: Duration = Duration::from_secs(86_400);

/// The kernel's end of the mount.
#[derive(Debug, Default)]
pub(crate) struct KernelCache {
    /// FUSE's device; `None` if the kernel keeps nothing.
    device: Option<OwnedFd>,
}

/// Notifications (`enum fuse_notify_code`).
const INVAL_INODE: i32 = 2;
const INC_EPOCH: i32 = 8;

/// Sends a notification: `struct fuse_out_header` and what belongs to it, in one write.
fn notify(device: &OwnedFd, code: i32, body: &[u8]) -> rustix::io::Result<()> {
    const HEADER: usize = 16;
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let header = [&length.to_ne_bytes()[..], &code.to_ne_bytes(), &0_u64.to_ne_bytes()].concat();
    rustix::io::write(device, &[&header, body].concat()).map(|_| ())
}

impl KernelCache {
    /// By this device, on which FUSE has been set up.
    pub(crate) fn new(device: OwnedFd) -> Self {
        let has_epochs = notify(&device, INC_EPOCH, &[]).is_ok();
        Self { device: has_epochs.then_some(device) }
    }

    /// How long the kernel may keep a name or attributes.
    pub(crate) fn time_to_live(&self) -> Duration {
        if self.device.is_some() { LONG } else { Duration::ZERO }
    }

    /// Ends the epoch. The root has no name that the kernel would ask for: its attributes go
    /// (`struct fuse_notify_inval_inode_out`, with a negative offset for attributes alone).
    pub(crate) fn invalidate(&self) {
        let Some(device) = &self.device else { return };
        let root = [crate::inodes::ROOT.to_ne_bytes(), (-1_i64).to_ne_bytes(), [0; 8]].concat();
        // An error means that nothing is mounted any longer, or no attributes are kept.
        let _ = notify(device, INC_EPOCH, &[]);
        let _ = notify(device, INVAL_INODE, &root);
    }
}
