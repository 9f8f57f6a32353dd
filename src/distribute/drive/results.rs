//! What becomes of results: believed, compared, published, or made again.

use std::time::{Duration, Instant};

use super::super::work::{Attempt, Compiled, LocalFailure, Object};
use super::{Drive, End};
use crate::backend::{Failure, Traffic};
use crate::config::Fallback;
use crate::link::verify::first_difference;
use crate::schedule::{Belief, Errand, Fault, HostId, JobId, Verdict, Why};

impl Drive<'_> {
    pub(super) fn probed(&mut self, host: HostId, result: Result<(), Failure>) {
        match result {
            Ok(()) => self.schedule.probed(host),
            Err(failure) => {
                self.tell(host, &failure.reason);
                self.ledger.host_failed(host, &failure);
                self.schedule.probe_failed(host, failure.fault, Instant::now());
            }
        }
    }

    /// Compares hosts' canaries with ours, as soon as both are there.
    pub(super) fn compare_proofs(&mut self) {
        let Some((_, reference)) = &self.reference else { return };
        let ours = reference.object.bytes.clone();
        for (attempt, object, traffic) in std::mem::take(&mut self.proofs) {
            if let Some(at) = first_difference(&object.bytes, &ours) {
                let failure = Failure::new(Fault::WrongBytes, unlike(at));
                self.cast_out(attempt.host, &failure);
                self.proof_failed(attempt, &failure, &traffic);
                continue;
            }
            self.ledger.attempt_ok(attempt.job, attempt.host, &traffic);
            self.tell(attempt.host, "its compiler makes the same bytes as ours");
            let first = self.schedule.proved(attempt.host, traffic.waiting + traffic.receiving);
            if self.schedule.proven(attempt.host) {
                self.doubted.remove(&attempt.host);
            }
            if first {
                self.ledger.remote(attempt.job, attempt.host, attempt.queued, &traffic, object.words);
                self.publish(attempt.job, object.bytes);
            }
            self.release(attempt.host);
        }
    }

    pub(super) fn proof_failed(&mut self, attempt: Attempt, failure: &Failure, traffic: &Traffic) {
        self.tell(attempt.host, &failure.reason);
        self.ledger.attempt_failed(attempt.job, attempt.host, failure, traffic, Duration::ZERO);
        if failure.fault == Fault::Misbehaved {
            self.doubt(attempt.host);
        }
        self.schedule.proof_failed(attempt.host, failure.fault, Instant::now());
        self.release(attempt.host);
    }

    pub(super) fn made(&mut self, attempt: Attempt, object: Object, traffic: Traffic) {
        let Attempt { job, host, queued, .. } = attempt;
        if self.liars.contains(&host) {
            let failure = Failure::new(Fault::WrongBytes, "it made other bytes than this machine for another job");
            return self.attempt_failed(attempt, &failure, &traffic);
        }
        if self.doubted.contains(&host) {
            let failure = Failure::new(Fault::Refused, "it had returned something damaged for another job");
            return self.attempt_failed(attempt, &failure, &traffic);
        }
        if self.schedule.belief(host) == Belief::No {
            let failure = Failure::new(Fault::Refused, "it could not prove itself meanwhile");
            return self.attempt_failed(attempt, &failure, &traffic);
        }
        let Some((object, traffic)) = self.hold(attempt, object, traffic) else { return };
        self.accepted += 1;
        if self.rules.verify.selects(self.accepted + self.rules.phase) {
            self.schedule.remote_to_check(job, host);
            self.checks.insert(job, (attempt, object, traffic));
            return;
        }
        self.schedule.remote_done(job, host, traffic.waiting + traffic.receiving);
        self.ledger.attempt_ok(job, host, &traffic);
        self.ledger.remote(job, host, queued, &traffic, object.words);
        self.made_by.entry(host).or_default().push(job);
        self.publish(job, object.bytes);
    }

    pub(super) fn attempt_failed(&mut self, attempt: Attempt, failure: &Failure, traffic: &Traffic) {
        self.ledger.attempt_failed(attempt.job, attempt.host, failure, traffic, attempt.queued.elapsed());
        if failure.fault == Fault::Misbehaved {
            self.doubt(attempt.host);
        }
        let next = match self.schedule.remote_failed(attempt.job, attempt.host, failure.fault, Instant::now()) {
            Verdict::Elsewhere => "another host may have the job",
            Verdict::Locally => "the job runs here",
        };
        self.tell(attempt.host, &format!("{}; {next}", failure.reason));
    }

    pub(super) fn compiled(&mut self, errand: Errand, queued: Instant, compiled: Compiled) -> Result<(), End> {
        let job = errand.job;
        match errand.why {
            Why::Reference => {}
            Why::Check => self.compare_check(job, queued, &compiled)?,
            Why::Fallback | Why::Ordinary => self.keep(job, queued, &compiled),
        }
        self.schedule.local_done(errand, compiled.took);
        if self.schedule.canary() == Some(job) && errand.why != Why::Check {
            self.reference = Some((queued, compiled));
            self.compare_proofs();
        }
        Ok(())
    }

    pub(super) fn keep(&mut self, job: JobId, queued: Instant, compiled: &Compiled) {
        self.ledger.local(job, queued, compiled.took, compiled.object.words.clone());
        if !compiled.in_place {
            self.publish(job, compiled.object.bytes.clone());
        }
    }

    /// A host's object against the same job compiled here.
    pub(super) fn compare_check(&mut self, job: JobId, queued: Instant, compiled: &Compiled) -> Result<(), End> {
        let Some((attempt, object, traffic)) = self.checks.remove(&job) else { return Ok(()) };
        let host = attempt.host;
        // Compared itself, it is right, whatever the host did to another job.
        let Some(at) = first_difference(&object.bytes, &compiled.object.bytes) else {
            self.ledger.attempt_ok(job, host, &traffic);
            self.ledger.remote(job, host, attempt.queued, &traffic, object.words);
            self.publish(job, object.bytes);
            return Ok(());
        };
        let failure = Failure::new(Fault::WrongBytes, unlike(at));
        self.ledger.attempt_failed(job, host, &failure, &traffic, attempt.queued.elapsed());
        self.cast_out(host, &failure);
        self.keep(job, queued, compiled);
        self.count_fallback(job)
    }

    /// A host made other bytes than this machine: it gets no more work in this link.
    pub(super) fn cast_out(&mut self, host: HostId, failure: &Failure) {
        if self.liars.insert(host) {
            self.say(host, &format!("{}; it gets no more jobs", failure.reason));
        }
        self.schedule.lied(host, Instant::now());
        self.make_again(host, "the host made other bytes than this machine for another job");
    }

    /// A host returned something damaged: what it returned before may be damaged where nobody can see it.
    fn doubt(&mut self, host: HostId) {
        self.doubted.insert(host);
        self.make_again(host, "the host returned something damaged for another job");
    }

    /// Nothing that the host made in this link is believed any more unless it was compared itself.
    fn make_again(&mut self, host: HostId, why: &str) {
        let made = self.made_by.remove(&host).unwrap_or_default();
        if made.is_empty() {
            return;
        }
        self.say(host, &format!("what it made so far ({}) is made again", made.len()));
        for job in &made {
            self.ledger.distrusted(*job, host, why);
        }
        self.schedule.make_again(host, &made);
    }

    pub(super) fn compile_failed(&mut self, errand: Errand, failure: LocalFailure) -> End {
        self.ledger.words(errand.job, failure.words);
        End::Failed(format!("backend compile of {} failed: {}", self.module(errand.job), failure.reason))
    }

    /// The canary's object from our own compile of it, as no host brought it.
    pub(super) fn publish_reference(&mut self, job: JobId, why: Why) -> Result<(), End> {
        if why == Why::Fallback {
            self.count_fallback(job)?;
        }
        if let Some((queued, reference)) = self.reference.take() {
            self.keep(job, queued, &reference);
            self.reference = Some((queued, reference));
        }
        Ok(())
    }

    pub(super) fn count_fallback(&mut self, job: JobId) -> Result<(), End> {
        self.ledger.fallback(job);
        let fallbacks = self.ledger.fallbacks();
        let jobs = self.shared.plan.jobs.len();
        if self.rules.fallback == Fallback::Forbidden {
            let module = self.module(job);
            return Err(End::TooManyFallbacks(format!(
                "--fallback is off, and no host compiled {module}: {}",
                self.ledger.blame()
            )));
        }
        match self.rules.max_fallback {
            Some(share) if share.is_exceeded(fallbacks, jobs) => Err(End::TooManyFallbacks(format!(
                "{fallbacks} of {jobs} jobs fell back, more than --max-fallback {} allows: {}",
                share.get(),
                self.ledger.blame()
            ))),
            _ => Ok(()),
        }
    }
}

fn unlike(at: usize) -> String {
    format!("its object differs from the one made here, at byte {at}")
}
