//! A stock distcc host: one request, one answer, one connection.

mod exchange;
mod request;

use thinbridge_protocol::distcc::{Response, ResponseLimits, ServerFailure, WaitStatus};

use std::sync::Arc;
use std::time::Duration;

use super::transport::Dialer;
use super::{Failure, Made, Traffic, harmless, object_cap, told_line};
use crate::fleet::{Identity, Volunteer, same_compiler};
use crate::link::plan::Plan;
use crate::schedule::Fault;

pub use request::{ProfileTravels, profile_travels, refusal};

/// The longest `--version` text taken. Real ones have some hundred bytes.
const MAX_VERSION_TEXT: usize = 64 * 1024;

/// Speaks to the hosts of one link.
#[derive(Debug)]
pub struct Client {
    dialer: Dialer,
    io_timeout: Option<Duration>,
}

impl Client {
    /// `ssh_command`: the program that opens ssh connections and its first arguments. `io_timeout`: the longest silence
    /// that the user allows.
    pub fn new(ssh_command: Vec<String>, io_timeout: Option<Duration>) -> Self {
        Self { dialer: Dialer::new(ssh_command), io_timeout }
    }

    /// Whether the host's compiler says the same `--version` as ours: protocol 1, no compile.
    ///
    /// # Errors
    /// It does not, or does not answer.
    pub async fn probe(&self, host: &Volunteer, ours: &Identity, deadline: Duration) -> Result<(), Failure> {
        let compiler = compiler(host, ours);
        let request = request::version_probe(compiler)?;
        let limits = ResponseLimits { object: MAX_VERSION_TEXT, text: MAX_VERSION_TEXT };
        let mut traffic = Traffic::default();
        let deadline = self.limit(deadline);
        let response =
            exchange::exchange(&self.dialer, &host.address, compiler, request, limits, deadline, &mut traffic).await?;
        check_status(&response, compiler)?;
        let theirs = String::from_utf8_lossy(&response.stdout);
        if same_compiler(&ours.version, &theirs) {
            return Ok(());
        }
        let reason = match theirs.lines().next() {
            Some(line) if ours.version.lines().next() != Some(line) => {
                format!("another compiler: {compiler} is \"{}\"", told_line(line))
            }
            Some(_) => format!("another compiler: {compiler} differs in {}", difference(&ours.version, &theirs)),
            None => format!("{compiler} says nothing for --version"),
        };
        Err(Failure::new(Fault::Incompatible, reason))
    }

    /// Compiles a job there. `traffic` tells what was moved, also when nothing came back. Paths in the messages are as the
    /// user knows them.
    ///
    /// # Errors
    /// No object came back; see [`Failure`].
    pub async fn run(
        &self,
        host: &Volunteer,
        ours: &Identity,
        plan: &Arc<Plan>,
        job: usize,
        deadline: Duration,
        traffic: &mut Traffic,
    ) -> Result<Made, Failure> {
        let name = compiler(host, ours).to_owned();
        let plan_for_request = Arc::clone(plan);
        // Compressing takes a while the first time; connections of other jobs go on meanwhile.
        let request = tokio::task::spawn_blocking(move || request::job(&plan_for_request, job, &name))
            .await
            .map_err(|_| Failure::new(Fault::Local, "the request could not be made"))??;
        let object = object_cap(plan, job);
        let limits = ResponseLimits { object, ..ResponseLimits::default() };
        let deadline = self.limit(deadline);
        let response =
            exchange::exchange(&self.dialer, &host.address, compiler(host, ours), request, limits, deadline, traffic)
                .await?;
        check_status(&response, compiler(host, ours))?;
        let object = response
            .object
            .ok_or_else(|| Failure::new(Fault::Misbehaved, "the compiler's status is 0, but there is no object"))?;
        Ok(Made { object, stderr: plan.translate(&without_daemon_lines(&response.stderr)) })
    }

    /// Waits a moment for ssh processes that are no longer needed to end, and kills those that do not. For the end of
    /// the link.
    pub async fn close(&self) {
        self.dialer.close().await;
    }

    fn limit(&self, deadline: Duration) -> Duration {
        self.io_timeout.map_or(deadline, |timeout| timeout.min(deadline))
    }
}

/// What the host calls our compiler.
fn compiler<'a>(host: &'a Volunteer, ours: &'a Identity) -> &'a str {
    host.compiler.as_deref().unwrap_or(&ours.name)
}

/// Which line of the version texts differs first.
fn difference(ours: &str, theirs: &str) -> String {
    let differs =
        theirs.lines().find(|line| !line.starts_with("InstalledDir:") && !ours.lines().any(|our| our == *line));
    differs.map_or_else(|| "a missing line".to_owned(), |line| format!("\"{}\"", told_line(line)))
}

fn check_status(response: &Response, compiler: &str) -> Result<(), Failure> {
    let status = response.status;
    if status.success() {
        return Ok(());
    }
    let words = first_words(&response.stderr);
    Err(match status.server_failure() {
        Some(ServerFailure::CompilerMissing) => {
            Failure::new(Fault::Incompatible, format!("it cannot run {compiler}: not installed there{words}"))
        }
        Some(ServerFailure::TimedOut) => Failure::new(Fault::Slow, format!("{status}{words}")),
        Some(_) => Failure::new(Fault::Refused, format!("{status}{words}")),
        None => Failure::new(Fault::Compile, format!("the compiler there ended with {}{words}", plain(status))),
    })
}

fn plain(status: WaitStatus) -> String {
    match (status.exit_code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(9)) => "signal 9 (out of memory?)".to_owned(),
        _ => status.to_string(),
    }
}

/// The first line of an error message, to stand after a reason.
fn first_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("distccd["));
    line.map_or_else(String::new, |line| format!(": {}", told_line(line)))
}

/// distccd adds its own log lines to what the compiler says; they are not the compiler's words.
fn without_daemon_lines(stderr: &[u8]) -> Vec<u8> {
    let lines = stderr.split_inclusive(|byte| *byte == b'\n');
    let words = lines.filter(|line| !line.starts_with(b"distccd[")).flatten();
    words.map(harmless).collect()
}
