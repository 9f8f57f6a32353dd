//! A response: what the server's compiler made of a request.

mod decode;

pub use decode::{Ending, ResponseDecoder};

use bytes::Bytes;

use super::Version;
use super::body::pack;
use super::error::Unsendable;
use super::status::WaitStatus;
use super::token::Token;
use super::writer::{Encoded, Writer};

/// One answer, with all bodies plain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The version it is sent in, the request's.
    pub version: Version,
    /// How the compiler ended.
    pub status: WaitStatus,
    /// What the compiler, and at times distccd, wrote to stderr.
    pub stderr: Bytes,
    /// What the compiler wrote to stdout.
    pub stdout: Bytes,
    /// The object: empty if the compiler failed, or if the file it wrote is; `None` if there is no output file at all,
    /// in which case the server closes the connection after stdout.
    pub object: Option<Bytes>,
    /// The make rule that names the object's dependencies; only in version 3, and `None` if the compiler wrote none, in
    /// which case the server closes the connection after the object.
    pub deps: Option<Bytes>,
}

impl Response {
    /// The response as bytes.
    ///
    /// After a response whose `object` is missing, or whose `deps` are in version 3, the server has to close the
    /// connection: that is how the client learns of it.
    ///
    /// # Errors
    /// When a body is longer than a stock client can take, or when the response contradicts itself: an object although
    /// the compiler failed, dependencies without an object or in a version that has none.
    pub fn encode(&self) -> Result<Encoded, Unsendable> {
        let mut writer = Writer::default();
        writer.number(Token::Done, self.version.number());
        writer.number(Token::Stat, self.status.raw());
        writer.bulk(Token::Serr, &pack(self.version, &self.stderr))?;
        writer.bulk(Token::Sout, &pack(self.version, &self.stdout))?;
        if let Some(object) = &self.object {
            if !self.status.success() && !object.is_empty() {
                return Err(Unsendable::Contradiction { token: Token::Doto });
            }
            writer.bulk(Token::Doto, &pack(self.version, object))?;
        }
        if let Some(deps) = &self.deps {
            if self.object.is_none() || !may_have_deps(self.version, self.status) {
                return Err(Unsendable::Contradiction { token: Token::Dotd });
            }
            writer.bulk(Token::Dotd, &pack(self.version, deps))?;
        }
        Ok(writer.finish())
    }
}

/// Whether `DOTD` may follow `DOTO`.
fn may_have_deps(version: Version, status: WaitStatus) -> bool {
    version == Version::V3 && status.success()
}
