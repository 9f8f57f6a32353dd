//! Getting in, asking, withdrawing, losing the scheduler, leaving.

use super::*;
use tokio::net::UdpSocket;

#[tokio::test]
async fn a_scheduler_that_leaves_new_connections_alone_is_woken_by_a_datagram() {
    let scheduler = Scheduler::start().await;
    let ear = UdpSocket::bind(scheduler.address).await.unwrap();
    let mut link = Link::start(settings(scheduler.place()));
    let mut datagram = [0; 8];
    let heard = timeout(PATIENCE, ear.recv_from(&mut datagram)).await.expect("no datagram").unwrap();
    assert_eq!((heard.0, datagram[0]), (1, 43));
    let _peer = scheduler.login().await;
    link.joined().await;
}

#[tokio::test]
async fn links_have_names_of_their_own() {
    let scheduler = Scheduler::start().await;
    let (_one, _other) = (Link::start(settings(scheduler.place())), Link::start(settings(scheduler.place())));
    let ((_first, a), (_second, b)) = (scheduler.login().await, scheduler.login().await);
    assert_ne!(a, b);
}

#[tokio::test]
async fn a_request_says_what_hosts_must_be_able_to() {
    let (_link, _scheduler, mut peer, _) = {
        let scheduler = Scheduler::start().await;
        let place = scheduler.place();
        let mut link = Link::start(Icecream { preferred_host: Some("fast".to_owned()), ..settings(place) });
        let (mut peer, _) = scheduler.login().await;
        link.joined().await;
        link.cluster.want(1);
        let request = hear_request(&mut peer).await;
        assert!(request.client_id > 0);
        assert_eq!(request.environments[0].name, "env-1");
        assert_eq!((request.minimal_host_version, request.required_features), (42, 2));
        assert_eq!((request.arg_flags, request.count, request.preferred_host), (9, 1, "fast".into()));
        (link, scheduler, peer, ())
    };
    // Whoever looks into daemons must not wait for ten seconds.
    say(&mut peer, Message::GetInternals).await;
    assert!(matches!(hear(&mut peer).await, Message::StatusText(_)));
}

#[tokio::test]
async fn as_many_requests_are_unanswered_as_are_wanted() {
    let (mut link, _scheduler, mut peer, first) = asking(settings).await;
    let server = Server::start().await;
    link.cluster.want(3);
    let second = hear_request(&mut peer).await.client_id;
    let third = hear_request(&mut peer).await.client_id;
    assert!(first != second && second != third && first != third);
    // The newest, which is at the end of the queue, is withdrawn first.
    link.cluster.want(1);
    for expected in [third, second] {
        let Message::JobDone(done) = hear(&mut peer).await else { panic!("not withdrawn") };
        assert_eq!(done.subject, Subject::Request(expected));
    }
    // An answer counts one down. What the caller says before it knows of the answer is meant with it.
    say(&mut peer, server.slot(1, first, true)).await;
    let grant = link.granted().await;
    link.cluster.want(1);
    let fourth = hear_request(&mut peer).await.client_id;
    assert!(![first, second, third].contains(&fourth));
    // An answer to a request that was withdrawn meanwhile is ours all the same.
    say(&mut peer, server.slot(2, second, true)).await;
    let late = link.granted().await;
    drop(late);
    assert_eq!(hear_unused(&mut peer).await, 2);
    drop(grant);
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn before_version_39_requests_are_withdrawn_by_an_exit_code() {
    let scheduler = Scheduler::start().await;
    let mut link = Link::start(settings(scheduler.place()));
    let (mut peer, _) = scheduler.login_speaking(Version::from_number(35).unwrap()).await;
    link.joined().await;
    link.cluster.want(1);
    let request = hear_request(&mut peer).await;
    link.cluster.want(0);
    let Message::JobDone(done) = hear(&mut peer).await else { panic!("not withdrawn") };
    assert_eq!((done.subject, done.exit_code), (Subject::Request(request.client_id), 200));
}

#[tokio::test]
async fn when_nobody_can_take_jobs_the_books_are_cleared_and_the_link_is_told_once() {
    let (mut link, _scheduler, mut peer, first) = asking(settings).await;
    link.cluster.want(2);
    let second = hear_request(&mut peer).await.client_id;
    for (job_id, client_id) in [(1, first), (2, second)] {
        say(&mut peer, Message::NoCs { job_id, client_id }).await;
    }
    assert_eq!(hear_unused(&mut peer).await, 1);
    // It crossed the second answer.
    let Message::JobDone(done) = hear(&mut peer).await else { panic!("not withdrawn") };
    assert_eq!(done.subject, Subject::Request(second));
    assert_eq!(hear_unused(&mut peer).await, 2);
    let News::Nobody { reason } = link.news().await else { panic!("not told") };
    assert!(reason.contains("x86_64"), "{reason}");
    link.cluster.want(1);
    hear_request(&mut peer).await;
    say(&mut peer, Message::GetInternals).await;
    hear(&mut peer).await;
}

#[tokio::test]
async fn a_scheduler_that_names_ourselves_means_nobody() {
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    let server = Server::start().await;
    let Message::UseCs(answer) = server.slot(1, client_id, false) else { unreachable!() };
    say(&mut peer, Message::UseCs(UseCs { port: 0, ..answer })).await;
    assert!(matches!(link.news().await, News::Nobody { .. }));
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn a_scheduler_that_is_lost_is_found_again_and_grants_stay_good() {
    let (mut link, scheduler, mut peer, client_id) = asking(settings).await;
    let server = Server::start().await;
    say(&mut peer, server.slot(1, client_id, true)).await;
    let grant = link.granted().await;
    drop(peer);
    assert!(matches!(link.news().await, News::Lost { .. }));
    let work = async {
        let mut client = server.client().await;
        serve(&mut client, b"object").await
    };
    let (made, (job, input)) = tokio::join!(run(grant), work);
    assert_eq!((&made.unwrap().object[..], job, &input[..]), (&b"object"[..], 1, &b"headcontent"[..]));
    let (mut peer, _) = scheduler.login().await;
    link.joined().await;
    link.cluster.want(1);
    hear_request(&mut peer).await;
}

#[tokio::test]
async fn no_scheduler_and_one_that_is_none_end_it_with_a_reason() {
    let scheduler = Scheduler::start().await;
    let place = scheduler.place();
    drop(scheduler);
    let mut link = Link::start(settings(place));
    let News::Over { reason } = link.news().await else { panic!("not over") };
    assert!(reason.contains("refused"), "{reason}");

    let scheduler = Scheduler::start().await;
    let mut link = Link::start(settings(scheduler.place()));
    let (mut stream, _) = scheduler.listener.accept().await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n").await.unwrap();
    let News::Over { reason } = link.news().await else { panic!("not over") };
    assert!(reason.contains("no greeting of an icecream program"), "{reason}");
}

#[tokio::test]
async fn a_scheduler_that_blocks_this_machine_ends_it_with_a_reason() {
    let scheduler = Scheduler::start().await;
    let mut link = Link::start(settings(scheduler.place()));
    let mut peer = accept(&scheduler.listener, Version::OURS).await;
    hear(&mut peer).await;
    drop(peer);
    let News::Over { reason } = link.news().await else { panic!("not over") };
    assert!(reason.contains("block list"), "{reason}");
}

#[tokio::test]
async fn answers_that_nobody_asked_for_are_a_breach() {
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    let server = Server::start().await;
    say(&mut peer, server.slot(1, client_id + 7, true)).await;
    let News::Lost { reason } = link.news().await else { panic!("not lost") };
    assert!(reason.contains("not asked"), "{reason}");
}

#[tokio::test]
async fn an_environment_that_cannot_be_made_ends_it() {
    let scheduler = Scheduler::start().await;
    let mut cluster = Cluster::start(Options {
        settings: settings(scheduler.place()),
        around: Surroundings::of(&|_| None),
        environment: Box::pin(async { Err("no compiler".to_owned()) }),
        title: String::new(),
        arg_flags: 0,
        turns: None,
    });
    let News::Over { reason } = timeout(PATIENCE, cluster.next()).await.unwrap() else { panic!("not over") };
    assert_eq!(reason, "no compiler");
}

#[tokio::test]
async fn closing_says_good_bye_and_ends_the_connection() {
    let (link, _scheduler, peer, _) = asking(settings).await;
    let (heard, ()) = tokio::join!(hear_good_bye(peer), link.cluster.close());
    assert_eq!(heard, []);
}

#[tokio::test]
async fn links_of_a_user_ask_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let scheduler = Scheduler::start().await;
    let server = Server::start().await;
    let mut first = Link::with_turns(settings(scheduler.place()), Some(folder.path()));
    let (mut peer_of_first, _) = scheduler.login().await;
    first.joined().await;
    let mut second = Link::with_turns(settings(scheduler.place()), Some(folder.path()));
    let (mut peer_of_second, _) = scheduler.login().await;
    second.joined().await;

    first.cluster.want(1);
    let request = hear_request(&mut peer_of_first).await;
    second.cluster.want(1);
    // The first keeps its request for a while, and then lets the second ask.
    let Message::JobDone(done) = hear(&mut peer_of_first).await else { panic!("not withdrawn") };
    assert_eq!(done.subject, Subject::Request(request.client_id));
    let request = hear_request(&mut peer_of_second).await;
    // Now the first waits until the second has its answer.
    say(&mut peer_of_second, server.slot(1, request.client_id, true)).await;
    let _grant = second.granted().await;
    hear_request(&mut peer_of_first).await;
}
