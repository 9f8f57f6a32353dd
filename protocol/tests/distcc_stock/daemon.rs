//! A stock distccd on a free port of the loopback interface, for the length of one test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, process, thread};

use bytes::BytesMut;
use thinbridge_protocol::distcc::{Ending, Progress, Request, ResponseDecoder, ResponseLimits};

/// Where a stock server looks whether a compiler is allowed.
const ALLOWED_COMPILERS: &str = "/usr/lib/distcc";

/// Longest wait for the other end, so that a fault fails the test instead of stopping it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says why a test does nothing, which is a failure in CI.
pub(crate) fn skip(reason: &str) {
    assert!(env::var_os("CI").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}

/// A compiler that is installed here and that a stock server lets clients run.
pub(crate) fn allowed_compiler() -> Option<&'static str> {
    let found = ["clang-22", "clang", "gcc"].into_iter().find(|name| Path::new(ALLOWED_COMPILERS).join(name).exists());
    if found.is_none() {
        skip("no compiler in /usr/lib/distcc (install distcc and clang, or run update-distcc-symlinks)");
    }
    found
}

/// A running distccd, stopped when dropped.
pub(crate) struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    /// Starts distccd; `None`, with a word why, when it is not installed.
    pub(crate) fn start(environment: &[(&str, &OsStr)]) -> Option<Self> {
        // Another process may take the port before distccd does; then it exits and the next port is tried.
        for _ in 0..20 {
            let port = free_port();
            let spawned = Command::new("distccd")
                .args(["--no-detach", "--daemon", "--listen", "127.0.0.1", "--allow", "127.0.0.1", "--jobs", "2"])
                .args(["--port", &port.to_string(), "--lifetime", "600", "--log-stderr", "--log-level", "info"])
                .envs(environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let mut child = match spawned {
                Ok(child) => child,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    skip("distccd is not installed");
                    return None;
                }
                Err(error) => panic!("cannot start distccd: {error}"),
            };
            let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            let daemon = Self { child, port };
            if log.any(|line| line.contains("daemon started")) {
                // The pipe is read on, so that the daemon never waits for it.
                thread::spawn(move || log.for_each(drop));
                return Some(daemon);
            }
        }
        panic!("distccd found no port to listen on");
    }

    /// Sends `request` and receives the answer, as a client should.
    pub(crate) fn run(&self, request: &Request) -> Ending {
        let mut stream = self.connect();
        for chunk in request.encode().unwrap().chunks() {
            // A server that refuses closes while the client still writes: what it said, if anything, is to be read.
            if stream.write_all(chunk).is_err() {
                break;
            }
        }
        let mut decoder = ResponseDecoder::new(request.version(), ResponseLimits::default());
        let mut input = BytesMut::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            match stream.read(&mut piece) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("distccd does not answer")
                }
                Ok(0) | Err(_) => return decoder.at_eof(&mut input).unwrap(),
                Ok(length) => input.extend_from_slice(&piece[..length]),
            }
            if let Progress::Done(response) = decoder.advance(&mut input).unwrap() {
                return Ending::Complete(response);
            }
        }
    }

    /// Sends `bytes` and receives everything until the connection ends.
    pub(crate) fn run_raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("distccd does not answer"),
            _ => answer,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Its children end with it only when it is asked politely.
        let _ = Command::new("sh").arg("-c").arg(format!("kill {}", self.child.id())).status();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A folder that also the daemon's user can read, removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("thinbridge-{name}-{}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a program, and a list for distccd that allows it and nothing else.
    #[cfg(unix)]
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let program = self.write(name, format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        self.write("allowed", format!("{}\n", program.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
