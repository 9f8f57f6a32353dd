//! The environment: our variables, and distcc's.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use super::World;
use crate::config::{LocalOnly, Settings, Share, SshCommand};

fn with(name: &str, value: &str) -> Settings {
    World::new().env(name, value).settings(&[])
}

#[test]
fn empty_variables_count_as_not_set() {
    let names = [
        "THINBRIDGE",
        "THINBRIDGE_HOSTS",
        "THINBRIDGE_LOCAL_SLOTS",
        "THINBRIDGE_REMOTE_COMPILER",
        "THINBRIDGE_ICECREAM",
        "THINBRIDGE_ICECREAM_NETNAME",
        "THINBRIDGE_ICECREAM_SHIP",
        "THINBRIDGE_ICECREAM_PROTOCOL",
        "THINBRIDGE_FALLBACK",
        "THINBRIDGE_MAX_FALLBACK",
        "THINBRIDGE_VERIFY",
        "THINBRIDGE_REPORT",
        "THINBRIDGE_VERBOSE",
        "DISTCC_HOSTS",
        "DISTCC_DIR",
        "DISTCC_FALLBACK",
        "DISTCC_IO_TIMEOUT",
        "DISTCC_VERBOSE",
        "DISTCC_LOG",
        "DISTCC_SSH",
        "_DISTCC_SAFEGUARD",
        "ICECC_PREFERRED_HOST",
    ];
    let empty = names.iter().fold(World::new(), |world, name| world.env(name, ""));
    assert_eq!(empty.settings(&[]), World::new().settings(&[]));
}

#[test]
fn defaults() {
    let settings = World::new().settings(&[]);
    assert_eq!(settings.json, PathBuf::from("jobs.json"));
    assert_eq!(settings.local_only, None);
    assert_eq!(settings.verify, Share::NONE);
    assert_eq!(settings.io_timeout, None);
    assert_eq!(settings.log, None);
    assert_eq!(settings.ssh, SshCommand { program: "ssh".into(), args: vec![] });
}

#[test]
fn distcc_variables_are_honoured() {
    assert_eq!(with("DISTCC_IO_TIMEOUT", "30").io_timeout, Some(Duration::from_secs(30)));
    assert_eq!(with("DISTCC_LOG", "/tmp/my log").log, Some(PathBuf::from("/tmp/my log")));
    let ssh = SshCommand { program: "/bin/ssh".into(), args: vec!["-p".into(), "22".into()] };
    assert_eq!(with("DISTCC_SSH", " /bin/ssh  -p 22").ssh, ssh);
    assert_eq!(with("DISTCC_SSH", "  ").ssh, SshCommand::default());
    assert!(with("DISTCC_VERBOSE", "1").verbose);
}

#[test]
fn an_endless_timeout_is_bounded() {
    for text in ["86401", "18446744073709551615", "99999999999999999999999999"] {
        assert_eq!(with("DISTCC_IO_TIMEOUT", text).io_timeout, Some(Duration::from_secs(86400)), "{text}");
    }
}

#[test]
fn switched_off_or_inside_distcc_everything_is_local() {
    assert_eq!(with("THINBRIDGE", "off").local_only, Some(LocalOnly::SwitchedOff));
    assert_eq!(with("THINBRIDGE", "on").local_only, None);
    assert_eq!(with("_DISTCC_SAFEGUARD", "0").local_only, Some(LocalOnly::InsideDistcc));
}

#[test]
fn wrong_values_name_the_variable_and_what_is_accepted() {
    let seconds = "expected a whole number of seconds, at least 1";
    let compiler = "expected [HOST=]NAME, a compiler's name without spaces such as clang-22";
    let cases = [
        ("THINBRIDGE", "no", "THINBRIDGE=no: expected on or off"),
        ("THINBRIDGE_LOCAL_SLOTS", "many", "THINBRIDGE_LOCAL_SLOTS=many: expected a whole number from 0 to 1024"),
        ("THINBRIDGE_REMOTE_COMPILER", "a=b =c", &format!("THINBRIDGE_REMOTE_COMPILER==c: {compiler}")),
        ("THINBRIDGE_FALLBACK", "0", "THINBRIDGE_FALLBACK=0: expected on or off"),
        ("THINBRIDGE_MAX_FALLBACK", "5%", "THINBRIDGE_MAX_FALLBACK=5%: expected a number from 0 to 1"),
        ("THINBRIDGE_VERIFY", "-0.1", "THINBRIDGE_VERIFY=-0.1: expected a number from 0 to 1"),
        ("THINBRIDGE_VERIFY", "NaN", "THINBRIDGE_VERIFY=NaN: expected a number from 0 to 1"),
        ("THINBRIDGE_VERIFY", "inf", "THINBRIDGE_VERIFY=inf: expected a number from 0 to 1"),
        ("THINBRIDGE_REPORT", "a\0b", "THINBRIDGE_REPORT=a\\0b: expected the name of a file or a folder"),
        ("THINBRIDGE_VERBOSE", "yes\nno", "THINBRIDGE_VERBOSE=yes\\nno: expected on or off"),
        ("DISTCC_FALLBACK", "yes", "DISTCC_FALLBACK=yes: expected 0 or 1"),
        ("DISTCC_VERBOSE", "on", "DISTCC_VERBOSE=on: expected 0 or 1"),
        ("DISTCC_IO_TIMEOUT", "0", &format!("DISTCC_IO_TIMEOUT=0: {seconds}")),
        ("DISTCC_IO_TIMEOUT", "-5", &format!("DISTCC_IO_TIMEOUT=-5: {seconds}")),
        ("DISTCC_IO_TIMEOUT", "1.5", &format!("DISTCC_IO_TIMEOUT=1.5: {seconds}")),
        ("DISTCC_IO_TIMEOUT", "soon", &format!("DISTCC_IO_TIMEOUT=soon: {seconds}")),
    ];
    for (name, value, expected) in cases {
        assert_eq!(World::new().env(name, value).error(&[]), expected);
    }
}

#[test]
fn values_that_are_not_utf8_are_refused_paths_are_not() {
    let odd = || OsString::from_vec(b"/\xff".to_vec());
    for name in ["THINBRIDGE", "THINBRIDGE_REPORT", "DISTCC_HOSTS", "DISTCC_SSH", "DISTCC_IO_TIMEOUT"] {
        let error = World::new().env(name, odd()).error(&[]);
        assert_eq!(error, format!("{name}: the value is not UTF-8; write it in UTF-8"));
    }
    for name in ["HOME", "XDG_CONFIG_HOME", "DISTCC_DIR", "DISTCC_LOG"] {
        World::new().env(name, odd()).settings(&[]);
    }
}
