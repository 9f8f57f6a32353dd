//! A peer that lets a real daemon do the work and then alters what it answered.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use super::scripted::Scripted;
use super::volunteer::Volunteer;
use super::wire::{Reply, Request};

/// What a proxy does with the answer to a job.
pub(crate) type Alter = dyn Fn(&Request, Reply) -> Vec<u8> + Send + Sync;

/// A real volunteer behind a peer that alters its answers, and remembers what it was asked.
pub(crate) struct Proxy {
    front: Scripted,
    volunteer: Volunteer,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Proxy {
    /// Stands before this volunteer and alters the bytes of every answer to a job. Probes pass through untouched, so that
    /// the host is trusted with jobs.
    pub(crate) fn before(
        volunteer: Volunteer,
        alter: impl Fn(&Request, Reply) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let port = volunteer.port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let front = Scripted::serve({
            let requests = Arc::clone(&requests);
            move |_, stream| forward(port, stream, &alter, &requests)
        });
        Self { front, volunteer, requests }
    }

    /// Alters nothing: for what the requests hold.
    pub(crate) fn recorder() -> Self {
        Self::reply(|_, reply| reply)
    }

    /// Alters every answer to a job.
    pub(crate) fn reply(alter: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static) -> Self {
        Self::before(Volunteer::start(), move |request, reply| alter(request, reply).encode())
    }

    /// Alters every object that comes back.
    pub(crate) fn object(alter: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::reply(move |_, mut reply| {
            reply.object = reply.object.map(&alter);
            reply
        })
    }

    /// Its `address:port`, as reports name it.
    pub(crate) fn name(&self) -> String {
        self.front.name()
    }

    /// Its entry in a host list.
    pub(crate) fn host(&self) -> String {
        self.front.host()
    }

    /// Takes out the requests that were answered so far, probes included, in the order of their answers.
    pub(crate) fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().expect("no holder panics"))
    }

    /// The daemon behind it.
    pub(crate) fn volunteer(&self) -> &Volunteer {
        &self.volunteer
    }
}

fn forward(port: u16, mut client: TcpStream, alter: &Alter, requests: &Mutex<Vec<Request>>) {
    if let Some((request, answer)) = answer(port, &client, alter) {
        requests.lock().expect("no holder panics").push(request);
        let _ = client.write_all(&answer);
    }
    // The peer holds a second handle of the connection, so dropping this one would not end it.
    let _ = client.shutdown(Shutdown::Both);
}

/// The request and what goes back to the client; nothing if the client or the daemon went away.
fn answer(port: u16, client: &TcpStream, alter: &Alter) -> Option<(Request, Vec<u8>)> {
    let request = Request::read(client).ok()?;
    let mut daemon = TcpStream::connect(("127.0.0.1", port)).ok()?;
    daemon.write_all(&request.bytes).ok()?;
    let mut answer = Vec::new();
    daemon.read_to_end(&mut answer).ok()?;
    if request.is_job() {
        answer = alter(&request, Reply::read(answer.as_slice()).ok()?);
    }
    Some((request, answer))
}
