//! The cluster's part in a running link: what it grants, and what is made of that.

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::time::Instant;

use super::super::work::{self, Attempt, Object};
use super::Drive;
use crate::backend::Traffic;
use crate::backend::icecream::{Cluster, Grant, LocalDaemon, LocalGrant, News};
use crate::schedule::{Belief, HostId, Order};

/// What a link has of a cluster.
pub(in crate::distribute) struct Icecream {
    cluster: Cluster,
    /// The hosts that were granted so far.
    hosts: HashMap<SocketAddrV4, HostId>,
    /// Objects of hosts whose canary is under way.
    pub(super) held: HashMap<HostId, Vec<(Attempt, Object, Traffic)>>,
    /// Slots of this machine that its `iceccd` offered, for compiles that begin now.
    here: Vec<LocalGrant>,
    /// The `iceccd` of this machine, whose slots our own compiles hold.
    daemon: Option<work::Iceccd>,
}

impl Icecream {
    pub(in crate::distribute) fn new(cluster: Cluster, daemon: Option<LocalDaemon>) -> Self {
        Self {
            cluster,
            hosts: HashMap::new(),
            held: HashMap::new(),
            here: Vec::new(),
            daemon: daemon.map(work::Iceccd::new),
        }
    }

    /// The next news; cancel-safe.
    pub(super) async fn next(&mut self) -> News {
        self.cluster.next().await
    }

    /// Takes the link out of the scheduler's books.
    pub(super) async fn close(self) {
        drop(self.here);
        self.cluster.close().await;
    }

    /// A slot of the machine's `iceccd` for a compile that begins here.
    pub(super) fn slot_here(&mut self) -> work::Share {
        match (self.here.pop(), &self.daemon) {
            (Some(grant), _) => work::Share::Granted(grant),
            (None, Some(daemon)) => work::Share::Asked(daemon.clone()),
            (None, None) => work::Share::Unshared,
        }
    }
}

/// News of a cluster, or none for ever where there is no cluster.
pub(super) async fn news(icecream: &mut Option<Icecream>) -> News {
    match icecream {
        Some(icecream) => icecream.next().await,
        None => std::future::pending().await,
    }
}

impl Drive<'_> {
    /// Tells the cluster how many slots are wanted, and gives back what is not.
    pub(super) fn ask_cluster(&mut self, now: Instant) {
        let wanted = self.schedule.requests_wanted(now);
        let local_wanted = self.schedule.local_wanted(now);
        let Some(icecream) = &mut self.icecream else { return };
        icecream.cluster.want(wanted);
        if !self.asked && local_wanted <= self.compiling {
            icecream.here.clear();
        }
    }

    pub(super) fn heard(&mut self, news: News) {
        let now = Instant::now();
        match news {
            News::Joined { way } => {
                self.ledger.cluster_joined(&way);
                self.voice.tell(format_args!("icecream: jobs go through {way}"));
                self.schedule.cluster_joined(now);
            }
            News::Granted(grant) => self.granted(grant, now),
            News::Here(grant) => {
                if self.schedule.offered_here(now) {
                    self.ledger.cluster_failed("its scheduler gave this machine instead of a host");
                }
                if let Some(icecream) = &mut self.icecream
                    && self.schedule.local_wanted(now) > self.compiling
                {
                    icecream.here.push(grant);
                }
            }
            News::Shipped(shipment) => {
                let took = shipment.result.is_ok().then_some(shipment.took);
                self.ledger.shipped(&shipment);
                self.voice.tell(match &shipment.result {
                    Ok(()) => {
                        let seconds = shipment.took.as_secs_f64();
                        format!(
                            "icecream: the environment went to {} ({} bytes, {seconds:.1} s)",
                            shipment.host, shipment.bytes
                        )
                    }
                    Err(reason) => format!("icecream: the environment did not get to {}: {reason}", shipment.host),
                });
                self.schedule.shipped(took);
            }
            News::Nobody { reason } => {
                self.cluster_failed(&reason);
                self.schedule.nobody(now);
            }
            News::Lost { reason } => {
                self.cluster_failed(&reason);
                self.schedule.cluster_lost(now);
            }
            News::Note(line) => self.voice.say(format_args!("icecream: {line}")),
            News::Over { reason } => {
                // Said once, at the end, with what it cost.
                self.ledger.cluster_over(&reason);
                self.voice.tell(format_args!("icecream: {reason}"));
                self.schedule.cluster_over(now);
            }
        }
    }

    fn cluster_failed(&mut self, reason: &str) {
        self.ledger.cluster_failed(reason);
        self.voice.tell(format_args!("icecream: {reason}"));
    }

    fn granted(&mut self, grant: Grant, now: Instant) {
        let Some(icecream) = &mut self.icecream else { return };
        let host = *icecream.hosts.entry(grant.host).or_insert_with(|| {
            self.ledger.add_host(grant.host.to_string());
            self.schedule.add_host(now)
        });
        let (job, proof, deadline) = match self.schedule.granted(host, grant.has_environment, now) {
            Some(Order::Run { job, deadline, .. }) => (job, false, deadline),
            Some(Order::Prove { job, deadline, .. }) => (job, true, deadline),
            Some(Order::Probe { .. }) | None => return grant.give_back(),
        };
        let attempt = Attempt { job, host, proof, queued: now };
        self.under_way.insert((job, host));
        self.tasks.spawn(work::granted(std::sync::Arc::clone(&self.shared), attempt, grant, deadline));
    }

    /// Whether the object of a host has to wait for the host's canary. Then it is kept.
    pub(super) fn hold(&mut self, attempt: Attempt, object: Object, traffic: Traffic) -> Option<(Object, Traffic)> {
        match (&mut self.icecream, self.schedule.belief(attempt.host)) {
            (Some(icecream), Belief::Pending) => {
                icecream.held.entry(attempt.host).or_default().push((attempt, object, traffic));
                None
            }
            _ => Some((object, traffic)),
        }
    }

    /// The host's canary has been judged: so are the objects that waited for it.
    pub(super) fn release(&mut self, host: HostId) {
        let held = self.icecream.as_mut().and_then(|icecream| icecream.held.remove(&host));
        for (attempt, object, traffic) in held.unwrap_or_default() {
            self.made(attempt, object, traffic);
        }
    }
}
