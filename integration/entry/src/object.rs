//! Whether the compiler left an object, and handing it over.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// How the objects start that LLVM writes: ELF; Mach-O, 32 and 64 bit; WebAssembly; COFF for more than 65,279 sections.
const STARTS: &[&[u8]] = &[b"\x7fELF", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\0asm", b"\0\0\xff\xff"];

/// How COFF objects start, which have no magic number but the machine: x86-64, x86, Arm64, Arm, Arm64EC.
const COFF_MACHINES: &[[u8; 2]] = &[[0x64, 0x86], [0x4c, 0x01], [0x64, 0xaa], [0xc4, 0x01], [0x41, 0xa6]];

/// Puts the object in the place where the compile server expects it.
pub(crate) fn hand_over(object: &Path, output: &Path) -> Result<(), Failure> {
    let bad = |what: String| Failure::Object(format!("the compiler claims success, but {what}"));
    let mut start = Vec::new();
    let read = File::open(object).and_then(|file| file.take(4).read_to_end(&mut start));
    read.map_err(|error| bad(format!("its object cannot be read: {error}")))?;
    if !is_object(&start) {
        return Err(bad(format!("its object starts with \"{}\"", start.escape_ascii())));
    }
    replace(object, output).map_err(|error| Failure::Environment(format!("{}: {error}", output.display())))
}

fn is_object(start: &[u8]) -> bool {
    STARTS.iter().any(|magic| start.starts_with(magic)) || COFF_MACHINES.iter().any(|magic| start.starts_with(magic))
}

/// Both are on one file system, unless a server puts its outputs elsewhere than in a plain folder.
fn replace(object: &Path, output: &Path) -> io::Result<()> {
    fs::rename(object, output).or_else(|_| fs::copy(object, output).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_an_object_is_handed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (object, output) = (folder.path().join("object"), folder.path().join("output"));
        fs::write(&output, "").unwrap();
        assert!(hand_over(&object, &output).is_err());
        for content in [&b""[..], b"\x7fEL", b"BC\xc0\xde", b"!<arch>\n"] {
            fs::write(&object, content).unwrap();
            assert!(matches!(hand_over(&object, &output), Err(Failure::Object(_))), "{content:?}");
            assert_eq!(fs::read(&output).unwrap(), b"");
        }
        for content in [&b"\x7fELF\x02\x01"[..], b"\x64\x86\x01\x00", b"\0\0\xff\xff\x01"] {
            fs::write(&object, content).unwrap();
            hand_over(&object, &output).unwrap();
            assert_eq!(fs::read(&output).unwrap(), content);
        }
    }
}
