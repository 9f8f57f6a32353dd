//! Talking to a compile server: a job goes there, a result and an object come back.

use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use bytes::Bytes;
use thinbridge_protocol::icecream::{CompileResult, FileReceiver, Message, Text, Version};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::wire::{Broken, Event, Wire};
use crate::backend::phases::Phases;
use crate::backend::transport::failure;
use crate::backend::{Failure, Traffic, told_line};
use crate::schedule::Fault;

/// How long connecting may take, as stock clients allow.
pub(super) const CONNECT: Duration = Duration::from_secs(10);

/// How long the greeting may take, as stock programs allow.
const GREETING: Duration = Duration::from_secs(15);

/// A peer that is silent for so long is asked for a sign of life, so often, so many times: a dead one is noticed after
/// 11 s. A compile is silence, and a host may have lost its power.
const KEEPALIVE: Duration = Duration::from_secs(5);
const KEEPALIVE_AGAIN: Duration = Duration::from_secs(2);
const KEEPALIVES: u32 = 3;

/// Bytes that are not acknowledged for so long end the connection, as with stock programs.
const UNACKNOWLEDGED: Duration = Duration::from_secs(9);

/// A connection to a compile server, greeted, before `by`.
pub(super) async fn connect(host: SocketAddrV4, own: Version, by: Instant) -> Result<Wire<TcpStream>, Failure> {
    let within = CONNECT.min(by.saturating_duration_since(Instant::now()));
    let stream = dial(host, within).await?;
    let mut wire = Wire::new(stream, own);
    let greeted = wire.greeted((Instant::now() + GREETING).min(by)).await;
    greeted.map_err(|broken| Failure { reason: format!("in the greeting: {broken}"), ..broken.failure() })?;
    Ok(wire)
}

/// A TCP connection that notices when its peer dies.
pub(super) async fn dial(address: SocketAddrV4, within: Duration) -> Result<TcpStream, Failure> {
    let stream = match tokio::time::timeout(within, TcpStream::connect(address)).await {
        Ok(connected) => connected.map_err(|error| failure(&format!("no connection to {address}"), &error))?,
        Err(_) => {
            let reason = format!("no connection to {address} within {:.1} s", within.as_secs_f64());
            return Err(Failure::new(Fault::Unreachable, reason));
        }
    };
    tune(&stream).map_err(|error| failure("socket options", &error))?;
    Ok(stream)
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE_AGAIN);
    socket.set_tcp_keepalive(&keepalive.with_retries(KEEPALIVES))?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))
}

/// A job on its way.
pub(super) struct Errand {
    /// What begins it.
    pub(super) begin: Message,
    /// What its compiler reads, as frames.
    pub(super) input: Vec<Bytes>,
    /// The largest object taken, in bytes.
    pub(super) object_cap: usize,
    /// How long the answer may take once everything has left.
    pub(super) deadline: Duration,
    /// When the job was begun: connecting counts as sending.
    pub(super) started: Instant,
}

/// What a compile server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) result: CompileResult,
    /// The object, if the compiler's status is 0.
    pub(super) object: Bytes,
    /// What the server itself said. It may say something before a good result, too.
    pub(super) words: Option<Text>,
}

/// Has a job compiled. `traffic` tells what was moved, also when nothing came back.
pub(super) async fn compile(
    wire: &mut Wire<TcpStream>,
    errand: Errand,
    traffic: &mut Traffic,
) -> Result<Answer, Failure> {
    let end = Message::End;
    let queued = wire.say(&errand.begin).map(|()| wire.send(errand.input)).and_then(|()| wire.say(&end));
    queued.map_err(|broken| broken.failure())?;
    let now = Instant::now();
    let talk = Talk {
        phases: Phases::new(errand.started, now, errand.deadline),
        words: None,
        result: None,
        object: FileReceiver::new(errand.object_cap),
    };
    talk.hold(wire, traffic).await
}

/// The state of one job's conversation.
struct Talk {
    phases: Phases,
    words: Option<Text>,
    result: Option<CompileResult>,
    object: FileReceiver,
}

impl Talk {
    async fn hold(mut self, wire: &mut Wire<TcpStream>, traffic: &mut Traffic) -> Result<Answer, Failure> {
        loop {
            let event = match timeout_at(self.phases.until(), wire.event()).await {
                Ok(Ok(event)) => event,
                Ok(Err(broken)) => return Err(self.broke(&broken)),
                Err(_) => return Err(self.too_slow()),
            };
            match event {
                Event::Ready => {}
                Event::Wrote(count) => self.phases.sent(count, !wire.busy(), traffic),
                Event::Read(count) => self.phases.received(count, traffic),
                Event::Message(message) => {
                    if self.hear(message)? {
                        self.phases.finished(traffic);
                        let result = self.result.ok_or_else(|| broke_off("no result"))?;
                        return Ok(Answer { result, object: self.object.finish(), words: self.words });
                    }
                }
            }
        }
    }

    /// Takes a message; `true`: it was the last.
    fn hear(&mut self, message: Message) -> Result<bool, Failure> {
        match (message, &self.result) {
            (Message::StatusText(words), _) => {
                self.words = Some(words);
                Ok(false)
            }
            (Message::CompileResult(result), None) => {
                let over = result.status != 0;
                self.result = Some(result);
                Ok(over)
            }
            (Message::FileChunk(chunk), Some(_)) => {
                let taken = self.object.add(&chunk);
                taken.map(|()| false).map_err(|error| Failure::new(Fault::Misbehaved, format!("its object: {error}")))
            }
            (Message::End, Some(_)) => Ok(true),
            (Message::End, None) => Err(self.broke(&Broken::Closed)),
            (other, _) => Err(Broken::OutOfTurn(format!("{} in answer to a job", other.kind())).failure()),
        }
    }

    /// The connection ended before the answer was whole. A server that finds its environment gone says so and closes; the
    /// words can get lost.
    fn broke(&self, broken: &Broken) -> Failure {
        let failure = broken.failure();
        if !matches!(broken, Broken::Closed) {
            return failure;
        }
        match (&self.words, &self.result) {
            (_, Some(_)) => broke_off(&format!("{} bytes of the object", self.object.received())),
            (Some(words), None) => {
                Failure::new(Fault::EnvironmentGone, format!("it gave the job up: {}", told(&words.to_string())))
            }
            (None, None) => Failure { reason: format!("{} without an answer", failure.reason), ..failure },
        }
    }

    fn too_slow(&self) -> Failure {
        let seconds = self.phases.allowed();
        let reason = match (self.phases.has_sent(), &self.result) {
            (false, _) => format!("it did not take the job within {seconds:.1} s"),
            (_, None) => format!("no answer within {seconds:.1} s"),
            (_, Some(_)) => format!("the answer was not complete within {seconds:.1} s"),
        };
        Failure::new(Fault::Slow, reason)
    }
}

fn broke_off(where_: &str) -> Failure {
    Failure::new(Fault::Refused, format!("the connection was closed in the middle of the answer, after {where_}"))
}

/// Words that a host chose, as a reason quotes them: the first line.
pub(super) fn told(words: &str) -> String {
    told_line(words.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default())
}
