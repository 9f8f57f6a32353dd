//! From a host list to volunteers.

use std::collections::HashMap;

use thinbridge_protocol::distcc::hosts::{self, HostList, HostListError, HostSpec, Transport};

use super::{Address, Fleet, SshAddress, Volunteer};
use crate::config::{HostsSource, Origin, RemoteCompilers};

/// A host that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name in messages and reports.
    pub host: String,
    /// Why.
    pub reason: String,
}

/// Reads the list.
///
/// # Errors
/// A token that is not understood, with its place.
pub fn fleet(source: &HostsSource, compilers: &RemoteCompilers) -> Result<Fleet, HostListError> {
    let list = hosts::parse(&source.text)?;
    let local_slots = list.localhost.map(|localhost| localhost.slots() as usize);
    let mut fleet = Fleet { local_slots, ..Fleet::default() };
    let mut known: HashMap<Transport, usize> = HashMap::new();
    for spec in in_order(&list) {
        let host = spec.to_string();
        if let Some(reason) = why_not(spec, &source.origin) {
            fleet.left_out.push(LeftOut { host, reason });
            continue;
        }
        // The same host twice is one host: its larger limit counts.
        if let Some(volunteer) = known.get(&spec.transport).and_then(|index| fleet.volunteers.get_mut(*index)) {
            volunteer.slots = volunteer.slots.max(spec.slots() as usize);
            continue;
        }
        known.insert(spec.transport.clone(), fleet.volunteers.len());
        let compiler = compilers.name_for(&host).map(str::to_owned);
        let slots = spec.slots() as usize;
        fleet.volunteers.push(Volunteer { name: host, address: address(&spec.transport), slots, compiler });
    }
    if list.zeroconf {
        let reason = "finding hosts by mDNS is not part of this version: name them in the list".to_owned();
        fleet.left_out.push(LeftOut { host: "+zeroconf".to_owned(), reason });
    }
    Ok(fleet)
}

/// The hosts that `--remote-compiler` or its setting names and that are not in the fleet, used or left out: misspelled,
/// mostly.
pub fn unknown_hosts<'a>(fleet: &Fleet, compilers: &'a RemoteCompilers) -> Vec<&'a str> {
    let used = fleet.volunteers.iter().map(|volunteer| volunteer.name.as_str());
    let known: Vec<&str> = used.chain(fleet.left_out.iter().map(|left_out| left_out.host.as_str())).collect();
    let means = |named: &str, host: &str| {
        // Asked of the rule itself, with this host's name alone.
        let mut alone = RemoteCompilers::default();
        alone.add(&format!("{named}=compiler")).is_some() && alone.name_for(host).is_some()
    };
    compilers.hosts().filter(|named| !known.iter().any(|host| means(named, host))).collect()
}

/// The hosts as written, or from a place that differs from link to link, as `--randomize` wants: links of many users
/// then do not all begin with the same host.
fn in_order(list: &HostList) -> impl Iterator<Item = &HostSpec> {
    let start = if list.randomize { std::process::id() as usize % list.hosts.len().max(1) } else { 0 };
    let (first, last) = list.hosts.split_at(start.min(list.hosts.len()));
    last.iter().chain(first)
}

fn why_not(spec: &HostSpec, origin: &Origin) -> Option<String> {
    if spec.flags.down {
        return Some("marked as down in the host list".to_owned());
    }
    if spec.flags.auth.is_some() {
        return Some(
            "needs authentication (,auth), which thinbridge cannot do; it is never contacted without".to_owned(),
        );
    }
    match (origin, &spec.transport) {
        (Origin::SystemDefault(path), Transport::Tcp { address, .. }) if is_loopback(&address.to_string()) => {
            let path = path.display();
            Some(format!("{path} names this machine, as some distributions ship it; name it in --hosts to use it"))
        }
        _ => None,
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn address(transport: &Transport) -> Address {
    match transport {
        Transport::Tcp { address, port } => Address::Tcp { host: address.to_string(), port: *port },
        Transport::Ssh { user, address, command } => Address::Ssh(SshAddress {
            user: user.clone(),
            host: address.to_string(),
            command: command.clone().unwrap_or_else(|| "distccd".to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet_of(text: &str, origin: Origin) -> Fleet {
        let source = HostsSource { text: text.to_owned(), origin };
        fleet(&source, &RemoteCompilers::default()).unwrap()
    }

    #[test]
    fn flags_of_the_classic_client_change_nothing_but_down_and_auth() {
        let fleet = fleet_of("a b:99/7,lzo,cpp c,down d,auth me@e:/opt/distccd localhost/3", Origin::Flag);
        let names: Vec<_> = fleet.volunteers.iter().map(|v| (v.name.as_str(), v.slots)).collect();
        assert_eq!(names, [("a:3632", 4), ("b:99", 7), ("me@e", 4)]);
        assert_eq!(fleet.left_out.len(), 2);
        assert_eq!(fleet.local_slots, Some(3));
    }

    #[test]
    fn one_host_twice_is_one_host() {
        let fleet = fleet_of("a/2 a:3632/6", Origin::Flag);
        assert_eq!(fleet.volunteers.iter().map(|v| v.slots).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn a_loopback_host_counts_unless_it_comes_from_the_system() {
        let system = Origin::SystemDefault("/etc/distcc/hosts".into());
        let fleet = fleet_of("127.0.0.1 [::1] far", system);
        assert_eq!(fleet.volunteers.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["far:3632"]);
        assert_eq!(fleet.left_out.len(), 2);
        assert_eq!(fleet_of("127.0.0.1", Origin::Variable("DISTCC_HOSTS")).volunteers.len(), 1);
    }

    #[test]
    fn names_of_compilers_are_found_by_host() {
        let mut compilers = RemoteCompilers::default();
        compilers.add("b=clang").unwrap();
        let source = HostsSource { text: "a b".to_owned(), origin: Origin::Flag };
        let fleet = fleet(&source, &compilers).unwrap();
        assert_eq!(fleet.volunteers.iter().map(|v| v.compiler.as_deref()).collect::<Vec<_>>(), [None, Some("clang")]);
    }

    #[test]
    fn names_of_compilers_for_hosts_that_are_not_there_are_found() {
        let mut compilers = RemoteCompilers::default();
        for item in ["*=c", "a=c", "b:99=c", "e=c", "me@e=c", "[::1]=c", "off=c", "+x=c", "b:98=c", "you@e=c", "aa=c"] {
            compilers.add(item).unwrap();
        }
        let fleet = fleet_of("a b:99/7 me@e:/opt/distccd [::1] off,down", Origin::Flag);
        assert_eq!(unknown_hosts(&fleet, &compilers), ["+x", "aa", "b:98", "you@e"]);
    }
}
