//! The numbers and names of the messages.

use std::fmt;

use crate::icecream::Version;

/// Which message; the numbers are those on the wire. Those that no program sends (65, 68) or that are for people to type
/// (89) are not among them.
#[allow(missing_docs)] // Message says what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Ping = 66,
    End = 67,
    GetNativeEnv = 69,
    NativeEnv = 70,
    GetCs = 71,
    UseCs = 72,
    CompileFile = 73,
    FileChunk = 74,
    CompileResult = 75,
    JobBegin = 76,
    JobDone = 77,
    JobLocalBegin = 78,
    JobLocalDone = 79,
    Login = 80,
    Stats = 81,
    MonLogin = 82,
    MonGetCs = 83,
    MonJobBegin = 84,
    MonJobDone = 85,
    MonLocalJobBegin = 86,
    MonStats = 87,
    TransferEnv = 88,
    StatusText = 90,
    GetInternals = 91,
    ConfCs = 92,
    VerifyEnv = 93,
    VerifyEnvResult = 94,
    BlacklistHostEnv = 95,
    NoCs = 96,
}

/// Every message with its name, in the order of the numbers.
const NAMES: [(Kind, &str); 29] = [
    (Kind::Ping, "PING"),
    (Kind::End, "END"),
    (Kind::GetNativeEnv, "GET_NATIVE_ENV"),
    (Kind::NativeEnv, "NATIVE_ENV"),
    (Kind::GetCs, "GET_CS"),
    (Kind::UseCs, "USE_CS"),
    (Kind::CompileFile, "COMPILE_FILE"),
    (Kind::FileChunk, "FILE_CHUNK"),
    (Kind::CompileResult, "COMPILE_RESULT"),
    (Kind::JobBegin, "JOB_BEGIN"),
    (Kind::JobDone, "JOB_DONE"),
    (Kind::JobLocalBegin, "JOB_LOCAL_BEGIN"),
    (Kind::JobLocalDone, "JOB_LOCAL_DONE"),
    (Kind::Login, "LOGIN"),
    (Kind::Stats, "STATS"),
    (Kind::MonLogin, "MON_LOGIN"),
    (Kind::MonGetCs, "MON_GET_CS"),
    (Kind::MonJobBegin, "MON_JOB_BEGIN"),
    (Kind::MonJobDone, "MON_JOB_DONE"),
    (Kind::MonLocalJobBegin, "MON_LOCAL_JOB_BEGIN"),
    (Kind::MonStats, "MON_STATS"),
    (Kind::TransferEnv, "TRANSFER_ENV"),
    (Kind::StatusText, "STATUS_TEXT"),
    (Kind::GetInternals, "GET_INTERNALS"),
    (Kind::ConfCs, "CS_CONF"),
    (Kind::VerifyEnv, "VERIFY_ENV"),
    (Kind::VerifyEnvResult, "VERIFY_ENV_RESULT"),
    (Kind::BlacklistHostEnv, "BLACKLIST_HOST_ENV"),
    (Kind::NoCs, "NO_CS"),
];

impl Kind {
    /// The message with this number on the wire.
    pub fn from_number(number: u32) -> Option<Self> {
        NAMES.into_iter().map(|(kind, _)| kind).find(|kind| kind.number() == number)
    }

    /// The message's number on the wire.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether `version` has the message.
    pub fn is_in(self, version: Version) -> bool {
        match self {
            Self::VerifyEnv | Self::VerifyEnvResult | Self::BlacklistHostEnv => version.since(31),
            Self::NoCs => version.since(37),
            _ => true,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(kind, _)| kind == self).map_or("?", |(_, name)| name);
        f.write_str(name)
    }
}
