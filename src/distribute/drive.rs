//! The running link: starts what the schedule decides, tells it what came of it, publishes what is good.

mod icecream;
mod results;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, sleep_until, timeout};

use super::ledger::Ledger;
use super::parent;
use super::signals::Signals;
use super::work::{self, Attempt, Compiled, Event, Object, Shared};
use crate::backend::Traffic;
use crate::backend::slots::{Slot, Slots};
use crate::config::{Fallback, Share};
use crate::report::voice::{Voice, pass_on};
use crate::schedule::{HostId, JobId, Order, Schedule, Why};
use crate::words::plain;

pub(super) use icecream::Icecream;

/// How long objects that are being written may take to be whole when the link is given up.
const WRITING: Duration = Duration::from_secs(10);

/// How long compilers' words may take to be read after a signal.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long killed processes are waited for.
const REAPING: Duration = Duration::from_secs(1);

/// What the user allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) fallback: Fallback,
    pub(super) max_fallback: Option<Share>,
    pub(super) verify: Share,
    /// Where in the share of checked jobs this link begins, so that no host can know which are checked.
    pub(super) phase: usize,
}

/// How the running ended.
#[derive(Debug)]
pub(super) enum End {
    /// Every object is published.
    Complete,
    /// A job failed on this machine too, or its object could not be written.
    Failed(String),
    /// More fell back than the user allows.
    TooManyFallbacks(String),
    /// A signal, by its number.
    Signal(i32),
}

pub(super) struct Drive<'a> {
    shared: Arc<Shared>,
    schedule: Schedule,
    rules: Rules,
    slots: Slots,
    icecream: Option<Icecream>,
    voice: &'a Voice,
    ledger: Ledger,
    tasks: JoinSet<Event>,
    publications: JoinSet<(PathBuf, io::Result<()>)>,
    /// Outputs that are being written, each with the object that has to replace what is written now.
    writing: HashMap<PathBuf, Option<bytes::Bytes>>,
    /// A local slot is asked for.
    asked: bool,
    /// Local slots in use.
    compiling: usize,
    /// The canary as compiled here, and hosts' canaries that wait for it.
    reference: Option<(Instant, Compiled)>,
    proofs: Vec<(Attempt, Object, Traffic)>,
    /// Hosts' objects that wait for a local compile to be compared with.
    checks: HashMap<JobId, (Attempt, Object, Traffic)>,
    /// Jobs on hosts.
    under_way: HashSet<(JobId, HostId)>,
    /// Objects that were accepted from each host without a comparison of their own.
    made_by: HashMap<HostId, Vec<JobId>>,
    liars: HashSet<HostId>,
    /// Hosts that returned something damaged and have not proved themselves since.
    doubted: HashSet<HostId>,
    accepted: usize,
    written: HashSet<PathBuf>,
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        shared: Arc<Shared>,
        schedule: Schedule,
        rules: Rules,
        slots: Slots,
        icecream: Option<Icecream>,
        voice: &'a Voice,
        ledger: Ledger,
    ) -> Self {
        Self {
            shared,
            schedule,
            rules,
            slots,
            icecream,
            voice,
            ledger,
            tasks: JoinSet::new(),
            publications: JoinSet::new(),
            writing: HashMap::new(),
            asked: false,
            compiling: 0,
            reference: None,
            proofs: Vec::new(),
            checks: HashMap::new(),
            under_way: HashSet::new(),
            made_by: HashMap::new(),
            liars: HashSet::new(),
            doubted: HashSet::new(),
            accepted: 0,
            written: HashSet::new(),
        }
    }

    /// Runs the link to its end and passes on what the compilers said. Whatever the end is, nothing it started is left
    /// running, and unless it is [`End::Complete`] no output is left either. `linker`: the process that started us.
    pub(super) async fn run(mut self, linker: u32) -> (End, Ledger) {
        let mut signals = match Signals::watch() {
            Ok(signals) => signals,
            Err(error) => return (End::Failed(format!("cannot watch for signals: {}", plain(&error))), self.ledger),
        };
        let mut end = self.turn(&mut signals, linker).await;
        if matches!(end, End::Complete) {
            end = self.pass_words_on(&mut signals).await.unwrap_or(end);
            self.stop(&end).await;
        } else {
            self.stop(&end).await;
            // Whoever has sent a signal does not wait for a reader.
            let patience = if matches!(end, End::Signal(_)) { LAST_WORDS } else { Duration::MAX };
            let _ = timeout(patience, self.pass_words_on(&mut signals)).await;
        }
        (end, self.ledger)
    }

    /// Whoever reads our standard error may be slow, or have stopped: a signal ends this too.
    async fn pass_words_on(&self, signals: &mut Signals) -> Option<End> {
        let words: Vec<Vec<u8>> = self.ledger.all_words().map(<[u8]>::to_vec).collect();
        let told = spawn_blocking(move || words.iter().for_each(|words| pass_on(words)));
        tokio::select! {
            _ = told => None,
            number = signals.next() => Some(End::Signal(number)),
        }
    }

    async fn turn(&mut self, signals: &mut Signals, linker: u32) -> End {
        let mut linker_ended = std::pin::pin!(parent::ended(linker));
        loop {
            let now = Instant::now();
            while let Some(order) = self.schedule.next(now) {
                self.start(order);
            }
            // Whether the cluster is worth asking is found out here, and what may run locally depends on it.
            self.ask_cluster(now);
            if let Some((job, why)) = self.schedule.settle_canary(now) {
                if let Err(end) = self.publish_reference(job, why) {
                    return end;
                }
                // One job less to ask for.
                self.ask_cluster(now);
            }
            // One at a time: who gets a slot asks for the next.
            if !self.asked && self.compiling < self.schedule.local_wanted(now) {
                self.ask_for_slot();
            }
            if self.schedule.finished() && self.publications.is_empty() {
                return End::Complete;
            }
            let wake = self.schedule.wake(now).unwrap_or(now + Duration::from_secs(3600));
            let result = tokio::select! {
                Some(event) = self.tasks.join_next() => match event {
                    Ok(event) => self.happened(event),
                    Err(error) => Err(End::Failed(format!("a task of our own failed: {error}"))),
                },
                Some(written) = self.publications.join_next() => self.wrote(written),
                news = icecream::news(&mut self.icecream) => {
                    self.heard(news);
                    Ok(())
                }
                number = signals.next() => Err(End::Signal(number)),
                () = &mut linker_ended => Err(End::Failed("the linker has ended".to_owned())),
                () = sleep_until(wake.into()) => Ok(()),
            };
            if let Err(end) = result {
                return end;
            }
        }
    }

    fn start(&mut self, order: Order) {
        let shared = Arc::clone(&self.shared);
        let attempt = |job, host, proof| Attempt { job, host, proof, queued: Instant::now() };
        let (attempt, deadline) = match order {
            Order::Probe { host, deadline } => {
                self.tasks.spawn(work::probe(shared, host, deadline));
                return;
            }
            Order::Prove { host, job, deadline } => (attempt(job, host, true), deadline),
            Order::Run { host, job, deadline } => (attempt(job, host, false), deadline),
        };
        self.under_way.insert((attempt.job, attempt.host));
        self.tasks.spawn(work::remote(shared, attempt, deadline));
    }

    fn ask_for_slot(&mut self) {
        self.asked = true;
        let slots = self.slots.clone();
        // The thread that waits is on its own: it cannot be interrupted, and a link that ends does not wait for it.
        let taken = spawn_blocking(move || slots.take());
        self.tasks.spawn(async move { Event::Slot(taken.await.unwrap_or_default()) });
    }

    fn happened(&mut self, event: Event) -> Result<(), End> {
        match event {
            Event::Probed { host, result } => {
                self.probed(host, result);
                Ok(())
            }
            Event::Made { attempt, granted, result, traffic } => {
                self.under_way.remove(&(attempt.job, attempt.host));
                if granted {
                    self.schedule.grant_ended(result.is_ok(), Instant::now());
                }
                match (attempt.proof, result) {
                    (true, Ok(object)) => {
                        self.proofs.push((attempt, object, traffic));
                        self.compare_proofs();
                    }
                    (true, Err(failure)) => self.proof_failed(attempt, &failure, &traffic),
                    (false, Ok(object)) => self.made(attempt, object, traffic),
                    (false, Err(failure)) => self.attempt_failed(attempt, &failure, &traffic),
                }
                Ok(())
            }
            Event::Slot(slot) => self.fill(slot),
            Event::Ended { errand, queued, ended } => {
                self.compiling -= 1;
                self.schedule.local_ended();
                let outcome = ended.map_err(|failure| self.compile_failed(errand, failure))?;
                // The next compile does not wait for this verdict.
                let plan = Arc::clone(&self.shared.plan);
                self.tasks.spawn_blocking(move || work::judge(&plan, errand, queued, outcome));
                Ok(())
            }
            Event::Compiled { errand, queued, result } => match result {
                Ok(compiled) => self.compiled(errand, queued, compiled),
                Err(failure) => Err(self.compile_failed(errand, failure)),
            },
        }
    }

    fn fill(&mut self, slot: Slot) -> Result<(), End> {
        self.asked = false;
        let Some(errand) = self.schedule.local(Instant::now()) else { return Ok(()) };
        if errand.why == Why::Fallback {
            self.count_fallback(errand.job)?;
        }
        self.compiling += 1;
        // A compiler that writes by itself may get as far as the object whatever its end.
        if self.shared.plan.jobs.get(errand.job.0).is_some_and(|planned| planned.as_given) {
            self.written.extend(self.outputs(errand.job));
        }
        let share = self.icecream.as_mut().map_or(work::Share::Unshared, Icecream::slot_here);
        self.tasks.spawn(work::compile(Arc::clone(&self.shared.plan), errand, slot, share));
        Ok(())
    }

    fn publish(&mut self, job: JobId, object: bytes::Bytes) {
        let Some(described) = self.shared.plan.description.jobs.get(job.0) else { return };
        let output = PathBuf::from(described.output());
        match self.writing.get_mut(&output) {
            // Two at a time could end in either order, and a liar's object be the last.
            Some(next) => *next = Some(object),
            None => self.write(output, object),
        }
    }

    fn write(&mut self, output: PathBuf, object: bytes::Bytes) {
        self.writing.insert(output.clone(), None);
        self.publications.spawn_blocking(move || work::publish(output, object));
    }

    fn wrote(&mut self, written: Result<(PathBuf, io::Result<()>), tokio::task::JoinError>) -> Result<(), End> {
        match written {
            Ok((output, Ok(()))) => {
                if let Some(next) = self.writing.remove(&output).flatten() {
                    self.write(output.clone(), next);
                }
                self.written.insert(output);
                Ok(())
            }
            Ok((output, Err(error))) => {
                let module = self.shared.plan.description.jobs.iter().find(|job| output.as_os_str() == job.output());
                let module = module.map_or("", |job| job.module()).escape_debug();
                Err(End::Failed(format!("job of {module}: cannot write {}: {}", output.display(), plain(&error))))
            }
            Err(error) => Err(End::Failed(format!("a task of our own failed: {error}"))),
        }
    }

    /// Ends what still runs. Connections close and compilers die with their tasks.
    async fn stop(&mut self, end: &End) {
        for (job, host) in std::mem::take(&mut self.under_way) {
            self.ledger.attempt_cancelled(job, host, "the link ended before its answer came");
        }
        let held = self.icecream.iter().flat_map(|icecream| icecream.held.values().flatten());
        let compared = self.checks.values().chain(&self.proofs).chain(held);
        for (attempt, ..) in compared {
            self.ledger.attempt_cancelled(attempt.job, attempt.host, "the link ended before it was compared");
        }
        for host in 0..self.ledger.host_count() {
            self.ledger.remark_if_unused(HostId(host), "the link was done before it had proved itself");
        }
        self.tasks.shutdown().await;
        self.shared.client.close().await;
        if let Some(icecream) = self.icecream.take() {
            icecream.close().await;
        }
        reap().await;
        if matches!(end, End::Complete) {
            return;
        }
        // A write that has begun cannot be called back; what it made goes with the rest.
        while let Ok(Some(written)) = timeout(WRITING, self.publications.join_next()).await {
            if let Ok((output, Ok(()))) = written {
                self.written.insert(output);
            }
        }
        for output in &self.written {
            let _ = std::fs::remove_file(output);
        }
    }

    fn outputs(&self, job: JobId) -> Vec<PathBuf> {
        let described = self.shared.plan.description.jobs.get(job.0);
        described.map_or_else(Vec::new, |job| job.outputs.iter().map(PathBuf::from).collect())
    }

    fn module(&self, job: JobId) -> String {
        let described = self.shared.plan.description.jobs.get(job.0);
        described.map_or_else(String::new, |job| job.module().escape_debug().to_string())
    }

    fn tell(&self, host: HostId, what: &str) {
        self.voice.tell(format_args!("host {}: {what}", self.ledger.host_name(host)));
    }

    fn say(&self, host: HostId, what: &str) {
        self.voice.say(format_args!("host {}: {what}", self.ledger.host_name(host)));
    }
}

/// Waits for what was killed to be gone, for a moment at most: who looks for our compilers after our end finds none.
async fn reap() {
    use rustix::process::{WaitOptions, wait};
    let all = async {
        // An error means that no child is left.
        while let Ok(ended) = wait(WaitOptions::NOHANG) {
            if ended.is_none() {
                sleep(Duration::from_millis(2)).await;
            }
        }
    };
    let _ = timeout(REAPING, all).await;
}
