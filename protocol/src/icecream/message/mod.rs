//! The messages.

mod compile;
mod daemon;
mod environment;
mod kind;
mod scheduler;

pub use compile::{CompileFile, CompileResult, Language};
pub use daemon::{JobBegin, JobDone, JobLocalBegin, Login, Sender, Stats, Subject, features};
pub use environment::{BlacklistHostEnv, EnvironmentId, GetNativeEnv};
pub use kind::Kind;
pub use scheduler::{ConfCs, GetCs, UseCs, arg_flags};

use bytes::{Buf, Bytes};

use super::error::{Fault, Unsendable};
use super::fields::{Reader, Writer};
use super::{Chunk, Text, Version};

/// Any message, with the fields of the newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Are you there? Only very old programs ask, and are answered with the same.
    Ping,
    /// The end of a file, or a polite good-bye.
    End,
    /// Client to its local daemon: make an environment of an installed compiler. Answered with [`Self::NativeEnv`], or
    /// with [`Self::End`] if that fails.
    GetNativeEnv(GetNativeEnv),
    /// Where that environment is.
    NativeEnv {
        /// Absolute path of the archive on the local disk.
        path: Text,
    },
    /// Find compile servers for jobs.
    GetCs(GetCs),
    /// A compile server for a job.
    UseCs(UseCs),
    /// No compile server for a job: compile it yourself. Since version 37.
    NoCs {
        /// The job's number at the scheduler.
        job_id: u32,
        /// The number that the request had.
        client_id: u32,
    },
    /// Compile a file, which follows as chunks.
    CompileFile(CompileFile),
    /// A piece of a file.
    FileChunk(Chunk),
    /// How a compilation ended. An object follows as chunks if it ended well.
    CompileResult(CompileResult),
    /// A compile server begins a job.
    JobBegin(JobBegin),
    /// A job is over, or a request is withdrawn.
    JobDone(JobDone),
    /// A client wants to run something itself, in a slot of its local daemon; the daemon answers with the same when
    /// there is one, and tells the scheduler. The slot is free again when the client's connection ends.
    JobLocalBegin(JobLocalBegin),
    /// Daemon to scheduler: that is over.
    JobLocalDone {
        /// The number that [`JobLocalBegin::id`] had.
        id: u32,
    },
    /// A daemon introduces itself, or says which environments it has from now on.
    Login(Login),
    /// How busy a daemon's machine is.
    Stats(Stats),
    /// What a scheduler answers to each login.
    ConfCs(ConfCs),
    /// An environment's archive follows as chunks. Not answered.
    TransferEnv {
        /// The environment's name.
        name: Text,
        /// The platform that it compiles for.
        target: Text,
    },
    /// Try whether an environment works. Since version 31.
    VerifyEnv {
        /// The environment's name.
        name: Text,
        /// The platform that it compiles for.
        target: Text,
    },
    /// Whether it does. Since version 31.
    VerifyEnvResult {
        /// It does.
        ok: bool,
    },
    /// An environment does not work on a host. Since version 31.
    BlacklistHostEnv(BlacklistHostEnv),
    /// Words: to a client, what went wrong, at any time and at times before a good result; to a scheduler, the answer to
    /// [`Self::GetInternals`].
    StatusText(Text),
    /// Scheduler to daemon: describe yourself, within ten seconds.
    GetInternals,
    /// A message between schedulers and monitors, which show people what goes on. Not looked into.
    Monitor {
        /// Which of them.
        kind: Kind,
        /// Its fields.
        body: Bytes,
    },
}

impl Message {
    /// Which message it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Ping => Kind::Ping,
            Self::End => Kind::End,
            Self::GetNativeEnv(_) => Kind::GetNativeEnv,
            Self::NativeEnv { .. } => Kind::NativeEnv,
            Self::GetCs(_) => Kind::GetCs,
            Self::UseCs(_) => Kind::UseCs,
            Self::NoCs { .. } => Kind::NoCs,
            Self::CompileFile(_) => Kind::CompileFile,
            Self::FileChunk(_) => Kind::FileChunk,
            Self::CompileResult(_) => Kind::CompileResult,
            Self::JobBegin(_) => Kind::JobBegin,
            Self::JobDone(_) => Kind::JobDone,
            Self::JobLocalBegin(_) => Kind::JobLocalBegin,
            Self::JobLocalDone { .. } => Kind::JobLocalDone,
            Self::Login(_) => Kind::Login,
            Self::Stats(_) => Kind::Stats,
            Self::ConfCs(_) => Kind::ConfCs,
            Self::TransferEnv { .. } => Kind::TransferEnv,
            Self::VerifyEnv { .. } => Kind::VerifyEnv,
            Self::VerifyEnvResult { .. } => Kind::VerifyEnvResult,
            Self::BlacklistHostEnv(_) => Kind::BlacklistHostEnv,
            Self::StatusText(_) => Kind::StatusText,
            Self::GetInternals => Kind::GetInternals,
            Self::Monitor { kind, .. } => *kind,
        }
    }

    /// The whole frame, as it is in `version`.
    ///
    /// # Errors
    /// When the message is too long, or when the version does not have it.
    pub fn encode(&self, version: Version) -> Result<Bytes, Unsendable> {
        let kind = self.kind();
        if !kind.is_in(version) {
            return Err(Unsendable::NotInVersion { kind, version });
        }
        let mut writer = Writer::new(kind, version);
        self.write(&mut writer)?;
        writer.finish()
    }

    /// The message in `frame`, the bytes after the length.
    pub(super) fn decode(version: Version, mut frame: Bytes) -> Result<Self, Fault> {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let number = frame.try_get_u32().map_err(|_| Fault::FrameTooShort { length })?;
        let kind = Kind::from_number(number).ok_or(Fault::UnknownMessage { number })?;
        if !kind.is_in(version) {
            return Err(Fault::NotInVersion { kind, version });
        }
        let mut reader = Reader::new(kind, version, frame);
        let message = Self::read(kind, &mut reader)?;
        reader.finish()?;
        Ok(message)
    }

    fn read(kind: Kind, reader: &mut Reader) -> Result<Self, Fault> {
        Ok(match kind {
            Kind::Ping => Self::Ping,
            Kind::End => Self::End,
            Kind::GetNativeEnv => Self::GetNativeEnv(GetNativeEnv::read(reader)?),
            Kind::NativeEnv => Self::NativeEnv { path: reader.text("path")? },
            Kind::GetCs => Self::GetCs(GetCs::read(reader)?),
            Kind::UseCs => Self::UseCs(UseCs::read(reader)?),
            Kind::NoCs => Self::NoCs { job_id: reader.number("job id")?, client_id: reader.number("client id")? },
            Kind::CompileFile => Self::CompileFile(CompileFile::read(reader)?),
            Kind::FileChunk => Self::FileChunk(Chunk::read(reader)?),
            Kind::CompileResult => Self::CompileResult(CompileResult::read(reader)?),
            Kind::JobBegin => Self::JobBegin(JobBegin::read(reader)?),
            Kind::JobDone => Self::JobDone(JobDone::read(reader)?),
            Kind::JobLocalBegin => Self::JobLocalBegin(JobLocalBegin::read(reader)?),
            Kind::JobLocalDone => Self::JobLocalDone { id: reader.number("id")? },
            Kind::Login => Self::Login(Login::read(reader)?),
            Kind::Stats => Self::Stats(Stats::read(reader)?),
            Kind::ConfCs => Self::ConfCs(ConfCs::read(reader)?),
            Kind::TransferEnv => Self::TransferEnv { name: reader.text("name")?, target: reader.text("target")? },
            Kind::VerifyEnv => Self::VerifyEnv { name: reader.text("name")?, target: reader.text("target")? },
            Kind::VerifyEnvResult => Self::VerifyEnvResult { ok: reader.flag("result")? },
            Kind::BlacklistHostEnv => Self::BlacklistHostEnv(BlacklistHostEnv::read(reader)?),
            Kind::StatusText => Self::StatusText(reader.text("text")?),
            Kind::GetInternals => Self::GetInternals,
            Kind::MonLogin
            | Kind::MonGetCs
            | Kind::MonJobBegin
            | Kind::MonJobDone
            | Kind::MonLocalJobBegin
            | Kind::MonStats => Self::Monitor { kind, body: reader.rest() },
        })
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Unsendable> {
        match self {
            Self::Ping | Self::End | Self::GetInternals => {}
            Self::GetNativeEnv(request) => request.write(writer),
            Self::NativeEnv { path } => writer.text(path),
            Self::GetCs(request) => request.write(writer),
            Self::UseCs(answer) => answer.write(writer),
            Self::NoCs { job_id, client_id } => [job_id, client_id].into_iter().for_each(|id| writer.number(*id)),
            Self::CompileFile(request) => request.write(writer),
            Self::FileChunk(chunk) => chunk.write(writer)?,
            Self::CompileResult(result) => result.write(writer),
            Self::JobBegin(begin) => begin.write(writer),
            Self::JobDone(done) => done.write(writer),
            Self::JobLocalBegin(begin) => begin.write(writer),
            Self::JobLocalDone { id } => writer.number(*id),
            Self::Login(login) => login.write(writer),
            Self::Stats(stats) => stats.write(writer),
            Self::ConfCs(conf) => conf.write(writer),
            Self::TransferEnv { name, target } | Self::VerifyEnv { name, target } => {
                writer.text(name);
                writer.text(target);
            }
            Self::VerifyEnvResult { ok } => writer.number((*ok).into()),
            Self::BlacklistHostEnv(entry) => entry.write(writer),
            Self::StatusText(text) => writer.text(text),
            Self::Monitor { body, .. } => writer.bytes(body),
        }
        Ok(())
    }
}
