//! The wait status that `STAT` carries.

use std::fmt;

/// How the compiler ended: the raw POSIX wait status, exit code in bits 8 to 15, signal in bits 0 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitStatus(u32);

/// Bits 0 to 6: the signal that ended the process; 0 after an exit, 0x7f for a process that is only stopped.
const SIGNAL_MASK: u32 = 0x7f;

/// Bit 7: the system wrote a core file.
const CORE_DUMPED: u32 = 0x80;

/// The low bits of a process that did not end but stopped.
const STOPPED: u32 = 0x7f;

impl WaitStatus {
    /// The status of a compiler that did its work.
    pub const SUCCESS: Self = Self(0);

    /// The status with these raw bits.
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// The status of a process that exited with `code`.
    pub const fn exited(code: u8) -> Self {
        Self((code as u32) << 8)
    }

    /// The raw bits, as on the wire.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// Whether the compiler exited with code 0.
    pub const fn success(self) -> bool {
        self.0 == 0
    }

    /// The exit code, if the process exited.
    pub fn exit_code(self) -> Option<u8> {
        if self.0 & (SIGNAL_MASK | CORE_DUMPED) == 0 { u8::try_from(self.0 >> 8).ok() } else { None }
    }

    /// The signal that ended the process, if one did.
    pub fn signal(self) -> Option<u8> {
        match self.0 & SIGNAL_MASK {
            0 | STOPPED => None,
            signal if self.0 <= 0xff => u8::try_from(signal).ok(),
            _ => None,
        }
    }

    /// Whether a signal ended the process and the system wrote a core file.
    pub fn core_dumped(self) -> bool {
        self.signal().is_some() && self.0 & CORE_DUMPED != 0
    }

    /// The trouble that distccd itself reports with this status, if it is one of its codes.
    ///
    /// A compiler could exit with the same code; compilers are not known to use codes from 100 on.
    pub fn server_failure(self) -> Option<ServerFailure> {
        self.exit_code().and_then(ServerFailure::from_exit_code)
    }
}

impl fmt::Display for WaitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.server_failure(), self.exit_code(), self.signal()) {
            (Some(failure), Some(code), _) => write!(f, "exit code {code}: distccd {failure}"),
            (None, Some(code), _) => write!(f, "exit code {code}"),
            (_, None, Some(signal)) if self.core_dumped() => write!(f, "signal {signal}, core dumped"),
            (_, None, Some(signal)) => write!(f, "signal {signal}"),
            (_, None, None) => write!(f, "wait status {:#010x}", self.0),
        }
    }
}

macro_rules! server_failures {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $words:literal;)*) => {
        /// What distccd means when it reports an exit code of its own (its `exitcode` table) instead of the compiler's.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ServerFailure {
            $($(#[$doc])* $name = $code,)*
        }

        impl ServerFailure {
            fn from_exit_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for ServerFailure {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $words,)* })
            }
        }
    };
}

server_failures! {
    /// An unspecified failure.
    Failed = 100, "failed";
    /// Arguments it does not understand.
    BadArguments = 101, "does not accept the arguments";
    /// It could not listen.
    BindFailed = 102, "could not listen on its address";
    /// It could not connect.
    ConnectFailed = 103, "could not connect";
    /// The compiler crashed.
    CompilerCrashed = 104, "saw the compiler crash";
    /// Memory is short.
    OutOfMemory = 105, "ran out of memory";
    /// A host list it does not understand.
    BadHostSpec = 106, "does not understand a host";
    /// Reading or writing failed, or the client vanished.
    Io = 107, "had an input or output error, or saw the client vanish";
    /// A transfer ended early.
    Truncated = 108, "saw a transfer end early";
    /// The client broke the protocol.
    Protocol = 109, "saw a breach of the protocol";
    /// The compiler could not be run.
    CompilerMissing = 110, "could not run the compiler (is it installed there?)";
    /// distcc called itself.
    Recursion = 111, "called itself";
    /// It could not give up root's rights.
    SetUid = 112, "could not change its user";
    /// The client is not allowed.
    AccessDenied = 113, "denied access";
    /// It is busy.
    Busy = 114, "is busy";
    /// A file is missing.
    NoSuchFile = 115, "misses a file";
    /// There are no hosts.
    NoHosts = 116, "knows no hosts";
    /// Something is no longer there.
    Gone = 117, "is no longer there";
    /// The job took longer than the server's `--job-lifetime`.
    TimedOut = 118, "stopped the compiler at its time limit (--job-lifetime)";
    /// Authentication failed.
    Gssapi = 119, "could not authenticate";
    /// The file must be preprocessed by the client.
    LocalPreprocessing = 120, "wants the file preprocessed by the client";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_and_signals_are_told_apart() {
        let status = WaitStatus::from_raw;
        assert!(status(0).success());
        assert_eq!(status(0).exit_code(), Some(0));
        assert_eq!((status(0x100).exit_code(), status(0x100).signal()), (Some(1), None));
        assert_eq!((status(0xb).exit_code(), status(0xb).signal(), status(0xb).core_dumped()), (None, Some(11), false));
        assert_eq!((status(0x8b).signal(), status(0x8b).core_dumped()), (Some(11), true));
        assert_eq!(WaitStatus::exited(254), status(0xfe00));
    }

    #[test]
    fn what_is_neither_exit_nor_signal_is_no_success() {
        for raw in [0x7f, 0x137f, 0x80, 0x1_0000, 0x0001_0100, 0x20b, u32::MAX] {
            let status = WaitStatus::from_raw(raw);
            assert_eq!((status.success(), status.exit_code(), status.signal()), (false, None, None), "{status}");
            assert_eq!(status.to_string(), format!("wait status {raw:#010x}"));
        }
    }

    #[test]
    fn codes_of_distccd_have_words() {
        assert_eq!(WaitStatus::from_raw(0x6e00).server_failure(), Some(ServerFailure::CompilerMissing));
        assert_eq!(WaitStatus::from_raw(0x7600).server_failure(), Some(ServerFailure::TimedOut));
        assert_eq!(WaitStatus::from_raw(0x6b00).server_failure(), Some(ServerFailure::Io));
        assert_eq!(WaitStatus::from_raw(0x0100).server_failure(), None);
        assert_eq!(WaitStatus::from_raw(0x6b).server_failure(), None);
        assert_eq!(WaitStatus::exited(1).to_string(), "exit code 1");
        assert_eq!(WaitStatus::from_raw(0x8b).to_string(), "signal 11, core dumped");
    }
}
