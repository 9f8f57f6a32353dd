//! The datagrams by which schedulers are found.

use thinbridge_protocol::icecream::discovery::{NotAReply, REPLY_LEN, Reply, parse_reply, request};
use thinbridge_protocol::icecream::{Text, Version};

use crate::frames::version;

/// `start`, filled up with zero bytes.
fn padded(start: &[u8], length: usize) -> Vec<u8> {
    let mut datagram = start.to_vec();
    datagram.resize(length, 0);
    datagram
}

fn reply(version: u32, started: u64, netname: &str) -> Reply {
    Reply { version, started, netname: Text::from(netname) }
}

#[test]
fn the_reply_of_a_stock_scheduler() {
    assert_eq!(request(Version::OURS), *b"\x2b");
    // As captured from icecc-scheduler 1.4.
    let datagram = padded(b"\x2e\0\0\0\x2b\0\0\0\0\x6b\x0d\x68\x8dICECREAM", REPLY_LEN);
    let expected = reply(43, 0x6b0d_688d, "ICECREAM");
    assert_eq!(parse_reply(&datagram, version(43)), Ok(expected.clone()));
    assert_eq!(expected.encode(43), Some(datagram));
    assert_eq!(expected.encode(37), None);
    assert_eq!(expected.encode(255), None);
}

#[test]
fn replies_of_old_schedulers() {
    let short = padded(b"\x2cICECREAM", 16);
    assert_eq!(parse_reply(&short, version(43)), Ok(reply(0, 0, "ICECREAM")));
    let little = b"\x2d\x25\0\0\0\x8d\x68\x0d\x6b\0\0\0\0ICECREAM";
    let big = b"\x2d\0\0\0\x25\0\0\0\0\x6b\x0d\x68\x8dICECREAM";
    for length in [32, 268] {
        for datagram in [little, big] {
            assert_eq!(parse_reply(&padded(datagram, length), version(43)), Ok(reply(37, 0x6b0d_688d, "ICECREAM")));
        }
    }
}

#[test]
fn what_is_no_reply() {
    let unknown = |length| Err(NotAReply::Unknown { length });
    let parse = |datagram: &[u8]| parse_reply(datagram, version(43));
    assert_eq!(parse(b""), unknown(0));
    assert_eq!(parse(b"\x2b"), unknown(1), "one's own request");
    assert_eq!(parse(b"\x2e"), unknown(1));
    assert_eq!(parse(&padded(b"\x2e\0\0\0\x2b", 267)), unknown(267));
    assert_eq!(parse(&padded(b"\x2e\0\0\0\x2b", 269)), unknown(269));
    assert_eq!(parse(&padded(b"\x2f\0\0\0\x2b", 268)), unknown(268), "the answer to another request");
    assert_eq!(parse(&padded(b"\x00", 268)), unknown(268));
    for announcement in [padded(b"ICE\x2b", 30), padded(b"ICF\x2b", 268)] {
        assert_eq!(parse(&announcement), Err(NotAReply::Announcement));
    }
    assert_eq!(NotAReply::Unknown { length: 3 }.to_string(), "a datagram of 3 bytes is no answer of a scheduler");
}

#[test]
fn a_netname_without_an_end_fills_the_reply() {
    let datagram = [b"\x2e\0\0\0\x2b\0\0\0\0\x6b\x0d\x68\x8d".as_slice(), &[b'x'; 255]].concat();
    assert_eq!(parse_reply(&datagram, version(43)).unwrap().netname, "x".repeat(255).as_str());
    let encoded = reply(43, 1, &"x".repeat(300)).encode(43).unwrap();
    assert_eq!(parse_reply(&encoded, version(43)).unwrap().netname, "x".repeat(254).as_str());
}

#[test]
fn the_newest_version_is_best_and_then_the_oldest_scheduler() {
    let better = |a: &Reply, b: &Reply| (a.is_better_than(b), b.is_better_than(a));
    assert_eq!(better(&reply(43, 200, "A"), &reply(42, 100, "A")), (true, false));
    assert_eq!(better(&reply(43, 100, "A"), &reply(43, 200, "A")), (true, false));
    assert_eq!(better(&reply(43, 100, "A"), &reply(43, 100, "B")), (false, false));
    assert_eq!(better(&reply(32, 100, "A"), &reply(0, 0, "A")), (true, false));
}

#[test]
fn the_case_of_a_netname_does_not_matter() {
    assert!(reply(43, 1, "IceCream").is_of(&Text::from("ICECREAM")));
    assert!(!reply(43, 1, "ICECREAM2").is_of(&Text::from("ICECREAM")));
}
