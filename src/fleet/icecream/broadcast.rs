//! Asking the networks of this machine for a scheduler.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;
use thinbridge_protocol::icecream::discovery::{self, Reply};
use thinbridge_protocol::icecream::{Text, Version, limits};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

use super::NotFound;
use crate::words::plain;

/// The version that is asked with: from 38 on, every scheduler answers with its version and start time.
const ASK: Version = Version::OURS;

/// Answers that are looked at. Many times the schedulers of any network; more are a flood.
const MAX_ANSWERS: usize = 1024;

/// Clusters of other names that are named to the user.
const MAX_OTHERS: usize = 4;

/// The room for a datagram, in bytes: more than an answer has, so that a longer one is not taken for an answer.
const ROOM: usize = discovery::REPLY_LEN + 1;

/// A network that takes broadcasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The name of its interface.
    pub name: String,
    /// Where to send what all of its machines shall hear.
    pub broadcast: SocketAddrV4,
}

/// The networks that this machine is on now.
pub(super) fn networks() -> Result<Vec<Network>, NotFound> {
    let addresses = getifaddrs().map_err(|error| NotFound::Unsent { reason: error.desc().into() })?;
    let mut networks: Vec<Network> = Vec::new();
    for network in addresses.filter_map(|address| network(&address)) {
        // An interface with two addresses of one network would be asked twice.
        if !networks.contains(&network) {
            networks.push(network);
        }
    }
    Ok(networks)
}

fn network(address: &InterfaceAddress) -> Option<Network> {
    let flags = address.flags;
    let wanted = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_BROADCAST;
    let unwanted = InterfaceFlags::IFF_LOOPBACK | InterfaceFlags::IFF_POINTOPOINT;
    if !flags.contains(wanted) || flags.intersects(unwanted) {
        return None;
    }
    let ip = |address: &SockaddrStorage| Some(address.as_sockaddr_in()?.ip());
    let own = ip(address.address.as_ref()?)?;
    let stated = address.broadcast.as_ref().and_then(ip);
    let to = broadcast_address(own, address.netmask.as_ref().and_then(ip), stated)?;
    Some(Network { name: address.interface_name.clone(), broadcast: SocketAddrV4::new(to, discovery::PORT) })
}

/// Where all machines of a network are reached. An address that was set without saying so, as containers' often are,
/// still has the last one of its network for that. (The C library then states none, or the own address.)
fn broadcast_address(own: Ipv4Addr, mask: Option<Ipv4Addr>, stated: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    if let Some(stated) = stated.filter(|stated| !stated.is_unspecified() && *stated != own) {
        return Some(stated);
    }
    let hosts = !mask?.to_bits();
    // A network of one or two addresses has none to spare.
    (hosts > 1).then(|| Ipv4Addr::from_bits(own.to_bits() | hosts))
}

/// The best scheduler of the cluster `netname` among those that answer within this time.
pub(super) async fn search(netname: &str, networks: &[Network], within: Duration) -> Result<SocketAddr, NotFound> {
    if networks.is_empty() {
        return Err(NotFound::NoNetwork);
    }
    let end = Instant::now() + within;
    let socket = socket().await.map_err(|error| NotFound::Unsent { reason: plain(&error) })?;
    let asked = ask(&socket, networks).await?;
    let mut answers = Answers::of(netname);
    answers.collect(&socket, Instant::now() + within / 3).await;
    // A datagram may be lost. Who has answered answers again, which changes nothing.
    let _ = ask(&socket, networks).await;
    answers.collect(&socket, end).await;
    let no_answer = |others| NotFound::NoAnswer { netname: netname.into(), networks: asked, others, within };
    answers.best.map(|(from, _)| from).ok_or_else(|| no_answer(answers.others))
}

async fn socket() -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    socket.set_broadcast(true)?;
    Ok(socket)
}

/// Asks on every network and gives the names of those that took it.
async fn ask(socket: &UdpSocket, networks: &[Network]) -> Result<Vec<String>, NotFound> {
    let mut asked = Vec::new();
    let mut reason = String::new();
    for network in networks {
        match socket.send_to(&discovery::request(ASK), network.broadcast).await {
            Ok(_) => asked.push(network.name.clone()),
            Err(error) => reason = format!("{}: {}", network.name, plain(&error)),
        }
    }
    if asked.is_empty() { Err(NotFound::Unsent { reason }) } else { Ok(asked) }
}

/// What was answered so far.
#[derive(Debug, Default)]
struct Answers {
    netname: Text,
    best: Option<(SocketAddr, Reply)>,
    /// Other clusters.
    others: Vec<String>,
    seen: usize,
}

impl Answers {
    fn of(netname: &str) -> Self {
        Self { netname: netname.into(), ..Self::default() }
    }

    /// Takes what arrives until `end`.
    async fn collect(&mut self, socket: &UdpSocket, end: Instant) {
        let mut datagram = [0; ROOM];
        // The clock is read too: an endless stream of datagrams never lets the timeout have its turn.
        while self.seen < MAX_ANSWERS && Instant::now() < end {
            let Ok(received) = timeout_at(end, socket.recv_from(&mut datagram)).await else { return };
            self.seen += 1;
            // A failure to receive tells of one that was sent: that network has nobody who answers.
            if let Ok((length, from)) = received {
                self.take(datagram.get(..length).unwrap_or_default(), from);
            }
        }
    }

    /// Takes one datagram. One that is no answer means nothing: whoever likes may send us some.
    fn take(&mut self, datagram: &[u8], from: SocketAddr) {
        let Ok(reply) = discovery::parse_reply(datagram, ASK) else { return };
        // No peer takes a greater number for a version, and an absurd one would win against every other.
        if reply.version > limits::MAX_GREETING {
            return;
        }
        if !reply.is_of(&self.netname) {
            let other = reply.netname.to_string();
            if self.others.len() < MAX_OTHERS && !self.others.contains(&other) {
                self.others.push(other);
            }
            return;
        }
        // Of two that are equally good, the one that answered first: a machine of two networks is heard twice.
        if self.best.as_ref().is_none_or(|(_, best)| reply.is_better_than(best)) {
            self.best = Some((from, reply));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_without_a_stated_broadcast_address_has_its_last_one() {
        let address = |own: &str, mask: &str, stated: Option<&str>| {
            let parse = |text: &str| text.parse().unwrap();
            broadcast_address(parse(own), Some(parse(mask)), stated.map(parse)).map(|found| found.to_string())
        };
        assert_eq!(address("10.1.2.3", "255.255.0.0", Some("10.1.255.0")).as_deref(), Some("10.1.255.0"));
        for stated in [None, Some("0.0.0.0"), Some("10.1.2.5")] {
            assert_eq!(address("10.1.2.5", "255.255.0.0", stated).as_deref(), Some("10.1.255.255"));
            assert_eq!(address("10.1.2.5", "255.255.255.252", stated).as_deref(), Some("10.1.2.7"));
            assert_eq!(address("10.1.2.5", "255.255.255.254", stated), None);
            assert_eq!(address("10.1.2.5", "255.255.255.255", stated), None);
        }
        assert_eq!(broadcast_address(Ipv4Addr::LOCALHOST, None, None), None);
    }
}
