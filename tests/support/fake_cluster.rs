//! A scripted icecream cluster on loopback: a scheduler that keeps its books as the stock one does, and compile servers
//! that behave in any way a test wants.

mod books;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use thinbridge_protocol::icecream::{CompileFile, CompileResult, ConfCs, Message, Text, Version};

use self::books::Books;
pub(crate) use self::books::Told;
use super::icecream::Icecream;
use super::scripted::Scripted;

/// What a compile server does with one connection.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Something of its own, from the first byte on.
    Raw(Arc<dyn Fn(TcpStream) + Send + Sync>),
    /// The same after the greeting.
    Greeted(Arc<dyn Fn(Icecream) + Send + Sync>),
    /// Takes an environment if one is sent, then the job, and gives this answer.
    Answer(Arc<dyn Fn(Icecream) + Send + Sync>),
    /// Takes a job, and finds that the environment has been taken away.
    Forget,
}

impl Manner {
    pub(crate) fn raw(act: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::Raw(Arc::new(act))
    }

    pub(crate) fn greeted(act: impl Fn(Icecream) + Send + Sync + 'static) -> Self {
        Self::Greeted(Arc::new(act))
    }

    pub(crate) fn answer(act: impl Fn(Icecream) + Send + Sync + 'static) -> Self {
        Self::Answer(Arc::new(act))
    }

    /// Answers with an object, as a server does whose compiler made it.
    pub(crate) fn give(object: &[u8]) -> Self {
        let object = object.to_vec();
        Self::answer(move |wire| {
            let _ = wire.send(&Message::CompileResult(result(0, "")));
            let _ = wire.send_file(&object);
            wire.end();
        })
    }
}

/// What a compile server says of a job that ended with this status.
pub(crate) fn result(status: i32, stderr: &str) -> CompileResult {
    CompileResult { stderr: stderr.into(), stdout: "".into(), status, out_of_memory: false, has_dwo: false }
}

/// A compile server to be started, with one slot.
pub(crate) struct FakeHost {
    script: Box<dyn Fn(usize) -> Manner + Send + Sync>,
    has_environment: bool,
    verifies: bool,
    grants: usize,
}

impl FakeHost {
    /// A server that treats its connections as `script` says, by their number from 0. It has every environment.
    pub(crate) fn new(script: impl Fn(usize) -> Manner + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), has_environment: true, verifies: true, grants: usize::MAX }
    }

    /// A server that gives every job this object.
    pub(crate) fn honest(object: &[u8]) -> Self {
        let good = Manner::give(object);
        Self::new(move |_| good.clone())
    }

    /// It is named so often at most.
    pub(crate) fn grants(self, grants: usize) -> Self {
        Self { grants, ..self }
    }

    /// It has to be sent the environment; whether that works there then.
    pub(crate) fn bare(self, verifies: bool) -> Self {
        Self { has_environment: false, verifies, ..self }
    }
}

/// A running cluster. It ends when dropped.
pub(crate) struct FakeCluster {
    scheduler: Scripted,
    hosts: Vec<Scripted>,
    books: Arc<Books>,
}

impl FakeCluster {
    /// The scheduler names the first of the hosts that has a free slot.
    pub(crate) fn start(hosts: Vec<FakeHost>) -> Self {
        let books = Arc::new(Books::default());
        let hosts = hosts.into_iter().enumerate().map(|(number, host)| start_host(number, host, &books)).collect();
        let scheduler = Scripted::serve({
            let books = Arc::clone(&books);
            move |link, stream| {
                let _watch = books.watch();
                schedule(&books, link, stream);
                books.left(link);
            }
        });
        Self { scheduler, hosts, books }
    }

    /// Where its scheduler is.
    pub(crate) fn scheduler(&self) -> SocketAddr {
        self.scheduler.address()
    }

    /// The option that names it.
    pub(crate) fn option(&self) -> String {
        format!("--icecream={}", self.scheduler.name())
    }

    /// The name of a host, from 0, as reports have it.
    pub(crate) fn host(&self, number: usize) -> String {
        self.hosts[number].name()
    }

    /// What links have told the scheduler.
    pub(crate) fn told(&self) -> Told {
        self.books.told()
    }

    /// How many environments were sent to a host.
    pub(crate) fn transfers(&self, host: usize) -> usize {
        self.books.transfers(host)
    }

    /// Panics if a link has left a job, or a host that waits for an environment. It may learn of an end a moment later.
    #[track_caller]
    pub(crate) fn expect_nothing_left(&self) {
        assert!(!self.told().panicked, "thinbridge did something that no peer may do, see above");
        if let Err(left) = self.books.wait_until_clean() {
            panic!("left at the scheduler: {left}");
        }
    }
}

fn start_host(number: usize, host: FakeHost, books: &Arc<Books>) -> Scripted {
    // An address of its own: hosts are blacklisted by their addresses.
    let address = Ipv4Addr::new(127, 0, 1, u8::try_from(number + 1).expect("fewer hosts"));
    let FakeHost { script, has_environment, verifies, grants } = host;
    let scripted = Scripted::serve_at(address, {
        let books = Arc::clone(books);
        move |connection, stream| {
            let _watch = books.watch();
            match script(connection) {
                Manner::Raw(act) => act(stream),
                Manner::Greeted(act) => {
                    if let Some(wire) = Icecream::greet(stream, Version::OURS) {
                        act(wire);
                    }
                }
                Manner::Answer(act) => {
                    if let Some(mut wire) = Icecream::greet(stream, Version::OURS)
                        && let Some(job) = take_job(&books, number, verifies, &mut wire)
                    {
                        act(wire);
                        books.ended(job.job_id);
                    }
                }
                Manner::Forget => {
                    if let Some(mut wire) = Icecream::greet(stream, Version::OURS)
                        && let Some(job) = take_job(&books, number, verifies, &mut wire)
                    {
                        books.installed(number, false);
                        let _ = wire.send(&Message::StatusText("/usr/bin/as is not executable".into()));
                        let _ = wire.send(&Message::CompileResult(result(110, "")));
                        wire.end();
                        books.ended(job.job_id);
                    }
                }
            }
        }
    });
    let SocketAddr::V4(address) = scripted.address() else { panic!("no IPv4") };
    books.add_host(address, has_environment, grants);
    scripted
}

/// Takes what comes up to a whole job; `None` if the connection ends first.
fn take_job(books: &Books, host: usize, verifies: bool, wire: &mut Icecream) -> Option<CompileFile> {
    loop {
        match wire.receive()? {
            Message::TransferEnv { .. } => {
                // One that breaks off is noticed, too.
                books.transfer_began(host);
                let archive = wire.receive_file();
                books.installed(host, archive.is_some() && verifies);
                archive?;
            }
            Message::VerifyEnv { .. } => wire.send(&Message::VerifyEnvResult { ok: verifies })?,
            Message::CompileFile(job) => {
                books.expect_sound(&job);
                wire.receive_file()?;
                return Some(job);
            }
            Message::End => return None,
            other => panic!("a compile server was sent {other:?}"),
        }
    }
}

fn schedule(books: &Books, link: usize, stream: TcpStream) -> Option<()> {
    let address = stream.peer_addr().ok()?;
    assert_eq!(address.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    let mut wire = Icecream::greet(stream, Version::OURS)?;
    let Message::Login(login) = wire.receive()? else { panic!("a login comes first") };
    books.logged_in(login);
    let conf = ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: Text::default() };
    wire.send(&Message::ConfCs(conf))?;
    loop {
        match wire.receive()? {
            Message::GetCs(request) => books.asked(link, &request, &wire),
            Message::JobDone(done) => books.done(link, &done),
            Message::BlacklistHostEnv(entry) => books.blacklisted(&entry),
            Message::StatusText(_) | Message::Ping => {}
            Message::End => return None,
            other => panic!("the scheduler was sent {other:?}"),
        }
    }
}
