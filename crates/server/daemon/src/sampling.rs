//! What ends windows that are measured in instructions, where perf counts.

use fairways_command_kit::{ExitCode, exit};
use fairways_perf::Perf;

use crate::config::Windows;

/// Has the kernel end such windows, if it is configured and possible. The log says which it is.
pub(super) fn choose(windows: Windows, perf: &mut Perf) -> anyhow::Result<()> {
    if windows == Windows::Polled {
        tracing::info!(target: "fairways::counters", "windows by instructions are polled for");
        return Ok(());
    }
    match attach(perf) {
        Ok(()) => {
            tracing::info!(target: "fairways::counters", "windows by instructions end in the kernel");
            Ok(())
        }
        Err(why) if windows == Windows::Auto => {
            tracing::info!(target: "fairways::counters", why, "windows by instructions are polled for");
            Ok(())
        }
        Err(why) => {
            fairways_command_kit::fail(
                &format!("counters.windows = \"kernel\": {why}"),
                exit::NOT_SUPPORTED,
            );
            Err(ExitCode(exit::NOT_SUPPORTED).into())
        }
    }
}

/// Whether windows by instructions can end in the kernel, by this program on this host.
///
/// # Errors
/// Why not.
#[cfg(not(feature = "sched-ext"))]
pub fn can() -> Result<(), String> {
    Err("this program was built without the feature sched-ext".to_owned())
}

#[cfg(not(feature = "sched-ext"))]
fn attach(_: &mut Perf) -> Result<(), String> {
    can()
}

#[cfg(feature = "sched-ext")]
pub use in_kernel::can;

#[cfg(feature = "sched-ext")]
fn attach(perf: &mut Perf) -> Result<(), String> {
    in_kernel::attach(perf)
}

#[cfg(feature = "sched-ext")]
mod in_kernel {
    //! The BPF program that ends windows, as a `Sampler` of the counters.

    use std::io;
    use std::os::fd::BorrowedFd;

    use fairways_perf::Perf;
    use fairways_perf::sampling::{Sampler, Span, Window};
    use fairways_sched_ext::sampling as kernel;

    /// Room for this many threads, or cgroups on a CPU: some 5 MB of the kernel's memory.
    const PARTS: u32 = 4096;

    /// Whether windows by instructions can end in the kernel, by this program on this host.
    ///
    /// # Errors
    /// Why not.
    pub fn can() -> Result<(), String> {
        kernel::Sampler::load(1).map(drop).map_err(|why| why.to_string())
    }

    pub(super) fn attach(perf: &mut Perf) -> Result<(), String> {
        let sampler = kernel::Sampler::load(PARTS).map_err(|why| why.to_string())?;
        perf.sample_with(Box::new(InKernel(sampler))).map_err(|why| why.to_string())
    }

    struct InKernel(kernel::Sampler);

    impl Sampler for InKernel {
        fn open(&mut self, window: u64) -> io::Result<u32> {
            self.0.open(window).map_err(io::Error::other)
        }

        fn join(&mut self, series: u32, events: &[(BorrowedFd<'_>, Span)]) -> io::Result<u32> {
            let events: Vec<_> = events.iter().map(|&(event, span)| (event, there(span))).collect();
            self.0.join(series, &events).map_err(io::Error::other)
        }

        fn leave(&mut self, part: u32, last: &[Span]) {
            let last: Vec<kernel::Span> = last.iter().copied().map(there).collect();
            self.0.leave(part, &last);
        }

        fn close(&mut self, series: u32) {
            self.0.close(series);
        }

        fn attention(&self) -> BorrowedFd<'_> {
            self.0.attention()
        }

        fn take_ended(&mut self, ended: &mut Vec<Window>) {
            let mut windows = Vec::new();
            self.0.take_ended(&mut windows);
            ended.extend(windows.into_iter().map(|window| Window {
                series: window.series,
                at: window.at,
                counted: window.counted.into_iter().map(|span| span.map(here)).collect(),
                late: window.late,
            }));
        }
    }

    fn there(span: Span) -> kernel::Span {
        kernel::Span { value: span.value, enabled: span.enabled, running: span.running }
    }

    fn here(span: kernel::Span) -> Span {
        Span { value: span.value, enabled: span.enabled, running: span.running }
    }
}
