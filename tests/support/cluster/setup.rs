//! What a cluster is to consist of.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::control::Control;
use super::{Client, Cluster, LOCAL_NAME, SCHEDULER, host_name, node};
use crate::support::daemon::Daemon;

/// How a host is to be started.
#[derive(Clone, Default)]
pub(crate) struct Host {
    pub(super) options: Vec<OsString>,
    pub(super) never_ready: bool,
    pub(super) port: Option<u16>,
    pub(super) join: Option<usize>,
}

impl Host {
    /// Jobs at the same time; 2 if not said.
    pub(crate) fn slots(self, slots: usize) -> Self {
        self.option("--slots", slots.to_string())
    }

    /// Most that its environments may have together, in MB, unpacked; 256 if not said.
    pub(crate) fn cache_limit(self, megabytes: u32) -> Self {
        self.option("--cache-limit", megabytes.to_string())
    }

    /// Size in MB of the file system that environments are unpacked to.
    pub(crate) fn disk(self, megabytes: u32) -> Self {
        self.option("--disk", megabytes.to_string())
    }

    /// It cannot chroot, so it must not be given jobs of others.
    pub(crate) fn no_chroot(mut self) -> Self {
        self.options.push("--no-chroot".into());
        self
    }

    /// Another machine type, as `setarch` knows it: `i686`.
    pub(crate) fn platform(self, platform: &str) -> Self {
        self.option("--platform", platform)
    }

    /// At the address of the host with this number, behind a port of its own.
    pub(crate) fn at_the_address_of(mut self, host: usize, port: u16) -> Self {
        self.join = Some(host);
        self.port = Some(port);
        self.option("--port", port.to_string())
    }

    /// The cluster's start does not wait until it gets jobs, since it never will: its disk is too small, say.
    pub(crate) fn never_ready(mut self) -> Self {
        self.never_ready = true;
        self
    }

    fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.push(name.into());
        self.options.push(value.into());
        self
    }
}

/// How a cluster is to be started.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    hosts: Vec<Host>,
    netname: Option<String>,
    local: Option<usize>,
    without_scheduler: bool,
}

impl Setup {
    /// One more host.
    pub(crate) fn host(mut self, host: Host) -> Self {
        self.hosts.push(host);
        self
    }

    /// So many more hosts of 2 slots.
    pub(crate) fn hosts(mut self, count: usize) -> Self {
        self.hosts.extend((0..count).map(|_| Host::default()));
        self
    }

    /// The cluster's name; `ICECREAM` if not said.
    pub(crate) fn netname(mut self, name: &str) -> Self {
        self.netname = Some(name.to_owned());
        self
    }

    /// An iceccd with so many slots runs on the client's machine as well.
    pub(crate) fn local(mut self, slots: usize) -> Self {
        self.local = Some(slots);
        self
    }

    /// Nobody is at the scheduler's address, and no host is started.
    pub(crate) fn without_scheduler(mut self) -> Self {
        self.without_scheduler = true;
        self
    }

    /// Starts it; returns once every host can be given jobs.
    pub(crate) fn start(self) -> Cluster {
        let mut daemon = Daemon::start(node(&["client"]).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(daemon.stdout()).read_line(&mut line).expect("its output can be read");
        assert_eq!(line, "ready\n", "integration/icecream-node client did not start: {}", daemon.log());
        let client = Client { process: daemon.id() };
        let mut cluster = Cluster {
            control: Control::new(client, SCHEDULER),
            scheduler: None,
            local: None,
            hosts: Vec::new(),
            netname: self.netname.unwrap_or_else(|| "ICECREAM".to_owned()),
            client: daemon,
        };
        if self.without_scheduler {
            return cluster;
        }
        cluster.start_scheduler();
        if let Some(slots) = self.local {
            cluster.launch_local(slots);
        }
        for host in &self.hosts {
            cluster.launch(host);
        }
        let mut names: Vec<String> =
            (1..).zip(&self.hosts).filter(|(_, host)| !host.never_ready).map(host_name).collect();
        names.extend(self.local.map(|_| LOCAL_NAME.to_owned()));
        cluster.wait_for_ready(&names);
        cluster
    }
}
