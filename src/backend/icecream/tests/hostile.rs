//! Peers that want to hold a link up, or to fill its memory.

use std::io::{Read, Write};
use std::net::TcpStream as Blocking;

use super::*;

/// Says the same for as long as somebody takes it, as fast as it is taken. Never reads.
fn say_for_ever(stream: TcpStream, message: &Message) -> std::thread::JoinHandle<()> {
    let mut stream: Blocking = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let frame = message.encode(Version::OURS).unwrap();
    let frames = frame.repeat(1 + (256 << 10) / frame.len());
    std::thread::spawn(move || while stream.write_all(&frames).is_ok() {})
}

/// Greets as a stock peer does, without a [`Wire`].
fn greet_by_hand(stream: &mut Blocking) {
    let version = Version::OURS.number().to_le_bytes();
    stream.write_all(&[version, version].concat()).unwrap();
    stream.read_exact(&mut [0; 8]).unwrap();
}

#[tokio::test]
async fn a_peer_that_never_stops_talking_does_not_put_a_deadline_off() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (ours, theirs) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
    let mut theirs: Blocking = theirs.unwrap().0.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    let greeted = std::thread::spawn(move || {
        greet_by_hand(&mut theirs);
        theirs.set_nonblocking(true).unwrap();
        theirs
    });
    let mut wire = greet(ours.unwrap(), Version::OURS).await;
    let theirs = TcpStream::from_std(greeted.join().unwrap()).unwrap();
    let talker = say_for_ever(theirs, &Message::StatusText("bla ".repeat(250).into()));
    let allowed = Duration::from_millis(100);
    let mut patience = Patience::new(Instant::now(), allowed);
    // Bytes on the move put it off five times at most. A second on the clock is no part of that.
    let limit = std::time::Instant::now() + PATIENCE;
    while let Ok(message) = wire.message(&mut patience).await {
        assert!(matches!(message, Message::StatusText(_)), "{message:?}");
        assert!(std::time::Instant::now() < limit, "it holds us for ever");
    }
    drop(wire);
    talker.join().unwrap();
}

#[tokio::test]
async fn a_scheduler_that_asks_without_end_and_never_reads_is_left() {
    let scheduler = Scheduler::start().await;
    let mut link = Link::start(settings(scheduler.place()));
    let (theirs, _) = scheduler.listener.accept().await.unwrap();
    let mut theirs: Blocking = theirs.into_std().unwrap();
    theirs.set_nonblocking(false).unwrap();
    let greeted = std::thread::spawn(move || {
        greet_by_hand(&mut theirs);
        let settled = Message::ConfCs(ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: "".into() });
        theirs.write_all(&settled.encode(Version::OURS).unwrap()).unwrap();
        theirs
    });
    link.joined().await;
    let theirs = greeted.join().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let talker = say_for_ever(TcpStream::from_std(theirs).unwrap(), &Message::GetInternals);
    let News::Lost { reason } = link.news().await else { panic!("not left") };
    assert!(reason.contains("does not read"), "{reason}");
    talker.join().unwrap();
}
