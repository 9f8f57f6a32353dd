//! Globally unique ids: the hash by which summaries name symbols.

use md5::{Digest, Md5};

/// What LLVM puts between a source file's name and a local symbol's.
const DELIMITER: &[u8] = b";";
/// What LLVM takes for the file when a module's source file name is empty.
const UNKNOWN_FILE: &[u8] = b"<unknown>";

/// The id of an external symbol: the first eight bytes of the MD5 of its name, read little endian.
///
/// A leading `\x01`, by which IR says that a name is to be used as it is, does not count.
pub fn guid(name: &[u8]) -> u64 {
    of(&[unmangled(name)])
}

/// The id of a symbol that was local in a module when its name was hashed: the file's name goes before.
pub(super) fn local_guid(source_file: &[u8], name: &[u8]) -> u64 {
    let file = if source_file.is_empty() { UNKNOWN_FILE } else { source_file };
    of(&[file, DELIMITER, unmangled(name)])
}

fn unmangled(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"\x01").unwrap_or(name)
}

fn of(parts: &[&[u8]]) -> u64 {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    let digest: [u8; 16] = hash.finalize().into();
    let (first, _) = digest.split_at(8);
    first.iter().rev().fold(0, |id, byte| (id << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that clang-22 wrote.
    #[test]
    fn as_llvm_does() {
        assert_eq!(guid(b"main"), 15822663052811949562);
        assert_eq!(guid(b"\x01main"), guid(b"main"));
        assert_eq!(local_guid(b"a.c", b"helper"), of(&[b"a.c;helper"]));
        assert_eq!(local_guid(b"", b"helper"), guid(b"<unknown>;helper"));
    }
}
