//! Finding the way, with scripted schedulers on loopback.

use std::os::unix::net::UnixListener;

use tempfile::TempDir;
use thinbridge_protocol::icecream::discovery::Reply;
use tokio::net::UdpSocket;

use super::*;

/// How long the tests collect answers. All of it is spent in every search, so it is short; a scripted scheduler answers
/// from the same thread.
const WITHIN: Duration = Duration::from_secs(1);

fn settings(place: &str) -> Icecream {
    let place = Place::parse(place).unwrap();
    Icecream { place, netname: None, ship: true, protocol: 43, preferred_host: None }
}

/// A machine where nothing of icecream is installed, on these networks.
fn machine(folder: &TempDir, networks: &[SocketAddr]) -> Surroundings {
    let network = |(index, address): (usize, &SocketAddr)| match address {
        SocketAddr::V4(broadcast) => Network { name: format!("net{index}"), broadcast: *broadcast },
        SocketAddr::V6(_) => panic!("{address}"),
    };
    Surroundings {
        sockets: vec![folder.path().join("none.socket"), folder.path().join("iceccd.socket")],
        variables: Vec::new(),
        conf: folder.path().join("icecc.conf"),
        networks: Some(networks.iter().enumerate().map(network).collect()),
        answers_within: WITHIN,
    }
}

/// A scheduler that answers each request with the same datagrams; those before the first `deaf` are lost.
async fn scheduler(answers: Vec<Vec<u8>>, deaf: usize) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        for request in 0.. {
            let mut datagram = [0; 8];
            let (length, from) = socket.recv_from(&mut datagram).await.unwrap();
            assert_eq!(datagram[..length], [43], "one byte: our version");
            for answer in answers.iter().filter(|_| request >= deaf) {
                socket.send_to(answer, from).await.unwrap();
            }
        }
    });
    address
}

fn answer(version: u32, started: u64, netname: &str) -> Vec<u8> {
    Reply { version, started, netname: netname.into() }.encode(43).unwrap()
}

async fn answering(version: u32, started: u64, netname: &str) -> SocketAddr {
    scheduler(vec![answer(version, started, netname)], 0).await
}

/// The address that was found.
fn address(found: Result<Way, NotFound>) -> SocketAddr {
    match found {
        Ok(Way::Scheduler { address, .. }) => address,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_first_place_that_says_something_counts() {
    let folder = TempDir::new().unwrap();
    let heard = answering(43, 1, "icecream").await;
    let mut around = machine(&folder, &[heard]);
    let auto = settings("auto");
    let found = find(&auto, &around).await;
    assert_eq!(
        found.as_ref().unwrap().to_string(),
        format!("the scheduler {heard} (found by broadcast, netname ICECREAM)")
    );

    std::fs::write(&around.conf, "# ours\nICECC_SCHEDULER_HOST=\"10.0.0.3:9\"\n").unwrap();
    let found = find(&auto, &around).await.unwrap();
    let by = format!("named by {}:2", around.conf.display());
    assert_eq!(found, Way::Scheduler { address: "10.0.0.3:9".parse().unwrap(), found_by: by });

    around.variables.push(("USE_SCHEDULER", "10.0.0.2".into()));
    let found = find(&auto, &around).await.unwrap();
    assert_eq!(found.to_string(), "the scheduler 10.0.0.2:8765 (named by USE_SCHEDULER)");
    around.variables.insert(0, ("ICECC_SCHEDULER", "10.0.0.1:7".into()));
    assert_eq!(address(find(&auto, &around).await), "10.0.0.1:7".parse().unwrap());

    let path = folder.path().join("iceccd.socket");
    let listener = UnixListener::bind(&path).unwrap();
    assert_eq!(find(&auto, &around).await, Ok(Way::Daemon(path.clone())));
    let without_shipping = Icecream { ship: false, ..auto.clone() };
    assert_eq!(address(find(&without_shipping, &around).await), "10.0.0.1:7".parse().unwrap());

    assert_eq!(address(find(&settings("10.0.0.4"), &around).await), "10.0.0.4:8765".parse().unwrap());
    assert_eq!(find(&settings("off"), &around).await, Err(NotFound::Off));

    // What a daemon leaves behind when it is killed.
    drop(listener);
    assert!(path.exists());
    assert_eq!(address(find(&auto, &around).await), "10.0.0.1:7".parse().unwrap());
}

#[tokio::test]
async fn a_socket_that_is_named_must_be_a_daemon_s() {
    let folder = TempDir::new().unwrap();
    let around = machine(&folder, &[]);
    let path = folder.path().join("my.socket");
    let named = settings(&format!("unix:{}", path.display()));
    let error = find(&named, &around).await.unwrap_err().to_string();
    assert_eq!(error, format!("no iceccd at {}: No such file or directory", path.display()));
    std::fs::write(&path, "").unwrap();
    let error = find(&named, &around).await.unwrap_err().to_string();
    assert_eq!(error, format!("no iceccd at {}: Connection refused", path.display()));
    std::fs::remove_file(&path).unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    assert_eq!(find(&named, &around).await, Ok(Way::Daemon(path)));
}

#[tokio::test]
async fn the_newest_then_oldest_scheduler_of_the_cluster_is_taken_and_nonsense_is_not() {
    let folder = TempDir::new().unwrap();
    let nonsense = [vec![], vec![46], vec![0xff; 268], vec![46; 267], vec![46; 269], b"ICF+\0\0\0\0".to_vec()];
    let networks = [
        answering(42, 1, "mine").await,
        answering(43, 900, "mine").await,
        answering(43, 800, "MINE").await,
        answering(43, 850, "Mine").await,
        answering(44, 1, "theirs").await,
        answering(u32::MAX, 0, "mine").await,
        scheduler(nonsense.to_vec(), 0).await,
        scheduler(vec![], 0).await,
    ];
    let mine = Icecream { netname: Some("mine".into()), ..settings("auto") };
    assert_eq!(address(find(&mine, &machine(&folder, &networks)).await), networks[2]);
}

#[tokio::test]
async fn the_netname_of_the_machine_counts_unless_one_is_given() {
    let folder = TempDir::new().unwrap();
    let (mine, theirs) = (answering(43, 1, "mine").await, answering(43, 1, "theirs").await);
    let around = machine(&folder, &[mine, theirs]);
    std::fs::write(&around.conf, "ICECC_NETNAME=theirs\nICECC_SCHEDULER_HOST=\n").unwrap();
    assert_eq!(address(find(&settings("auto"), &around).await), theirs);
    let given = Icecream { netname: Some("MINE".into()), ..settings("auto") };
    assert_eq!(address(find(&given, &around).await), mine);
}

#[tokio::test]
async fn a_request_that_was_lost_is_repeated() {
    let folder = TempDir::new().unwrap();
    let deaf = scheduler(vec![answer(43, 1, "ICECREAM")], 1).await;
    assert_eq!(address(find(&settings("auto"), &machine(&folder, &[deaf])).await), deaf);
}

#[tokio::test]
async fn nobody_found_is_one_line_with_the_mend() {
    let folder = TempDir::new().unwrap();
    let error = |found: Result<Way, NotFound>| found.unwrap_err().to_string();
    let auto = settings("auto");
    let (silent, other) = (scheduler(vec![], 0).await, answering(43, 1, "a\nb").await);
    assert_eq!(
        error(find(&auto, &machine(&folder, &[silent, silent])).await),
        "no icecream scheduler answered within 1 s for the netname ICECREAM on net0, net1; name a scheduler with \
         --icecream HOST"
    );
    let text = error(find(&auto, &machine(&folder, &[other])).await);
    assert!(text.contains(" on net0, only for a") && text.contains("--icecream-netname"), "{text}");
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(
        error(find(&auto, &machine(&folder, &[])).await),
        "no icecream scheduler: this machine is on no network that takes broadcasts; name a scheduler with --icecream \
         HOST"
    );
    // Nobody may send to port 0.
    let text = error(find(&auto, &machine(&folder, &["127.0.0.1:0".parse().unwrap()])).await);
    assert!(text.starts_with("no icecream scheduler: the broadcast could not be sent: net0: "), "{text}");
}

#[tokio::test]
async fn a_network_that_cannot_be_asked_does_not_keep_the_others_from_it() {
    let folder = TempDir::new().unwrap();
    let good = answering(43, 1, "ICECREAM").await;
    let around = machine(&folder, &["127.0.0.1:0".parse().unwrap(), good]);
    assert_eq!(address(find(&settings("auto"), &around).await), good);
}

#[tokio::test]
async fn a_flood_of_answers_ends_the_search() {
    let folder = TempDir::new().unwrap();
    let good = answering(43, 1, "ICECREAM").await;
    let flood = (0..3000).map(|number| answer(43, 2, &format!("net{number}"))).collect();
    let around = Surroundings {
        answers_within: Duration::from_secs(3600),
        ..machine(&folder, &[good, scheduler(flood, 0).await])
    };
    assert_eq!(address(find(&settings("auto"), &around).await), good);
}

#[tokio::test]
async fn what_icecream_s_own_settings_say_wrongly_is_named_with_its_place() {
    let folder = TempDir::new().unwrap();
    let mut around = machine(&folder, &[]);
    let conf = around.conf.display().to_string();
    let auto = settings("auto");
    let expected = "expected HOST[:PORT], a name or an IPv4 address (icecream knows no IPv6)";
    let error = async |around: &Surroundings| find(&auto, around).await.unwrap_err().to_string();

    std::fs::write(&around.conf, "\nICECC_SCHEDULER_HOST='[fe80::1]'\n").unwrap();
    assert_eq!(error(&around).await, format!("{conf}:2: ICECC_SCHEDULER_HOST=[fe80::1]: {expected}"));
    std::fs::write(&around.conf, "ICECC_SCHEDULER_HOST=$(boss)\n").unwrap();
    let text = error(&around).await;
    assert!(text.starts_with(&format!("{conf}: line 1: the value of ICECC_SCHEDULER_HOST is not")), "{text}");
    std::fs::write(&around.conf, vec![b' '; MAX_FILE_BYTES + 1]).unwrap();
    assert!(error(&around).await.contains("are too many"));
    // Not a word of a text in another encoding matters.
    std::fs::write(&around.conf, b"# B\xfcro\nICECC_SCHEDULER_HOST=10.0.0.9\n").unwrap();
    assert_eq!(address(find(&auto, &around).await), "10.0.0.9:8765".parse().unwrap());

    around.variables.push(("ICECC_SCHEDULER", "boss:70000".into()));
    assert_eq!(error(&around).await, format!("ICECC_SCHEDULER=boss:70000: {expected}"));
}

#[tokio::test]
async fn names_are_looked_up_and_only_ipv4_counts() {
    let folder = TempDir::new().unwrap();
    let around = machine(&folder, &[]);
    assert_eq!(address(find(&settings("localhost:99"), &around).await), "127.0.0.1:99".parse().unwrap());
    let error = find(&settings("no.such.host.invalid"), &around).await.unwrap_err().to_string();
    let expected = "no icecream scheduler at no.such.host.invalid, named by --icecream: the name ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn the_environment_says_where_to_look() {
    let of = |variables: &[(&str, &str)]| {
        Surroundings::of(&|name| variables.iter().find(|entry| entry.0 == name).map(|entry| entry.1.into()))
    };
    let all = of(&[("HOME", "/home/me"), ("USE_SCHEDULER", "b"), ("ICECC_SCHEDULER", "a"), ("ICECC_TEST_SOCKET", "")]);
    assert_eq!(all.sockets.first().unwrap(), Path::new("/var/run/icecc/iceccd.socket"));
    assert_eq!(all.sockets.last().unwrap(), Path::new("/home/me/.iceccd.socket"));
    assert_eq!(all.variables, [("ICECC_SCHEDULER", "a".into()), ("USE_SCHEDULER", "b".into())]);
    assert_eq!(of(&[("ICECC_SCHEDULER", "")]).variables, []);
    // icecream's own programs look nowhere else then.
    assert_eq!(of(&[("HOME", "/home/me"), ("ICECC_TEST_SOCKET", "/x")]).sockets, [Path::new("/x")]);
}

#[test]
fn node_names_are_unlike_each_other_and_one_word() {
    assert_eq!(node_name(7, "box 1.exämple", 0xfeed_dead_beef), "thinbridge-7-box_1.ex_mple-deadbeef");
    assert!(node_name(u32::MAX, &"x".repeat(1000), u64::MAX).len() < 100);
    assert_ne!(own_node_name(), own_node_name());
    assert!(!platform().is_empty());
}
