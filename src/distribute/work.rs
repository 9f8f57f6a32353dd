//! The tasks of a link: each runs to its end by itself and reports one event.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::backend::distcc::Client;
use crate::backend::icecream::{self, Grant, LocalDaemon, LocalGrant, LocalHold, LocalWork};
use crate::backend::local::{self, Outcome};
use crate::backend::slots::Slot;
use crate::backend::{Failure, Made, Traffic};
use crate::fleet::{Identity, Volunteer};
use crate::link::plan::Plan;
use crate::link::verify::Flaw;
use crate::link::{command, publish};
use crate::schedule::{Errand, Fault, HostId, JobId};
use crate::words::plain;

/// What a task has to report.
#[derive(Debug)]
pub(super) enum Event {
    /// A host said which compiler it has, or failed to.
    Probed { host: HostId, result: Result<(), Failure> },
    /// A host made something of a job, or did not.
    /// `granted`: in a slot of a cluster.
    Made { attempt: Attempt, granted: bool, result: Result<Object, Failure>, traffic: Traffic },
    /// A local slot is ours.
    Slot(Slot),
    /// A local compiler ended: its slot is free.
    Ended { errand: Errand, queued: Instant, ended: Result<Outcome, LocalFailure> },
    /// What a local compiler made was verified.
    Compiled { errand: Errand, queued: Instant, result: Result<Compiled, LocalFailure> },
}

/// A job on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) job: JobId,
    pub(super) host: HostId,
    /// The host's canary, to be compared before anything else is believed.
    pub(super) proof: bool,
    /// When it was given to the host.
    pub(super) queued: Instant,
}

/// A verified object and what its compiler said.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) bytes: Bytes,
    pub(super) words: Vec<u8>,
}

/// A local compile's result.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) object: Object,
    pub(super) took: Duration,
    /// The compiler wrote the output itself.
    pub(super) in_place: bool,
}

/// A local compile that failed fails the link.
#[derive(Debug)]
pub(super) struct LocalFailure {
    /// In our words.
    pub(super) reason: String,
    /// In the compiler's.
    pub(super) words: Vec<u8>,
}

/// What tasks share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) plan: Arc<Plan>,
    pub(super) volunteers: Vec<Volunteer>,
    pub(super) client: Client,
    identity: OnceCell<Result<Identity, String>>,
}

impl Shared {
    pub(super) fn new(plan: Plan, volunteers: Vec<Volunteer>, client: Client) -> Self {
        Self { plan: Arc::new(plan), volunteers, client, identity: OnceCell::new() }
    }

    /// The local compiler: asked when the first host is, so that no local job waits for it.
    async fn identity(&self) -> Result<&Identity, Failure> {
        let asked = self.identity.get_or_init(|| Identity::ask(self.plan.description.compiler())).await;
        asked.as_ref().map_err(|reason| {
            Failure::new(Fault::Incompatible, format!("its compiler cannot be compared with ours: {reason}"))
        })
    }

    fn volunteer(&self, host: HostId) -> Result<&Volunteer, Failure> {
        self.volunteers.get(host.0).ok_or_else(|| failed("there is no such host"))
    }
}

pub(super) async fn probe(shared: Arc<Shared>, host: HostId, deadline: Duration) -> Event {
    let result = ask_version(&shared, host, deadline).await;
    Event::Probed { host, result }
}

async fn ask_version(shared: &Shared, host: HostId, deadline: Duration) -> Result<(), Failure> {
    shared.client.probe(shared.volunteer(host)?, shared.identity().await?, deadline).await
}

pub(super) async fn remote(shared: Arc<Shared>, attempt: Attempt, deadline: Duration) -> Event {
    let mut traffic = Traffic::default();
    let result = make(&shared, attempt, deadline, &mut traffic).await;
    Event::Made { attempt, granted: false, result, traffic }
}

/// A job in a slot that a cluster granted.
pub(super) async fn granted(shared: Arc<Shared>, attempt: Attempt, grant: Grant, deadline: Duration) -> Event {
    let mut traffic = Traffic::default();
    let result = make_granted(&shared.plan, attempt.job, grant, deadline, &mut traffic).await;
    Event::Made { attempt, granted: true, result, traffic }
}

async fn make_granted(
    plan: &Arc<Plan>,
    JobId(job): JobId,
    grant: Grant,
    deadline: Duration,
    traffic: &mut Traffic,
) -> Result<Object, Failure> {
    let plan_for_payload = Arc::clone(plan);
    let payload = spawn_blocking(move || icecream::payload(&plan_for_payload, job));
    let payload = payload.await.map_err(|_| failed("the job could not be bundled"))??;
    let made = grant.run(payload, deadline, traffic).await?;
    judge_remote(plan, job, Made { stderr: plan.translate(&made.stderr), ..made }).await
}

async fn make(
    shared: &Arc<Shared>,
    attempt: Attempt,
    deadline: Duration,
    traffic: &mut Traffic,
) -> Result<Object, Failure> {
    let JobId(job) = attempt.job;
    let volunteer = shared.volunteer(attempt.host)?;
    let made = shared.client.run(volunteer, shared.identity().await?, &shared.plan, job, deadline, traffic).await?;
    judge_remote(&shared.plan, job, made).await
}

/// Verifies what a host made.
async fn judge_remote(plan: &Arc<Plan>, job: usize, made: Made) -> Result<Object, Failure> {
    let plan = Arc::clone(plan);
    let checked = spawn_blocking(move || match plan.verify(job, &made.object, &made.stderr, false) {
        Ok(()) => Ok(Object { bytes: made.object, words: made.stderr }),
        Err(flaw) => Err(Failure::new(blame(&flaw), format!("a wrong object: {flaw}"))),
    });
    checked.await.map_err(|_| failed("the object could not be verified"))?
}

/// On a few machines the ELF flags follow the module, so that flags which differ from another module's prove nothing.
fn blame(flaw: &Flaw) -> Fault {
    match flaw {
        Flaw::OtherFlags { .. } => Fault::Local,
        _ => Fault::Misbehaved,
    }
}

fn failed(reason: &str) -> Failure {
    Failure::new(Fault::Local, reason)
}

/// How the machine's `iceccd`, which may have jobs of other people here, shares the processors with a compile of ours.
#[derive(Debug)]
pub(super) enum Share {
    /// There is none, or it is not our cluster's.
    Unshared,
    /// It is asked for a slot first.
    Asked(Iceccd),
    /// It gave one.
    Granted(LocalGrant),
}

/// How long a slot is waited for where the last wait was in vain: whoever has one to give gives it at once.
const GLANCE: Duration = Duration::from_millis(100);

/// The machine's `iceccd`, and whether it is full.
#[derive(Clone, Debug)]
pub(super) struct Iceccd {
    daemon: LocalDaemon,
    full: Arc<AtomicBool>,
}

impl Iceccd {
    pub(super) fn new(daemon: LocalDaemon) -> Self {
        Self { daemon, full: Arc::default() }
    }

    /// Waits for a slot, but not without end: one long wait in vain is enough for a link.
    async fn hold(&self, title: &str) -> Option<LocalHold> {
        let patience = if self.full.load(Ordering::Relaxed) { GLANCE } else { Duration::MAX };
        let held = timeout(patience, self.daemon.hold(title)).await.ok().and_then(Result::ok);
        self.full.store(held.is_none(), Ordering::Relaxed);
        held
    }
}

/// Compiles in a slot, which is free when the compiler has ended.
pub(super) async fn compile(plan: Arc<Plan>, errand: Errand, slot: Slot, share: Share) -> Event {
    let queued = Instant::now();
    let title = plan.description.jobs.get(errand.job.0).map_or("", |job| job.output());
    let held = match share {
        Share::Unshared => None,
        // Without a slot the compile goes on all the same.
        Share::Asked(iceccd) => iceccd.hold(title).await.map(Held::Asked),
        Share::Granted(mut grant) => {
            grant.begin(title).await;
            Some(Held::Granted(grant))
        }
    };
    let cannot_run = |error| format!("cannot run the compiler {}: {}", program(&plan), plain(&error));
    let ended = match command::local(&plan, errand.job.0) {
        Ok(compile) => local::run(compile).await.map_err(cannot_run),
        Err(reason) => Err(reason),
    };
    drop(slot);
    if let Some(Held::Granted(grant)) = held {
        grant.done(local_work(&ended)).await;
    }
    Event::Ended { errand, queued, ended: ended.map_err(|reason| LocalFailure { reason, words: Vec::new() }) }
}

/// A slot of the machine's `iceccd`; free again when dropped.
enum Held {
    Asked(#[expect(dead_code, reason = "held for its end")] LocalHold),
    Granted(LocalGrant),
}

/// What a local compile took, for the cluster's statistics.
fn local_work(ended: &Result<Outcome, String>) -> LocalWork {
    match ended {
        Ok(outcome) => LocalWork {
            status: outcome.status.code().unwrap_or(1),
            took: outcome.took,
            object: outcome.stdout.len() as u64,
        },
        Err(_) => LocalWork { status: 1, ..LocalWork::default() },
    }
}

/// Verifies what a local compiler made.
pub(super) fn judge(plan: &Plan, errand: Errand, queued: Instant, outcome: Outcome) -> Event {
    Event::Compiled { errand, queued, result: verdict(plan, errand.job.0, outcome) }
}

/// Outputs that the compiler wrote itself do not survive a bad verdict.
fn verdict(plan: &Plan, job: usize, mut outcome: Outcome) -> Result<Compiled, LocalFailure> {
    let in_place = plan.jobs.get(job).is_some_and(|planned| planned.as_given);
    let verdict = check(plan, job, in_place, &mut outcome);
    match verdict {
        Ok(bytes) => Ok(Compiled { object: Object { bytes, words: outcome.stderr }, took: outcome.took, in_place }),
        Err(reason) => {
            if in_place {
                outputs(plan, job).for_each(|output| drop(std::fs::remove_file(output)));
            }
            Err(LocalFailure { reason, words: outcome.stderr })
        }
    }
}

fn check(plan: &Plan, job: usize, in_place: bool, outcome: &mut Outcome) -> Result<Bytes, String> {
    let program = program(plan);
    if !outcome.status.success() {
        return Err(format!("{program} ended with {}", ending(outcome.status)));
    }
    let object: Bytes = match in_place {
        true => {
            let output = outputs(plan, job).next().unwrap_or_default();
            let read = std::fs::read(&output);
            read.map_err(|error| format!("{program} succeeded, but {}: {}", output.display(), plain(&error)))?.into()
        }
        false => std::mem::take(&mut outcome.stdout).into(),
    };
    match plan.verify(job, &object, &outcome.stderr, true) {
        Ok(()) => Ok(object),
        Err(flaw) => Err(format!("{program} ended with status 0, but its object is wrong: {flaw}")),
    }
}

/// The compiler that the linker named.
fn program(plan: &Plan) -> String {
    plan.description.common_args.first().map_or("", String::as_str).escape_debug().to_string()
}

fn outputs(plan: &Plan, job: usize) -> impl Iterator<Item = PathBuf> {
    plan.description.jobs.get(job).into_iter().flat_map(|job| job.outputs.iter().map(PathBuf::from))
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(9)) => "signal 9 (out of memory?)".to_owned(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Puts an object under its name.
pub(super) fn publish(output: PathBuf, object: Bytes) -> (PathBuf, io::Result<()>) {
    let result = publish::publish(&output, &object);
    (output, result)
}
