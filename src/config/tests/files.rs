//! Configuration files: what is accepted, and how each fault is reported.

use std::io::ErrorKind;

use super::World;
use crate::config::MAX_FILE_BYTES;

const USER: &str = "/home/me/.config/thinbridge/config.toml";

#[test]
fn faults_name_the_file_the_place_the_key_and_what_is_accepted() {
    let cases = [
        (
            "local_slots = 4",
            "1:1: unknown key 'local_slots'; the keys are hosts, local-slots, remote-compiler, icecream, icecream-netname, icecream-ship, icecream-protocol, fallback, max-fallback, verify, report, verbose",
        ),
        ("verbose = true\n\n  bögus = 1", "3:4: not TOML: "),
        ("verbose = true\n\n  'bögus' = 1", "3:3: unknown key 'bögus'; "),
        ("[thinbridge]\nhosts = 'a'", "1:2: unknown key 'thinbridge'; "),
        ("local-slots = true", "1:15: local-slots: expected a whole number from 0 to 1024, found a boolean"),
        ("local-slots = 1025", "1:15: local-slots: expected a whole number from 0 to 1024, found '1025'"),
        ("local-slots = -1", "1:15: local-slots: expected a whole number from 0 to 1024, found '-1'"),
        ("local-slots = 99999999999999999999999", "1:15: local-slots: expected "),
        ("local-slots = 1.0", "1:15: local-slots: expected a whole number from 0 to 1024, found a float"),
        ("local-slots = [1]", "1:15: local-slots: expected a whole number from 0 to 1024, found an array"),
        ("verify = nan", "1:10: verify: expected a number from 0 to 1, found 'nan'"),
        ("verify = -inf", "1:10: verify: expected a number from 0 to 1, found '-inf'"),
        ("max-fallback = 1.5", "1:16: max-fallback: expected a number from 0 to 1, found '1.5'"),
        ("max-fallback = 1979-05-27", "1:16: max-fallback: expected a number from 0 to 1, found a date"),
        ("fallback = 1", "1:12: fallback: expected on or off (or true or false), found an integer"),
        ("fallback = 'true'", "1:12: fallback: expected on or off (or true or false), found 'true'"),
        (
            "hosts = 4",
            "1:9: hosts: expected a host list in distcc's grammar (a string or an array of strings), found an integer",
        ),
        (
            "hosts = ['a',\n 4]",
            "2:2: hosts: expected a host list in distcc's grammar (a string or an array of strings), found an integer in the array",
        ),
        ("report = ''", "1:10: report: expected the name of a file or a folder (a string), found ''"),
        ("report = { a = 'b' }", "1:10: report: expected the name of a file or a folder (a string), found a table"),
        (
            "[remote-compiler]\n'a:1' = 4",
            "2:9: remote-compiler: expected [HOST=]NAME, a compiler's name without spaces such as clang-22 (a string, an array of strings or a table of HOST = \"NAME\"), found an integer",
        ),
        ("[remote-compiler]\n'a:1' = 'clang -O2'", "2:9: remote-compiler: expected "),
        (
            "[remote-compiler]\nfast.example = 'clang'",
            "2:1: remote-compiler: the host 'fast' needs quotes: \"host:port\" = \"NAME\"",
        ),
        ("[remote-compiler]\n'a=b' = 'clang'", "2:1: remote-compiler: expected "),
        ("verbose = on", "1:11: not TOML: "),
        ("verbose = true\nverbose = false", "2:1: not TOML: duplicate key"),
        ("hosts = 'a", "1:"),
        ("= 1", "1:1: not TOML: "),
    ];
    for (toml, expected) in cases {
        let error = World::new().user(toml).error(&[]);
        assert!(error.starts_with(&format!("{USER}:{expected}")), "{toml:?}\n gave {error}\n not {USER}:{expected}");
    }
}

#[test]
fn the_first_fault_in_the_file_is_reported() {
    let error = World::new().user("zzz = 1\naaa = 2\n").error(&[]);
    assert!(error.starts_with(&format!("{USER}:1:1: unknown key 'zzz'")), "{error}");
}

#[test]
fn native_types_and_text_mean_the_same() {
    let native = World::new().user(
        "hosts = ['a/2,lzo', 'b']\nlocal-slots = 4\nfallback = false\nverify = 1\nmax-fallback = 0.5\nverbose = true\n\
         [remote-compiler]\n'*' = 'clang-22'\n'h:1' = 'clang-21'\n",
    );
    let text = World::new().user(
        "hosts = \"a/2,lzo\\nb\"\nlocal-slots = '4'\nfallback = 'off'\nverify = '1'\nmax-fallback = '0.5'\n\
         verbose = 'on'\nremote-compiler = ['clang-22', 'h:1=clang-21']\n",
    );
    assert_eq!(native.settings(&[]), text.settings(&[]));
}

#[test]
fn a_file_that_is_not_utf8_is_refused_with_the_place() {
    let error = World::new().file(USER, b"verbose = true\nreport = '\xff'\n").error(&[]);
    assert_eq!(error, format!("{USER}:2:11: not UTF-8; write the file in UTF-8"));
}

#[test]
fn a_missing_file_is_fine_an_unreadable_one_is_not() {
    for kind in [ErrorKind::NotFound, ErrorKind::NotADirectory] {
        World::new().broken_file(USER, kind).settings(&[]);
    }
    let machine_s = ["/etc/thinbridge/config.toml", "/etc/distcc/hosts"];
    let fault = |world: World, path: &str| {
        let error = world.error(&[]);
        assert!(error.starts_with(&format!("{path}: cannot be read: ")), "{error}");
    };
    for path in machine_s.into_iter().chain([USER, "/home/me/.distcc/hosts"]) {
        fault(World::new().broken_file(path, ErrorKind::IsADirectory), path);
    }
    for path in machine_s {
        fault(World::new().broken_file(path, ErrorKind::PermissionDenied), path);
    }
    let named = World::new().env("DISTCC_DIR", "/d").broken_file("/d/hosts", ErrorKind::PermissionDenied);
    fault(named, "/d/hosts");
}

#[test]
fn files_in_a_home_that_is_somebody_else_s_count_as_missing_and_are_named() {
    let foreign = |world: World| {
        let kind = ErrorKind::PermissionDenied;
        world.broken_file(USER, kind).broken_file("/home/me/.distcc/hosts", kind)
    };
    let settings = foreign(World::new().file("/etc/distcc/hosts", "a")).settings(&[]);
    assert_eq!(settings.hosts.map(|hosts| hosts.text).as_deref(), Some("a"), "the next source counts");
    assert_eq!(
        settings.notes,
        [USER, "/home/me/.distcc/hosts"].map(|path| format!("{path} is not used: permission denied"))
    );
    // A list that is not asked for is not missed.
    assert_eq!(foreign(World::new()).settings(&["--hosts=a"]).notes.len(), 1);
    assert_eq!(World::new().settings(&[]).notes, [""; 0]);
}

#[test]
fn a_giant_file_is_refused() {
    let error = World::new().user(&" ".repeat(MAX_FILE_BYTES + 1)).error(&[]);
    assert_eq!(error, format!("{USER}: 1048577 bytes are too many; at most 1048576 are read"));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let error = World::new().user(&format!("hosts = {}", "[".repeat(100_000))).error(&[]);
    assert!(error.contains("not TOML"), "{error}");
}

#[test]
fn the_users_file_is_where_xdg_says() {
    let elsewhere = || World::new().file("/x/thinbridge/config.toml", "local-slots = 5").user("local-slots = 6");
    assert_eq!(elsewhere().env("XDG_CONFIG_HOME", "/x").settings(&[]).local_slots, Some(5));
    assert_eq!(elsewhere().env("XDG_CONFIG_HOME", "").settings(&[]).local_slots, Some(6));
    assert_eq!(elsewhere().env("XDG_CONFIG_HOME", "x").settings(&[]).local_slots, Some(6), "relative: ignored");
    assert_eq!(World::default().system("local-slots = 7").settings(&[]).local_slots, Some(7), "no home");
}
