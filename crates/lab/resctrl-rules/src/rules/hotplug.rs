//! CPUs that come and go, and domains with them.

use super::{Resctrl, World};
use crate::platform::Resource;

impl Resctrl {
    /// A CPU comes online: it joins the root, and brings its domains back if it is their first. A
    /// domain that returns is not limited in any class (`resctrl_arch_online_cpu`,
    /// `domain_setup_ctrlval`).
    pub fn cpu_online(&mut self, cpu: u32, world: &mut dyn World) {
        self.bring_online(cpu, Some(world));
    }

    /// Before anything is mounted no counters are needed.
    pub(super) fn bring_online(&mut self, cpu: u32, world: Option<&mut dyn World>) {
        if self.online.contains(cpu) || !self.platform.cpus.contains_key(&cpu) {
            return;
        }
        self.online.insert(cpu);
        for resource in Resource::ALL {
            if let Some(domain) = self.platform.domain_of(resource, cpu) {
                self.controls.add(&self.platform, resource, domain);
            }
        }
        let root = self.root;
        self.group_mut(root).cpus.insert(cpu);
        let monitored = self.platform.monitored_domain_of(cpu);
        if let Some(domain) = monitored.filter(|_| self.platform.monitoring.is_some())
            && self.monitored.insert(domain)
            && let Some(world) = world
            && self.is_mounted()
        {
            let classes: Vec<_> = self.groups.values().map(|group| group.class).collect();
            for class in classes {
                self.start_counters_of(class, domain, world);
            }
        }
        self.changed();
    }

    /// A CPU goes offline: it leaves its groups, and takes its domains with it if it is their last;
    /// ids there are not waited for any more (`resctrl_arch_offline_cpu`,
    /// `resctrl_offline_mon_domain`).
    pub fn cpu_offline(&mut self, cpu: u32) {
        if !self.online.remove(cpu) {
            return;
        }
        for group in self.groups.values_mut() {
            group.cpus.remove(cpu);
        }
        for resource in Resource::ALL {
            let Some(domain) = self.platform.domain_of(resource, cpu) else { continue };
            let mut others = self.online.iter();
            if others.any(|cpu| self.platform.domain_of(resource, cpu) == Some(domain)) {
                continue;
            }
            self.controls.remove(resource, domain);
        }
        self.stop_monitoring(cpu);
        self.changed();
    }

    /// The domain in which a CPU was monitored goes with its last CPU.
    fn stop_monitoring(&mut self, cpu: u32) {
        let Some(domain) = self.platform.monitored_domain_of(cpu) else { return };
        let mut others = self.online.iter();
        let is_last = !others.any(|cpu| self.platform.monitored_domain_of(cpu) == Some(domain));
        if is_last && self.monitored.remove(&domain) {
            self.rmids.domain_gone(domain);
            self.counters.domain_gone(domain);
            self.assigned.domain_gone(domain);
            let (monitored, platform) = (&self.monitored, &self.platform);
            self.overrides.retain(|node, _| node.is_monitored(monitored, platform));
        }
    }
}
