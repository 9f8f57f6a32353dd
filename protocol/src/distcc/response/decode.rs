//! The client's end: a response out of bytes that arrive in any pieces.

use bytes::{Bytes, BytesMut};

use super::{Response, may_have_deps};
use crate::distcc::body::{unpack, wire_cap};
use crate::distcc::error::{Error, Fault, Incompatibility};
use crate::distcc::limits::ResponseLimits;
use crate::distcc::reader::Reader;
use crate::distcc::status::WaitStatus;
use crate::distcc::token::Token;
use crate::distcc::{Progress, Version};

/// Decodes the response to one request.
#[derive(Clone, Debug)]
pub struct ResponseDecoder {
    limits: ResponseLimits,
    reader: Reader,
    phase: Phase,
    response: Response,
}

/// The token whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Done,
    Stat,
    Serr,
    Sout,
    Doto,
    Dotd,
    Finished,
}

/// What it means that the server closed the connection (or reset it, which is the same here).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Not one byte had come: the server refused the request, or the client, before it ran the compiler. It never says
    /// why.
    Silent,
    /// The server had said all it had to say. Without an output file it stops before the object
    /// ([`Response::object`] is `None`), without a dependency file after it ([`Response::deps`] is `None`).
    Complete(Response),
    /// The response was cut off.
    Truncated {
        /// How many bytes had come.
        received: u64,
        /// The token whose header or body was cut off or missing.
        expected: Token,
    },
}

impl ResponseDecoder {
    /// A decoder for the response to a request that was sent in the version `asked`.
    pub fn new(asked: Version, limits: ResponseLimits) -> Self {
        Self {
            limits,
            reader: Reader::default(),
            phase: Phase::Done,
            response: Response {
                version: asked,
                status: WaitStatus::SUCCESS,
                stderr: Bytes::new(),
                stdout: Bytes::new(),
                object: None,
                deps: None,
            },
        }
    }

    /// Takes what it can off `input`. To be called after each read, with what it left there still in front.
    ///
    /// # Errors
    /// When the server breaks the protocol, answers in another version or exceeds a limit. Surplus bytes are an error
    /// too. The decoder is of no use after that.
    pub fn advance(&mut self, input: &mut BytesMut) -> Result<Progress<Response>, Error> {
        while let Some(next) = self.step(input)? {
            self.phase = next;
        }
        if self.phase != Phase::Finished {
            Ok(Progress::Incomplete)
        } else if input.is_empty() {
            Ok(Progress::Done(self.response.clone()))
        } else {
            Err(self.reader.surplus(input))
        }
    }

    /// Says what it means that the connection ended here. `input` is what [`Self::advance`] left.
    ///
    /// # Errors
    /// Those of [`Self::advance`].
    pub fn at_eof(&mut self, input: &mut BytesMut) -> Result<Ending, Error> {
        if let Progress::Done(response) = self.advance(input)? {
            return Ok(Ending::Complete(response));
        }
        let received = self.reader.taken().saturating_add(input.len() as u64);
        let between_items = self.reader.between_items() && input.is_empty();
        Ok(match self.phase {
            Phase::Done if received == 0 => Ending::Silent,
            Phase::Doto | Phase::Dotd if between_items => Ending::Complete(self.response.clone()),
            phase => Ending::Truncated { received, expected: phase.token() },
        })
    }

    /// Takes one item and says what comes after it; `None` when bytes are missing or the response is complete.
    fn step(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        match self.phase {
            Phase::Done => self.done(input),
            Phase::Stat => self.stat(input),
            Phase::Serr => Ok(self.bulk(input, self.limits.text)?.map(|text| {
                self.response.stderr = text;
                Phase::Sout
            })),
            Phase::Sout => Ok(self.bulk(input, self.limits.text)?.map(|text| {
                self.response.stdout = text;
                Phase::Doto
            })),
            Phase::Doto => self.object(input),
            Phase::Dotd => Ok(self.bulk(input, self.limits.text)?.map(|text| {
                self.response.deps = Some(text);
                Phase::Finished
            })),
            Phase::Finished => Ok(None),
        }
    }

    fn done(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let asked = self.response.version.number();
        match self.reader.number(input, Token::Done)? {
            Some(answered) if answered == asked => Ok(Some(Phase::Stat)),
            Some(answered) => Err(Error::Incompatible(Incompatibility::OtherVersion { asked, answered })),
            None => Ok(None),
        }
    }

    fn stat(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let Some(raw) = self.reader.number(input, Token::Stat)? else { return Ok(None) };
        self.response.status = WaitStatus::from_raw(raw);
        Ok(Some(Phase::Serr))
    }

    fn object(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let Response { version, status, .. } = self.response;
        let expected = [(Token::Doto, wire_cap(version, self.limits.object))];
        let Some(header) = self.reader.header(input, &expected)? else { return Ok(None) };
        if !status.success() && header.value > 0 {
            return Err(self.reader.fault(Fault::ObjectDespiteFailure { status, length: header.value }));
        }
        let Some(object) = self.bulk(input, self.limits.object)? else { return Ok(None) };
        self.response.object = Some(object);
        Ok(Some(if may_have_deps(version, status) { Phase::Dotd } else { Phase::Finished }))
    }

    /// The plain body of the token whose turn it is.
    fn bulk(&mut self, input: &mut BytesMut, cap: usize) -> Result<Option<Bytes>, Error> {
        let version = self.response.version;
        let token = self.phase.token();
        match self.reader.item(input, &[(token, wire_cap(version, cap))])? {
            Some((_, body)) => unpack(version, token, body, cap, &self.reader).map(Some),
            None => Ok(None),
        }
    }
}

impl Phase {
    fn token(self) -> Token {
        match self {
            Self::Done => Token::Done,
            Self::Stat => Token::Stat,
            Self::Serr => Token::Serr,
            Self::Sout => Token::Sout,
            Self::Doto => Token::Doto,
            Self::Dotd | Self::Finished => Token::Dotd,
        }
    }
}
