//! Through a local daemon.

use super::super::{LocalDaemon, LocalGrant, LocalWork};
use super::*;
use crate::schedule::Fault;
use thinbridge_protocol::icecream::Sender;
use tokio::net::{UnixListener, UnixStream};

struct Daemon {
    listener: UnixListener,
    folder: TempDir,
}

impl Daemon {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        Self { listener, folder }
    }

    fn socket(&self) -> std::path::PathBuf {
        self.folder.path().join("socket")
    }

    /// The next connection on which something is said. (Whether somebody listens is found out by connecting.)
    async fn client(&self) -> Peer<UnixStream> {
        loop {
            let (stream, _) = timeout(PATIENCE, self.listener.accept()).await.expect("nobody connects").unwrap();
            let mut peer = Wire::new(stream, Version::OURS);
            if peer.greeted(Instant::now() + PATIENCE).await.is_ok() {
                return peer;
            }
        }
    }

    /// A link that has joined, and a request of it.
    async fn asking(&self) -> (Link, Peer<UnixStream>) {
        let mut link = Link::start(settings(Place::Daemon(self.socket())));
        let (_first, ()) = tokio::join!(self.client(), link.joined());
        link.cluster.want(1);
        let mut peer = self.client().await;
        assert_eq!(hear_request(&mut peer).await.client_id, 0);
        (link, peer)
    }
}

#[tokio::test]
async fn each_request_has_a_connection_that_ends_with_a_good_bye_when_the_job_is_done() {
    let (daemon, server) = (Daemon::start(), Server::start().await);
    let (mut link, mut peer) = daemon.asking().await;
    let Message::UseCs(slot) = server.slot(7, 0, true) else { unreachable!() };
    // A host elsewhere: on this machine's own address the answer means "compile it yourself".
    let host = Ipv4Addr::new(127, 0, 0, 2);
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    say(&mut peer, Message::UseCs(UseCs { host, port, ..slot })).await;
    let grant = link.granted().await;
    let work = async {
        let mut client = accept(&listener, Version::OURS).await;
        serve(&mut client, b"object").await
    };
    let (made, (job, _)) = tokio::join!(run(grant), work);
    assert_eq!((&made.unwrap().object[..], job), (&b"object"[..], 7));
    assert_eq!(hear_all(&mut peer).await, [Message::End]);
}

#[tokio::test]
async fn a_job_that_failed_or_was_not_used_ends_without_a_good_bye() {
    let daemon = Daemon::start();
    let (mut link, mut peer) = daemon.asking().await;
    let slot = |port| {
        Message::UseCs(UseCs {
            job_id: 1,
            port,
            host: Ipv4Addr::new(127, 0, 0, 2),
            host_platform: "x86_64".into(),
            has_environment: true,
            client_id: 0,
            matched_job_id: 0,
        })
    };
    say(&mut peer, slot(1)).await;
    assert_eq!(run(link.granted().await).await.unwrap_err().fault, Fault::Unreachable);
    assert!(hear_all(&mut peer).await.is_empty());

    link.cluster.want(1);
    let mut peer = daemon.client().await;
    hear_request(&mut peer).await;
    say(&mut peer, slot(1)).await;
    drop(link.granted().await);
    assert!(hear_all(&mut peer).await.is_empty());
}

async fn here(link: &mut Link, peer: &mut Peer<UnixStream>) -> LocalGrant {
    let slot = UseCs {
        job_id: 5,
        port: 0,
        host: Ipv4Addr::LOCALHOST,
        host_platform: "".into(),
        has_environment: true,
        client_id: 0,
        matched_job_id: 0,
    };
    say(peer, Message::UseCs(slot)).await;
    match link.news().await {
        News::Here(grant) => grant,
        other => panic!("{other:?} instead of a local slot"),
    }
}

#[tokio::test]
async fn a_job_that_is_to_be_compiled_here_is_announced_and_accounted_for() {
    let daemon = Daemon::start();
    let (mut link, mut peer) = daemon.asking().await;
    let mut grant = here(&mut link, &mut peer).await;
    grant.begin("a.o").await;
    let Message::CompileFile(begun) = hear(&mut peer).await else { panic!("not announced") };
    assert_eq!((begun.job_id, begun.environment, begun.output_file), (5, "__client".into(), "a.o".into()));
    grant.done(LocalWork { status: 0, took: Duration::from_millis(1500), object: 4096 }).await;
    let said = hear_all(&mut peer).await;
    let [Message::JobDone(done), Message::End] = &said[..] else { panic!("{said:?}") };
    assert_eq!((done.subject, done.sender, done.exit_code), (Subject::Job(5), Sender::Submitter, 0));
    assert_eq!((done.real_ms, done.out_uncompressed), (1500, 4096));

    link.cluster.want(1);
    let mut peer = daemon.client().await;
    hear_request(&mut peer).await;
    drop(here(&mut link, &mut peer).await);
    assert!(hear_all(&mut peer).await.is_empty());
}

#[tokio::test]
async fn unneeded_requests_and_those_of_a_link_that_ends_are_withdrawn_by_closing() {
    let daemon = Daemon::start();
    let (link, mut first) = daemon.asking().await;
    link.cluster.want(2);
    let mut second = daemon.client().await;
    hear_request(&mut second).await;
    link.cluster.want(1);
    assert!(hear_all(&mut second).await.is_empty());
    link.cluster.close().await;
    assert!(hear_all(&mut first).await.is_empty());
}

#[tokio::test]
async fn a_request_is_not_withdrawn_while_its_answer_may_be_under_way() {
    let daemon = Daemon::start();
    let (mut link, mut peer) = daemon.asking().await;
    // Asked and withdrawn in one breath, while the scheduler answers.
    link.cluster.want(0);
    let grant = here(&mut link, &mut peer).await;
    drop(grant);
    assert!(hear_all(&mut peer).await.is_empty());
}

#[tokio::test]
async fn an_environment_that_a_scheduler_waits_for_is_begun_to_be_sent_at_the_end() {
    let daemon = Daemon::start();
    let (mut link, mut peer) = daemon.asking().await;
    let host = Ipv4Addr::new(127, 0, 0, 2);
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let slot = UseCs {
        job_id: 1,
        port: listener.local_addr().unwrap().port(),
        host,
        host_platform: "x86_64".into(),
        has_environment: false,
        client_id: 0,
        matched_job_id: 0,
    };
    say(&mut peer, Message::UseCs(slot)).await;
    let _grant = link.granted().await;
    let begun = async {
        let mut client = accept(&listener, Version::OURS).await;
        matches!(hear(&mut client).await, Message::TransferEnv { .. })
    };
    let (begun, ()) = tokio::join!(begun, link.cluster.close());
    assert!(begun);
}

#[tokio::test]
async fn an_environment_is_begun_to_be_sent_at_the_end_also_while_the_daemon_is_lost() {
    let daemon = Daemon::start();
    let (mut link, mut peer) = daemon.asking().await;
    // Two hosts that never greet, and one that is sent its environment after them.
    let mut held = Vec::new();
    for last in 2..=4 {
        let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, last), 0)).await.unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { unreachable!() };
        let slot = Server { listener, address };
        say(&mut peer, slot.slot(u32::from(last), 0, false)).await;
        held.push((link.granted().await, peer, slot));
        link.cluster.want(1);
        peer = daemon.client().await;
        hear_request(&mut peer).await;
    }
    drop(peer);
    assert!(matches!(link.news().await, News::Lost { .. }));
    let (_, _, server) = &held[2];
    let begun = async { matches!(hear(&mut server.client().await).await, Message::TransferEnv { .. }) };
    let (begun, ()) = tokio::join!(begun, link.cluster.close());
    assert!(begun);
}

#[tokio::test]
async fn a_daemon_that_hangs_is_waited_for_once() {
    let daemon = Daemon::start();
    let local = LocalDaemon::with_patience(daemon.socket(), Duration::from_millis(20));
    assert!(!local.hold("a.o").await.unwrap_err().contains("hangs"));
    assert!(local.clone().hold("b.o").await.unwrap_err().contains("hangs"));
}

#[tokio::test]
async fn a_daemon_that_goes_away_is_told_and_found_again() {
    let daemon = Daemon::start();
    let (mut link, peer) = daemon.asking().await;
    drop(peer);
    assert!(matches!(link.news().await, News::Lost { .. }));
    let (_first, ()) = tokio::join!(daemon.client(), link.joined());
    link.cluster.want(1);
    hear_request(&mut daemon.client().await).await;
}

#[tokio::test]
async fn a_compile_of_ours_holds_a_slot_until_it_is_dropped() {
    let daemon = Daemon::start();
    let local = LocalDaemon::new(daemon.socket());
    let grant = async {
        let mut peer = daemon.client().await;
        let Message::JobLocalBegin(begin) = hear(&mut peer).await else { panic!("no slot asked for") };
        assert_eq!((&begin.output_file, begin.full_job), (&"a.o".into(), false));
        say(&mut peer, Message::JobLocalBegin(begin)).await;
        peer
    };
    let (hold, mut peer) = tokio::join!(local.hold("a.o"), grant);
    let hold = hold.unwrap();
    assert!(timeout(Duration::from_millis(50), hear_all(&mut peer)).await.is_err());
    drop(hold);
    assert!(hear_all(&mut peer).await.is_empty());
    drop(daemon);
    assert!(local.hold("a.o").await.unwrap_err().contains("iceccd"));
}
