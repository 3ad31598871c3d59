//! Texts that are written to the files.

use super::{Maker, below};
use crate::steps::{LABELS, Step};
use crate::{Cache, Topology, Vendor};

impl Maker<'_> {
    pub(super) fn mode(&mut self) -> Step {
        let text = self.one(&[
            "exclusive\n",
            "exclusive\n",
            "exclusive\n",
            "shareable\n",
            "shareable\n",
            "shareable",
            "pseudo-locksetup\n",
            "pseudo-locked\n",
            "Exclusive\n",
            " exclusive\n",
            "\n",
            "",
            "exclusive\nshareable\n",
        ]);
        let group = if self.chance(92) { self.control() } else { self.monitor() };
        Step::Write(below(&group, "mode"), text.into())
    }

    pub(super) fn tasks(&mut self) -> Step {
        let text = match self.below(12) {
            0..5 => self.one(&LABELS).name.to_owned(),
            5..7 => {
                let labels: Vec<_> = (0..self.below(4)).map(|_| self.one(&LABELS).name).collect();
                labels.join(self.one(&[",", ",", " ,", ", "]))
            }
            7 => "0".into(),
            8 => "@p,999999,@q".into(),
            _ => self
                .one(&[
                    "",
                    " ",
                    ",",
                    "@p,",
                    ",@q",
                    "@p @q",
                    "-1",
                    "-@p",
                    "0x7ffff0",
                    "999999",
                    "99999999999",
                    "+@t",
                    "@p,x",
                    "@u\n@v",
                    " @u ",
                    "1",
                    "0,0",
                    "4194305",
                    "\t@q",
                    "@p;@q",
                    "00",
                ])
                .into(),
        };
        let end = if self.chance(80) { "\n" } else { "" };
        Step::Write(below(&self.group(), "tasks"), (text + end).into_bytes())
    }

    pub(super) fn cpus(&mut self) -> Step {
        let list = self.chance(60);
        let most = u64::from(self.grounds.processor.topology.cpus());
        let text = if self.chance(70) {
            let bits = self.below(1 << most);
            let cpus: Vec<_> = (0..most).filter(|cpu| bits >> cpu & 1 == 1).collect();
            if list {
                cpus.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
            } else {
                self.one(&[
                    format!("{bits:x}"),
                    format!("0x{bits:x}"),
                    format!("{bits:08X}"),
                    format!("0,{bits:08x}"),
                ])
            }
        } else {
            self.one(&[
                "",
                "0-3",
                "0-1,2",
                "0-3:1/2",
                "0-3:2/2",
                "0-3:0/2",
                "3-1",
                "1-",
                "-1",
                "0,0",
                "0-0",
                "all",
                "none",
                "1,,2",
                ",1",
                "1,",
                " 1",
                "1 ",
                "1 2",
                "1\n2",
                "4",
                "99",
                "0-99",
                "5,f",
                "00000000,00000003",
                "1,00000000",
                "ffffffff",
                "100000000",
                "g",
                "0-3:1/0",
                "N",
                "0-N",
                "0x1",
                "f,",
                "000000003",
                "8192",
                "0-8191:1/4096",
                "2-3,0",
                "\t1",
            ])
            .into()
        };
        let end = if self.chance(85) { "\n" } else { "" };
        let file = if list { "cpus_list" } else { "cpus" };
        Step::Write(below(&self.group(), file), (text + end).into_bytes())
    }

    pub(super) fn odd_write(&mut self) -> Step {
        let path = match self.below(6) {
            0 => "info/L3_MON/max_threshold_occupancy".into(),
            1 => "mba_MBps_event".into(),
            2 => below(&self.control(), "mba_MBps_event"),
            _ => self.some_path(),
        };
        let text = self.one(&[
            "1\n",
            "",
            "\n",
            "0\n",
            "65536\n",
            "65535\n",
            "131071\n",
            "99999999999\n",
            "524289\n",
            "x\n",
            "-1\n",
            "mbm_total_bytes\n",
            "mbm_local_bytes\n",
            "llc_occupancy\n",
            "1",
            "[default]\n",
            "0x10000\n",
            " 65536 \n",
            "4294967296\n",
        ]);
        // The threshold decides when RMIDs are clean.
        if self.grounds.few_rmids && path.contains("threshold") {
            return Step::Read(path);
        }
        Step::Write(path, text.into())
    }

    pub(super) fn schemata(&mut self) -> Step {
        let lines = match self.below(10) {
            0..6 => 1,
            6..9 => 2,
            _ => 4,
        };
        let mut text = String::new();
        for _ in 0..lines {
            text += &self.schema();
            text.push('\n');
        }
        match self.below(60) {
            0 => _ = text.pop(),
            1 => text = "\n".into(),
            2 => text = String::new(),
            3 => text = " ".repeat(4095) + "\n",
            4 => text = " ".repeat(4096) + "\n",
            5 => text.insert(0, '\n'),
            6 => text = text.replace('\n', "\r\n"),
            7 => text = text.replace('\n', "\0\n"),
            8 => text.push_str("L3:0=1"),
            _ => {}
        }
        let group = if self.chance(94) { self.control() } else { self.monitor() };
        Step::Write(below(&group, "schemata"), text.into_bytes())
    }

    fn schema(&mut self) -> String {
        let amd = self.grounds.processor.vendor == Vendor::Amd;
        if self.grounds.processor.l2.is_some() && self.chance(35) {
            let name = self.one(&["L2", "L2", "L2CODE", "L2DATA"]);
            return self.schema_of(name, amd);
        }
        if self.grounds.processor.slow_bandwidth.is_some() && self.chance(35) {
            return self.schema_of("SMBA", amd);
        }
        let name = match self.below(40) {
            0..20 => "L3",
            20..30 => "MB",
            30..33 => "L3CODE",
            33..36 => "L3DATA",
            36..38 => "L2",
            38 => {
                self.one(&["l3", "", "L", "L33", "SMBA", "L3 ", " L3", "\tMB ", "L3:0", "    L3"])
            }
            _ => {
                return self
                    .one(&["L3", "L3:", ":", "L3=1", "MB:", "0=f", " ", "L3:;", "L3::0=f"])
                    .into();
            }
        };
        self.schema_of(name, amd)
    }

    fn schema_of(&mut self, name: &str, amd: bool) -> String {
        let masks = !name.contains("MB");
        let Topology { sockets, cores, .. } = self.grounds.processor.topology;
        let own = self.grounds.processor.l2.filter(|_| name.starts_with("L2"));
        let domains = u64::from(if own.is_some() { sockets * cores } else { sockets });
        let cache = own.or(self.grounds.processor.l3);
        let mut values = Vec::new();
        for _ in 0..=self.below(3) {
            let domain = match self.below(30) {
                0 => "7".into(),
                1 => self
                    .one(&["", "x", "-1", "0x0", "00", " 0", "0 ", "1.5", "4294967296", "*"])
                    .to_owned(),
                _ => self.below(domains).to_string(),
            };
            let value = if masks { self.mask(cache) } else { self.percent(amd) };
            let equals = if self.chance(97) { "=" } else { self.one(&["", "==", " = ", ":"]) };
            values.push(format!("{domain}{equals}{value}"));
        }
        let separator = if self.chance(94) { ";" } else { self.one(&[";;", " ; ", ",", " "]) };
        let trailing = if self.chance(94) { "" } else { self.one(&[";", " ", ";;", "; "]) };
        format!("{name}:{}{trailing}", values.join(separator))
    }

    fn mask(&mut self, of: Option<Cache>) -> String {
        let bits = u64::from(of.map_or(12, |cache| cache.bits));
        match self.below(24) {
            0..17 => {
                let length = 1 + self.below(bits.div_ceil(2));
                let low = self.below(bits - length + 1);
                format!("{:x}", ((1_u64 << length) - 1) << low)
            }
            17 => format!("{:x}", self.below(1 << bits)),
            18 => format!("{:x}", (1_u64 << bits) - 1),
            19 => format!("{:x}", 1_u64 << bits),
            20 => format!("0x{:X}", 3 << self.below(bits - 1)),
            _ => self
                .one(&[
                    "0",
                    "",
                    "5",
                    "xyz",
                    "-1",
                    "f g",
                    " f",
                    "f ",
                    "ffffffff",
                    "100000000",
                    "10000000000000000",
                    "0x",
                    "00000000f",
                    "f0f",
                    "F",
                    "+3",
                    "0f ",
                    "\tf",
                ])
                .into(),
        }
    }

    fn percent(&mut self, amd: bool) -> String {
        match self.below(10) {
            0..7 => self.below(if amd { 2060 } else { 105 }).to_string(),
            7 => (10 * (1 + self.below(10))).to_string(),
            _ => self
                .one(&[
                    "",
                    "0",
                    "9",
                    "10",
                    "101",
                    "2048",
                    "2049",
                    "x",
                    "-1",
                    "0x20",
                    "4294967295",
                    "4294967296",
                    " 30",
                    "30 ",
                    "1.5",
                    "+20",
                    "010",
                    "18446744073709551616",
                    "4294967200",
                ])
                .into(),
        }
    }
}
