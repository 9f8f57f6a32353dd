//! The server's end: a request out of bytes that arrive in any pieces.

use bytes::{Bytes, BytesMut};

use super::{Content, File, Input, Request, check_string, string_cap};
use crate::distcc::body::Compressed;
use crate::distcc::error::{Error, Fault, Incompatibility};
use crate::distcc::limits::{MAX_ARGUMENTS, MAX_BODY_LEN, MAX_FILES, RequestLimits};
use crate::distcc::reader::Reader;
use crate::distcc::token::Token;
use crate::distcc::{Progress, Version};

/// Decodes one request.
#[derive(Clone, Debug)]
pub struct RequestDecoder {
    limits: RequestLimits,
    reader: Reader,
    phase: Phase,
    version: Version,
    cwd: Bytes,
    argv: Vec<Bytes>,
    files: Vec<File>,
}

/// The token whose turn it is.
#[derive(Clone, Debug)]
enum Phase {
    Dist,
    Cdir,
    Argc,
    Argv { left: usize },
    Doti,
    Nfil,
    Name { left: usize },
    Content { name: Bytes, left: usize },
    Finished(Request),
}

impl RequestDecoder {
    /// A decoder for a connection that has just been accepted.
    pub fn new(limits: RequestLimits) -> Self {
        Self {
            limits,
            reader: Reader::default(),
            phase: Phase::Dist,
            version: Version::V1,
            cwd: Bytes::new(),
            argv: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Takes what it can off `input`. To be called after each read, with what it left there still in front.
    ///
    /// Bodies stay compressed, see [`Compressed::decompress`].
    ///
    /// # Errors
    /// When the client breaks the protocol, asks for an unknown version, or exceeds a limit. Surplus bytes are an error
    /// too. The decoder is of no use after that.
    pub fn advance(&mut self, input: &mut BytesMut) -> Result<Progress<Request>, Error> {
        while self.step(input)? {
            if self.reader.taken() > self.limits.total {
                return Err(self.reader.fault(Fault::RequestTooLong { cap: self.limits.total }));
            }
        }
        match &self.phase {
            Phase::Finished(request) => Ok(Progress::Done(request.clone())),
            _ => Ok(Progress::Incomplete),
        }
    }

    /// Takes one item; `false` when there is none, because bytes are missing or the request is complete.
    fn step(&mut self, input: &mut BytesMut) -> Result<bool, Error> {
        let next = match &self.phase {
            Phase::Dist => self.dist(input)?,
            Phase::Cdir => self.cdir(input)?,
            Phase::Argc => self.reader.count(input, Token::Argc, MAX_ARGUMENTS)?.map(|left| self.after_argument(left)),
            &Phase::Argv { left } => self.argv(input, left)?,
            Phase::Doti => self.doti(input)?,
            Phase::Nfil => self.reader.count(input, Token::Nfil, MAX_FILES)?.map(|left| self.after_file(left)),
            &Phase::Name { left } => self.string(input, Token::Name)?.map(|name| Phase::Content { name, left }),
            &Phase::Content { ref name, left } => {
                let name = name.clone();
                self.content(input, name, left)?
            }
            Phase::Finished(_) if input.is_empty() => None,
            Phase::Finished(_) => return Err(self.reader.surplus(input)),
        };
        let stepped = next.is_some();
        if let Some(next) = next {
            self.phase = next;
        }
        Ok(stepped)
    }

    fn dist(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let Some(asked) = self.reader.number(input, Token::Dist)? else { return Ok(None) };
        let Some(version) = Version::from_number(asked) else {
            return Err(Error::Incompatible(Incompatibility::UnknownVersion { asked }));
        };
        self.version = version;
        Ok(Some(if version == Version::V3 { Phase::Cdir } else { Phase::Argc }))
    }

    fn cdir(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let Some(cwd) = self.string(input, Token::Cdir)? else { return Ok(None) };
        self.cwd = cwd;
        Ok(Some(Phase::Argc))
    }

    fn argv(&mut self, input: &mut BytesMut, left: usize) -> Result<Option<Phase>, Error> {
        let Some(argument) = self.string(input, Token::Argv)? else { return Ok(None) };
        self.argv.push(argument);
        Ok(Some(self.after_argument(left.saturating_sub(1))))
    }

    fn after_argument(&self, left: usize) -> Phase {
        match (left, self.version) {
            (0, Version::V3) => Phase::Nfil,
            (0, _) => Phase::Doti,
            _ => Phase::Argv { left },
        }
    }

    fn doti(&mut self, input: &mut BytesMut) -> Result<Option<Phase>, Error> {
        let Some((_, source)) = self.reader.item(input, &[(Token::Doti, self.body_cap())])? else { return Ok(None) };
        Ok(Some(self.finish(match self.version {
            Version::V0 => Input::V0(source),
            Version::V2 => Input::V2(Compressed::from_wire(source)),
            // Version 3 has no DOTI, so it is never met here.
            Version::V1 | Version::V3 => Input::V1(source),
        })))
    }

    fn content(&mut self, input: &mut BytesMut, name: Bytes, left: usize) -> Result<Option<Phase>, Error> {
        let expected = [(Token::File, self.body_cap()), (Token::Link, string_cap(Token::Link))];
        let Some((token, bytes)) = self.reader.item(input, &expected)? else { return Ok(None) };
        let content = if token == Token::Link {
            self.check(Token::Link, &bytes)?;
            Content::Link(bytes)
        } else {
            Content::Body(Compressed::from_wire(bytes))
        };
        self.files.push(File { name, content });
        Ok(Some(self.after_file(left.saturating_sub(1))))
    }

    fn after_file(&mut self, left: usize) -> Phase {
        if left > 0 {
            return Phase::Name { left };
        }
        let input = Input::V3 { cwd: self.cwd.clone(), files: std::mem::take(&mut self.files) };
        self.finish(input)
    }

    fn finish(&mut self, input: Input) -> Phase {
        Phase::Finished(Request { argv: std::mem::take(&mut self.argv), input })
    }

    fn string(&mut self, input: &mut BytesMut, token: Token) -> Result<Option<Bytes>, Error> {
        let Some((_, string)) = self.reader.item(input, &[(token, string_cap(token))])? else { return Ok(None) };
        self.check(token, &string)?;
        Ok(Some(string))
    }

    fn check(&self, token: Token, string: &[u8]) -> Result<(), Error> {
        check_string(token, string).map_err(|reason| self.reader.fault(Fault::BadString { token, reason }))
    }

    fn body_cap(&self) -> usize {
        let left = self.limits.total.saturating_sub(self.reader.taken());
        self.limits.body.min(MAX_BODY_LEN).min(usize::try_from(left).unwrap_or(usize::MAX))
    }
}
