use proptest::prelude::*;

use super::*;

fn fact(name: &str, size: u64) -> FileFact {
    FileFact { name: name.into(), size, digest: [7; 32] }
}

fn refused(names: &[&str]) -> Option<BadName> {
    let files: Vec<FileFact> = names.iter().map(|name| fact(name, 1)).collect();
    match head(&["-c"], &files) {
        Ok(_) => None,
        Err(Unpackable(Flaw::Name { reason, .. })) => Some(reason),
        Err(other) => panic!("{other}"),
    }
}

/// What a receiver makes of whole bytes.
fn parse(bytes: &[u8]) -> Result<Head, Malformed> {
    let (prelude, body) = bytes.split_first_chunk::<PRELUDE_LEN>().ok_or(Malformed::Truncated)?;
    let length = head_length(prelude)?;
    Head::parse(body.get(..length).ok_or(Malformed::Truncated)?)
}

#[test]
fn the_bytes_are_as_described() {
    let head = head(&["-c", ""], &[fact("a/b", 5)]).unwrap();
    let mut expected = b"tbundle\x01\x00\x00\x00\x41\x00\x00\x00\x02\x00\x00\x00\x02-c\x00\x00\x00\x00".to_vec();
    expected.extend(b"\x00\x00\x00\x01\x00\x00\x00\x03a/b\x00\x00\x00\x00\x00\x00\x00\x05");
    expected.extend([7; 32]);
    assert_eq!(head, expected);
}

#[test]
fn names_that_are_no_files_below_the_folder_are_refused() {
    for (name, reason) in [
        ("", BadName::Empty),
        ("a//b", BadName::Empty),
        ("a/", BadName::Empty),
        ("/a", BadName::Absolute),
        ("..", BadName::Dots),
        ("a/../b", BadName::Dots),
        ("a/.", BadName::Dots),
        ("a\0b", BadName::ZeroByte),
    ] {
        assert_eq!(refused(&[name]), Some(reason), "{name:?}");
    }
    assert_eq!(refused(&["...", ".a", "a..", "-", " ", "a\nb", "é"]), None);
    assert_eq!(refused(&[&"a".repeat(MAX_COMPONENT_LEN)]), None);
    assert_eq!(refused(&[&"a".repeat(MAX_COMPONENT_LEN + 1)]), Some(BadName::ComponentTooLong));
    assert_eq!(refused(&[&"a/".repeat(MAX_NAME_LEN)]), Some(BadName::TooLong));
    let of_depth = |depth: usize| vec!["a"; depth].join("/");
    assert_eq!(refused(&[&of_depth(MAX_DEPTH)]), None);
    assert_eq!(refused(&[&of_depth(MAX_DEPTH + 1)]), Some(BadName::TooDeep));
}

#[test]
fn names_that_get_in_each_others_way_are_refused() {
    assert_eq!(refused(&["a", "b", "a"]), Some(BadName::Twice));
    assert_eq!(refused(&["a/b/c", "x", "a"]), Some(BadName::Folder));
    // These sort between the folder and its files as plain bytes.
    assert_eq!(refused(&["a/b", "a!", "a", "a-b"]), Some(BadName::Folder));
    assert_eq!(refused(&["a/b", "a/c", "ab", "a!/b"]), None);
}

#[test]
fn caps_hold_for_arguments_and_contents() {
    let flaw = |arguments: &[Vec<u8>], files: &[FileFact]| head(arguments, files).err().map(|error| error.0);
    assert_eq!(flaw(&[vec![b'a'; MAX_ARGUMENT_LEN]], &[]), None);
    let length = MAX_ARGUMENT_LEN + 1;
    assert_eq!(flaw(&[vec![b'a'; length]], &[]), Some(Flaw::ArgumentTooLong { index: 0, length }));
    assert_eq!(flaw(&[b"a\0".to_vec()], &[]), Some(Flaw::ArgumentWithNul { index: 0 }));
    let count = MAX_ARGUMENTS + 1;
    assert_eq!(flaw(&vec![Vec::new(); count], &[]), Some(Flaw::TooManyArguments { count }));
    let many: Vec<FileFact> = (0..=MAX_FILES).map(|number| fact(&number.to_string(), 0)).collect();
    assert_eq!(flaw(&[], &many), Some(Flaw::TooManyFiles { count: many.len() }));
    assert_eq!(flaw(&[], &[fact("a", MAX_CONTENT_LEN)]), None);
    assert_eq!(flaw(&[], &[fact("a", MAX_CONTENT_LEN), fact("b", 1)]), Some(Flaw::ContentTooLong));
    assert_eq!(flaw(&[], &[fact("a", u64::MAX), fact("b", u64::MAX)]), Some(Flaw::ContentTooLong));
    let huge = vec![vec![b'a'; MAX_ARGUMENT_LEN]; 200];
    assert!(matches!(flaw(&huge, &[]), Some(Flaw::HeadTooLong { .. })));
}

#[test]
fn a_foreign_prelude_is_refused_before_anything_is_read() {
    let prelude = |bytes: &[u8; PRELUDE_LEN]| head_length(bytes);
    assert_eq!(prelude(b"tbundle\x01\x00\x00\x00\x05"), Ok(5));
    assert_eq!(prelude(b"\x7fELF\x02\x01\x01\0\0\0\0\0"), Err(Malformed::NotABundle));
    assert_eq!(prelude(b"tbundle\x02\x00\x00\x00\x05"), Err(Malformed::UnknownVersion { version: 2 }));
    assert!(matches!(prelude(b"tbundle\x01\xff\xff\xff\xff"), Err(Malformed::TooLarge { .. })));
}

#[test]
fn a_head_that_lies_about_its_lengths_is_refused() {
    assert_eq!(Head::parse(b""), Err(Malformed::Truncated));
    assert_eq!(Head::parse(b"\0\0\0\x02\0\0\0\0"), Err(Malformed::Truncated));
    assert_eq!(Head::parse(b"\0\0\0\x01\0\0\0\x09abc"), Err(Malformed::Truncated));
    assert_eq!(Head::parse(b"\0\0\0\0\0\0\0\0+"), Err(Malformed::Surplus { length: 1 }));
    assert!(matches!(Head::parse(b"\xff\xff\xff\xff"), Err(Malformed::TooLarge { .. })));
    let mut upwards = b"\0\0\0\0\0\0\0\x01\0\0\0\x02..\0\0\0\0\0\0\0\0".to_vec();
    upwards.extend([0; 32]);
    assert!(matches!(Head::parse(&upwards), Err(Malformed::Unusable(Flaw::Name { reason: BadName::Dots, .. }))));
}

proptest! {
    #[test]
    fn what_is_sent_is_what_arrives(
        arguments in prop::collection::vec(prop::collection::vec(1_u8.., 0..20), 0..10),
        files in prop::collection::btree_map("[a-z.]{3,9}(/[a-z]{1,9}){0,2}", (0..u64::from(u32::MAX), any::<[u8; 32]>()), 0..2),
    ) {
        let files: Vec<FileFact> =
            files.into_iter().map(|(name, (size, digest))| FileFact { name: name.into(), size, digest }).collect();
        if let Ok(bytes) = head(&arguments, &files) {
            prop_assert_eq!(parse(&bytes), Ok(Head { arguments, files }));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Head::parse(&bytes);
    }

    #[test]
    fn a_damaged_head_is_refused_or_says_what_it_says(at in 0_usize..150, value: u8) {
        let mut bytes = head(&["-c", "-O2"], &[fact("a/b.o", 5), fact("c.thinlto.bc", 9)]).unwrap().to_vec();
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(head) = parse(&bytes) {
            let again = super::head(&head.arguments, &head.files).unwrap();
            prop_assert_eq!(again, bytes);
        }
    }
}
