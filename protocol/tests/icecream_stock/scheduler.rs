//! A scheduler that is made of our codecs, for stock daemons.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use thinbridge_protocol::icecream::{ConfCs, GetCs, Message, Text, UseCs, Version};

use crate::peer::{PATIENCE, Peer};

/// Where it sends jobs.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    pub(crate) address: (Ipv4Addr, u16),
    pub(crate) has_environment: bool,
}

pub(crate) struct Scheduler {
    pub(crate) address: SocketAddr,
    messages: Receiver<Message>,
}

impl Scheduler {
    /// A scheduler of version `own` that sends every job to `host`. It ends with the test.
    pub(crate) fn start(own: Version, host: Host) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, messages) = channel();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut daemon = Peer::greet(stream, own).unwrap();
            let mut job_id = 0;
            while let Some(message) = daemon.receive() {
                match &message {
                    Message::Login(_) => {
                        let conf = ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: Text::default() };
                        daemon.send(&Message::ConfCs(conf));
                    }
                    Message::GetCs(request) => {
                        job_id += 1;
                        daemon.send(&Message::UseCs(answer(request, job_id, host)));
                    }
                    _ => {}
                }
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { address, messages }
    }

    /// The daemon's next message that `pick` wants; what comes before it is passed over.
    pub(crate) fn await_message<T>(&self, mut pick: impl FnMut(Message) -> Option<T>) -> T {
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("a message of the daemon");
            if let Some(picked) = pick(message) {
                return picked;
            }
        }
    }
}

fn answer(request: &GetCs, job_id: u32, host: Host) -> UseCs {
    let (address, port) = host.address;
    UseCs {
        job_id,
        port,
        host: address,
        host_platform: request.environments[0].platform.clone(),
        has_environment: host.has_environment,
        client_id: request.client_id,
        matched_job_id: 0,
    }
}
