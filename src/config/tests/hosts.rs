//! Where the host list comes from.

use std::path::PathBuf;

use super::World;
use crate::config::{HostsSource, Origin};

fn found(text: &str, origin: Origin) -> Option<HostsSource> {
    Some(HostsSource { text: text.into(), origin })
}

#[test]
fn the_first_source_that_exists_wins() {
    let mut world = World::new();
    assert_eq!(world.settings(&[]).hosts, None);
    world = world.file("/etc/distcc/hosts", "1");
    assert_eq!(world.settings(&[]).hosts, found("1", Origin::SystemDefault("/etc/distcc/hosts".into())));
    world = world.file("/home/me/.distcc/hosts", "2\n# two\n");
    assert_eq!(world.settings(&[]).hosts, found("2\n# two\n", Origin::File("/home/me/.distcc/hosts".into())));
    world = world.file("/d/hosts", "3").env("DISTCC_DIR", "/d");
    assert_eq!(world.settings(&[]).hosts, found("3", Origin::File("/d/hosts".into())));
    world = world.env("DISTCC_HOSTS", "4");
    assert_eq!(world.settings(&[]).hosts, found("4", Origin::Variable("DISTCC_HOSTS")));
    world = world.system("hosts = '5'");
    assert_eq!(world.settings(&[]).hosts, found("5", Origin::File("/etc/thinbridge/config.toml".into())));
    world = world.user("hosts = '6'");
    let user = PathBuf::from("/home/me/.config/thinbridge/config.toml");
    assert_eq!(world.settings(&[]).hosts, found("6", Origin::File(user)));
    world = world.env("THINBRIDGE_HOSTS", "7");
    assert_eq!(world.settings(&[]).hosts, found("7", Origin::Variable("THINBRIDGE_HOSTS")));
    assert_eq!(world.settings(&["--hosts=8"]).hosts, found("8", Origin::Flag));
}

#[test]
fn with_distcc_dir_the_home_folder_is_not_looked_at() {
    let world = World::new().env("DISTCC_DIR", "/d").file("/home/me/.distcc/hosts", "a");
    assert_eq!(world.settings(&[]).hosts, None);
}

#[test]
fn an_empty_list_is_a_list_without_hosts() {
    let world = World::new().env("DISTCC_HOSTS", "a");
    assert_eq!(world.settings(&["--hosts="]).hosts, found("", Origin::Flag));
    assert_eq!(world.user("hosts = ''").settings(&[]).hosts.map(|hosts| hosts.text).as_deref(), Some(""));
}

#[test]
fn a_host_file_that_is_not_utf8_is_refused() {
    let error = World::new().file("/home/me/.distcc/hosts", b"a\n b\xff").error(&[]);
    assert_eq!(error, "/home/me/.distcc/hosts:2:3: not UTF-8; write the file in UTF-8");
}
