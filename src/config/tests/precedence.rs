//! Flag over environment over distcc's environment over the user's file over the machine's file over the default.

use super::World;
use crate::cli::OPTIONS;
use crate::config::{Fallback, Place, Settings, Share};

/// One option, and a value for each source that differs from what the source below gives.
struct Row {
    option: &'static str,
    view: fn(&Settings) -> String,
    default: &'static str,
    /// In TOML, and as seen.
    system: (&'static str, &'static str),
    user: (&'static str, &'static str),
    /// distcc's variable, its value, and as seen.
    distcc: Option<(&'static str, &'static str, &'static str)>,
    /// As text, and as seen.
    environment: (&'static str, &'static str),
    flag: (&'static str, &'static str),
}

fn show_share(share: Option<Share>) -> String {
    share.map_or("none".into(), |share| share.get().to_string())
}

const TABLE: &[Row] = &[
    Row {
        option: "hosts",
        view: |settings| {
            settings.hosts.as_ref().map_or("none".into(), |found| format!("{}@{}", found.text, found.origin))
        },
        default: "none",
        system: ("'s'", "s@/etc/thinbridge/config.toml"),
        user: ("['u', 'v']", "u\nv@/home/me/.config/thinbridge/config.toml"),
        // DISTCC_HOSTS comes after the files: see the tests of the hosts.
        distcc: None,
        environment: ("e", "e@THINBRIDGE_HOSTS"),
        flag: ("f", "f@--hosts"),
    },
    Row {
        option: "local-slots",
        view: |settings| settings.local_slots.map_or("none".into(), |slots| slots.to_string()),
        default: "none",
        system: ("1", "1"),
        user: ("'2'", "2"),
        distcc: None,
        environment: ("0", "0"),
        flag: ("1024", "1024"),
    },
    Row {
        option: "remote-compiler",
        view: |settings| settings.remote_compilers.name_for("h:1").unwrap_or("none").into(),
        default: "none",
        system: ("'s'", "s"),
        user: ("{ 'h:1' = 'u' }", "u"),
        distcc: None,
        environment: ("x=y h:1=e", "e"),
        flag: ("f", "f"),
    },
    Row {
        option: "icecream",
        view: |settings| match &settings.icecream.place {
            Place::Off => "off".into(),
            Place::Auto => "auto".into(),
            Place::Scheduler { host, port } => format!("{host} at {port}"),
            Place::Daemon(path) => format!("socket {}", path.display()),
        },
        default: "off",
        system: ("'boss'", "boss at 8765"),
        user: ("'10.0.0.1:9000'", "10.0.0.1 at 9000"),
        distcc: None,
        environment: ("unix:/run/my iceccd", "socket /run/my iceccd"),
        flag: ("auto", "auto"),
    },
    Row {
        option: "icecream-netname",
        view: |settings| settings.icecream.netname.clone().unwrap_or("none".into()),
        default: "none",
        system: ("'SYSTEM'", "SYSTEM"),
        user: ("' u '", "u"),
        distcc: None,
        environment: ("e f", "e f"),
        flag: ("büro", "büro"),
    },
    Row {
        option: "icecream-ship",
        view: |settings| settings.icecream.ship.to_string(),
        default: "true",
        system: ("false", "false"),
        user: ("'on'", "true"),
        distcc: None,
        environment: ("off", "false"),
        flag: ("on", "true"),
    },
    Row {
        option: "icecream-protocol",
        view: |settings| settings.icecream.protocol.to_string(),
        default: "43",
        system: ("30", "30"),
        user: ("'39'", "39"),
        distcc: None,
        environment: ("40", "40"),
        flag: ("43", "43"),
    },
    Row {
        option: "fallback",
        view: |settings| (settings.fallback == Fallback::Allowed).to_string(),
        default: "true",
        system: ("false", "false"),
        user: ("'on'", "true"),
        distcc: Some(("DISTCC_FALLBACK", "0", "false")),
        environment: ("on", "true"),
        flag: ("off", "false"),
    },
    Row {
        option: "max-fallback",
        view: |settings| show_share(settings.max_fallback),
        default: "none",
        system: ("0.25", "0.25"),
        user: ("1", "1"),
        distcc: None,
        environment: ("0", "0"),
        flag: ("5e-1", "0.5"),
    },
    Row {
        option: "verify",
        view: |settings| show_share(Some(settings.verify)),
        default: "0",
        system: ("'0.5'", "0.5"),
        user: ("1.0", "1"),
        distcc: None,
        environment: (".25", "0.25"),
        flag: ("0", "0"),
    },
    Row {
        option: "report",
        view: |settings| settings.report.clone().unwrap_or("none".into()),
        default: "none",
        system: ("'s.json'", "s.json"),
        user: ("'u {pid}.json'", "u {pid}.json"),
        distcc: None,
        environment: ("e,e.json", "e,e.json"),
        flag: ("reports/", "reports/"),
    },
    Row {
        option: "verbose",
        view: |settings| settings.verbose.to_string(),
        default: "false",
        system: ("true", "true"),
        user: ("'off'", "false"),
        distcc: Some(("DISTCC_VERBOSE", "1", "true")),
        environment: ("off", "false"),
        flag: ("on", "true"),
    },
];

#[test]
fn every_source_beats_the_ones_below_it() {
    for row in TABLE {
        let check = |world: &World, flags: &[&str], expected: &str, source: &str| {
            assert_eq!((row.view)(&world.settings(flags)), expected, "{} from {source}", row.option);
        };
        let world = World::new();
        check(&world, &[], row.default, "default");
        let world = world.system(&format!("{} = {}", row.option, row.system.0));
        check(&world, &[], row.system.1, "the machine's file");
        let mut world = world.user(&format!("{} = {}", row.option, row.user.0));
        check(&world, &[], row.user.1, "the user's file");
        if let Some((name, value, expected)) = row.distcc {
            world = world.env(name, value);
            check(&world, &[], expected, "distcc's environment");
        }
        let variable = format!("THINBRIDGE_{}", row.option.to_uppercase().replace('-', "_"));
        let world = world.env(&variable, row.environment.0);
        check(&world, &[], row.environment.1, "the environment");
        check(&world, &[&format!("--{}={}", row.option, row.flag.0)], row.flag.1, "the flag");
        check(&world, &[&format!("--{}", row.option), row.flag.0], row.flag.1, "the flag, value apart");
    }
}

#[test]
fn every_option_is_in_the_table() {
    let options: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
    let rows: Vec<_> = TABLE.iter().map(|row| row.option).collect();
    assert_eq!(options, rows);
}

#[test]
fn files_are_merged_key_by_key() {
    let world = World::new()
        .system("local-slots = 3\nverbose = true\nremote-compiler = { 'a:1' = 'sa', 'b:1' = 'sb' }")
        .user("verbose = false\n[remote-compiler]\n'b:1' = 'ub'\n");
    let settings = world.settings(&[]);
    assert_eq!(settings.local_slots, Some(3));
    assert!(!settings.verbose);
    assert_eq!(settings.remote_compilers.name_for("a:1"), Some("sa"));
    assert_eq!(settings.remote_compilers.name_for("b:1"), Some("ub"));
}

#[test]
fn of_a_flag_given_twice_the_last_one_counts() {
    let settings = World::new().settings(&["--local-slots=1", "--verbose=on", "--local-slots", "7", "--verbose=off"]);
    assert_eq!((settings.local_slots, settings.verbose), (Some(7), false));
}

#[test]
fn repeatable_flags_add_up() {
    let flags = ["--remote-compiler=all", "--hosts=a/2 # one", "--remote-compiler", "h:1=one", "--hosts", "b"];
    let settings = World::new().settings(&flags);
    assert_eq!(settings.hosts.map(|hosts| hosts.text).as_deref(), Some("a/2 # one\nb"));
    assert_eq!(settings.remote_compilers.name_for("h:1"), Some("one"));
    assert_eq!(settings.remote_compilers.name_for("g:1"), Some("all"));
}

#[test]
fn a_compiler_for_all_hosts_hides_those_of_lower_sources() {
    let world = World::new().system("remote-compiler = { 'h:1' = 'low' }");
    assert_eq!(world.settings(&["--remote-compiler=*=high"]).remote_compilers.name_for("h:1"), Some("high"));
    assert_eq!(world.settings(&["--remote-compiler=g:1=high"]).remote_compilers.name_for("h:1"), Some("low"));
}

#[test]
fn a_host_is_found_without_its_port_or_user() {
    let flags = ["a=1", "[::1]=2", "c:7=3", "d=4", "e@f=5"].map(|item| format!("--remote-compiler={item}"));
    let compilers = World::new().settings(&flags.each_ref().map(String::as_str)).remote_compilers;
    let expected = [
        ("a:3632", Some("1")),
        ("a", Some("1")),
        ("[::1]:3632", Some("2")),
        ("[::2]:3632", None),
        ("c:7", Some("3")),
        ("c:8", None),
        ("me@d", Some("4")),
        ("e@f", Some("5")),
        ("g@f", None),
    ];
    for (host, name) in expected {
        assert_eq!(compilers.name_for(host), name, "{host}");
    }
    assert_eq!(compilers.hosts().collect::<Vec<_>>(), ["[::1]", "a", "c:7", "d", "e@f"]);
}

#[test]
fn shares_count_exactly() {
    let share = |text| Share::parse(text).unwrap();
    assert!(!share("0.29").is_exceeded(29, 100));
    assert!(share("0.29").is_exceeded(30, 100));
    assert!(!share("0").is_exceeded(0, 0));
    assert!(share("0").is_exceeded(1, 1000));
    assert!(!Share::ALL.is_exceeded(10, 10));
    for (text, expected) in [("0", 0), ("0.1", 10), ("0.333", 33), ("0.5", 50), ("1", 100)] {
        assert_eq!((0..100).filter(|&job| share(text).selects(job)).count(), expected, "{text} of 100");
    }
}
