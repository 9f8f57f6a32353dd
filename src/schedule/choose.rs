//! What starts next: on a host, and in a local slot.

use std::time::Instant;

use super::host::Host;
use super::job::{self, Job, State};
use super::{Canary, Errand, HostId, JobId, Order, Reference, Schedule, Why};

impl Schedule {
    pub(super) fn start_of_proof(&mut self, canary: Canary, now: Instant) -> Option<Order> {
        if !self.work_left(canary) {
            return None;
        }
        let listed = self.hosts.iter_mut().enumerate().filter(|(_, host)| !host.is_granted());
        for (index, state) in listed {
            let host = HostId(index);
            if state.may_probe(now) {
                state.probe_started();
                return Some(Order::Probe { host, deadline: self.policy.patience });
            }
            if state.may_prove(now) {
                return self.prove(host, canary);
            }
        }
        None
    }

    /// Whether a host that proves itself would find anything to do.
    pub(super) fn work_left(&self, canary: Canary) -> bool {
        !self.pending.is_empty() || !self.retries.is_empty() || self.jobs.get(canary.job.0).is_some_and(Job::open)
    }

    /// The canary for a host, and for a local slot if it has not been compiled here yet.
    pub(super) fn prove(&mut self, host: HostId, canary: Canary) -> Option<Order> {
        let state = self.hosts.get_mut(host.0)?;
        state.prove_started();
        let granted = state.is_granted();
        if canary.reference == Reference::Unasked {
            self.canary = Some(Canary { reference: Reference::Underway, ..canary });
            self.errands.push_front(Errand { job: canary.job, why: Why::Reference });
        }
        let cost = self.jobs.get(canary.job.0).map_or(0, |job| job.spec.cost);
        let deadline = if granted { self.cost.deadline_in_queue(cost) } else { self.cost.deadline(cost) };
        Some(Order::Prove { host, job: canary.job, deadline })
    }

    pub(super) fn start_of_job(&mut self, now: Instant) -> Option<Order> {
        if !self.hosts.iter().any(|host| host.free(now)) {
            return None;
        }
        // A job that has failed once has waited longest.
        let retry = self.retries.iter().find(|rank| self.best_host(rank.job, now).is_some()).copied();
        let rank = retry.or_else(|| self.pending.first().copied())?;
        let host = self.best_host(rank.job, now)?;
        self.retries.remove(&rank);
        self.pending.remove(&rank);
        let job = self.jobs.get_mut(rank.job.0)?;
        job.state = State::Remote;
        self.hosts.get_mut(host.0)?.take();
        Some(Order::Run { host, job: rank.job, deadline: self.cost.deadline(job.spec.cost) })
    }

    /// The least loaded proven host with a free slot that has not failed the job; the earlier in the list on a tie.
    fn best_host(&self, job: JobId, now: Instant) -> Option<HostId> {
        self.untried(job)
            .filter(|(_, host)| host.free(now))
            .min_by(|(_, a), (_, b)| a.load().total_cmp(&b.load()))
            .map(|(id, _)| id)
    }

    /// The hosts that have not failed the job.
    pub(super) fn untried(&self, job: JobId) -> impl Iterator<Item = (HostId, &Host)> {
        let tried = self.jobs.get(job.0).map_or(&[][..], |job| &job.tried);
        let hosts = self.hosts.iter().enumerate().map(|(index, host)| (HostId(index), host));
        hosts.filter(|(id, _)| !tried.contains(id))
    }

    /// Jobs that wait for another host although none is left that could take them.
    pub(super) fn stranded(&self, now: Instant) -> impl Iterator<Item = job::Rank> {
        let patience = self.policy.patience;
        let waiting = self.retries.iter().copied();
        let cluster = self.cluster_promising(now);
        let may_ask = move |job: JobId| cluster && self.jobs.get(job.0).is_some_and(Job::may_ask);
        waiting.filter(move |rank| {
            !may_ask(rank.job) && !self.untried(rank.job).any(|(_, host)| host.promising(now, patience))
        })
    }

    pub(super) fn next_errand(&mut self, now: Instant) -> Option<Errand> {
        if let Some(errand) = self.errands.pop_front() {
            return Some(errand);
        }
        if let Some(rank) = self.local_only.pop_first() {
            let state = self.jobs.get_mut(rank.job.0)?;
            state.state = State::Local;
            return Some(Errand { job: rank.job, why: if state.fallback { Why::Fallback } else { Why::Ordinary } });
        }
        let stranded = self.stranded(now).next();
        if let Some(rank) = stranded {
            return self.take_retry(rank);
        }
        if self.local_may_take_pending(now)
            && let Some(job) = self.pending.pop_first().map(|rank| rank.job).or_else(|| self.canary_for_local_slot())
        {
            let fallback = self.falls_back(now);
            let state = self.jobs.get_mut(job.0)?;
            state.state = State::Local;
            state.fallback = fallback;
            return Some(Errand { job, why: if fallback { Why::Fallback } else { Why::Ordinary } });
        }
        let rank = self.retries.first().copied().filter(|_| self.local_may_retry())?;
        self.take_retry(rank)
    }

    /// Whether a job that a local slot takes now was meant for a host. A slot that would have taken it anyway makes no
    /// fallback of it; without such slots all are.
    fn falls_back(&self, now: Instant) -> bool {
        let served =
            || self.cluster_may_serve(now) || self.hosts.iter().any(|host| host.may_serve(now, self.policy.patience));
        let hosts = self.cluster.is_some() || !self.hosts.is_empty();
        hosts && (self.policy.local_slots == 0 || !served() && !self.better_here())
    }

    /// A job that a host has failed, for a local slot.
    fn take_retry(&mut self, rank: job::Rank) -> Option<Errand> {
        self.retries.remove(&rank);
        let state = self.jobs.get_mut(rank.job.0)?;
        state.state = State::Local;
        state.fallback = true;
        Some(Errand { job: rank.job, why: Why::Fallback })
    }

    /// Whether an idle local slot may take a job that waits for a busy host.
    pub(super) fn local_may_retry(&self) -> bool {
        self.policy.local_slots > 0 && self.policy.eager
    }

    /// The canary, when nobody has asked for its local compile yet and nothing else is left for a local slot.
    fn canary_for_local_slot(&mut self) -> Option<JobId> {
        let canary = self.canary.as_mut().filter(|canary| canary.reference == Reference::Unasked)?;
        canary.reference = Reference::Underway;
        Some(canary.job)
    }

    pub(super) fn canary_open(&self) -> usize {
        self.canary.is_some_and(|canary| canary.reference == Reference::Unasked).into()
    }

    pub(super) fn local_may_take_pending(&self, now: Instant) -> bool {
        let eager = self.policy.eager || self.hosts.iter().any(Host::has_proved);
        self.policy.local_slots > 0 && eager || !self.remote_possible(now)
    }

    pub(super) fn local_capacity(&self) -> usize {
        if self.policy.local_slots > 0 { self.policy.local_slots } else { self.policy.fallback_slots.max(1) }
    }
}
