//! Hosts without a daemon behind them: what tests need that only ask which hosts were meant, or when.

use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::support::{Reply, Request, Scripted, run};

/// The names of the hosts in a report, in its order.
pub(crate) fn names(report: &Value) -> Vec<&str> {
    let hosts = report["hosts"].as_array().expect("hosts");
    hosts.iter().map(|host| host["host"].as_str().expect("a name")).collect()
}

/// The answer to a probe that has the right compiler.
pub(crate) fn good_version() -> Vec<u8> {
    let text = run(std::process::Command::new("clang-22").arg("--version"));
    let version =
        Reply { version: 1, status: 0, stderr: Vec::new(), stdout: text.into_bytes(), object: Some(Vec::new()) };
    version.encode()
}

/// A host that has the right compiler, takes every job, and never answers.
pub(crate) struct Sleeper {
    pub(crate) peer: Scripted,
    events: Receiver<Event>,
}

/// What happens at a sleeping host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A whole job is there.
    Job,
    /// The client closed a job's connection.
    Closed,
}

impl Sleeper {
    pub(crate) fn start() -> Self {
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let version = Arc::new(good_version());
        let peer = Scripted::serve(move |_, mut stream| {
            let Ok(request) = Request::read(&stream) else { return };
            if !request.is_job() {
                let _ = stream.write_all(&version);
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return;
            }
            let sender: Sender<Event> = sender.lock().expect("no holder panics").clone();
            let _ = sender.send(Event::Job);
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
            let _ = sender.send(Event::Closed);
        });
        Self { peer, events }
    }

    /// Waits for this event.
    #[track_caller]
    pub(crate) fn expect(&self, event: Event) {
        let next = self.events.recv_timeout(std::time::Duration::from_secs(60));
        assert_eq!(next, Ok(event));
    }
}
