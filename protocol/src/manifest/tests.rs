use super::*;

fn manifest() -> Manifest {
    Manifest {
        compiler: "/opt/llvm 22/bin/llvm".into(),
        arguments: vec!["clang".into(), String::new()],
        folders: vec!["/opt/llvm 22/lib".into(), "/lib".into()],
        files: vec![
            File { path: "/opt/llvm 22/bin/llvm".into(), size: u64::MAX, digest: [0xab; 32], tail: [1; 32] },
            File { path: "/lib/é".into(), size: 0, digest: [0; 32], tail: [0xff; 32] },
        ],
    }
}

#[test]
fn what_is_written_is_read_back() {
    let text = manifest().text().unwrap();
    assert!(text.contains("file 0 0000") && text.ends_with("ffff /lib/é\nend\n"), "{text}");
    assert_eq!(Manifest::parse(text.as_bytes()), Ok(manifest()));
}

#[test]
fn a_text_that_is_cut_anywhere_is_refused() {
    let text = manifest().text().unwrap();
    // All but the last line break is needed.
    for length in 0..text.len() - 1 {
        assert!(Manifest::parse(&text.as_bytes()[..length]).is_err(), "{length}");
    }
    let zeroed = [&text.as_bytes()[..100], &[0; 900]].concat();
    assert_eq!(Manifest::parse(&zeroed), Err(BadLine(5)));
}

#[test]
fn foreign_lines_are_refused() {
    let text = manifest().text().unwrap();
    for (from, to) in [
        ("environment 1", "environment 2"),
        ("compiler /", "compiler "),
        ("folder", "older"),
        ("file 0 00", "file 0 +0"),
        ("file 0 00", "file -1 00"),
        ("file 0 00", "file 0 0"),
        (" /lib/", " lib/"),
    ] {
        let text = text.replacen(from, to, 1);
        assert!(Manifest::parse(text.as_bytes()).is_err(), "{to}");
    }
    assert_eq!(Manifest::parse(b"end\n"), Err(BadLine(1)));
}

#[test]
fn what_cannot_be_read_back_is_not_written() {
    for spoil in [
        |manifest: &mut Manifest| manifest.compiler = "clang".into(),
        |manifest: &mut Manifest| manifest.arguments = vec!["a\nb".into()],
        |manifest: &mut Manifest| manifest.folders = vec!["/a\nb".into()],
        |manifest: &mut Manifest| manifest.files[0].path = "/a\nend\n".into(),
    ] {
        let mut manifest = manifest();
        spoil(&mut manifest);
        assert_eq!(manifest.text(), None);
    }
}
