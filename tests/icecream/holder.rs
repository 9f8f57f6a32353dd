//! Somebody else who compiles on the client's machine: holds slots of its iceccd.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::{Cluster, LOCAL_SOCKET};

/// Asks for a slot and holds it for as long as its standard input is open; written apart from the product's codec.
const HOLD_A_SLOT: &str = r#"
import socket, struct, sys
daemon = socket.socket(socket.AF_UNIX)
daemon.connect(sys.argv[1])
daemon.sendall(struct.pack("<II", 43, 43) + struct.pack(">IIIIHI", 18, 78, 0, 2, 0x7800, 0))
answer = b""
while len(answer) < 16:
    answer += daemon.recv(100) or sys.exit("closed")
print("held", flush=True)
sys.stdin.read()
"#;

/// Holds a slot until it is dropped. Needs python3.
pub(crate) struct Holder {
    child: Child,
}

impl Holder {
    /// Returns once it has the slot.
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let mut child = cluster
            .inside(Command::new("python3").args(["-c", HOLD_A_SLOT, LOCAL_SOCKET]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("nsenter starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("it can be read");
        assert_eq!(line, "held\n");
        Self { child }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
