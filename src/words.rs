//! The words of errors that are not ours.

use std::io;

/// What an IO error says, without the number that only programmers read.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_left_out_and_nothing_else() {
        assert_eq!(plain(&rustix::io::Errno::NOENT.into()), "No such file or directory");
        assert_eq!(plain(&io::Error::other("no address")), "no address");
    }
}
