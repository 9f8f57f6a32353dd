//! Strings as the protocol has them.

use std::fmt::{self, Write};

use bytes::Bytes;

/// A string of the protocol: any bytes but zero. What they encode is not said anywhere.
///
/// [`Display`](fmt::Display) is for people: UTF-8 as it is, anything else and control characters (except for line ends
/// and tabs) escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Bytes);

impl Text {
    /// The bytes up to the first zero byte: all that any receiver reads.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        // Copied: a string is often kept for longer than the buffer in which it came.
        Self(Bytes::copy_from_slice(bytes.split(|&byte| byte == 0).next().unwrap_or_default()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\n' | '\t' => f.write_char(character)?,
                    _ if character.is_control() => write!(f, "{}", character.escape_default())?,
                    _ => f.write_char(character)?,
                }
            }
            write!(f, "{}", chunk.invalid().escape_ascii())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_byte_ends_it() {
        assert_eq!(Text::new(b"ab\0c"), "ab");
        assert!(Text::new(b"\0").is_empty() && Text::new(b"").is_empty());
    }

    #[test]
    fn people_see_no_control_characters() {
        assert_eq!(Text::new(b"a\x1b[1m \xc3\xa4\xff\n\r").to_string(), "a\\u{1b}[1m \u{e4}\\xff\n\\r");
    }
}
