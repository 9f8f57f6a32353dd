//! What the compiler says.

use crate::words::contains;

/// Longest piece of a compiler's line that is repeated to the user, in bytes. Its lines name two paths at most.
const MAX_LINE: usize = 1000;

/// The ways clang says that a ThinLTO backend failed, after all of which it exits 0 (clang 22, LLVM #75441). It writes
/// them with no `error:` in front.
const BACKEND_ERRORS: [&[u8]; 4] = [
    b"Error running ThinLTO backend",
    b"Error loading imported file",
    b"Error loading index file",
    b"Error setting up ThinLTO save-temps",
];

/// The first line of `stderr` that reports a failed ThinLTO backend.
pub(super) fn backend_error(stderr: &[u8]) -> Option<String> {
    let line =
        stderr.split(|&byte| byte == b'\n').find(|line| BACKEND_ERRORS.iter().any(|text| contains(line, text)))?;
    let shown = line.get(..MAX_LINE).unwrap_or(line);
    Some(String::from_utf8_lossy(shown).trim_end().to_owned())
}
