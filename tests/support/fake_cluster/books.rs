//! What a scheduler knows of its hosts and of the links that ask.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddrV4;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use thinbridge_protocol::icecream::{BlacklistHostEnv, CompileFile, GetCs, JobDone, Login, Message, Subject, UseCs};

use crate::support::icecream::{Icecream, Sender};

/// How long a scheduler may take to notice that a link has ended.
const NOTICE: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Books {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hosts: Vec<Host>,
    queue: VecDeque<Request>,
    jobs: BTreeMap<u32, Job>,
    last_job: u32,
    told: Told,
}

/// What links have told the scheduler.
#[derive(Clone, Default)]
pub(crate) struct Told {
    /// Under which names they logged in.
    pub(crate) names: Vec<String>,
    /// Hosts on which the environment does not work.
    pub(crate) bad_hosts: BTreeSet<String>,
    /// Jobs that came back unused.
    pub(crate) unused: usize,
    /// Requests.
    pub(crate) asked: usize,
    /// A scripted peer panicked: thinbridge did what no peer may do.
    pub(crate) panicked: bool,
}

struct Host {
    address: SocketAddrV4,
    has_environment: bool,
    installing: bool,
    busy: bool,
    grants: usize,
    transfers: usize,
}

struct Request {
    link: usize,
    client_id: u32,
    platform: String,
    environment: String,
    to: Sender,
}

struct Job {
    link: usize,
    host: usize,
    environment: String,
    /// The host lacked the environment when the job was given to it.
    bare: bool,
}

impl Books {
    pub(super) fn add_host(&self, address: SocketAddrV4, has_environment: bool, grants: usize) {
        let host = Host { address, has_environment, installing: false, busy: false, grants, transfers: 0 };
        self.lock().hosts.push(host);
    }

    pub(super) fn logged_in(&self, login: Login) {
        assert_eq!((login.port, login.max_jobs, login.no_remote), (0, 0, true), "{login:?}");
        self.lock().told.names.push(login.node_name.to_string());
    }

    pub(super) fn asked(&self, link: usize, request: &GetCs, wire: &Icecream) {
        let mut state = self.lock();
        let environment = request.environments.first().expect("an environment");
        assert!(request.client_id > 0 && request.count == 1, "{request:?}");
        state.told.asked += 1;
        state.queue.push_back(Request {
            link,
            client_id: request.client_id,
            platform: environment.platform.to_string(),
            environment: environment.name.to_string(),
            to: wire.sender(),
        });
        self.dispatch(state);
    }

    pub(super) fn done(&self, link: usize, done: &JobDone) {
        let mut state = self.lock();
        match done.subject {
            Subject::Request(id) => state.queue.retain(|request| (request.link, request.client_id) != (link, id)),
            Subject::Job(id) => {
                if state.jobs.get(&id).is_some_and(|job| job.link == link) {
                    state.told.unused += 1;
                    // A host that waits for an environment goes on waiting.
                    state.end(id);
                }
            }
        }
        self.dispatch(state);
    }

    pub(super) fn blacklisted(&self, entry: &BlacklistHostEnv) {
        self.lock().told.bad_hosts.insert(entry.host.to_string());
    }

    /// A compile server has told that a job is over.
    pub(super) fn ended(&self, job: u32) {
        let mut state = self.lock();
        state.end(job);
        self.dispatch(state);
    }

    pub(super) fn transfer_began(&self, host: usize) {
        let mut state = self.lock();
        assert!(!state.hosts[host].has_environment, "an environment was sent to a host that has it: it loses both");
        state.hosts[host].transfers += 1;
    }

    /// A host logs in again, when a transfer has ended.
    pub(super) fn installed(&self, host: usize, ok: bool) {
        let mut state = self.lock();
        state.hosts[host].has_environment = ok;
        state.hosts[host].installing = false;
        self.dispatch(state);
    }

    pub(super) fn transfers(&self, host: usize) -> usize {
        self.lock().hosts[host].transfers
    }

    /// A job must name what the scheduler gave it out for; a wrong compiler would cost the host its environment.
    pub(super) fn expect_sound(&self, job: &CompileFile) {
        assert_eq!(job.compiler, "clang");
        let state = self.lock();
        if let Some(known) = state.jobs.get(&job.job_id) {
            assert_eq!(job.environment.to_string(), known.environment);
        }
    }

    /// A link's connection has ended: so have its requests and its jobs, and nobody waits for environments of theirs.
    pub(super) fn left(&self, link: usize) {
        let mut state = self.lock();
        state.queue.retain(|request| request.link != link);
        let jobs: Vec<u32> = state.jobs.iter().filter(|(_, job)| job.link == link).map(|(id, _)| *id).collect();
        for id in jobs {
            if let Some(job) = state.jobs.get(&id).filter(|job| job.bare) {
                let host = job.host;
                state.hosts[host].installing = false;
            }
            state.end(id);
        }
        self.dispatch(state);
    }

    /// Notes panics of the thread that holds the answer: they would fail no test.
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch(self)
    }

    pub(super) fn told(&self) -> Told {
        self.lock().told.clone()
    }

    pub(super) fn wait_until_clean(&self) -> Result<(), String> {
        let (state, _) =
            self.changed.wait_timeout_while(self.lock(), NOTICE, |state| !state.is_clean()).expect("no holder panics");
        if state.is_clean() { Ok(()) } else { Err(state.describe()) }
    }

    /// Gives out what can be given out.
    fn dispatch(&self, mut state: MutexGuard<'_, State>) {
        while let Some(host) = state.free_host()
            && let Some(request) = state.queue.pop_front()
        {
            state.grant(host, &request);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere is told elsewhere.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// See [`Books::watch`].
pub(super) struct Watch<'a>(&'a Books);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().told.panicked = true;
        }
    }
}

impl State {
    fn free_host(&self) -> Option<usize> {
        let bad = |host: &Host| self.told.bad_hosts.contains(&host.address.ip().to_string());
        self.hosts.iter().position(|host| !host.busy && !host.installing && host.grants > 0 && !bad(host))
    }

    fn grant(&mut self, number: usize, request: &Request) {
        self.last_job += 1;
        let host = &mut self.hosts[number];
        let bare = !host.has_environment;
        (host.busy, host.installing) = (true, bare);
        host.grants -= 1;
        let job = Job { link: request.link, host: number, environment: request.environment.clone(), bare };
        let answer = UseCs {
            job_id: self.last_job,
            port: host.address.port(),
            host: *host.address.ip(),
            host_platform: request.platform.as_str().into(),
            has_environment: host.has_environment,
            client_id: request.client_id,
            matched_job_id: 0,
        };
        self.jobs.insert(self.last_job, job);
        // Whoever has left is taken off the books in a moment.
        let _ = request.to.send(&Message::UseCs(answer));
    }

    fn end(&mut self, job: u32) {
        if let Some(job) = self.jobs.remove(&job) {
            self.hosts[job.host].busy = false;
        }
    }

    fn is_clean(&self) -> bool {
        self.queue.is_empty() && self.jobs.is_empty() && self.hosts.iter().all(|host| !host.installing)
    }

    fn describe(&self) -> String {
        let installing = self.hosts.iter().filter(|host| host.installing).map(|host| host.address.to_string());
        format!(
            "{} requests, jobs {:?}, hosts that wait for an environment: {:?}",
            self.queue.len(),
            self.jobs.keys().collect::<Vec<_>>(),
            installing.collect::<Vec<_>>()
        )
    }
}
