//! Reads a host list.

use std::net::Ipv6Addr;

use super::{
    Address, Auth, DEFAULT_PORT, Flags, HostList, HostListError, HostSpec, Localhost, MAX_SLOTS, Reason, Transport,
};

/// What ends a host, and a port or limit after it.
const HOST_ENDS: [char; 3] = [':', '/', '='];

/// Parses a whole host list, which may have several lines.
///
/// # Errors
/// At the first token that cannot be understood. A list without hosts is no error.
///
/// ```
/// use thinbridge_protocol::distcc::hosts;
///
/// let list = hosts::parse("big:3700/16,lzo ted@small # the attic").unwrap();
/// assert_eq!(list.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["big:3700", "ted@small"]);
///
/// let error = hosts::parse("big/16 small:0").unwrap_err();
/// let words = "host list, line 1, column 8, \"small:0\": expected a port from 1 to 65535 after \":\", found \"0\"";
/// assert_eq!(error.to_string(), words);
/// ```
pub fn parse(text: &str) -> Result<HostList, HostListError> {
    let mut list = HostList::default();
    for (line, number) in text.split('\n').zip(1..) {
        let words = line.split('#').next().unwrap_or_default();
        for (column, token) in tokens(words) {
            add_token(&mut list, token).map_err(|reason| HostListError {
                token: token.to_owned(),
                line: number,
                column,
                reason,
            })?;
        }
    }
    Ok(list)
}

/// The words of a line, each with its column.
fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    // A piece ends with the space after it, so that the columns of all pieces add up.
    line.split_inclusive(is_space)
        .scan(1, |next_column, piece| {
            let column = *next_column;
            *next_column += piece.chars().count();
            Some((column, piece.trim_end_matches(is_space)))
        })
        .filter(|(_, token)| !token.is_empty())
}

/// White space of the C locale, as in the stock client; others are too easily overlooked inside a name.
fn is_space(character: char) -> bool {
    character.is_ascii_whitespace() || character == '\x0b'
}

fn add_token(list: &mut HostList, token: &str) -> Result<(), Reason> {
    if let Some(option) = token.strip_prefix("--") {
        return add_list_option(list, option);
    }
    if token.starts_with('+') {
        list.zeroconf = true;
        return if token == "+zeroconf" { Ok(()) } else { Err(Reason::UnknownSource) };
    }
    let (head, options) = token.split_at(token.find(',').unwrap_or(token.len()));
    if let Some(localhost) = localhost(token, head)? {
        flags(options)?;
        list.localhost = Some(localhost);
        return Ok(());
    }
    let (transport, limit) = match head.split_once('@') {
        Some((user, rest)) => ssh(user, rest)?,
        None => tcp(head)?,
    };
    list.hosts.push(HostSpec { transport, limit, flags: flags(options)?, text: token.to_owned() });
    Ok(())
}

fn add_list_option(list: &mut HostList, option: &str) -> Result<(), Reason> {
    let (name, value) = option.split_at(option.find(['=', '/']).unwrap_or(option.len()));
    let slots = |option| match value.get(1..).and_then(slots) {
        Some(slots) => Ok(Some(slots)),
        None => Err(Reason::BadOptionNumber { option }),
    };
    match name {
        "randomize" if value.is_empty() => list.randomize = true,
        "randomize" => return Err(Reason::OptionTakesNoValue),
        "localslots" => list.localslots = slots("--localslots")?,
        "localslots_cpp" => list.localslots_cpp = slots("--localslots_cpp")?,
        _ => return Err(Reason::UnknownOption),
    }
    Ok(())
}

/// The stock client runs jobs locally for `localhost` alone and for whatever begins with `localhost/`; with any other
/// suffix, and here also with a port, the word is a TCP host's name like any other.
fn localhost(token: &str, head: &str) -> Result<Option<Localhost>, Reason> {
    if token == "localhost" {
        return Ok(Some(Localhost { limit: None }));
    }
    match head.strip_prefix("localhost/") {
        Some(found) if !found.contains(':') => Ok(Some(Localhost { limit: Some(limit(found)?) })),
        _ => Ok(None),
    }
}

fn tcp(head: &str) -> Result<(Transport, Option<u32>), Reason> {
    let (address, mut rest) = address(head)?;
    let (mut port, mut slots) = (None, None);
    // The port and the limit come in either order.
    while !rest.is_empty() {
        let suffix;
        (suffix, rest) =
            rest.split_at(rest.get(1..).and_then(|rest| rest.find(HOST_ENDS)).map_or(rest.len(), |at| at + 1));
        match (suffix.strip_prefix(':'), suffix.strip_prefix(['/', '='])) {
            (Some(found), _) => match port.replace(parse_port(found)?) {
                None => {}
                Some(_) => return Err(Reason::SecondPort),
            },
            (_, Some(found)) => match slots.replace(limit(found)?) {
                None => {}
                Some(_) => return Err(Reason::SecondLimit),
            },
            _ => return Err(Reason::BadSuffix { found: suffix.to_owned() }),
        }
    }
    Ok((Transport::Tcp { address, port: port.unwrap_or(DEFAULT_PORT) }, slots))
}

fn ssh(user: &str, rest: &str) -> Result<(Transport, Option<u32>), Reason> {
    check(user, "user", |character| !character.is_control() && !"/:=[]".contains(character))?;
    let (address, rest) = address(rest)?;
    let (before, command) = match rest.split_once(':') {
        Some((_, "")) => return Err(Reason::EmptyCommand),
        Some((before, command)) => (before, Some(command)),
        None => (rest, None),
    };
    check(command.unwrap_or_default(), "command", |character| !character.is_control())?;
    let limit = match before.strip_prefix(['/', '=']) {
        Some(found) => Some(limit(found)?),
        None if before.is_empty() => None,
        None => return Err(Reason::BadSuffix { found: before.to_owned() }),
    };
    let user = Some(user).filter(|user| !user.is_empty()).map(str::to_owned);
    Ok((Transport::Ssh { user, address, command: command.map(str::to_owned) }, limit))
}

/// The address at the start of `text`, and what follows it.
fn address(text: &str) -> Result<(Address, &str), Reason> {
    if let Some(inside) = text.strip_prefix('[') {
        let (found, rest) = inside.split_once(']').ok_or(Reason::UnclosedBracket)?;
        return Ok((ipv6(found)?, rest));
    }
    let before_limit = text.split(['/', '=', '%']).next().unwrap_or_default();
    if before_limit.parse::<Ipv6Addr>().is_ok() {
        return Err(Reason::BareIpv6);
    }
    let (name, rest) = text.split_at(text.find(HOST_ENDS).unwrap_or(text.len()));
    if name.is_empty() {
        return Err(Reason::NoHost);
    }
    check(name, "host", |character| character.is_alphanumeric() || "-_.".contains(character))?;
    Ok((Address::Name(name.to_owned()), rest))
}

fn ipv6(found: &str) -> Result<Address, Reason> {
    let (digits, zone) = match found.split_once('%') {
        Some((_, "")) => return Err(Reason::EmptyZone),
        Some((digits, zone)) => (digits, Some(zone)),
        None => (found, None),
    };
    check(zone.unwrap_or_default(), "zone", |character| {
        character.is_ascii_alphanumeric() || "-_.".contains(character)
    })?;
    match digits.parse() {
        Ok(address) => Ok(Address::Ipv6 { address, zone: zone.map(str::to_owned) }),
        Err(_) => Err(Reason::BadIpv6 { found: found.to_owned() }),
    }
}

/// Each of these can become a word of ssh's command line, which takes a leading dash for an option.
fn check(text: &str, part: &'static str, is_allowed: impl Fn(char) -> bool) -> Result<(), Reason> {
    if text.starts_with('-') {
        return Err(Reason::LeadingDash { part });
    }
    match text.chars().find(|&character| !is_allowed(character)) {
        Some(character) => Err(Reason::BadCharacter { character, part }),
        None => Ok(()),
    }
}

/// The options, each with a comma before it.
fn flags(options: &str) -> Result<Flags, Reason> {
    let mut flags = Flags::default();
    for option in options.split(',').skip(1) {
        match option {
            "lzo" => flags.lzo = true,
            "cpp" => flags.cpp = true,
            "down" => flags.down = true,
            "auth" => flags.auth = Some(Auth::Default),
            "auth=" => return Err(Reason::EmptyAuthName),
            _ => match option.strip_prefix("auth=") {
                Some(name) => flags.auth = Some(Auth::Named(name.to_owned())),
                None => return Err(Reason::UnknownHostOption { found: option.to_owned() }),
            },
        }
    }
    if flags.cpp && !flags.lzo { Err(Reason::CppWithoutLzo) } else { Ok(flags) }
}

fn limit(found: &str) -> Result<u32, Reason> {
    slots(found).ok_or_else(|| Reason::BadLimit { found: found.to_owned() })
}

fn slots(digits: &str) -> Option<u32> {
    number(digits).filter(|slots| (1..=MAX_SLOTS).contains(slots))
}

fn parse_port(digits: &str) -> Result<u16, Reason> {
    match number(digits).and_then(|port| u16::try_from(port).ok()) {
        Some(port) if port > 0 => Ok(port),
        _ => Err(Reason::BadPort { found: digits.to_owned() }),
    }
}

/// Digits only: a sign is no part of a number here.
fn number(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}
