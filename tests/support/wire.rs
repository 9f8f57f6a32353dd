//! distcc's framing, just enough to stand between a client and a daemon. Written apart from the product's codec on
//! purpose: a fault there must not hide itself here.

use std::io::{self, Read};

use thinbridge_protocol::lzo;

/// Largest object that a test decodes.
const OBJECT_CAP: usize = 64 << 20;

/// One request, as it came.
pub(crate) struct Request {
    /// Every byte of it.
    pub(crate) bytes: Vec<u8>,
    /// Protocol version.
    pub(crate) version: u32,
    /// The compiler and its arguments.
    pub(crate) arguments: Vec<String>,
    /// The files' names (version 3).
    pub(crate) names: Vec<String>,
    /// What travels under each of these names, still compressed.
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Request {
    /// Reads one whole request.
    pub(crate) fn read(stream: impl Read) -> io::Result<Self> {
        let mut tokens = Tokens { stream, bytes: Vec::new() };
        let version = tokens.number("DIST")?;
        if version >= 3 {
            tokens.text("CDIR")?;
        }
        let count = tokens.number("ARGC")?;
        let arguments = (0..count).map(|_| tokens.text("ARGV")).collect::<io::Result<_>>()?;
        let (mut names, mut bodies) = (Vec::new(), Vec::new());
        if version >= 3 {
            for _ in 0..tokens.number("NFIL")? {
                names.push(tokens.text("NAME")?);
                let (_, length) = tokens.header()?;
                bodies.push(tokens.body(length)?);
            }
        } else {
            tokens.text("DOTI")?;
        }
        Ok(Self { bytes: tokens.bytes, version, arguments, names, bodies })
    }

    /// Whether this is a job to compile, not a probe.
    pub(crate) fn is_job(&self) -> bool {
        !self.arguments.iter().any(|argument| argument == "--version")
    }
}

/// One answer of a daemon, its bodies decompressed.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) version: u32,
    /// Raw wait status.
    pub(crate) status: u32,
    pub(crate) stderr: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    /// `None` if the daemon stopped before it.
    pub(crate) object: Option<Vec<u8>>,
}

impl Reply {
    /// What a daemon says that compiled something to this object.
    pub(crate) fn success(object: &[u8]) -> Self {
        Self { version: 3, status: 0, stderr: Vec::new(), stdout: Vec::new(), object: Some(object.to_vec()) }
    }

    /// Reads one answer up to the end of the stream.
    pub(crate) fn read(stream: impl Read) -> io::Result<Self> {
        let mut tokens = Tokens { stream, bytes: Vec::new() };
        let version = tokens.number("DONE")?;
        let status = tokens.number("STAT")?;
        let stderr = tokens.bulk("SERR", version)?;
        let stdout = tokens.bulk("SOUT", version)?;
        let object = match tokens.bulk("DOTO", version) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            other => Some(other?),
        };
        Ok(Self { version, status, stderr, stdout, object })
    }

    /// The bytes that a daemon would send, without the dependency file, which clang does not write for bitcode.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("DONE{:08x}STAT{:08x}", self.version, self.status).into_bytes();
        push_bulk(&mut bytes, "SERR", &self.stderr, self.version);
        push_bulk(&mut bytes, "SOUT", &self.stdout, self.version);
        if let Some(object) = &self.object {
            push_bulk(&mut bytes, "DOTO", object, self.version);
        }
        bytes
    }
}

fn push_bulk(bytes: &mut Vec<u8>, token: &str, body: &[u8], version: u32) {
    let body = if version >= 2 && !body.is_empty() { lzo::compress(body) } else { body.to_vec() };
    bytes.extend_from_slice(format!("{token}{:08x}", body.len()).as_bytes());
    bytes.extend_from_slice(&body);
}

struct Tokens<S> {
    stream: S,
    bytes: Vec<u8>,
}

impl<S: Read> Tokens<S> {
    fn header(&mut self) -> io::Result<(String, u32)> {
        let header = String::from_utf8(self.body(12)?).map_err(io::Error::other)?;
        let (name, value) = header.split_at(4);
        Ok((name.to_owned(), u32::from_str_radix(value, 16).map_err(io::Error::other)?))
    }

    fn number(&mut self, expected: &str) -> io::Result<u32> {
        let (name, value) = self.header()?;
        if name == expected { Ok(value) } else { Err(io::Error::other(format!("{name} instead of {expected}"))) }
    }

    fn text(&mut self, expected: &str) -> io::Result<String> {
        let length = self.number(expected)?;
        Ok(String::from_utf8_lossy(&self.body(length)?).into_owned())
    }

    fn bulk(&mut self, expected: &str, version: u32) -> io::Result<Vec<u8>> {
        let length = self.number(expected)?;
        let body = self.body(length)?;
        if version < 2 || body.is_empty() {
            return Ok(body);
        }
        lzo::decompress(&body, OBJECT_CAP).map_err(io::Error::other)
    }

    fn body(&mut self, length: u32) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        self.stream.by_ref().take(u64::from(length)).read_to_end(&mut body)?;
        self.bytes.extend_from_slice(&body);
        if body.len() < length as usize { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
    }
}
