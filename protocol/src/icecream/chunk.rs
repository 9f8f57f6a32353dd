//! Files on the wire: chunks that are compressed one by one, and END.

use std::fmt;

use bytes::Bytes;

use super::error::{Fault, Unsendable};
use super::fields::{Reader, Writer};
use super::limits::{CHUNK_LEN, MAX_CHUNK_LEN};
use super::message::Kind;
use super::{Message, Version};
use crate::lzo;

/// The level that stock senders use: the fastest that compresses well.
const ZSTD_LEVEL: i32 = 1;

/// The version since which chunks say how they are compressed. Before, it is always LZO1X.
const NAMED_SINCE: u32 = 40;

/// How a chunk is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// LZO1X, as in [`crate::lzo`].
    Lzo = 0,
    /// A zstd frame.
    Zstd = 1,
}

impl Algorithm {
    /// What senders use in `version`: zstd as soon as there is a choice.
    pub fn of(version: Version) -> Self {
        if version.since(NAMED_SINCE) { Self::Zstd } else { Self::Lzo }
    }
}

/// One piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Length of the plain bytes, at most [`MAX_CHUNK_LEN`].
    uncompressed: u32,
    /// How they are compressed.
    algorithm: Algorithm,
    /// The compressed bytes.
    data: Bytes,
}

impl Chunk {
    /// Compresses `plain`.
    ///
    /// # Errors
    /// When there are more than [`MAX_CHUNK_LEN`] bytes.
    pub fn pack(plain: &[u8], algorithm: Algorithm) -> Result<Self, Unsendable> {
        let uncompressed = match u32::try_from(plain.len()) {
            Ok(length) if plain.len() <= MAX_CHUNK_LEN => length,
            _ => return Err(Unsendable::ChunkTooLong { length: plain.len() }),
        };
        let zstd = match algorithm {
            Algorithm::Lzo => None,
            // It fails for want of memory only. Then there is LZO1X, which whoever takes zstd takes too.
            Algorithm::Zstd => zstd::bulk::compress(plain, ZSTD_LEVEL).ok(),
        };
        Ok(match zstd {
            Some(data) => Self { uncompressed, algorithm: Algorithm::Zstd, data: data.into() },
            None => Self { uncompressed, algorithm: Algorithm::Lzo, data: lzo::compress(plain).into() },
        })
    }

    /// How many plain bytes it announces: [`MAX_CHUNK_LEN`] at most.
    pub fn uncompressed(&self) -> usize {
        self.uncompressed as usize
    }

    /// How it is compressed.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The compressed bytes.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// The plain bytes: exactly as many as announced.
    ///
    /// # Errors
    /// When they do not decompress to that.
    pub fn unpack(&self) -> Result<Bytes, BadChunk> {
        self.decompress().map(Bytes::from)
    }

    fn decompress(&self) -> Result<Vec<u8>, BadChunk> {
        let announced = self.uncompressed();
        // Stock peers do not look at the data of an empty chunk.
        if announced == 0 {
            return Ok(Vec::new());
        }
        let plain = match self.algorithm {
            Algorithm::Lzo => lzo::decompress(&self.data, announced).map_err(BadChunk::Lzo)?,
            Algorithm::Zstd => {
                zstd::bulk::decompress(&self.data, announced).map_err(|_| BadChunk::Zstd { announced })?
            }
        };
        match plain.len() {
            found if found == announced => Ok(plain),
            found => Err(BadChunk::TooShort { announced, found }),
        }
    }

    pub(super) fn read(reader: &mut Reader) -> Result<Self, Fault> {
        let uncompressed = reader.number("uncompressed length")?;
        if usize::try_from(uncompressed).is_ok_and(|length| length > MAX_CHUNK_LEN) {
            return Err(reader.bad_number("uncompressed length", uncompressed));
        }
        let compressed = reader.number("compressed length")?;
        let algorithm = if reader.since(NAMED_SINCE) {
            match reader.number("algorithm")? {
                0 => Algorithm::Lzo,
                1 => Algorithm::Zstd,
                number => return Err(reader.bad_number("algorithm", number)),
            }
        } else {
            Algorithm::Lzo
        };
        let data = reader.bytes(compressed, "data")?;
        Ok(Self { uncompressed, algorithm, data })
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<(), Unsendable> {
        writer.number(self.uncompressed);
        writer.count(self.data.len());
        if writer.since(NAMED_SINCE) {
            writer.number(self.algorithm as u32);
        } else if self.algorithm != Algorithm::Lzo {
            return Err(Unsendable::CompressionNotInVersion { version: writer.version() });
        }
        writer.bytes(&self.data);
        Ok(())
    }
}

/// `content` as the frames of its chunks, ready for the wire; the END that follows the last one is not among them.
///
/// They are for every connection of a version whose [`Algorithm::of`] is `algorithm`, any number of them: clones share
/// their bytes.
pub fn pack_file(content: &[u8], algorithm: Algorithm) -> Vec<Bytes> {
    let version = match algorithm {
        Algorithm::Lzo => Version::OLDEST,
        Algorithm::Zstd => Version::NEWEST,
    };
    let frame = |piece| Message::FileChunk(Chunk::pack(piece, algorithm)?).encode(version);
    let frames: Result<Vec<_>, Unsendable> = content.chunks(CHUNK_LEN).map(frame).collect();
    frames.unwrap_or_else(|refusal| unreachable!("a chunk of the length chosen fits a frame: {refusal}"))
}

/// Puts a file together from its chunks.
#[derive(Clone, Debug)]
pub struct FileReceiver {
    cap: usize,
    content: Vec<u8>,
}

impl FileReceiver {
    /// A file of at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self { cap, content: Vec::new() }
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// When the chunk does not decompress, or when the file becomes too long, which is found out before that.
    pub fn add(&mut self, chunk: &Chunk) -> Result<(), BadChunk> {
        if chunk.uncompressed() > self.cap.saturating_sub(self.content.len()) {
            return Err(BadChunk::FileTooLong { cap: self.cap });
        }
        self.content.extend_from_slice(&chunk.decompress()?);
        Ok(())
    }

    /// Bytes received so far.
    pub fn received(&self) -> usize {
        self.content.len()
    }

    /// The whole file, when END has come.
    pub fn finish(self) -> Bytes {
        self.content.into()
    }
}

/// Why a chunk was not taken. Each of these is the fault of the peer that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadChunk {
    /// It does not decompress, or to more than announced.
    Lzo(lzo::Error),
    /// It does not decompress, or to more than announced.
    Zstd {
        /// The length announced, in bytes.
        announced: usize,
    },
    /// It decompresses to less than announced.
    TooShort {
        /// The length announced, in bytes.
        announced: usize,
        /// The length found.
        found: usize,
    },
    /// The file becomes longer than it may.
    FileTooLong {
        /// The greatest length taken, in bytes.
        cap: usize,
    },
}

impl std::error::Error for BadChunk {}

impl fmt::Display for BadChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = Kind::FileChunk;
        match self {
            Self::Lzo(error) => write!(f, "the data of {kind} does not decompress: {error}"),
            Self::Zstd { announced } => {
                write!(f, "the data of {kind} does not decompress by zstd to the {announced} bytes announced")
            }
            Self::TooShort { announced, found } => {
                write!(f, "the data of {kind} decompresses to {found} bytes, {announced} were announced")
            }
            Self::FileTooLong { cap } => write!(f, "the file is longer than {cap} bytes"),
        }
    }
}
