//! What one source (the flags, the environment, a file) says about each option.

use std::collections::BTreeMap;

use super::icecream::Place;
use super::values::{Fallback, Share};

/// The options that one source sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Layer {
    pub(crate) hosts: Option<String>,
    pub(crate) local_slots: Option<usize>,
    pub(crate) remote_compilers: RemoteCompilers,
    pub(crate) icecream: Option<Place>,
    pub(crate) icecream_netname: Option<String>,
    pub(crate) icecream_ship: Option<bool>,
    pub(crate) icecream_protocol: Option<u32>,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) max_fallback: Option<Share>,
    pub(crate) verify: Option<Share>,
    pub(crate) report: Option<String>,
    pub(crate) verbose: Option<bool>,
}

impl Layer {
    /// What holds when `lower` only counts where `self` says nothing.
    pub(crate) fn over(self, lower: Self) -> Self {
        Self {
            hosts: self.hosts.or(lower.hosts),
            local_slots: self.local_slots.or(lower.local_slots),
            remote_compilers: self.remote_compilers.over(lower.remote_compilers),
            icecream: self.icecream.or(lower.icecream),
            icecream_netname: self.icecream_netname.or(lower.icecream_netname),
            icecream_ship: self.icecream_ship.or(lower.icecream_ship),
            icecream_protocol: self.icecream_protocol.or(lower.icecream_protocol),
            fallback: self.fallback.or(lower.fallback),
            max_fallback: self.max_fallback.or(lower.max_fallback),
            verify: self.verify.or(lower.verify),
            report: self.report.or(lower.report),
            verbose: self.verbose.or(lower.verbose),
        }
    }
}

/// What the hosts call the compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteCompilers {
    default: Option<String>,
    by_host: BTreeMap<String, String>,
}

impl RemoteCompilers {
    /// The compiler's name on `host` (`name:port`, `[v6]:port` or `user@name`), if the user gave one. The exact name
    /// comes first, then the host without its port or user, then the name for all hosts.
    pub fn name_for(&self, host: &str) -> Option<&str> {
        let bare = without_port(host);
        let bare = bare.rsplit_once('@').map_or(bare, |(_, name)| name);
        let own = self.by_host.get(host).or_else(|| self.by_host.get(bare));
        own.or(self.default.as_ref()).map(String::as_str)
    }

    /// The hosts that have a name of their own, as the user wrote them.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.by_host.keys().map(String::as_str)
    }

    /// Adds `NAME`, `*=NAME` or `HOST=NAME`, over an earlier one for the same host; `None` when it is none of these.
    pub(crate) fn add(&mut self, item: &str) -> Option<()> {
        let (host, name) = item.split_once('=').unwrap_or(("*", item));
        if !is_word(host) || !is_word(name) {
            return None;
        }
        match host {
            "*" => self.default = Some(name.into()),
            _ => drop(self.by_host.insert(host.into(), name.into())),
        }
        Some(())
    }

    /// A name for all hosts hides everything below it, since it says something about every host.
    fn over(mut self, lower: Self) -> Self {
        if self.default.is_some() {
            return self;
        }
        let mut by_host = lower.by_host;
        by_host.append(&mut self.by_host);
        Self { default: lower.default, by_host }
    }
}

/// Not empty, nothing that would end a word, and not to be taken for an option.
fn is_word(text: &str) -> bool {
    let bad = |character: char| character.is_whitespace() || character.is_control();
    !text.is_empty() && !text.starts_with('-') && !text.contains(bad)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // More colons in the name: an IPv6 address, which has a port only after its closing bracket.
        Some((name, _)) if !name.contains(':') || name.ends_with(']') => name,
        _ => host,
    }
}
