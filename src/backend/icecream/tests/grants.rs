//! Jobs on compile servers that have the environment.

use super::*;
use crate::schedule::Fault;

/// A grant of a host, and the scheduler that gave it.
async fn granted(server: &Server) -> (Link, Scheduler, Peer<TcpStream>, Grant) {
    let (mut link, scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, true)).await;
    let grant = link.granted().await;
    (link, scheduler, peer, grant)
}

/// What a job comes to when its server does `what` after the job has come.
async fn outcome(what: impl AsyncFnOnce(Peer<TcpStream>)) -> (Result<Made, Failure>, Vec<Message>) {
    let server = Server::start().await;
    let (link, _scheduler, peer, grant) = granted(&server).await;
    let work = async {
        let mut client = server.client().await;
        // 12.4: a transfer would delete the environment that is there.
        assert!(matches!(hear(&mut client).await, Message::CompileFile(_)));
        assert_eq!(hear_file(&mut client).await, "headcontent");
        what(client).await;
    };
    let (made, ()) = tokio::join!(run(grant), work);
    let (said, ()) = tokio::join!(hear_good_bye(peer), link.cluster.close());
    (made, said)
}

async fn failure(what: impl AsyncFnOnce(Peer<TcpStream>)) -> Failure {
    let (made, said) = outcome(what).await;
    assert!(said.iter().filter(|message| matches!(message, Message::JobDone(_))).count() <= 1, "{said:?}");
    made.unwrap_err()
}

#[tokio::test]
async fn a_server_that_answers_or_closes_tells_the_scheduler_itself() {
    let (made, said) = outcome(async |client| drop(client)).await;
    assert_eq!((made.unwrap_err().fault, said), (Fault::Refused, vec![]));
    let (made, said) = outcome(async |mut client| say(&mut client, Message::CompileResult(result(1))).await).await;
    assert_eq!((made.unwrap_err().fault, said), (Fault::Compile, vec![]));
}

#[tokio::test]
async fn words_before_a_good_result_are_no_failure() {
    let (made, said) = outcome(async |mut client| {
        say(&mut client, Message::StatusText("odd".into())).await;
        let stderr = "note: \x1b[1mbold".into();
        say(&mut client, Message::CompileResult(CompileResult { stderr, ..result(0) })).await;
        say_object(&mut client, b"object").await;
    })
    .await;
    let made = made.unwrap();
    assert_eq!((&made.object[..], &made.stderr[..]), (&b"object"[..], &b"note: ?[1mbold"[..]));
    assert_eq!(said, []);
}

#[tokio::test]
async fn a_host_that_lost_the_environment_is_nobody_s_fault() {
    let closed = failure(async |mut client| {
        say(&mut client, Message::StatusText("installed environment removed?".into())).await;
    })
    .await;
    assert_eq!(closed.fault, Fault::EnvironmentGone);
    assert!(closed.reason.contains("removed?"), "{}", closed.reason);
    let told = failure(async |mut client| say(&mut client, Message::CompileResult(result(110))).await).await;
    assert_eq!(told.fault, Fault::EnvironmentGone);
}

#[tokio::test]
async fn a_connection_that_ends_may_be_tried_elsewhere() {
    assert_eq!(failure(async |client| drop(client)).await.fault, Fault::Refused);
    let cut = failure(async |mut client| {
        say(&mut client, Message::CompileResult(result(0))).await;
        let chunk = Chunk::pack(b"obj", thinbridge_protocol::icecream::Algorithm::Zstd).unwrap();
        say(&mut client, Message::FileChunk(chunk)).await;
    })
    .await;
    assert_eq!(cut.fault, Fault::Refused);
    assert!(cut.reason.contains("after 3 bytes of the object"), "{}", cut.reason);
}

#[tokio::test]
async fn out_of_memory_is_the_host_s_matter_and_a_failed_compile_maybe_not() {
    let exhausted = async |mut client: Peer<TcpStream>| {
        say(&mut client, Message::CompileResult(CompileResult { out_of_memory: true, ..result(1) })).await;
    };
    assert_eq!(failure(exhausted).await.fault, Fault::Exhausted);
    let failed = failure(async |mut client| say(&mut client, Message::CompileResult(result(1))).await).await;
    assert_eq!(failed.fault, Fault::Compile);
}

#[tokio::test]
async fn a_damaged_environment_is_blacklisted() {
    let (made, said) = outcome(async |mut client| {
        let stderr = "thinbridge-entry: libLLVM.so is cut".into();
        say(&mut client, Message::CompileResult(CompileResult { stderr, ..result(96) })).await;
    })
    .await;
    assert_eq!(made.unwrap_err().fault, Fault::Incompatible);
    let Message::BlacklistHostEnv(entry) = &said[0] else { panic!("{said:?}") };
    assert_eq!((&entry.name, &entry.host), (&"env-1".into(), &"127.0.0.1".into()));
}

#[tokio::test]
async fn an_object_without_bounds_and_other_nonsense_are_breaches() {
    let large = failure(async |mut client| {
        say(&mut client, Message::CompileResult(result(0))).await;
        for _ in 0..2 {
            let chunk = Chunk::pack(&[0; 600_000], thinbridge_protocol::icecream::Algorithm::Zstd).unwrap();
            say(&mut client, Message::FileChunk(chunk)).await;
        }
        hear_all(&mut client).await;
    })
    .await;
    assert_eq!(large.fault, Fault::Misbehaved);
    let nonsense = failure(async |mut client| say(&mut client, Message::GetInternals).await).await;
    assert_eq!(nonsense.fault, Fault::Misbehaved);
}

#[tokio::test]
async fn a_silent_host_is_given_up_when_the_deadline_has_passed() {
    let server = Server::start().await;
    let (_link, _scheduler, mut peer, grant) = granted(&server).await;
    let mut traffic = Traffic::default();
    let run = grant.run(payload(), Duration::from_millis(300), &mut traffic);
    let (made, mut client) = tokio::join!(run, server.client());
    let failure = made.unwrap_err();
    assert_eq!(failure.fault, Fault::Slow);
    assert!(failure.reason.contains("no answer"), "{}", failure.reason);
    // The job ends there: the connection is closed. Whether the host has ever heard of it cannot be known.
    hear_all(&mut client).await;
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn a_job_that_reached_no_host_is_given_back() {
    let server = Server::start().await;
    let (_link, _scheduler, mut peer, grant) = granted(&server).await;
    drop(server);
    assert_eq!(run(grant).await.unwrap_err().fault, Fault::Unreachable);
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn dropping_a_running_job_ends_it_there() {
    let server = Server::start().await;
    let (link, _scheduler, peer, grant) = granted(&server).await;
    let mut client = tokio::select! {
        made = run(grant) => panic!("{made:?}"),
        client = async {
            let mut client = server.client().await;
            assert!(matches!(hear(&mut client).await, Message::CompileFile(_)));
            hear_file(&mut client).await;
            client
        } => client,
    };
    assert!(hear_all(&mut client).await.is_empty());
    let (said, ()) = tokio::join!(hear_good_bye(peer), link.cluster.close());
    assert!(matches!(&said[..], [Message::JobDone(done)] if done.subject == Subject::Job(1)), "{said:?}");
}

#[tokio::test]
async fn old_hosts_get_chunks_that_they_can_read() {
    let server = Server::start().await;
    let (_link, _scheduler, _peer, grant) = granted(&server).await;
    let work = async {
        let mut client = accept(&server.listener, Version::from_number(39).unwrap()).await;
        serve(&mut client, b"object").await
    };
    let (made, (_, input)) = tokio::join!(run(grant), work);
    assert_eq!((&made.unwrap().object[..], &input[..]), (&b"object"[..], &b"headcontent"[..]));
}
