//! Names as compilers write them.

use super::super::names::{is_source, is_versioned};

#[test]
fn file_symbols_bear_the_last_component() {
    // Each seen with clang 22, with its own assembler and the GNU one.
    for (source, name) in [
        ("a.c", "a.c"),
        ("/abs/dir/a.c", "a.c"),
        ("a//b.c", "b.c"),
        ("a/", "."),
        ("/", "/"),
        ("//foo", "//foo"),
        ("//foo/", "/"),
        ("", ""),
        ("a/..", ".."),
        ("C:\\x\\y.c", "C:\\x\\y.c"),
        ("x\\y/z.c", "z.c"),
        ("ab\ncd", "ab\ncd"),
        ("B\u{fc}/\u{f6}.c", "\u{f6}.c"),
        ("<stdin>", "<stdin>"),
        ("main.4f8a-cgu.0", "main.4f8a-cgu.0"),
    ] {
        assert!(is_source(name.as_bytes(), source.as_bytes()), "{source:?} {name:?}");
    }
    // A compiler on Windows splits at backslashes too.
    assert!(is_source(b"y.c", b"C:\\x\\y.c"));
    for (source, name) in [("a.c", "b.c"), ("dir/a.c", "ba.c"), ("ba.c", "a.c"), ("a.c", ""), ("", "a.c"), ("a.c", ".")]
    {
        assert!(!is_source(name.as_bytes(), source.as_bytes()), "{source:?} {name:?}");
    }
}

#[test]
fn versions_are_seen() {
    for name in ["f@V1", "f@@V1", "f@"] {
        assert!(is_versioned(name.as_bytes()), "{name}");
    }
    for name in ["f", "@f", "", "@"] {
        assert!(!is_versioned(name.as_bytes()), "{name}");
    }
}
