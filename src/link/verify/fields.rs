//! Reads the fixed-size fields of an object file.

/// Bytes with the byte order and, for ELF, the word size of their file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    /// The bytes.
    pub(super) data: &'a [u8],
    /// ELF's 64-bit class.
    pub(super) wide: bool,
    /// Big-endian.
    pub(super) big: bool,
}

impl<'a> Fields<'a> {
    /// The same kind of fields in a piece of the file; `None` when the piece is not wholly inside.
    pub(super) fn part(self, offset: u64, length: u64) -> Option<Self> {
        Some(Self { data: slice(self.data, offset, length)?, ..self })
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.data.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        let bytes = *self.data.get(at..)?.first_chunk()?;
        Some(if self.big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        let bytes = *self.data.get(at..)?.first_chunk()?;
        Some(if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        let bytes = *self.data.get(at..)?.first_chunk()?;
        Some(if self.big { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// A field that is 4 or 8 bytes long by the file's class.
    pub(super) fn word(self, at: usize) -> Option<u64> {
        if self.wide { self.u64(at) } else { self.u32(at).map(u64::from) }
    }
}

/// `length` bytes from `offset` on.
pub(super) fn slice(data: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let end = usize::try_from(offset.checked_add(length)?).ok()?;
    data.get(usize::try_from(offset).ok()?..end)
}

/// The string at `offset` of a string table, without the NUL that ends it.
pub(super) fn string(table: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = table.get(usize::try_from(offset).ok()?..)?;
    Some(std::ffi::CStr::from_bytes_until_nul(rest).ok()?.to_bytes())
}
