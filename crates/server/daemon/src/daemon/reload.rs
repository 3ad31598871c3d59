//! The daemon's configuration is read again.

use tracing::{error, info, warn};

use super::Daemon;
use crate::Options;
use crate::config::Config;
use crate::open;
use crate::settings::Checked;

impl Daemon {
    /// Reads the configuration again. If it is wrong, the previous one stays in force.
    pub(super) fn reload(&mut self, args: &Options) {
        self.notify.reloading();
        match self.try_reload(args) {
            Ok(()) => info!("configuration reloaded"),
            Err(why) => error!("the previous configuration stays in force: {why}"),
        }
        self.notify.ready(&format!("{} looks after this host", self.rules.name()));
    }

    fn try_reload(&mut self, args: &Options) -> anyhow::Result<()> {
        let checked = Checked::reloaded(args)?;
        // Only programs can change while the daemon runs.
        let (now, before) = (&checked.config, &self.config);
        let same = Config { program: before.program.clone(), ..now.clone() } == *before;
        if !same {
            warn!("restart required: only `program` can be reloaded");
        }
        for program in now.program.iter().filter(|now| before.has_other_latency(now)) {
            let name = &program.name;
            warn!(program = name, "restart required: `latency` can't be reloaded");
        }
        let in_force = Config { program: now.program.clone(), ..before.clone() };
        in_force.not_honoured().iter().for_each(|line| warn!("{line}"));
        self.host.reconfigure(open::managed(&checked.config, self.emulator.as_ref())?)?;
        Ok(())
    }
}
