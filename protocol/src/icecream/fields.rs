//! The primitive encodings of which every message is made.

use std::net::Ipv4Addr;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::error::{Fault, Unsendable};
use super::limits::MAX_FRAME_LEN;
use super::message::Kind;
use super::{Text, Version};

/// Length of a number, and least length of a string.
const WORD: usize = 4;

/// Takes the fields of one message off the front of its frame.
pub(super) struct Reader {
    kind: Kind,
    version: Version,
    rest: Bytes,
}

impl Reader {
    /// Begins with the first field, after the message's number.
    pub(super) fn new(kind: Kind, version: Version, rest: Bytes) -> Self {
        Self { kind, version, rest }
    }

    /// Whether the fields of protocol version `number` are there.
    pub(super) fn since(&self, number: u32) -> bool {
        self.version.since(number)
    }

    pub(super) fn number(&mut self, field: &'static str) -> Result<u32, Fault> {
        self.rest.try_get_u32().map_err(|_| self.truncated(field))
    }

    /// The number of a field that exists since a version, or else `absent`.
    pub(super) fn number_since(&mut self, since: u32, field: &'static str, absent: u32) -> Result<u32, Fault> {
        if self.since(since) { self.number(field) } else { Ok(absent) }
    }

    /// A number that is negative at times, such as the exit code -1.
    pub(super) fn signed(&mut self, field: &'static str) -> Result<i32, Fault> {
        self.number(field).map(u32::cast_signed)
    }

    pub(super) fn flag(&mut self, field: &'static str) -> Result<bool, Fault> {
        self.number(field).map(|number| number != 0)
    }

    pub(super) fn flag_since(&mut self, since: u32, field: &'static str) -> Result<bool, Fault> {
        self.number_since(since, field, 0).map(|number| number != 0)
    }

    pub(super) fn port(&mut self) -> Result<u16, Fault> {
        let number = self.number("port")?;
        number.try_into().map_err(|_| self.bad_number("port", number))
    }

    pub(super) fn address(&mut self) -> Result<Ipv4Addr, Fault> {
        let found = self.text("host")?;
        let address = str::from_utf8(found.as_bytes()).ok().and_then(|text| text.parse().ok());
        address.ok_or(Fault::BadAddress { kind: self.kind, found })
    }

    pub(super) fn text(&mut self, field: &'static str) -> Result<Text, Fault> {
        let length = self.number(field)?;
        let bytes = self.bytes(length, field)?;
        // Stock peers read a string without any byte as empty.
        if bytes.last().is_none_or(|&byte| byte == 0) {
            Ok(Text::new(bytes))
        } else {
            Err(Fault::Unterminated { kind: self.kind, field })
        }
    }

    pub(super) fn text_since(&mut self, since: u32, field: &'static str) -> Result<Text, Fault> {
        if self.since(since) { self.text(field) } else { Ok(Text::default()) }
    }

    pub(super) fn texts(&mut self, field: &'static str) -> Result<Vec<Text>, Fault> {
        self.list(field, WORD, |reader| reader.text(field))
    }

    /// A list of entries that have `least` bytes each, or more.
    pub(super) fn list<T>(
        &mut self,
        field: &'static str,
        least: usize,
        mut entry: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let count = self.number(field)?;
        let room = self.rest.len().checked_div(least).unwrap_or(0);
        match usize::try_from(count) {
            Ok(number) if number <= room => (0..number).map(|_| entry(self)).collect(),
            _ => Err(Fault::TooMany { kind: self.kind, field, count }),
        }
    }

    /// The next `length` bytes, lent from the frame.
    pub(super) fn bytes(&mut self, length: u32, field: &'static str) -> Result<Bytes, Fault> {
        match usize::try_from(length) {
            Ok(length) if length <= self.rest.len() => Ok(self.rest.split_to(length)),
            _ => Err(self.truncated(field)),
        }
    }

    /// All bytes that are left.
    pub(super) fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.rest)
    }

    /// Makes sure that nothing is left.
    pub(super) fn finish(&self) -> Result<(), Fault> {
        match self.rest.len() {
            0 => Ok(()),
            length => Err(Fault::Surplus { kind: self.kind, length }),
        }
    }

    pub(super) fn bad_number(&self, field: &'static str, number: u32) -> Fault {
        Fault::BadNumber { kind: self.kind, field, number }
    }

    fn truncated(&self, field: &'static str) -> Fault {
        Fault::Truncated { kind: self.kind, field }
    }
}

/// Puts the frame of one message together.
pub(super) struct Writer {
    kind: Kind,
    version: Version,
    frame: BytesMut,
}

impl Writer {
    /// Begins a frame.
    pub(super) fn new(kind: Kind, version: Version) -> Self {
        let mut frame = BytesMut::new();
        // The length, which is known at the end.
        frame.put_u32(0);
        frame.put_u32(kind.number());
        Self { kind, version, frame }
    }

    /// The version that the frame is for.
    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Whether protocol version `number` has the fields that follow.
    pub(super) fn since(&self, number: u32) -> bool {
        self.version.since(number)
    }

    pub(super) fn number(&mut self, number: u32) {
        self.frame.put_u32(number);
    }

    pub(super) fn number_since(&mut self, since: u32, number: u32) {
        if self.since(since) {
            self.number(number);
        }
    }

    pub(super) fn text(&mut self, text: &Text) {
        let bytes = text.as_bytes();
        self.count(bytes.len().saturating_add(1));
        self.frame.put_slice(bytes);
        self.frame.put_u8(0);
    }

    pub(super) fn text_since(&mut self, since: u32, text: &Text) {
        if self.since(since) {
            self.text(text);
        }
    }

    pub(super) fn texts(&mut self, texts: &[Text]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }

    /// A length or count. One that is too great for its field makes a frame that [`Self::finish`] refuses.
    pub(super) fn count(&mut self, count: usize) {
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.frame.put_slice(bytes);
    }

    /// The whole frame.
    ///
    /// # Errors
    /// When it is longer than a peer takes.
    pub(super) fn finish(mut self) -> Result<Bytes, Unsendable> {
        let length = self.frame.len().saturating_sub(WORD);
        match u32::try_from(length) {
            Ok(number) if length <= MAX_FRAME_LEN => {
                (&mut self.frame[..WORD]).put_u32(number);
                Ok(self.frame.freeze())
            }
            _ => Err(Unsendable::TooLong { kind: self.kind, length }),
        }
    }
}
