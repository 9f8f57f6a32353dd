//! A link against scripted schedulers, daemons and compile servers, which speak through the same codecs. What they do is
//! what stock programs were seen to do.

mod grants;
mod hostile;
mod membership;
mod shipping;
mod through_daemon;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use thinbridge_protocol::icecream::{
    Chunk, CompileResult, ConfCs, FileReceiver, GetCs, Message, Subject, UseCs, Version, pack_file,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use super::wire::Wire;
use super::{Archive, Cluster, Grant, Kit, News, Options, Payload};
use crate::backend::patience::Patience;
use crate::backend::{Failure, Made, Traffic};
use crate::config::{Icecream, Place};
use crate::fleet::icecream::Surroundings;

/// A test that waits for longer has failed. Nothing else depends on it.
const PATIENCE: Duration = Duration::from_secs(20);

const DEADLINE: Duration = Duration::from_secs(10);

/// Speaks as the other side of a link.
type Peer<S> = Wire<S>;

/// A scheduler that does what the test says.
struct Scheduler {
    listener: TcpListener,
    address: SocketAddr,
}

impl Scheduler {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { listener, address }
    }

    fn place(&self) -> Place {
        Place::Scheduler { host: self.address.ip().to_string(), port: self.address.port() }
    }

    /// The next link that logs in, and the name that it gives itself.
    async fn login(&self) -> (Peer<TcpStream>, String) {
        self.login_speaking(Version::OURS).await
    }

    async fn login_speaking(&self, version: Version) -> (Peer<TcpStream>, String) {
        let mut peer = accept(&self.listener, version).await;
        let Message::Login(login) = hear(&mut peer).await else { panic!("no login") };
        assert_eq!((login.port, login.max_jobs, login.can_chroot, login.no_remote), (0, 0, false, true));
        say(&mut peer, Message::ConfCs(ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: "".into() })).await;
        (peer, login.node_name.to_string())
    }
}

/// A compile server that does what the test says.
struct Server {
    listener: TcpListener,
    address: SocketAddrV4,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("no IPv4") };
        Self { listener, address }
    }

    async fn client(&self) -> Peer<TcpStream> {
        accept(&self.listener, Version::OURS).await
    }

    /// The answer that gives a request a slot here.
    fn slot(&self, job_id: u32, client_id: u32, has_environment: bool) -> Message {
        Message::UseCs(UseCs {
            job_id,
            port: self.address.port(),
            host: *self.address.ip(),
            host_platform: "x86_64".into(),
            has_environment,
            client_id,
            matched_job_id: 0,
        })
    }
}

async fn accept(listener: &TcpListener, version: Version) -> Peer<TcpStream> {
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.expect("nobody connects").unwrap();
    greet(stream, version).await
}

async fn greet<S: AsyncRead + AsyncWrite>(stream: S, version: Version) -> Peer<S> {
    let mut peer = Wire::new(stream, version);
    peer.greeted(Instant::now() + PATIENCE).await.unwrap();
    peer
}

async fn say<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>, message: Message) {
    peer.say(&message).unwrap();
    let early = peer.flush(&mut Patience::new(Instant::now(), PATIENCE)).await.unwrap();
    assert!(early.is_none(), "{early:?}");
}

async fn hear<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>) -> Message {
    peer.message(&mut Patience::new(Instant::now(), PATIENCE)).await.unwrap()
}

/// What else the link says until it closes the connection.
async fn hear_all<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>) -> Vec<Message> {
    let mut heard = Vec::new();
    while let Ok(message) = peer.message(&mut Patience::new(Instant::now(), PATIENCE)).await {
        heard.push(message);
    }
    heard
}

/// What else the link says before its good-bye, which is answered as schedulers do: by closing.
async fn hear_good_bye(mut peer: Peer<TcpStream>) -> Vec<Message> {
    let mut heard = Vec::new();
    loop {
        match hear(&mut peer).await {
            Message::End => return heard,
            message => heard.push(message),
        }
    }
}

async fn hear_request<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>) -> GetCs {
    match hear(peer).await {
        Message::GetCs(request) => request,
        other => panic!("{other:?} instead of a request"),
    }
}

/// The job that is given back next.
async fn hear_unused<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>) -> u32 {
    match hear(peer).await {
        Message::JobDone(done) => match done.subject {
            Subject::Job(id) => id,
            Subject::Request(id) => panic!("request {id} is withdrawn"),
        },
        other => panic!("{other:?} instead of a job that is given back"),
    }
}

async fn hear_file<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>) -> Bytes {
    let mut file = FileReceiver::new(16 << 20);
    loop {
        match hear(peer).await {
            Message::FileChunk(chunk) => file.add(&chunk).unwrap(),
            Message::End => return file.finish(),
            other => panic!("{other:?} in a file"),
        }
    }
}

async fn say_object<S: AsyncRead + AsyncWrite>(peer: &mut Peer<S>, object: &[u8]) {
    let algorithm = thinbridge_protocol::icecream::Algorithm::of(peer.version());
    say(peer, Message::FileChunk(Chunk::pack(object, algorithm).unwrap())).await;
    say(peer, Message::End).await;
}

fn result(status: i32) -> CompileResult {
    CompileResult { stderr: "".into(), stdout: "".into(), status, out_of_memory: false, has_dwo: false }
}

/// Takes a job as a server does, and gives the object back.
async fn serve(peer: &mut Peer<TcpStream>, object: &[u8]) -> (u32, Bytes) {
    let Message::CompileFile(job) = hear(peer).await else { panic!("no job") };
    // Another name would make a stock server throw the environment away.
    assert_eq!(job.compiler, "clang");
    assert_eq!((job.environment, job.target), ("env-1".into(), "x86_64".into()));
    let input = hear_file(peer).await;
    say(peer, Message::CompileResult(result(0))).await;
    say_object(peer, object).await;
    (job.job_id, input)
}

/// A link's part, with an environment of `ARCHIVE_LEN` bytes.
struct Link {
    cluster: Cluster,
    archive: Vec<u8>,
    folder: TempDir,
}

const ARCHIVE_LEN: usize = 3_000_000;

fn settings(place: Place) -> Icecream {
    Icecream { place, netname: None, ship: true, protocol: 43, preferred_host: None }
}

impl Link {
    fn start(settings: Icecream) -> Self {
        Self::with_turns(settings, None)
    }

    fn with_turns(settings: Icecream, turns: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive: Vec<u8> = (0..ARCHIVE_LEN).map(|at| (at * at % 251) as u8).collect();
        let path = folder.path().join("env.tar.zst");
        std::fs::write(&path, &archive).unwrap();
        let kit = Kit {
            name: "env-1".to_owned(),
            archive: Arc::new(Archive::open(path).unwrap()),
            platform: "x86_64".to_owned(),
        };
        let cluster = Cluster::start(Options {
            settings,
            around: Surroundings::of(&|_| None),
            environment: Box::pin(async { Ok(kit) }),
            title: "program".to_owned(),
            arg_flags: 9,
            turns: turns.map(Path::to_owned),
        });
        Self { cluster, archive, folder }
    }

    async fn news(&mut self) -> News {
        timeout(PATIENCE, self.cluster.next()).await.expect("no news")
    }

    async fn joined(&mut self) {
        let news = self.news().await;
        assert!(matches!(news, News::Joined { .. }), "{news:?}");
    }

    async fn granted(&mut self) -> Grant {
        match self.news().await {
            News::Granted(grant) => grant,
            other => panic!("{other:?} instead of a grant"),
        }
    }

    async fn shipped(&mut self) -> Result<(), String> {
        match self.news().await {
            News::Shipped(shipment) => shipment.result,
            other => panic!("{other:?} instead of a shipment"),
        }
    }
}

fn payload() -> Payload {
    Payload {
        head: Bytes::from_static(b"head"),
        contents: Arc::new(|algorithm| Ok(pack_file(b"content", algorithm))),
        output_name: "a.o".to_owned(),
        object_cap: 1 << 20,
    }
}

async fn run(grant: Grant) -> Result<Made, Failure> {
    grant.run(payload(), DEADLINE, &mut Traffic::default()).await
}

/// A link and a scheduler that knows it, with a request of the link unanswered.
async fn asking(settings: impl FnOnce(Place) -> Icecream) -> (Link, Scheduler, Peer<TcpStream>, u32) {
    let scheduler = Scheduler::start().await;
    let mut link = Link::start(settings(scheduler.place()));
    let (mut peer, _) = scheduler.login().await;
    link.joined().await;
    link.cluster.want(1);
    let client_id = hear_request(&mut peer).await.client_id;
    (link, scheduler, peer, client_id)
}
