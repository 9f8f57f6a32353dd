//! Short names for the modules of a link.
//!
//! clang imports modules in the order of their paths, finds its own by comparing strings, and puts neither into the
//! object. So every module may be called by its rank among the link's paths: hosts see no path of the client, and
//! absolute paths, `..`, blanks, quotes and bytes beyond ASCII need no case of their own.

use std::collections::HashSet;

/// Digits of a rank: enough for a million modules; a link with more gets more.
const LEAST_DIGITS: usize = 6;

/// One name for each module path of a link, the byte order of the names being that of the paths.
///
/// A name looks like `m000017.c`: the ending lets a stock distccd take it for a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Distinct, in byte order: a path's name is its place.
    paths: Vec<Vec<u8>>,
    digits: usize,
}

impl Mapping {
    /// Names all paths of a link. Two spellings of one file are two paths.
    pub fn new<P: AsRef<[u8]>>(paths: impl IntoIterator<Item = P>) -> Self {
        // Popular modules are inputs of hundreds of jobs: copy each path once.
        let mut distinct = HashSet::new();
        for path in paths {
            if !distinct.contains(path.as_ref()) {
                distinct.insert(path.as_ref().to_vec());
            }
        }
        let mut paths: Vec<_> = distinct.into_iter().collect();
        paths.sort_unstable();
        let digits = paths.len().saturating_sub(1).to_string().len().max(LEAST_DIGITS);
        Self { paths, digits }
    }

    /// The short name of a path, if it is one of the link's.
    pub fn name(&self, path: &[u8]) -> Option<String> {
        let rank = self.paths.binary_search_by(|known| known.as_slice().cmp(path)).ok()?;
        Some(format!("m{rank:0digits$}.c", digits = self.digits))
    }

    /// The path that a short name stands for.
    pub fn path(&self, name: &[u8]) -> Option<&[u8]> {
        let digits = name.strip_prefix(b"m")?.strip_suffix(b".c")?;
        if digits.len() != self.digits || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let rank: usize = str::from_utf8(digits).ok()?.parse().ok()?;
        self.paths.get(rank).map(Vec::as_slice)
    }

    /// A message of a compiler with the true paths in place of the short names.
    pub fn translate(&self, message: &[u8]) -> Vec<u8> {
        let name_length = self.digits + "m.c".len();
        let mut told = Vec::with_capacity(message.len());
        let mut rest = message;
        let mut inside_word = false;
        while let [first, after @ ..] = rest {
            let (name, behind) = rest.split_at(name_length.min(rest.len()));
            let ends = !behind.first().is_some_and(|byte| is_word(*byte));
            match self.path(name).filter(|_| !inside_word && ends) {
                Some(path) => {
                    told.extend_from_slice(path);
                    rest = behind;
                }
                None => {
                    told.push(*first);
                    rest = after;
                }
            }
            inside_word = is_word(*first);
        }
        told
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_get_their_paths_back() {
        let mapping = Mapping::new(["/p/b.o", "a b.o"]);
        let message = b"m000000.c: error: '/w/m000000.c'\nxm000001.c m000001.cc m000002.c m000001.c";
        let told = mapping.translate(message);
        assert_eq!(String::from_utf8_lossy(&told), "/p/b.o: error: '/w//p/b.o'\nxm000001.c m000001.cc m000002.c a b.o");
    }

    #[test]
    fn more_than_a_million_modules_keep_their_order() {
        let mapping = Mapping { paths: Vec::new(), digits: 7 };
        assert_eq!(mapping.path(b"m000000.c"), None);
        let mapping = Mapping::new((0..1_000_001u32).map(|number| number.to_be_bytes()));
        assert_eq!(mapping.name(&[0, 0, 0, 1]).as_deref(), Some("m0000001.c"));
        assert_eq!(mapping.path(b"m1000000.c"), Some(&1_000_000u32.to_be_bytes()[..]));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_sort_as_paths_do(paths in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..40)) {
            let mapping = Mapping::new(&paths);
            for one in &paths {
                let name = mapping.name(one).unwrap();
                prop_assert_eq!(mapping.path(name.as_bytes()), Some(one.as_slice()));
                for other in &paths {
                    prop_assert_eq!(name.cmp(&mapping.name(other).unwrap()), one.cmp(other));
                }
            }
        }
    }
}
