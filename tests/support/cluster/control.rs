//! An icecream scheduler's control port: text lines that say who is in the cluster and which jobs there are.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use super::Client;

/// Ends every answer.
const DONE: &str = "200 done";

/// Carries lines to the port and back, from inside the cluster's network. A scheduler that is busy with something else
/// may leave a new connection unanswered for half a minute; a datagram to its discovery port wakes it.
const CARRIER: &str = r#"
exec 3<>"/dev/tcp/$1/8766" || exit
{ for _ in 1 2 3; do sleep 1.1; printf + >"/dev/udp/$1/8765"; done; } 3>&- >/dev/null 2>&1 &
cat <&3 &
exec cat >&3
"#;

/// A daemon of the cluster, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// What it calls itself.
    pub(crate) name: String,
    /// `address:port`; the port is 0 if it takes no jobs of others.
    pub(crate) address: String,
    pub(crate) platform: String,
    /// Jobs assigned to it now.
    pub(crate) jobs: usize,
    /// Jobs that it runs at the same time.
    pub(crate) slots: usize,
    /// 0 to 1000; with 1000 it gets no jobs.
    pub(crate) load: u32,
    /// The scheduler waits for an environment that somebody should have shipped to it.
    pub(crate) installing: bool,
}

impl Listed {
    /// Parses ` host-1 (10.77.0.11:10245) [x86_64] speed=0.00 jobs=1/2 load=82 busy installing since 1 s`.
    fn parse(line: &str) -> Option<Self> {
        let (name, rest) = line.trim_start().split_once(" (")?;
        let (address, rest) = rest.split_once(") [")?;
        let (platform, rest) = rest.split_once("] ")?;
        let value = |key: &str| rest.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let (jobs, slots) = value("jobs")?.split_once('/')?;
        Some(Self {
            name: name.to_owned(),
            address: address.to_owned(),
            platform: platform.to_owned(),
            jobs: jobs.parse().ok()?,
            slots: slots.parse().ok()?,
            load: value("load")?.parse().ok()?,
            installing: rest.contains("busy installing"),
        })
    }

    /// All that an answer to `listcs` lists.
    pub(crate) fn parse_all(answer: &str) -> Vec<Self> {
        answer.lines().filter_map(Self::parse).collect()
    }
}

/// The control port of one scheduler, connected when it is needed: idle connections are cut after 36 s.
pub(crate) struct Control {
    client: Client,
    address: String,
    carrier: Mutex<Option<Carrier>>,
}

impl Control {
    pub(super) fn new(client: Client, address: &str) -> Self {
        Self { client, address: address.to_owned(), carrier: Mutex::new(None) }
    }

    /// The answer to a command; `None` if the scheduler is not there.
    pub(super) fn try_ask(&self, command: &str) -> Option<String> {
        let mut kept = self.carrier.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(answer) = kept.as_mut().and_then(|carrier| carrier.ask(command)) {
            return Some(answer);
        }
        *kept = None;
        let mut carrier = Carrier::start(self.client, &self.address)?;
        let answer = carrier.ask(command);
        *kept = Some(carrier);
        answer
    }

    /// The answer to a command, without its last line.
    #[track_caller]
    pub(super) fn ask(&self, command: &str) -> String {
        self.try_ask(command).unwrap_or_else(|| panic!("no scheduler answers at {}:8766", self.address))
    }
}

/// One connection.
struct Carrier {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Carrier {
    /// Connects and reads the banner.
    fn start(client: Client, address: &str) -> Option<Self> {
        let mut child = client
            .inside(Command::new("bash").args(["-c", CARRIER, "carrier", address]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("nsenter starts");
        let to = child.stdin.take().expect("its standard input is a pipe");
        let from = BufReader::new(child.stdout.take().expect("its standard output is a pipe"));
        let mut carrier = Self { child, to, from };
        let mut banner = String::new();
        for _ in 0..2 {
            carrier.from.read_line(&mut banner).ok().filter(|&length| length > 0)?;
        }
        Some(carrier)
    }

    fn ask(&mut self, command: &str) -> Option<String> {
        self.to.write_all(format!("{command}\n").as_bytes()).ok()?;
        let mut answer = String::new();
        loop {
            let start = answer.len();
            self.from.read_line(&mut answer).ok().filter(|&length| length > 0)?;
            if answer[start..].trim_end() == DONE {
                answer.truncate(start);
                return Some(answer);
            }
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // The scheduler hangs up, which ends the process that reads from it.
        let _ = self.to.write_all(b"quit\n");
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
