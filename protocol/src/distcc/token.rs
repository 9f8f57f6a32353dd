//! The 12-byte token header that every item of the stream begins with.

use std::fmt;

/// Length of a header: four capital letters, then eight hexadecimal digits.
pub const HEADER_LEN: usize = 12;

/// Length of the name at the start of a header.
pub(super) const NAME_LEN: usize = 4;

/// The names a header can have.
///
/// `DIST ARGC NFIL DONE STAT` carry a plain number; in all others the number is the length in bytes of the body that
/// follows the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Token {
    /// Request: the protocol version asked for.
    Dist,
    /// Request, version 3: the client's working directory.
    Cdir,
    /// Request: how many `ARGV` follow.
    Argc,
    /// Request: one argument; the first is the compiler.
    Argv,
    /// Request, versions 0 to 2: the preprocessed source.
    Doti,
    /// Request, version 3: how many files follow.
    Nfil,
    /// Request, version 3: a file's name.
    Name,
    /// Request, version 3: a file's content.
    File,
    /// Request, version 3: a symbolic link's target.
    Link,
    /// Response: the protocol version answered.
    Done,
    /// Response: the compiler's wait status.
    Stat,
    /// Response: what the compiler wrote to stderr.
    Serr,
    /// Response: what the compiler wrote to stdout.
    Sout,
    /// Response: the object.
    Doto,
    /// Response, version 3: the make rule that names the object's dependencies.
    Dotd,
}

impl Token {
    /// The four letters on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dist => "DIST",
            Self::Cdir => "CDIR",
            Self::Argc => "ARGC",
            Self::Argv => "ARGV",
            Self::Doti => "DOTI",
            Self::Nfil => "NFIL",
            Self::Name => "NAME",
            Self::File => "FILE",
            Self::Link => "LINK",
            Self::Done => "DONE",
            Self::Stat => "STAT",
            Self::Serr => "SERR",
            Self::Sout => "SOUT",
            Self::Doto => "DOTO",
            Self::Dotd => "DOTD",
        }
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A token and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The token's name.
    pub token: Token,
    /// A plain number, or the length in bytes of the body that follows.
    pub value: u32,
}

impl Header {
    /// The header as every known implementation writes it: lower-case digits, padded with zeros.
    pub fn encode(self) -> [u8; HEADER_LEN] {
        let mut header = *b"....00000000";
        let (name, digits) = header.split_at_mut(NAME_LEN);
        name.copy_from_slice(self.token.name().as_bytes());
        for (place, digit) in digits.iter_mut().rev().enumerate() {
            let nibble = (self.value >> (4 * place)) & 0xf;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        header
    }
}

/// Reads the eight digits of a header, in either case; `None` when one of them is no hexadecimal digit.
pub(super) fn parse_value(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, &digit| {
        let nibble = char::from(digit).to_digit(16)?;
        value.checked_mul(16)?.checked_add(nibble)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_written_as_stock_distcc_writes_it() {
        let encode = |token, value| Header { token, value }.encode();
        assert_eq!(&encode(Token::Dist, 3), b"DIST00000003");
        assert_eq!(&encode(Token::File, 0x1fff_ffff), b"FILE1fffffff");
        assert_eq!(&encode(Token::Stat, u32::MAX), b"STATffffffff");
    }

    #[test]
    fn digits_are_read_in_either_case_and_nothing_else_is() {
        assert_eq!(parse_value(b"0000aBcD"), Some(0xabcd));
        assert_eq!(parse_value(b"ffffffff"), Some(u32::MAX));
        for bad in [b"0000000g", b"+0000001", b"0x000001", b"       1", b"0000000\0"] {
            assert_eq!(parse_value(bad), None);
        }
    }
}
