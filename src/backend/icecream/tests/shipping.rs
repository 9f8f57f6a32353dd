//! Hosts that lack the environment.

use super::*;
use crate::schedule::Fault;

/// Takes an environment as a server does.
async fn take(client: &mut Peer<TcpStream>, works: bool) -> Bytes {
    let Message::TransferEnv { name, target } = hear(client).await else { panic!("no environment") };
    assert_eq!((name, target), ("env-1".into(), "x86_64".into()));
    let archive = hear_file(client).await;
    let Message::VerifyEnv { name, .. } = hear(client).await else { panic!("not tried") };
    assert_eq!(name, "env-1");
    say(client, Message::VerifyEnvResult { ok: works }).await;
    archive
}

#[tokio::test]
async fn the_environment_goes_first_and_the_job_on_the_same_connection() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    let grant = link.granted().await;
    assert!(!grant.has_environment);
    let work = async {
        let mut client = server.client().await;
        let archive = take(&mut client, true).await;
        serve(&mut client, b"object").await;
        archive
    };
    let (made, archive) = tokio::join!(run(grant), work);
    assert_eq!(made.unwrap().object, "object");
    assert!(archive == link.archive, "the archive did not arrive as it is");
    let News::Shipped(shipment) = link.news().await else { panic!("not told") };
    assert_eq!((shipment.host, shipment.result), (server.address, Ok(())));
    assert!(shipment.bytes > 0);
}

#[tokio::test]
async fn the_environment_goes_even_if_the_job_is_not_needed() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    drop(link.granted().await);
    let mut client = server.client().await;
    assert!(take(&mut client, true).await == link.archive);
    assert_eq!(link.shipped().await, Ok(()));
    // Only now the scheduler may forget the job, and the host hears that there is none.
    assert_eq!(hear_unused(&mut peer).await, 1);
    assert!(hear_all(&mut client).await.is_empty());
}

#[tokio::test]
async fn an_environment_that_does_not_work_there_is_blacklisted() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    let grant = link.granted().await;
    let work = async {
        let mut client = server.client().await;
        let Message::TransferEnv { .. } = hear(&mut client).await else { panic!("no environment") };
        hear_file(&mut client).await;
        let Message::VerifyEnv { .. } = hear(&mut client).await else { panic!("not tried") };
        say(&mut client, Message::StatusText("bin/true is not executable".into())).await;
        say(&mut client, Message::VerifyEnvResult { ok: false }).await;
    };
    let (made, ()) = tokio::join!(run(grant), work);
    let failure = made.unwrap_err();
    assert_eq!(failure.fault, Fault::Incompatible);
    assert!(failure.reason.contains("bin/true"), "{}", failure.reason);
    assert!(link.shipped().await.is_err());
    assert!(matches!(hear(&mut peer).await, Message::BlacklistHostEnv(_)));
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn a_transfer_that_breaks_off_gives_the_job_back() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    let grant = link.granted().await;
    let work = async {
        let mut client = server.client().await;
        let Message::TransferEnv { .. } = hear(&mut client).await else { panic!("no environment") };
    };
    let (made, ()) = tokio::join!(run(grant), work);
    assert_eq!(made.unwrap_err().fault, Fault::Refused);
    assert!(link.shipped().await.is_err());
    assert_eq!(hear_unused(&mut peer).await, 1);
}

#[tokio::test]
async fn a_transfer_that_cannot_begin_ends_the_connection_before_the_job() {
    let server = Server::start().await;
    let (mut link, scheduler, mut peer, client_id) = asking(settings).await;
    let slot = server.slot(1, client_id, false);
    drop(server);
    say(&mut peer, slot).await;
    assert_eq!(run(link.granted().await).await.unwrap_err().fault, Fault::Unreachable);
    assert!(link.shipped().await.is_err());
    let said = hear_good_bye(peer).await;
    assert!(matches!(said[..], [Message::BlacklistHostEnv(_)]), "{said:?}");
    // The host is not to be named again.
    let (mut peer, _) = scheduler.login().await;
    assert!(matches!(hear(&mut peer).await, Message::BlacklistHostEnv(_)));
}

#[tokio::test]
async fn without_shipping_hosts_that_lack_the_environment_are_avoided() {
    let server = Server::start().await;
    let (mut link, scheduler, mut peer, client_id) = asking(|place| Icecream { ship: false, ..settings(place) }).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    // The request goes on among the other hosts; the job and the transfer are forgotten with the connection.
    let said = hear_good_bye(peer).await;
    assert_eq!(said.iter().filter(|message| matches!(message, Message::BlacklistHostEnv(_))).count(), 1);
    assert_eq!(said.iter().filter(|message| matches!(message, Message::GetCs(_))).count(), 1);
    assert_eq!(said.len(), 2);
    let (mut peer, _) = scheduler.login().await;
    assert!(matches!(hear(&mut peer).await, Message::BlacklistHostEnv(_)));
    link.joined().await;
    let request = hear_request(&mut peer).await;
    say(&mut peer, Message::NoCs { job_id: 2, client_id: request.client_id }).await;
    let News::Nobody { reason } = link.news().await else { panic!("not told") };
    assert!(reason.contains("--icecream-ship"), "{reason}");
    assert!(timeout(Duration::ZERO, server.listener.accept()).await.is_err(), "the host was bothered");
}

#[tokio::test]
async fn two_environments_travel_at_once_and_the_third_waits() {
    let (mut link, _scheduler, mut peer, first) = asking(settings).await;
    let servers = [Server::start().await, Server::start().await, Server::start().await];
    link.cluster.want(3);
    let ids = [first, hear_request(&mut peer).await.client_id, hear_request(&mut peer).await.client_id];
    let mut grants = Vec::new();
    for (index, (server, id)) in servers.iter().zip(ids).enumerate() {
        say(&mut peer, server.slot(index as u32 + 1, id, false)).await;
        grants.push(link.granted().await);
    }
    let (mut one, mut two) = (servers[0].client().await, servers[1].client().await);
    assert!(timeout(Duration::from_millis(100), servers[2].listener.accept()).await.is_err());
    take(&mut one, true).await;
    assert_eq!(link.shipped().await, Ok(()));
    let mut three = servers[2].client().await;
    take(&mut three, true).await;
    take(&mut two, true).await;
}

#[tokio::test]
async fn a_host_is_not_sent_a_second_environment_while_the_first_is_on_its_way() {
    let server = Server::start().await;
    let (mut link, scheduler, mut peer, client_id) = asking(settings).await;
    say(&mut peer, server.slot(1, client_id, false)).await;
    let first = link.granted().await;
    let mut client = server.client().await;
    let Message::TransferEnv { .. } = hear(&mut client).await else { panic!("no environment") };
    // Another scheduler does not know of it.
    drop(peer);
    assert!(matches!(link.news().await, News::Lost { .. }));
    let (mut peer, _) = scheduler.login().await;
    link.joined().await;
    link.cluster.want(1);
    let client_id = hear_request(&mut peer).await.client_id;
    say(&mut peer, server.slot(2, client_id, false)).await;
    let second = link.granted().await;

    let work = async {
        hear_file(&mut client).await;
        let Message::VerifyEnv { .. } = hear(&mut client).await else { panic!("not tried") };
        say(&mut client, Message::VerifyEnvResult { ok: true }).await;
        serve(&mut client, b"first").await;
        let mut client = server.client().await;
        serve(&mut client, b"second").await
    };
    let (first, second, (job, _)) = tokio::join!(run(first), run(second), work);
    assert_eq!((first.unwrap().object, second.unwrap().object, job), ("first".into(), "second".into(), 2));
}

#[tokio::test]
async fn an_archive_that_is_removed_meanwhile_is_sent_all_the_same() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    // Another link, with another compiler, tidies the cache.
    std::fs::remove_file(link.folder.path().join("env.tar.zst")).unwrap();
    say(&mut peer, server.slot(1, client_id, false)).await;
    let _grant = link.granted().await;
    assert!(take(&mut server.client().await, true).await == link.archive);
    assert_eq!(link.shipped().await, Ok(()));
}

#[tokio::test]
async fn an_archive_that_is_written_to_meanwhile_is_no_fault_of_the_host() {
    let server = Server::start().await;
    let (mut link, _scheduler, mut peer, client_id) = asking(settings).await;
    std::fs::write(link.folder.path().join("env.tar.zst"), "half").unwrap();
    say(&mut peer, server.slot(1, client_id, false)).await;
    let grant = link.granted().await;
    let work = async {
        let mut client = server.client().await;
        let Message::TransferEnv { .. } = hear(&mut client).await else { panic!("no environment") };
        // It breaks off. A good end would make the host keep what it has.
        assert_eq!(hear_all(&mut client).await, []);
    };
    let (made, ()) = tokio::join!(run(grant), work);
    assert_eq!(made.unwrap_err().fault, Fault::Local);
    assert!(link.shipped().await.unwrap_err().contains("changed meanwhile"));
    assert_eq!(hear_unused(&mut peer).await, 1);
}
