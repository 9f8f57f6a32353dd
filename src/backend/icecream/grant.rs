//! What a cluster gave us for one job.

use std::fmt;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thinbridge_protocol::icecream::{Algorithm, Version, pack_file};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::messages::Phrases;
use super::server::{Errand, compile, connect};
use super::shipment::{Berth, Coming};
use super::ticket::Ticket;
use super::verdict;
use crate::backend::{Failure, Made, Traffic};
use crate::schedule::Fault;

/// A job as it travels.
#[derive(Clone)]
pub struct Payload {
    /// The head of the bundle.
    pub head: Bytes,
    /// The contents that follow it, packed.
    pub contents: Frames,
    /// The name of the output, for people who watch the cluster.
    pub output_name: String,
    /// The largest object that is taken, in bytes.
    pub object_cap: usize,
}

/// Gives the frames of all contents of a job, in their order. Called on a thread that may take its time.
pub type Frames = Arc<dyn Fn(Algorithm) -> Result<Vec<Bytes>, Failure> + Send + Sync>;

/// A slot on a host, for one job. Dropped unused, it goes back to the scheduler.
#[derive(Debug)]
pub struct Grant {
    /// The compile server.
    pub host: SocketAddrV4,
    /// `false`: the environment is on its way there, and [`Grant::run`] waits for it.
    pub has_environment: bool,
    pub(super) own: Version,
    pub(super) phrases: Arc<Phrases>,
    pub(super) berth: Arc<Berth>,
    pub(super) held: Held,
}

/// How far the grant's host is.
#[derive(Debug)]
pub(super) enum Held {
    /// It can be connected to.
    Ready(Ticket),
    /// Its environment is on its way.
    Coming(Coming),
}

impl Grant {
    /// Compiles a job there. `deadline`: how long the answer may take once the request has left; waiting for the
    /// environment does not count. `traffic` tells what was moved for the job, also when nothing came back. Paths in the
    /// messages are those of the host: the caller translates them.
    ///
    /// Dropping the future ends the job there.
    ///
    /// # Errors
    /// No object came back; see [`Failure`].
    pub async fn run(self, job: Payload, deadline: Duration, traffic: &mut Traffic) -> Result<Made, Failure> {
        let Self { host, own, phrases, berth, held, .. } = self;
        let (mut wire, mut ticket, _here, started) = match held {
            Held::Ready(ticket) => {
                let here = berth.job(deadline).await?;
                let started = Instant::now();
                (connect(host, own, started + deadline).await?, ticket, here, started)
            }
            // The shipment lets nobody in before it has arrived.
            Held::Coming(coming) => {
                let arrived = coming.await.unwrap_or_else(|_| Err(Failure::new(Fault::Local, "the cluster was left")));
                let (wire, ticket) = arrived?;
                (wire, ticket, berth.job(deadline).await?, Instant::now())
            }
        };
        let input = input(&job, Algorithm::of(wire.version())).await?;
        let begin = phrases.compile(ticket.job_id, &job.output_name);
        let errand = Errand { begin, input, object_cap: job.object_cap, deadline, started };
        let answer = compile(&mut wire, errand, traffic).await;
        let lives = !matches!(&answer, Err(Failure { fault: Fault::Unreachable | Fault::Slow, .. }));
        if lives && traffic.sent > 0 {
            ticket.left_to_server();
        }
        let answer = answer?;
        if verdict::environment_is_bad(&answer.result) {
            ticket.blacklist(*host.ip(), &phrases.blacklist(*host.ip())).await;
        }
        if let Some(failure) = verdict::failure(&answer.result, answer.words.as_ref()) {
            return Err(failure);
        }
        ticket.succeeded().await;
        Ok(Made { object: answer.object, stderr: verdict::clean(&answer.result.stderr) })
    }

    /// The job is not needed. An environment goes on its way all the same: the scheduler counts on it.
    pub fn give_back(self) {}
}

/// What the program that stands for the compiler reads: the bundle.
async fn input(job: &Payload, algorithm: Algorithm) -> Result<Vec<Bytes>, Failure> {
    let (head, contents) = (job.head.clone(), Arc::clone(&job.contents));
    // Compressing takes a while the first time; other connections go on meanwhile.
    let packed = spawn_blocking(move || {
        let mut frames = pack_file(&head, algorithm);
        frames.extend(contents(algorithm)?);
        Ok(frames)
    });
    packed.await.map_err(|_| Failure::new(Fault::Local, "the job could not be packed"))?
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("output_name", &self.output_name).finish_non_exhaustive()
    }
}
