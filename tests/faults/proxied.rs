//! Wrong objects from a real daemon, altered on their way, in a real link.

use std::sync::{Arc, Mutex};

use crate::support::{Proxy, Reply, clang, require_farm};
use crate::trial::Trial;

type Alteration = Box<dyn Fn(Reply) -> Reply + Send>;

/// What the proxy does to the answers after the canary's, and how many of these there were.
type Shared = Arc<Mutex<(Alteration, usize)>>;

#[test]
fn no_wrong_object_from_a_daemon_becomes_part_of_the_program() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let foreign = |target: &str| {
        let folder = trial.program.folder.path();
        trial.program.folder.write("home/stranger.c", "int stranger(int x) { return x + 7; }\n");
        clang(folder, &[target, "-O2", "-c", "home/stranger.c", "-o", "home/foreign.o"]);
        std::fs::read(folder.join("home/foreign.o")).expect("the object")
    };
    let (aarch64, i386) = (foreign("--target=aarch64-linux-gnu"), foreign("--target=i386-linux-gnu"));
    let stranger = foreign("--target=x86_64-linux-gnu");
    let words = |reply: Reply| Reply { stderr: b"Error loading imported file 'm2'\n".to_vec(), ..reply };
    let alterations: [(&str, Alteration); 9] = [
        ("empty", object(|_| Vec::new())),
        ("cut off", object(|object| object[..object.len() * 2 / 3].to_vec())),
        ("a byte short", object(|object| object[..object.len() - 1].to_vec())),
        ("for aarch64", object(move |_| aarch64.clone())),
        ("for i386", object(move |_| i386.clone())),
        ("with garbage behind it", object(|object| [object, b"garbage"].concat())),
        ("without its type", object(|object| [&object[..16], &[0, 0], &object[18..]].concat())),
        ("with a backend error", Box::new(words)),
        ("of another module", object(move |_| stranger.clone())),
    ];
    let shared: Shared = Arc::new(Mutex::new((Box::new(|reply| reply), 0)));
    let proxy = Proxy::reply({
        let shared = Arc::clone(&shared);
        move |_, reply| {
            let mut shared = shared.lock().expect("no holder panics");
            shared.1 += 1;
            if shared.1 == 1 { reply } else { (shared.0)(reply) }
        }
    });
    for (name, alteration) in alterations {
        *shared.lock().expect("no holder panics") = (alteration, 0);
        let linked = trial.link(&format!("{}/1", proxy.name()), &[], &[]);
        eprintln!("{name}: {:#}", linked.report()["hosts"]);
        trial.expect_failed(&linked, &proxy.name(), "a wrong object: ");
        assert_eq!(linked.total("remote"), 1, "only the canary is the host's: {:#}", linked.report());
    }
}

fn object(alter: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> Alteration {
    Box::new(move |mut reply| {
        reply.object = reply.object.map(|object| alter(&object));
        reply
    })
}

#[test]
fn objects_given_to_each_other_s_jobs_are_refused() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let last: Mutex<Option<Vec<u8>>> = Mutex::new(None);
    // Every job gets the object of the job before it; the first one gets its own.
    let proxy = Proxy::reply(move |_, mut reply| {
        let own = reply.object.clone();
        let before = std::mem::replace(&mut *last.lock().expect("no holder panics"), own);
        reply.object = before.or(reply.object);
        reply
    });
    let linked = trial.link(&format!("{}/1", proxy.name()), &[], &[]);
    trial.expect_failed(&linked, &proxy.name(), "a wrong object: ");
    assert_eq!(linked.total("remote"), 1, "{:#}", linked.report());
}

#[test]
fn a_wrong_object_fails_the_link_when_nothing_may_fall_back() {
    if !require_farm() {
        return;
    }
    let trial = Trial::new();
    let proxy = Proxy::object(|_| Vec::new());
    let linked = trial.prepare(&proxy.host(), &["--fallback=off"], &[]).run().expect_failure();
    assert!(linked.stderr.contains("the object is empty"), "{}", linked.stderr);
    assert!(linked.stderr.contains(&proxy.name()), "{}", linked.stderr);
}
