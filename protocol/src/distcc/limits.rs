//! The caps on everything whose size the peer chooses, each with its reason.
//!
//! A cap is checked when a header arrives, before its body does, and nothing is allocated for bytes that have not come.

/// Most arguments in a request. A link line of the largest programs has some ten thousand; a compile has hundreds.
pub const MAX_ARGUMENTS: usize = 65_536;

/// Longest argument in bytes: Linux runs no program with a longer one (`MAX_ARG_STRLEN`, 32 pages).
pub const MAX_ARGUMENT_LEN: usize = 128 * 1024;

/// Most files in a request. A module of a large program imports from some hundreds of others, and a source file of one
/// includes some thousands of headers.
pub const MAX_FILES: usize = 65_536;

/// Longest file name, link target or working directory in bytes: `PATH_MAX` of Linux.
pub const MAX_NAME_LEN: usize = 4096;

/// Longest body on the wire in bytes. A stock peer allocates eight times a compressed body's length, computed in 32
/// bits: at 512 MiB that is zero, and it loops for ever.
pub const MAX_BODY_LEN: usize = 512 * 1024 * 1024 - 1;

/// Longest whole request in bytes that a server takes unless it is told otherwise: eight bodies of the greatest size. A
/// job with all its imports is known to need a twentieth of that.
pub const MAX_REQUEST_LEN: u64 = 4 * 1024 * 1024 * 1024;

/// Longest object in bytes that a client takes unless it is told otherwise. The largest objects known, of
/// machine-written sources with debug information, are about half that.
pub const MAX_OBJECT_LEN: usize = 1024 * 1024 * 1024;

/// Longest text (stderr, stdout, dependencies) in bytes that a client takes unless it is told otherwise: no person
/// reads more, and the log of a compiler gone wild stays far below a client's memory.
pub const MAX_TEXT_LEN: usize = 16 * 1024 * 1024;

/// What a server takes from one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Longest body of one file in bytes, as it is on the wire; above [`MAX_BODY_LEN`] that holds instead.
    pub body: usize,
    /// Longest whole request in bytes.
    pub total: u64,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { body: MAX_BODY_LEN, total: MAX_REQUEST_LEN }
    }
}

/// What a client takes from one server, in bytes after decompression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Longest object.
    pub object: usize,
    /// Longest stderr, stdout or dependency text, each.
    pub text: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self { object: MAX_OBJECT_LEN, text: MAX_TEXT_LEN }
    }
}
