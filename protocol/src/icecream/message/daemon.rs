//! Messages that a daemon sends to its scheduler, and what a client sends to its local daemon about its own jobs.

use super::environment::{EnvironmentId, read_ids, write_ids};
use crate::icecream::Text;
use crate::icecream::error::Fault;
use crate::icecream::fields::{Reader, Writer};

/// What [`Login::features`] and [`GetCs::required_features`](super::GetCs::required_features) are made of.
pub mod features {
    /// Unpacks environments that are compressed by xz.
    pub const XZ: u32 = 1;
    /// Unpacks environments that are compressed by zstd.
    pub const ZSTD: u32 = 2;
}

/// A daemon introduces itself. A later one on the same connection only replaces the environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The TCP port on which it takes jobs; 0 if it takes none.
    pub port: u16,
    /// Jobs at once.
    pub max_jobs: u32,
    /// The environments installed; each one's platform is the one that it compiles for.
    pub environments: Vec<EnvironmentId>,
    /// The machine's name. A scheduler removes another daemon of the same name and address.
    pub node_name: Text,
    /// The machine's platform, such as `x86_64`.
    pub platform: Text,
    /// Whether it can run jobs of others: it has to lock them up in their environment.
    pub can_chroot: bool,
    /// Whether it takes no jobs of others.
    pub no_remote: bool,
    /// What it is able to, see [`features`](self::features). Since version 42, else 0.
    pub features: u32,
}

impl Login {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            port: reader.port()?,
            max_jobs: reader.number("job limit")?,
            environments: read_ids(reader)?,
            node_name: reader.text("node name")?,
            platform: reader.text("platform")?,
            can_chroot: reader.flag("chroot flag")?,
            no_remote: reader.flag("remote flag")?,
            features: reader.number_since(42, "features", 0)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.port.into());
        writer.number(self.max_jobs);
        write_ids(writer, &self.environments);
        writer.text(&self.node_name);
        writer.text(&self.platform);
        writer.number(self.can_chroot.into());
        writer.number(self.no_remote.into());
        writer.number_since(42, self.features);
    }
}

/// How busy a daemon's machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Its load in thousandths. At 1000 it gets no jobs.
    pub load: u32,
    /// The load averages over 1, 5 and 10 minutes, in thousandths.
    pub averages: [u32; 3],
    /// Free memory in MiB.
    pub free_memory: u32,
}

impl Stats {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let load = reader.number("load")?;
        let averages = [reader.number("average")?, reader.number("average")?, reader.number("average")?];
        Ok(Self { load, averages, free_memory: reader.number("free memory")? })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.load);
        self.averages.iter().for_each(|average| writer.number(*average));
        writer.number(self.free_memory);
    }
}

/// A compile server begins a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobBegin {
    /// The job's number at the scheduler.
    pub job_id: u32,
    /// When, in seconds since 1970.
    pub started: u32,
    /// How many clients the daemon has. Since version 39, else 0.
    pub client_count: u32,
}

impl JobBegin {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            job_id: reader.number("job id")?,
            started: reader.number("start time")?,
            client_count: reader.number_since(39, "client count", 0)?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.job_id);
        writer.number(self.started);
        writer.number_since(39, self.client_count);
    }
}

/// What a [`JobDone`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The job with this number at the scheduler.
    Job(u32),
    /// The request with this [`client_id`](super::GetCs::client_id), which has not been answered: it is withdrawn.
    Request(u32),
}

/// Whose word a [`JobDone`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The compile server's.
    Server,
    /// The submitter's, or its daemon's.
    Submitter,
}

/// A job is over, or a request is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobDone {
    /// What is over.
    pub subject: Subject,
    /// Whose word it is.
    pub sender: Sender,
    /// The compiler's exit status, or why the job was given up. Before version 39 a withdrawal has none of its own: it
    /// reads as 200.
    pub exit_code: i32,
    /// Time from start to end in milliseconds.
    pub real_ms: u32,
    /// Processor time of the compiler in milliseconds.
    pub user_ms: u32,
    /// Processor time of the kernel for it in milliseconds.
    pub system_ms: u32,
    /// Page faults.
    pub page_faults: u32,
    /// Bytes of the input on the wire.
    pub in_compressed: u32,
    /// Bytes of the input.
    pub in_uncompressed: u32,
    /// Bytes of the output on the wire.
    pub out_compressed: u32,
    /// Bytes of the output.
    pub out_uncompressed: u32,
    /// How many clients the daemon has. Since version 39, else 0.
    pub client_count: u32,
}

/// How an unanswered request is withdrawn before version 39: by an exit code.
const UNKNOWN_JOB_EXIT_CODE: i32 = 200;

/// What icecream's programs exit with when nothing more is known.
const FAILURE_EXIT_CODE: i32 = 100;

/// Bits of the message's flags.
const FROM_SUBMITTER: u32 = 1;
const UNKNOWN_JOB_ID: u32 = 2;

impl JobDone {
    /// With `exit_code`, and nothing measured.
    pub fn new(subject: Subject, sender: Sender, exit_code: i32) -> Self {
        Self {
            subject,
            sender,
            exit_code,
            real_ms: 0,
            user_ms: 0,
            system_ms: 0,
            page_faults: 0,
            in_compressed: 0,
            in_uncompressed: 0,
            out_compressed: 0,
            out_uncompressed: 0,
            client_count: 0,
        }
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let id = reader.number("job id")?;
        let exit_code = reader.signed("exit code")?;
        let mut done = Self::new(Subject::Job(id), Sender::Server, exit_code);
        done.real_ms = reader.number("real time")?;
        done.user_ms = reader.number("user time")?;
        done.system_ms = reader.number("system time")?;
        done.page_faults = reader.number("page faults")?;
        done.in_compressed = reader.number("compressed input")?;
        done.in_uncompressed = reader.number("input")?;
        done.out_compressed = reader.number("compressed output")?;
        done.out_uncompressed = reader.number("output")?;
        let flags = reader.number("flags")?;
        if flags & FROM_SUBMITTER != 0 {
            done.sender = Sender::Submitter;
        }
        let unknown = if reader.since(39) { flags & UNKNOWN_JOB_ID != 0 } else { exit_code == UNKNOWN_JOB_EXIT_CODE };
        if unknown {
            done.subject = Subject::Request(id);
        }
        done.client_count = reader.number_since(39, "client count", 0)?;
        Ok(done)
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        let from = match self.sender {
            Sender::Server => 0,
            Sender::Submitter => FROM_SUBMITTER,
        };
        let old = !writer.since(39);
        let (id, exit_code, unknown) = match self.subject {
            Subject::Request(id) if old => (id, UNKNOWN_JOB_EXIT_CODE, 0),
            Subject::Request(id) => (id, self.exit_code, UNKNOWN_JOB_ID),
            // The code of a withdrawal would end another job.
            Subject::Job(id) if old && self.exit_code == UNKNOWN_JOB_EXIT_CODE => (id, FAILURE_EXIT_CODE, 0),
            Subject::Job(id) => (id, self.exit_code, 0),
        };
        writer.number(id);
        writer.number(exit_code.cast_unsigned());
        [self.real_ms, self.user_ms, self.system_ms, self.page_faults].into_iter().for_each(|n| writer.number(n));
        [self.in_compressed, self.in_uncompressed].into_iter().for_each(|n| writer.number(n));
        [self.out_compressed, self.out_uncompressed].into_iter().for_each(|n| writer.number(n));
        writer.number(from | unknown);
        writer.number_since(39, self.client_count);
    }
}

/// A client wants to run something itself, or may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobLocalBegin {
    /// When it asks, in seconds since 1970.
    pub started: u32,
    /// The name of what it makes, for people.
    pub output_file: Text,
    /// A daemon's number for it at the scheduler; a client sends 0.
    pub id: u32,
    /// Whether it needs all slots. Since version 44, else false.
    pub full_job: bool,
}

impl JobLocalBegin {
    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        Ok(Self {
            started: reader.number("start time")?,
            output_file: reader.text("output file")?,
            id: reader.number("id")?,
            full_job: reader.flag_since(44, "full job flag")?,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        writer.number(self.started);
        writer.text(&self.output_file);
        writer.number(self.id);
        writer.number_since(44, self.full_job.into());
    }
}
