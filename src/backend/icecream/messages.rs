//! What a link says in a cluster, in full.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use thinbridge_protocol::icecream::{
    BlacklistHostEnv, CompileFile, EnvironmentId, GetCs, JobDone, JobLocalBegin, Language, Login, Message, Sender,
    Subject, features,
};

use super::{Kit, LocalWork};

/// The oldest hosts that unpack a `.tar.zst`: icecream 1.3. The number is that of the host's own newest version, whatever
/// is spoken with it.
const UNPACKS_ZSTD: u32 = 42;

/// The name by which the compiler is called in the environment.
const COMPILER: &str = "clang";

/// What a local `iceccd` takes for the environment of a job that its client compiles itself.
const COMPILED_BY_CLIENT: &str = "__client";

/// A job that never ran: icecream's number for an error in input or output.
const NEVER_RAN: i32 = 107;

/// The same in all messages of a link.
#[derive(Debug)]
pub(super) struct Phrases {
    pub(super) kit: Arc<Kit>,
    pub(super) title: String,
    pub(super) arg_flags: u32,
    pub(super) preferred_host: String,
    pub(super) niceness: u32,
}

impl Phrases {
    /// Asks for a slot.
    pub(super) fn request(&self, client_id: u32) -> Message {
        let platform = self.kit.platform.as_str();
        Message::GetCs(GetCs {
            environments: vec![EnvironmentId { platform: platform.into(), name: self.kit.name.as_str().into() }],
            file_name: self.title.as_str().into(),
            language: Language::C,
            count: 1,
            target: platform.into(),
            arg_flags: self.arg_flags,
            client_id,
            preferred_host: self.preferred_host.as_str().into(),
            minimal_host_version: UNPACKS_ZSTD,
            client_count: 1,
            required_features: features::ZSTD,
            niceness: self.niceness,
        })
    }

    pub(super) fn transfer(&self) -> Message {
        let Kit { name, platform, .. } = &*self.kit;
        Message::TransferEnv { name: name.as_str().into(), target: platform.as_str().into() }
    }

    pub(super) fn verify(&self) -> Message {
        let Kit { name, platform, .. } = &*self.kit;
        Message::VerifyEnv { name: name.as_str().into(), target: platform.as_str().into() }
    }

    pub(super) fn blacklist(&self, host: Ipv4Addr) -> Message {
        let Kit { name, platform, .. } = &*self.kit;
        Message::BlacklistHostEnv(BlacklistHostEnv {
            name: name.as_str().into(),
            target: platform.as_str().into(),
            host: host.to_string().into(),
        })
    }

    /// Begins a job. The program that stands for the compiler in the environment takes everything from its input.
    pub(super) fn compile(&self, job_id: u32, output: &str) -> Message {
        let Kit { name, platform, .. } = &*self.kit;
        Message::CompileFile(compile_file(job_id, name, platform, output))
    }
}

/// Tells a local `iceccd` that its client compiles the job itself.
pub(super) fn compiled_here(job_id: u32, platform: &str, output: &str) -> Message {
    Message::CompileFile(compile_file(job_id, COMPILED_BY_CLIENT, platform, output))
}

fn compile_file(job_id: u32, environment: &str, platform: &str, output: &str) -> CompileFile {
    CompileFile {
        language: Language::C,
        job_id,
        flags: vec!["-c".into()],
        environment: environment.into(),
        target: platform.into(),
        compiler: COMPILER.into(),
        // A stock server makes options for clang of these two unless they are empty.
        input_file: "".into(),
        working_directory: "".into(),
        output_file: output.into(),
        split_dwarf: false,
    }
}

/// Logs in as a daemon that never takes a job.
pub(super) fn login(node_name: &str, platform: &str) -> Message {
    Message::Login(Login {
        port: 0,
        max_jobs: 0,
        environments: Vec::new(),
        node_name: node_name.into(),
        platform: platform.into(),
        can_chroot: false,
        no_remote: true,
        features: 0,
    })
}

/// Withdraws an unanswered request.
pub(super) fn withdrawal(client_id: u32) -> Message {
    Message::JobDone(JobDone::new(Subject::Request(client_id), Sender::Submitter, NEVER_RAN))
}

/// Gives a job back to which no host has answered.
pub(super) fn unused(job_id: u32) -> Message {
    Message::JobDone(JobDone::new(Subject::Job(job_id), Sender::Submitter, NEVER_RAN))
}

/// What became of a job that was compiled here.
pub(super) fn done_here(job_id: u32, work: &LocalWork) -> Message {
    let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let size = u32::try_from(work.object).unwrap_or(u32::MAX);
    let mut done = JobDone::new(Subject::Job(job_id), Sender::Submitter, work.status);
    done.real_ms = milliseconds(work.took);
    // A backend compile computes all the time.
    done.user_ms = milliseconds(work.took);
    done.out_compressed = size;
    done.out_uncompressed = size;
    Message::JobDone(done)
}

/// Asks a local `iceccd` for a slot. `started`: seconds since 1970.
pub(super) fn local_begin(started: u32, output: &str) -> Message {
    Message::JobLocalBegin(JobLocalBegin { started, output_file: output.into(), id: 0, full_job: false })
}
