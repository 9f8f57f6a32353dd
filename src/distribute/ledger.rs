//! What happened in a link: written down as it happens, told at the end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::backend::icecream::Shipment;
use crate::backend::{Failure, Traffic};
use crate::fleet::{Fleet, Volunteer};
use crate::link::job::{Description, Job};
use crate::link::plan::{Plan, Planned};
use crate::report::json::{
    Attempt, ClusterReport, EnvironmentReport, HostReport, JobReport, Outcome, Place, Report, ShipmentReport, Times,
    Totals,
};
use crate::schedule::{Fault, HostId, JobId};

/// The notes of one link.
#[derive(Debug)]
pub(super) struct Ledger {
    started: Instant,
    jobs: Vec<Note>,
    hosts: Vec<HostNote>,
    /// Of an icecream cluster, where one is to be used.
    cluster: Option<ClusterReport>,
    /// It was given up.
    cluster_is_over: bool,
    /// When the first job fell back.
    no_host_after: Option<Duration>,
}

#[derive(Debug, Default)]
struct Note {
    attempts: Vec<(HostId, Outcome, Option<String>)>,
    traffic: Traffic,
    place: Option<Made>,
    times: Times,
    words: Vec<u8>,
    fallback: bool,
    /// Time spent on hosts in vain.
    waited: Duration,
    compiled: Duration,
}

/// Where an object was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Here,
    On(HostId),
}

/// The jobs that fell back for one reason.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    jobs: usize,
    /// The longest that one of them waited in vain: they wait side by side.
    waited: Duration,
    compiled: Duration,
}

#[derive(Debug, Default)]
struct HostNote {
    name: String,
    failures: usize,
    reasons: Vec<String>,
    traffic: (u64, u64),
    /// The cluster named it: no answer was ever due from it alone.
    named: bool,
}

impl Ledger {
    pub(super) fn new(jobs: usize, volunteers: &[Volunteer], cluster: bool, started: Instant) -> Self {
        let host = |volunteer: &Volunteer| HostNote { name: volunteer.name.clone(), ..HostNote::default() };
        Self {
            started,
            jobs: std::iter::repeat_with(Note::default).take(jobs).collect(),
            hosts: volunteers.iter().map(host).collect(),
            cluster: cluster.then(ClusterReport::default),
            cluster_is_over: false,
            no_host_after: None,
        }
    }

    /// The way to the cluster is found.
    pub(super) fn cluster_joined(&mut self, way: &str) {
        if let Some(cluster) = &mut self.cluster {
            cluster.way = Some(way.to_owned());
        }
    }

    /// The cluster is given up.
    pub(super) fn cluster_over(&mut self, reason: &str) {
        self.cluster_failed(reason);
        self.cluster_is_over = true;
    }

    /// The cluster cannot be used, or not now.
    pub(super) fn cluster_failed(&mut self, reason: &str) {
        if let Some(cluster) = &mut self.cluster
            && !cluster.reasons.iter().any(|known| known == reason)
        {
            cluster.reasons.push(reason.to_owned());
        }
    }

    /// The environment went to a host, or did not get there.
    pub(super) fn shipped(&mut self, shipment: &Shipment) {
        if let Some(cluster) = &mut self.cluster {
            cluster.shipments.push(ShipmentReport {
                host: shipment.host.to_string(),
                bytes: shipment.bytes,
                seconds: shipment.took,
                reason: shipment.result.as_ref().err().cloned(),
            });
        }
    }

    /// The environment that hosts of the cluster get.
    pub(super) fn environment(&mut self, environment: EnvironmentReport) {
        if let Some(cluster) = &mut self.cluster {
            cluster.environment = Some(environment);
        }
    }

    /// A host that was not in the host list.
    pub(super) fn add_host(&mut self, name: String) {
        self.hosts.push(HostNote { name, named: true, ..HostNote::default() });
    }

    pub(super) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    pub(super) fn host_name(&self, host: HostId) -> &str {
        self.hosts.get(host.0).map_or("", |host| &host.name)
    }

    /// A host failed: at a probe, or at a job.
    pub(super) fn host_failed(&mut self, host: HostId, failure: &Failure) {
        if let Some(note) = self.hosts.get_mut(host.0).filter(|_| failure.fault != Fault::Local) {
            note.failures += 1;
            if !note.reasons.contains(&failure.reason) {
                note.reasons.push(failure.reason.clone());
            }
        }
    }

    /// Says why a host did nothing, where nothing else does.
    pub(super) fn remark_if_unused(&mut self, host: HostId, reason: &str) {
        let worked = self.jobs.iter().any(|note| note.attempts.iter().any(|attempt| attempt.0 == host));
        if let Some(note) = self.hosts.get_mut(host.0).filter(|note| !worked && note.reasons.is_empty()) {
            note.reasons.push(reason.to_owned());
        }
    }

    /// Bytes that a job moved.
    fn moved(&mut self, host: HostId, traffic: &Traffic) {
        if let Some(note) = self.hosts.get_mut(host.0) {
            note.traffic.0 += traffic.sent;
            note.traffic.1 += traffic.received;
        }
    }

    /// An attempt failed, `lost` after the job was given to the host.
    pub(super) fn attempt_failed(
        &mut self,
        job: JobId,
        host: HostId,
        failure: &Failure,
        traffic: &Traffic,
        lost: Duration,
    ) {
        self.host_failed(host, failure);
        let outcome = match failure.fault {
            Fault::Refused | Fault::Unreachable | Fault::Incompatible | Fault::EnvironmentGone => Outcome::Refused,
            _ => Outcome::Failed,
        };
        self.attempt(job, host, outcome, Some(failure.reason.clone()), traffic);
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.waited += lost;
        }
    }

    pub(super) fn attempt_ok(&mut self, job: JobId, host: HostId, traffic: &Traffic) {
        self.attempt(job, host, Outcome::Ok, None, traffic);
    }

    pub(super) fn attempt_cancelled(&mut self, job: JobId, host: HostId, reason: &str) {
        self.attempt(job, host, Outcome::Cancelled, Some(reason.to_owned()), &Traffic::default());
    }

    /// An object that had been accepted from the host is not believed any more.
    pub(super) fn distrusted(&mut self, job: JobId, host: HostId, reason: &str) {
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.place = None;
            for attempt in note.attempts.iter_mut().filter(|attempt| attempt.0 == host && attempt.1 == Outcome::Ok) {
                attempt.1 = Outcome::Failed;
                attempt.2 = Some(reason.to_owned());
            }
        }
    }

    fn attempt(&mut self, job: JobId, host: HostId, outcome: Outcome, reason: Option<String>, traffic: &Traffic) {
        self.moved(host, traffic);
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.attempts.push((host, outcome, reason));
            note.traffic.sent += traffic.sent;
            note.traffic.received += traffic.received;
        }
    }

    /// The job's object is a host's.
    pub(super) fn remote(&mut self, job: JobId, host: HostId, queued: Instant, traffic: &Traffic, words: Vec<u8>) {
        let times = Times {
            queued: queued.duration_since(self.started),
            sending: traffic.sending,
            waiting: traffic.waiting,
            receiving: traffic.receiving,
        };
        self.finished(job, Made::On(host), times, words);
    }

    /// The job's object was made here.
    pub(super) fn local(&mut self, job: JobId, queued: Instant, took: Duration, words: Vec<u8>) {
        let times = Times { queued: queued.duration_since(self.started), waiting: took, ..Times::default() };
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.compiled = took;
        }
        self.finished(job, Made::Here, times, words);
    }

    fn finished(&mut self, job: JobId, place: Made, times: Times, words: Vec<u8>) {
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.place = Some(place);
            note.times = times;
            note.words = words;
        }
    }

    /// What a failed compile said; it is passed on like the others.
    pub(super) fn words(&mut self, job: JobId, words: Vec<u8>) {
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.words = words;
        }
    }

    /// The job was meant for a host and runs here.
    pub(super) fn fallback(&mut self, job: JobId) {
        // Jobs that no host ever took waited until it was clear that none would.
        let in_vain = *self.no_host_after.get_or_insert_with(|| self.started.elapsed());
        if let Some(note) = self.jobs.get_mut(job.0) {
            note.fallback = true;
            if note.attempts.is_empty() {
                note.waited = in_vain;
            }
        }
    }

    pub(super) fn fallbacks(&self) -> usize {
        self.jobs.iter().filter(|note| note.fallback).count()
    }

    /// Where each job's object comes from, and of one that was made here why, in the order of the jobs.
    pub(super) fn places(&self, plan: &Plan) -> Vec<String> {
        let why_here = |note: &Note, planned: &Planned| match &planned.stays {
            _ if self.hosts.is_empty() && self.cluster.is_none() => "there is no host".to_owned(),
            Some(reason) => reason.clone(),
            None if note.fallback => self.why_fallback(note),
            None => "a local slot was free".to_owned(),
        };
        let jobs = self.jobs.iter().zip(plan.description.jobs.iter().zip(&plan.jobs));
        let line = |(note, (described, planned)): (&Note, (&Job, &Planned))| {
            let place = match note.place {
                Some(Made::On(host)) => format!("on {}", self.hosts.get(host.0).map_or("", |host| &host.name)),
                Some(Made::Here) => format!("here: {}", why_here(note, planned)),
                None => "not compiled".to_owned(),
            };
            format!("{} {place}", described.module().escape_debug())
        };
        jobs.map(line).collect()
    }

    /// All compilers' messages, in the order of the jobs.
    pub(super) fn all_words(&self) -> impl Iterator<Item = &[u8]> {
        self.jobs.iter().map(|note| note.words.as_slice()).filter(|words| !words.is_empty())
    }

    /// One line for each reason why jobs ran here instead of on a host: how many, whose fault, what it cost.
    pub(super) fn explanations(&self) -> Vec<String> {
        let line = |(reason, sum): (String, Sum)| {
            let jobs = if sum.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", sum.jobs) };
            let (waited, compiled) = (sum.waited.as_secs_f64(), sum.compiled.as_secs_f64());
            format!(
                "{jobs} ran here instead of on a host: {reason} (cost: up to {waited:.1} s waited, {compiled:.1} s \
                 compiled here)"
            )
        };
        self.reasons().into_iter().map(line).collect()
    }

    /// Why jobs fell back, in one line.
    pub(super) fn blame(&self) -> String {
        self.reasons().into_keys().collect::<Vec<_>>().join("; ")
    }

    fn reasons(&self) -> BTreeMap<String, Sum> {
        let mut reasons: BTreeMap<String, Sum> = BTreeMap::new();
        for note in self.jobs.iter().filter(|note| note.fallback) {
            let sum = reasons.entry(self.why_fallback(note)).or_default();
            sum.jobs += 1;
            sum.waited = sum.waited.max(note.waited);
            sum.compiled += note.compiled;
        }
        reasons
    }

    fn why_fallback(&self, note: &Note) -> String {
        match note.attempts.iter().rev().find(|attempt| attempt.1 != Outcome::Ok) {
            Some((host, _, reason)) => self.of_host(*host, reason.as_deref().unwrap_or_default()),
            None => self.of_all_hosts(),
        }
    }

    /// Why the cluster was of no use, unless `lines` say so.
    pub(super) fn useless_cluster(&self, lines: &[String]) -> Option<String> {
        let cluster = self.cluster.as_ref().filter(|_| self.cluster_is_over)?;
        let line = of_cluster(cluster);
        (!lines.iter().any(|told| told.contains(&line))).then_some(line)
    }

    /// One line for each host that failed, for links in which nothing had to fall back.
    pub(super) fn failing_hosts(&self) -> Vec<String> {
        let failing = self.hosts.iter().filter(|host| host.failures > 0);
        failing.map(|host| format!("host {}: {}", host.name, host.reasons.join("; "))).collect()
    }

    fn of_host(&self, host: HostId, reason: &str) -> String {
        format!("{}: {reason}", self.hosts.get(host.0).map_or("", |host| &host.name))
    }

    fn of_all_hosts(&self) -> String {
        /// Hosts whose reasons are told in one line; the report has all.
        const TOLD: usize = 3;
        let to_tell: Vec<&HostNote> =
            self.hosts.iter().filter(|host| !host.named || !host.reasons.is_empty()).collect();
        let reasons = to_tell.iter().map(|host| match host.reasons.is_empty() {
            true => format!("{}: no answer yet", host.name),
            false => format!("{}: {}", host.name, host.reasons.join("; ")),
        });
        let mut told: Vec<String> = reasons.take(TOLD).collect();
        if to_tell.len() > TOLD {
            told.push(format!("and so on for {} more hosts", to_tell.len() - TOLD));
        }
        told.extend(self.cluster.as_ref().map(of_cluster));
        told.join("; ")
    }

    /// Jobs that waited in vain are a reason, too, where there is no other.
    fn with_silence(&self, mut cluster: ClusterReport) -> ClusterReport {
        if cluster.reasons.is_empty() && self.jobs.iter().any(|note| note.fallback && note.attempts.is_empty()) {
            cluster.reasons.push(silence(&cluster));
        }
        cluster
    }

    /// The whole, for the report.
    pub(super) fn report(&self, description: &Description, fleet: &Fleet, cpu: Duration) -> Report {
        let made = |here: bool| {
            let places = self.jobs.iter().filter_map(|note| note.place);
            places.filter(|place| (*place == Made::Here) == here).count()
        };
        let name = |host: &HostId| self.hosts.get(host.0).map(|host| host.name.clone()).unwrap_or_default();
        let jobs = self.jobs.iter().zip(&description.jobs).map(|(note, job)| JobReport {
            module: job.module().to_owned(),
            output: job.output().to_owned(),
            place: note.place.map(|place| match place {
                Made::Here => Place::Local,
                Made::On(host) => Place::Remote(name(&host)),
            }),
            attempts: note
                .attempts
                .iter()
                .map(|(host, outcome, reason)| Attempt { host: name(host), outcome: *outcome, reason: reason.clone() })
                .collect(),
            bytes_sent: note.traffic.sent,
            bytes_received: note.traffic.received,
            times: note.times,
        });
        let hosts = self.hosts.iter().enumerate().map(|(id, host)| HostReport {
            host: host.name.clone(),
            jobs: self.jobs.iter().filter(|note| note.place == Some(Made::On(HostId(id)))).count(),
            failures: host.failures,
            reasons: host.reasons.clone(),
        });
        let left_out = fleet.left_out.iter().map(|left_out| HostReport {
            host: left_out.host.clone(),
            reasons: vec![left_out.reason.clone()],
            ..HostReport::default()
        });
        Report {
            totals: Totals {
                jobs: self.jobs.len(),
                remote: made(false),
                local: made(true),
                fallbacks: self.fallbacks(),
                bytes_sent: self.hosts.iter().map(|host| host.traffic.0).sum(),
                bytes_received: self.hosts.iter().map(|host| host.traffic.1).sum(),
                seconds: self.started.elapsed(),
                client_cpu_seconds: cpu,
            },
            hosts: hosts.chain(left_out).collect(),
            icecream: self.cluster.clone().map(|cluster| self.with_silence(cluster)),
            jobs: jobs.collect(),
        }
    }
}

/// Why a cluster made nothing of a job that it never had.
fn of_cluster(cluster: &ClusterReport) -> String {
    match cluster.reasons.is_empty() {
        false => format!("icecream: {}", cluster.reasons.join("; ")),
        true => format!("icecream: {}", silence(cluster)),
    }
}

/// What is to be said of a cluster that says nothing itself.
fn silence(cluster: &ClusterReport) -> String {
    match &cluster.way {
        Some(way) => format!("{way} gave no host in time"),
        None => "no answer yet".to_owned(),
    }
}
