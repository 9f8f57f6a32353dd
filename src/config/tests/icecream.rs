//! The icecream cluster: which values are accepted, and which go together.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::World;
use crate::config::{Icecream, Place};

fn place(text: &str) -> Place {
    World::new().settings(&[&format!("--icecream={text}")]).icecream.place
}

fn scheduler(host: &str, port: u16) -> Place {
    Place::Scheduler { host: host.into(), port }
}

#[test]
fn no_cluster_unless_one_is_asked_for() {
    let expected = Icecream { place: Place::Off, netname: None, ship: true, protocol: 43, preferred_host: None };
    assert_eq!(World::new().settings(&[]).icecream, expected);
    // A cluster's own variables ask for nothing.
    let world = World::new().env("ICECC_SCHEDULER", "boss").env("ICECC_PREFERRED_HOST", OsString::from_vec(vec![0xff]));
    assert_eq!(world.settings(&[]).icecream, expected);
}

#[test]
fn places() {
    assert_eq!(place(" auto "), Place::Auto);
    assert_eq!(place("off"), Place::Off);
    assert_eq!(place("boss"), scheduler("boss", 8765));
    assert_eq!(place("boss_1.example.org.:1"), scheduler("boss_1.example.org.", 1));
    assert_eq!(place("10.0.0.1:65535"), scheduler("10.0.0.1", 65535));
    assert_eq!(place("on:8765"), scheduler("on", 8765));
    assert_eq!(place("unix:/run/a:b c"), Place::Daemon("/run/a:b c".into()));
    assert_eq!(place("unix:iceccd.socket"), Place::Daemon("iceccd.socket".into()));
    let longest = "x".repeat(107);
    assert_eq!(place(&format!("unix:{longest}")), Place::Daemon(longest.into()));
}

#[test]
fn what_is_no_place_is_refused() {
    let expected = "expected auto, off, HOST[:PORT] (a name or an IPv4 address: icecream knows no IPv6) or unix:PATH (at \
                    most 107 bytes)";
    let too_long = format!("unix:{}", "x".repeat(108));
    let long_name = "x".repeat(254);
    for text in [
        "",
        " ",
        "on",
        "Auto",
        "OFF",
        "true",
        "no",
        "[::1]",
        "[::1]:8765",
        "::1",
        "fe80::1%eth0",
        "boss:",
        ":8765",
        "boss:0",
        "boss:65536",
        "boss:+1",
        "boss: 1",
        "boss:1:2",
        "boss:http",
        "a b",
        "a,b",
        "-boss",
        ".boss",
        "tcp://boss",
        "me@boss",
        "unix:",
        &too_long,
        &long_name,
        "1",
        "10.1",
        "10.0.0.256",
        "10.0.0.1.",
        "büro",
        "a\nb",
    ] {
        let error = World::new().error(&[&format!("--icecream={text}")]);
        assert_eq!(error, format!("--icecream={}: {expected}", text.escape_debug()));
    }
    let error = World::new().user("icecream = true").error(&[]);
    assert_eq!(
        error,
        format!("/home/me/.config/thinbridge/config.toml:1:12: icecream: {expected} (a string), found a boolean")
    );
}

#[test]
fn wrong_values_name_what_is_accepted() {
    let long = "x".repeat(255);
    let netname = "expected a name of at most 254 bytes";
    let protocol = "expected a whole number from 30 to 43";
    let cases = [
        ("netname", "", netname),
        ("netname", "  ", netname),
        ("netname", "a\tb", netname),
        ("netname", &long, netname),
        ("ship", "yes", "expected on or off"),
        ("protocol", "29", protocol),
        ("protocol", "44", protocol),
        ("protocol", "-30", protocol),
        ("protocol", "4294967339", protocol),
        ("protocol", "", protocol),
    ];
    for (option, value, expected) in cases {
        let error = World::new().error(&[&format!("--icecream-{option}={value}")]);
        assert_eq!(error, format!("--icecream-{option}={}: {expected}", value.escape_debug()));
    }
    let error = World::new().env("THINBRIDGE_ICECREAM_PROTOCOL", "x").error(&[]);
    assert_eq!(error, format!("THINBRIDGE_ICECREAM_PROTOCOL=x: {protocol}"));
    let error = World::new().user("icecream-protocol = 29").error(&[]);
    assert!(error.ends_with(&format!(":1:21: icecream-protocol: {protocol}, found '29'")), "{error}");
}

#[test]
fn without_shipping_the_local_daemon_cannot_be_the_way_wherever_that_was_said() {
    let world = World::new().env("THINBRIDGE_ICECREAM_SHIP", "off").user("icecream = 'unix:/run/iceccd.socket'");
    let error = world.error(&[]);
    for part in ["--icecream unix:PATH", "--icecream-ship off", "--icecream HOST"] {
        assert!(error.contains(part), "{error}");
    }
    world.settings(&["--icecream=auto"]);
    world.settings(&["--icecream=boss"]);
    world.settings(&["--icecream-ship=on"]);
}

#[test]
fn the_preferred_host_is_icecream_s_own_variable() {
    let world = World::new().env("ICECC_PREFERRED_HOST", "fast");
    assert_eq!(world.settings(&["--icecream=auto"]).icecream.preferred_host.as_deref(), Some("fast"));
    let world = World::new().env("ICECC_PREFERRED_HOST", OsString::from_vec(vec![0xff]));
    let error = world.error(&["--icecream=auto"]);
    assert_eq!(error, "ICECC_PREFERRED_HOST: the value is not UTF-8; write it in UTF-8");
}
