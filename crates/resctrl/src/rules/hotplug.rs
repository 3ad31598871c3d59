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
        let l3 = self.platform.domain_of(Resource::L3, cpu);
        if let Some(domain) = l3.filter(|_| self.platform.monitoring.is_some())
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
            if resource == Resource::L3 && self.monitored.remove(&domain) {
                self.rmids.domain_gone(domain);
                self.counters.domain_gone(domain);
                self.assigned.domain_gone(domain);
                self.overrides.retain(|node, _| !node.is_of_domain(domain));
            }
        }
        self.changed();
    }
}
