//! The handle on a link's part in a cluster.

use std::fmt;
use std::future::pending;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::member::Member;
use super::{News, Options};

/// How long leaving the cluster may take.
const LEAVING: Duration = Duration::from_secs(1);

/// A link's part in a cluster. Dropped, it is left at once.
#[derive(Debug)]
pub struct Cluster {
    commands: UnboundedSender<Command>,
    news: UnboundedReceiver<News>,
    /// Answers to requests that the caller has taken.
    taken: u64,
    task: JoinSet<()>,
}

/// What the task is told.
#[derive(Debug)]
pub(super) enum Command {
    /// Have so many unanswered requests. `taken`: answers that the caller knew of when it said so.
    Want { requests: usize, taken: u64 },
    /// No host has answered to a job.
    Unused { session: u64, job_id: u32 },
    /// A host that was named for this job is not sent the environment that it lacks.
    NotShipped { session: u64, job_id: u32, host: Ipv4Addr },
    /// The environment does not work on this host.
    Blacklist(Ipv4Addr),
    /// The link ends.
    Close,
}

impl Cluster {
    /// Begins to look for a way in, on the current runtime. Takes no time.
    pub fn start(options: Options) -> Self {
        let (commands, inbox) = unbounded_channel();
        let (outbox, news) = unbounded_channel();
        let member = Member::new(options, commands.clone(), inbox, outbox);
        let mut task = JoinSet::new();
        task.spawn(member.run());
        Self { commands, news, taken: 0, task }
    }

    /// How many unanswered requests there should be from now on, as the caller sees it: each [`News::Granted`] and
    /// [`News::Here`] that it has taken counted one down. More are asked for, or some are withdrawn.
    pub fn want(&self, requests: usize) {
        // A task that has ended has nothing to ask for.
        let _ = self.commands.send(Command::Want { requests, taken: self.taken });
    }

    /// The next news. Nothing is lost when the future is dropped. Waits for ever when there will be none.
    pub async fn next(&mut self) -> News {
        let Some(news) = self.news.recv().await else { return pending().await };
        if matches!(news, News::Granted(_) | News::Here(_)) {
            self.taken += 1;
        }
        news
    }

    /// Takes the link out of the scheduler's books, which takes a second at most. Grants that are still held are good for
    /// nothing then.
    pub async fn close(mut self) {
        let _ = self.commands.send(Command::Close);
        // What is left by then ends with the task.
        let _ = timeout(LEAVING, self.task.join_next()).await;
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("settings", &self.settings).field("title", &self.title).finish_non_exhaustive()
    }
}
