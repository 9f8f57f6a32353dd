//! Clusters that others fill, hosts that share an address, jobs larger than a message.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{Cluster, Host, Language, Program, require, require_cluster};
use crate::trial::{Trial, expect_local, expect_remote, expect_told};

/// Somebody else's link, written apart from the product's codec: is given all slots there are and keeps them for as long
/// as its standard input is open.
const HOLD_ALL_SLOTS: &str = r#"
import socket, struct, sys
def text(words):
    return struct.pack(">I", len(words) + 1) + words.encode() + b"\0"
def frame(kind, body):
    return struct.pack(">II", 4 + len(body), kind) + body
environment, count = sys.argv[1], int(sys.argv[2])
scheduler = socket.create_connection(("10.77.0.2", 8765))
scheduler.sendall(struct.pack("<II", 43, 43))
login = struct.pack(">III", 0, 0, 0) + text("somebody-else") + text("x86_64") + struct.pack(">III", 0, 1, 0)
scheduler.sendall(frame(80, login))
for number in range(1, count + 1):
    body = struct.pack(">I", 1) + text("x86_64") + text(environment) + text("theirs.o") + struct.pack(">II", 0, 1)
    body += text("x86_64") + struct.pack(">II", 8, number) + text("") + struct.pack(">IIIII", 0, 0, 1, 0, 0)
    scheduler.sendall(frame(71, body))
stream = scheduler.makefile("rb")
stream.read(8)
while count:
    length, kind = struct.unpack(">II", stream.read(8))
    stream.read(length - 4)
    count -= kind == 72
print("held", flush=True)
sys.stdin.read()
"#;

struct Crowd(Child);

impl Crowd {
    /// Returns once it has so many slots.
    fn hold(cluster: &Cluster, slots: usize) -> Self {
        let environment = cluster.host(0).environments().pop().expect("the host was sent it");
        let mut command = Command::new("python3");
        command.args(["-c", HOLD_ALL_SLOTS, &environment, &slots.to_string()]);
        let mut command = cluster.inside(&command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("nsenter starts");
        let mut line = String::new();
        let _ = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line);
        assert_eq!(line, "held\n");
        Self(child)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_queue_that_is_too_long_is_left() {
    if !require_cluster() || !require(&["python3"]) {
        return;
    }
    let cluster = Cluster::start(1);
    let trial = Trial::short();
    trial.warm(&cluster, cluster.host(0));
    // Two, and one that a scheduler gives a host in advance.
    let crowd = Crowd::hold(&cluster, 3);

    let own_slots = trial.by("10.77.0.2").option("--local-slots=2");
    expect_local(&trial.run(&cluster, own_slots));
    let linked = trial.run(&cluster, trial.link());
    expect_local(&linked);
    assert_eq!(linked.total("fallbacks"), 4);
    expect_told(&linked, "gave no host in time");

    // One that moves in time is waited for.
    let link = trial.start(&cluster, trial.link().option("--fallback=off"));
    cluster.wait_until("the link is there", |listed| listed.iter().any(|one| one.name.starts_with("thinbridge-")));
    drop(crowd);
    expect_remote(&link.end());
    cluster.expect_nothing_left();
}

/// Bytes that do not become fewer by packing.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Job and object take several messages each.
#[test]
fn two_hosts_behind_one_address_and_jobs_above_the_limit_of_a_message() {
    if !require_cluster() {
        return;
    }
    let cluster = Cluster::setup().hosts(1).host(Host::default().at_the_address_of(0, 10246)).start();
    let program = Program::new(Language::C, &["-O2"]);
    program.folder.write("noise", noise(3 << 20));
    let blob = "const unsigned char noise[] = {\n#embed \"noise\"\n};\nint at(int i) { return noise[i]; }\n";
    let main = "int at(int); int other(int); int main(int c, char **v) { return at(other(c)) & 0; }\n";
    let program =
        program.module("main.c", main).module("blob.c", blob).module("other.c", "int other(int x) { return x; }\n");
    let trial = Trial::of(program);
    for host in cluster.hosts() {
        trial.warm(&cluster, host);
        assert_eq!(host.environments().len(), 1);
    }
    let linked = trial.run(&cluster, trial.link().option("--fallback=off"));
    assert!(linked.total("bytes_sent") > 3 << 20 && linked.total("bytes_received") > 3 << 20, "{:#}", linked.report());
    cluster.expect_nothing_left();
}
