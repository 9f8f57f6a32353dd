//! A job that a scheduler gave us, until its books are right about it.

use std::net::Ipv4Addr;
use std::time::Duration;

use thinbridge_protocol::icecream::Message;
use tokio::net::UnixStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use super::cluster::Command;
use super::messages;
use super::wire::Wire;
use crate::backend::patience::Patience;

/// How long the local `iceccd` may take to take our last words.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A job of ours at a scheduler. Dropped, it is given back, unless the compile server settles it.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) job_id: u32,
    place: Place,
    /// The scheduler is told by somebody else what becomes of the job.
    settled: bool,
}

#[derive(Debug)]
enum Place {
    /// Our own connection to the scheduler: the one with this number, if it still exists.
    Own { session: u64, cluster: UnboundedSender<Command> },
    /// A connection to the local `iceccd` which is there for this job. Closed, it means that the job has failed.
    Daemon(Option<Box<Wire<UnixStream>>>),
}

impl Ticket {
    pub(super) fn own(job_id: u32, session: u64, cluster: UnboundedSender<Command>) -> Self {
        Self { job_id, place: Place::Own { session, cluster }, settled: false }
    }

    pub(super) fn daemon(job_id: u32, wire: Wire<UnixStream>) -> Self {
        Self { job_id, place: Place::Daemon(Some(Box::new(wire))), settled: false }
    }

    /// The compile server has answered or closed the connection, and tells the scheduler what became of the job. Where it
    /// lost the environment it tells that first: if we said earlier that the job is over, the scheduler would name it
    /// again as one that has it.
    ///
    /// Whether a server that fell silent ever heard of the job cannot be known. If it did, it tells the scheduler too, and
    /// what comes second means nothing.
    pub(super) fn left_to_server(&mut self) {
        self.settled = true;
    }

    /// The host will not be sent the environment that it lacks, so the scheduler would wait for it, whatever it is told of
    /// the job. Only the end of our connection makes it forget the transfer, as long as it knows the job.
    pub(super) fn not_shipped(mut self, host: Ipv4Addr) {
        self.settled = true;
        if let Place::Own { session, cluster } = &self.place {
            let _ = cluster.send(Command::NotShipped { session: *session, job_id: self.job_id, host });
        }
    }

    /// The job has ended well, as its compile server has told the scheduler. The local `iceccd` would tell otherwise. (It
    /// must not hear this of a job that no server had: nobody would take it off the books.)
    pub(super) async fn succeeded(mut self) {
        self.last_words(&Message::End).await;
    }

    /// The environment does not work on this host: the scheduler is to name others.
    pub(super) async fn blacklist(&mut self, host: Ipv4Addr, message: &Message) {
        match &self.place {
            // The cluster is gone when the link ends, and the connection with it.
            Place::Own { cluster, .. } => drop(cluster.send(Command::Blacklist(host))),
            Place::Daemon(_) => self.last_words(message).await,
        }
    }

    async fn last_words(&mut self, message: &Message) {
        let Place::Daemon(wire) = &mut self.place else { return };
        let Some(mut wire) = wire.take() else { return };
        let mut patience = Patience::new(Instant::now(), LAST_WORDS);
        // A daemon that does not listen has forgotten the job itself.
        if wire.say(message).is_ok() {
            let _ = wire.flush(&mut patience).await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Place::Own { session, cluster } = &self.place else { return };
        if !self.settled {
            let _ = cluster.send(Command::Unused { session: *session, job_id: self.job_id });
        }
    }
}

/// A slot of this machine, which the local `iceccd` gave for one job. Dropped, it is free again.
#[derive(Debug)]
pub struct LocalGrant {
    job_id: u32,
    platform: String,
    wire: Wire<UnixStream>,
}

/// What a local compile took, for the scheduler's statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalWork {
    /// The compiler's exit status.
    pub status: i32,
    /// From its start to its end.
    pub took: Duration,
    /// Size of the object in bytes.
    pub object: u64,
}

impl LocalGrant {
    pub(super) fn new(job_id: u32, platform: String, wire: Wire<UnixStream>) -> Self {
        Self { job_id, platform, wire }
    }

    /// Tells the daemon that the compile begins. `title`: what is compiled.
    pub async fn begin(&mut self, title: &str) {
        let message = messages::compiled_here(self.job_id, &self.platform, title);
        self.say(&[message]).await;
    }

    /// Tells the daemon what came of it, and frees the slot.
    pub async fn done(mut self, work: LocalWork) {
        self.say(&[messages::done_here(self.job_id, &work), Message::End]).await;
    }

    /// A daemon that does not listen any more has no slot to free: nothing is lost.
    async fn say(&mut self, messages: &[Message]) {
        if messages.iter().all(|message| self.wire.say(message).is_ok()) {
            let _ = self.wire.flush(&mut Patience::new(Instant::now(), LAST_WORDS)).await;
        }
    }
}
