//! Host lists, right and wrong.

use super::*;

fn one(text: &str) -> HostSpec {
    let list = parse(text).unwrap();
    assert_eq!(list.hosts.len(), 1, "{text}");
    list.hosts.into_iter().next().unwrap()
}

fn tcp(name: &str, port: u16, limit: Option<u32>) -> (Transport, Option<u32>) {
    (Transport::Tcp { address: Address::Name(name.into()), port }, limit)
}

fn ssh(user: Option<&str>, name: &str, command: Option<&str>, limit: Option<u32>) -> (Transport, Option<u32>) {
    let address = Address::Name(name.into());
    (Transport::Ssh { user: user.map(Into::into), address, command: command.map(Into::into) }, limit)
}

fn tcp6(address: &str, zone: Option<&str>, port: u16) -> (Transport, Option<u32>) {
    let address = Address::Ipv6 { address: address.parse().unwrap(), zone: zone.map(Into::into) };
    (Transport::Tcp { address, port }, None)
}

#[test]
fn hosts_of_every_form_are_understood() {
    let table = [
        // The stock client's own test vector.
        ("angry:300/44", tcp("angry", 300, Some(44))),
        ("angry/44:300", tcp("angry", 300, Some(44))),
        ("@angry:/home/x/distccd", ssh(None, "angry", Some("/home/x/distccd"), None)),
        ("ted@angry", ssh(Some("ted"), "angry", None, None)),
        ("@angry,lzo#c", ssh(None, "angry", None, None)),
        ("localhostbutnotreally", tcp("localhostbutnotreally", 3632, None)),
        // More of the same grammar.
        ("a", tcp("a", 3632, None)),
        ("a=3", tcp("a", 3632, Some(3))),
        ("a:9=3", tcp("a", 9, Some(3))),
        ("a=3:9", tcp("a", 9, Some(3))),
        ("a:065535/001", tcp("a", 65535, Some(1))),
        ("127.0.0.1/2", tcp("127.0.0.1", 3632, Some(2))),
        ("host_1.example.org.:80", tcp("host_1.example.org.", 80, None)),
        ("b\u{fc}ro", tcp("b\u{fc}ro", 3632, None)),
        ("localhost:3632", tcp("localhost", 3632, None)),
        ("localhost/2:3632", tcp("localhost", 3632, Some(2))),
        ("localhost,lzo", tcp("localhost", 3632, None)),
        ("LOCALHOST", tcp("LOCALHOST", 3632, None)),
        ("[::1]", tcp6("::1", None, 3632)),
        ("[fe80::1%eth0]:77", tcp6("fe80::1", Some("eth0"), 77)),
        ("u@h/3:cmd,lzo", ssh(Some("u"), "h", Some("cmd"), Some(3))),
        ("u@h=3", ssh(Some("u"), "h", None, Some(3))),
        ("u@h:cmd/3", ssh(Some("u"), "h", Some("cmd/3"), None)),
        ("u@h:a:b@c", ssh(Some("u"), "h", Some("a:b@c"), None)),
        ("WORK\\u.v@h", ssh(Some("WORK\\u.v"), "h", None, None)),
        ("@localhost", ssh(None, "localhost", None, None)),
        ("h,auth=host/b@REALM", tcp("h", 3632, None)),
    ];
    for (text, (transport, limit)) in table {
        let spec = one(text);
        assert_eq!((spec.transport, spec.limit), (transport, limit), "{text}");
    }
}

#[test]
fn options_are_understood_in_any_order() {
    let flags = |text| one(text).flags;
    assert_eq!(flags("a"), Flags::default());
    assert_eq!(flags("a,lzo"), Flags { lzo: true, ..Flags::default() });
    let pump = Flags { lzo: true, cpp: true, ..Flags::default() };
    for text in ["a,lzo,cpp", "a,cpp,lzo", "a:1/2,cpp,lzo,lzo", "u@a:b,lzo,cpp"] {
        assert_eq!(flags(text), pump, "{text}");
    }
    assert_eq!(flags("a,down,auth"), Flags { down: true, auth: Some(Auth::Default), ..Flags::default() });
    assert_eq!(flags("a,auth=b@C").auth, Some(Auth::Named("b@C".into())));
}

#[test]
fn the_list_has_options_comments_and_lines() {
    let text = "# farm\n--randomize --localslots=3#three\r\n\t--localslots_cpp/8 +zeroconf\x0bb,lzo a\x0c# c d\n\nlocalhost/6 b";
    let list = parse(text).unwrap();
    assert_eq!(list.hosts.iter().map(|host| host.text.as_str()).collect::<Vec<_>>(), ["b,lzo", "a", "b"]);
    assert!(list.randomize && list.zeroconf);
    assert_eq!((list.localslots, list.localslots_cpp), (Some(3), Some(8)));
    assert_eq!(list.localhost, Some(Localhost { limit: Some(6) }));
    assert_eq!(parse(" \n # nothing\n").unwrap(), HostList::default());
}

#[test]
fn localhost_is_the_local_machine_only_as_that_word() {
    let slots = |text| parse(text).unwrap().localhost.map(Localhost::slots);
    assert_eq!(slots("localhost"), Some(2));
    assert_eq!(slots("localhost/7"), Some(7));
    assert_eq!(slots("localhost/7,lzo"), Some(7));
    for text in ["localhost:3632", "localhost,lzo", "localhost.", "@localhost", "127.0.0.1"] {
        assert_eq!(slots(text), None, "{text}");
        assert_eq!(one(text).slots(), 4, "{text}");
    }
}

#[test]
fn a_host_is_displayed_in_one_way() {
    let table = [
        ("a/3", "a:3632"),
        ("a/3:9,lzo", "a:9"),
        ("[0:0::1]", "[::1]:3632"),
        ("[fe80::1%2]:9", "[fe80::1%2]:9"),
        ("u@h:cmd", "u@h"),
        ("@[::1%lo]", "@::1%lo"),
    ];
    for (text, canonical) in table {
        assert_eq!(one(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn what_stock_distcc_refuses_or_misreads_is_an_error_that_says_how_to_mend_it() {
    let table = [
        ("a,cpp", "write ,lzo,cpp"),
        ("a/0", "expected a number of jobs from 1 to 65535 after \"/\", found \"0\""),
        ("a/-1", "found \"-1\""),
        ("a/+4", "found \"+4\""),
        ("a/4x", "found \"4x\""),
        ("a/", "found \"\""),
        ("a/65536", "found \"65536\""),
        ("a/99999999999", "found \"99999999999\""),
        ("localhost/x", "found \"x\""),
        ("localhost/0", "found \"0\""),
        ("a:0", "expected a port from 1 to 65535"),
        ("a:65536", "found \"65536\""),
        ("a:", "found \"\""),
        ("a:0x10", "found \"0x10\""),
        ("a:1:2", "second port"),
        ("a:1/2:3", "second port"),
        ("a/2/3", "second limit"),
        ("a,lzo:33", "unknown option \"lzo:33\""),
        ("a,lzo,cpp/4", "unknown option \"cpp/4\"; there are lzo, cpp, down and auth[=NAME], after the limit"),
        ("a,LZO", "unknown option \"LZO\""),
        ("a,", "unknown option \"\""),
        ("a,,lzo", "unknown option \"\""),
        ("a,b", "unknown option \"b\""),
        ("a,auth=", "principal"),
        (",lzo", "expected a host name"),
        (":33", "expected a host name"),
        ("/4", "expected a host name"),
        ("@", "expected a host name"),
        ("u@", "expected a host name"),
        ("u@:cmd", "expected a host name"),
        ("u@h:", "expected a command"),
        ("u@v@w", "a host cannot contain '@'"),
        ("a;b", "a host cannot contain ';'"),
        ("a%lo", "a host cannot contain '%'"),
        ("$(id)", "a host cannot contain '$'"),
        ("a\u{a0}b", "a host cannot contain '\\u{a0}'"),
        ("\u{feff}a", "a host cannot contain '\\u{feff}'"),
        ("a\0b", "a host cannot contain '\\0'"),
        ("::1", "an IPv6 address needs brackets"),
        ("fe80::1/4", "an IPv6 address needs brackets"),
        ("fe80::1%eth0", "an IPv6 address needs brackets"),
        ("u@fe80::1", "an IPv6 address needs brackets"),
        ("[::1", "the bracket is not closed"),
        ("[zz]", "expected an IPv6 address in the brackets, found \"zz\""),
        ("[]", "expected an IPv6 address"),
        ("[127.0.0.1]", "expected an IPv6 address"),
        ("[fe80::1%]", "expected an interface"),
        ("[fe80::1%-x]", "a zone must not begin with \"-\""),
        ("[::1]x", "expected :PORT, /LIMIT or ,OPTION after the host, found \"x\""),
        ("u@[::1]x:y", "found \"x\""),
        ("-a", "a host must not begin with \"-\""),
        ("-oProxyCommand=x@h", "a user must not begin with \"-\""),
        ("@-oProxyCommand=x", "a host must not begin with \"-\""),
        ("u@h:-oProxyCommand=x", "a command must not begin with \"-\""),
        ("u:v@h", "a user cannot contain ':'"),
        ("--foo", "there are --randomize, --localslots=N and --localslots_cpp=N"),
        ("--randomize=1", "takes no value"),
        ("--localslots 5", "without a space before it: --localslots=N"),
        ("--localslots=", "--localslots=N"),
        ("--localslots_cpp/0", "--localslots_cpp=N"),
        ("--localslots=4x", "--localslots=N"),
        ("--", "unknown option"),
        ("+foo", "the only word with a plus sign is +zeroconf"),
        ("+zeroconf,lzo", "the only word with a plus sign is +zeroconf"),
    ];
    for (text, words) in table {
        let error = parse(text).expect_err(text);
        assert!(error.to_string().contains(words), "{text}: {error}");
        assert_eq!((error.line, error.column), (1, 1), "{text}");
    }
}

#[test]
fn an_error_names_the_token_and_its_place() {
    let error = parse("a b\n  \u{fc}\u{fc} c:x,lzo # d\n").unwrap_err();
    assert_eq!((error.token.as_str(), error.line, error.column), ("c:x,lzo", 2, 6));
    let words = "host list, line 2, column 6, \"c:x,lzo\": expected a port from 1 to 65535 after \":\", found \"x\"";
    assert_eq!(error.to_string(), words);
}
