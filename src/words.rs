//! The words of others: of the system, of programs.

use std::io;

/// What an IO error says, without the number that only programmers read.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

/// Whether the part stands anywhere in the text. Nothing stands in every text.
pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_wherever_it_stands() {
        for part in ["", "l", "ld", "lld", "ll"] {
            assert!(contains(b"lld", part.as_bytes()), "{part}");
        }
        for part in ["dl", "llld", "LLD"] {
            assert!(!contains(b"lld", part.as_bytes()), "{part}");
        }
    }

    #[test]
    fn the_number_is_left_out_and_nothing_else() {
        assert_eq!(plain(&rustix::io::Errno::NOENT.into()), "No such file or directory");
        assert_eq!(plain(&io::Error::other("no address")), "no address");
    }
}
