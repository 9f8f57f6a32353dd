//! Takes tokens off the front of the bytes received so far.

use bytes::{Buf, Bytes, BytesMut};

use super::error::{Error, Fault, Misbehaviour};
use super::token::{HEADER_LEN, Header, NAME_LEN, Token, parse_value};

/// A token that may come next, and the greatest length its body may have.
pub(super) type Expected = (Token, usize);

/// Reads headers and bodies out of a buffer that grows from call to call.
///
/// Each method looks at a bounded number of bytes until the item is complete, so that bytes that arrive one by one cost
/// no more than bytes that arrive together.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    /// Bytes taken so far.
    taken: u64,
    /// Where the last header began.
    header_at: u64,
    /// The header whose body has not been taken yet.
    pending: Option<Header>,
}

impl Reader {
    /// Bytes taken off the input so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the bytes taken end with a whole item.
    pub(super) fn between_items(&self) -> bool {
        self.pending.is_none()
    }

    /// An error at the last header.
    pub(super) fn fault(&self, fault: Fault) -> Error {
        Error::Misbehaved(Misbehaviour { offset: self.header_at, fault })
    }

    /// The error that `input` goes on after the end of the message.
    pub(super) fn surplus(&self, input: &[u8]) -> Error {
        Error::Misbehaved(Misbehaviour { offset: self.taken, fault: Fault::Surplus { length: input.len() } })
    }

    /// The next token, which carries a plain number; `None` until it is there.
    pub(super) fn number(&mut self, input: &mut BytesMut, token: Token) -> Result<Option<u32>, Error> {
        // The value is no length, so any is fine here.
        let header = self.header(input, &[(token, usize::MAX)])?;
        self.pending = None;
        Ok(header.map(|header| header.value))
    }

    /// The next token, which counts the items that follow it; `None` until it is there.
    pub(super) fn count(&mut self, input: &mut BytesMut, token: Token, cap: usize) -> Result<Option<usize>, Error> {
        let Some(count) = self.number(input, token)? else { return Ok(None) };
        match usize::try_from(count) {
            Ok(number) if number <= cap => Ok(Some(number)),
            _ => Err(self.fault(Fault::TooMany { token, count, cap })),
        }
    }

    /// The next token, and its body; `None` until both are there.
    pub(super) fn item(
        &mut self,
        input: &mut BytesMut,
        expected: &[Expected],
    ) -> Result<Option<(Token, Bytes)>, Error> {
        match self.header(input, expected)? {
            Some(header) => Ok(self.body(input).map(|body| (header.token, body))),
            None => Ok(None),
        }
    }

    /// The header of the next token; `None` until it is there. The same again until its body has been taken.
    pub(super) fn header(&mut self, input: &mut BytesMut, expected: &[Expected]) -> Result<Option<Header>, Error> {
        if self.pending.is_none() {
            self.header_at = self.taken;
            self.pending = self.parse_header(input, expected)?;
            if self.pending.is_some() {
                self.advance(input, HEADER_LEN);
            }
        }
        Ok(self.pending)
    }

    /// The body of the last header; `None` until all of it is there.
    pub(super) fn body(&mut self, input: &mut BytesMut) -> Option<Bytes> {
        let length = usize::try_from(self.pending?.value).ok()?;
        if input.len() < length {
            return None;
        }
        self.pending = None;
        self.taken = self.taken.saturating_add(length as u64);
        Some(input.split_to(length).freeze())
    }

    fn parse_header(&self, input: &[u8], expected: &[Expected]) -> Result<Option<Header>, Error> {
        // A name that begins wrong is refused at once: the peer may never send twelve bytes.
        let (name, _) = input.split_at(input.len().min(NAME_LEN));
        let Some(&(token, cap)) = expected.iter().find(|(token, _)| token.name().as_bytes().starts_with(name)) else {
            let expected = expected.iter().map(|&(token, _)| token).collect();
            return Err(self.fault(Fault::WrongToken { expected, found: name.to_vec() }));
        };
        let Some(digits) = input.get(NAME_LEN..HEADER_LEN) else { return Ok(None) };
        let Some(value) = parse_value(digits) else {
            return Err(self.fault(Fault::NotANumber { token, found: digits.to_vec() }));
        };
        if usize::try_from(value).is_ok_and(|length| length <= cap) {
            Ok(Some(Header { token, value }))
        } else {
            Err(self.fault(Fault::TooLong { token, length: value, cap }))
        }
    }

    fn advance(&mut self, input: &mut BytesMut, length: usize) {
        input.advance(length);
        self.taken = self.taken.saturating_add(length as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_token(input: &[u8]) -> Error {
        Reader::default().item(&mut BytesMut::from(input), &[(Token::File, 9), (Token::Link, 9)]).unwrap_err()
    }

    #[test]
    fn a_wrong_name_is_refused_at_its_first_byte() {
        assert_eq!(wrong_token(b"S").to_string(), "at byte 0: expected FILE or LINK, found \"S\"");
        assert_eq!(wrong_token(b"FIlE").to_string(), "at byte 0: expected FILE or LINK, found \"FIlE\"");
        assert_eq!(wrong_token(b"HTTP/1.0 400").to_string(), "at byte 0: expected FILE or LINK, found \"HTTP\"");
    }

    #[test]
    fn a_length_beyond_the_cap_is_refused_before_the_body() {
        assert_eq!(wrong_token(b"LINK0000000a").to_string(), "at byte 0: LINK announces 10 bytes, at most 9 are taken");
        let error = wrong_token(b"FILE0000 00a");
        assert_eq!(error.to_string(), "at byte 0: FILE needs eight hexadecimal digits, found \"0000 00a\"");
    }
}
