use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::compiler::{Compiler, Version};
use super::contents::{Contents, Item};
use super::elf::Elf;
use super::libraries::Library;
use super::standin::{self, Choice, StandIn};

/// `e_machine` of x86-64 and AArch64, and of one for which nothing can stand in.
const X86_64: u16 = 62;
const AARCH64: u16 = 183;
const SPARC: u16 = 2;

fn symbols(names: &[(&str, Option<&str>)]) -> BTreeSet<standin::Name> {
    names.iter().map(|(name, version)| (name.as_bytes().to_vec(), version.map(|it| it.as_bytes().to_vec()))).collect()
}

fn compiler(program: &str, name: &str) -> Compiler {
    Compiler {
        program: program.into(),
        name: name.into(),
        arguments: vec!["tool".into()],
        interpreter: Some("/lib64/ld-linux-x86-64.so.2".into()),
        platform: "x86_64".into(),
    }
}

fn version(configuration: &[&str]) -> Version {
    Version { text: String::new(), configuration: configuration.iter().map(PathBuf::from).collect() }
}

fn library(name: &str, path: &str, needed: &[&str]) -> Library {
    Library { name: name.into(), path: path.into(), needed: needed.iter().map(|name| (*name).to_owned()).collect() }
}

#[test]
fn a_stand_in_has_the_name_and_the_symbols_in_their_versions() {
    let names = [("old", Some("V_1")), ("new", Some("V_2")), ("plain", None), ("old", Some("V_2"))];
    for machine in [X86_64, AARCH64] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library");
        fs::write(&path, standin::build::library(machine, "libx.so.7", &symbols(&names)).unwrap()).unwrap();
        let elf = Elf::open(&path).unwrap();
        let facts = elf.facts().unwrap();
        assert_eq!((facts.machine, facts.interpreter, facts.needed), (machine, None, Vec::new()));
        let found = elf.symbols().unwrap();
        assert!(found.iter().all(|symbol| symbol.defined && !symbol.thread_local));
        let found: BTreeSet<_> = found.into_iter().map(|symbol| (symbol.name, symbol.version)).collect();
        assert_eq!(found, symbols(&names));
    }
}

#[test]
fn a_stand_in_without_versions_or_symbols_is_one_too() {
    let folder = tempfile::tempdir().unwrap();
    for names in [&[][..], &[("plain", None)]] {
        let path = folder.path().join("library");
        fs::write(&path, standin::build::library(X86_64, "libx.so.7", &symbols(names)).unwrap()).unwrap();
        assert_eq!(Elf::open(&path).unwrap().symbols().unwrap().len(), names.len());
    }
    assert_eq!(standin::build::library(SPARC, "libx.so.7", &symbols(&[])), None);
}

#[test]
fn what_only_a_replaced_library_needs_is_not_reached() {
    let libraries = [
        library("libLLVM.so", "/l/libLLVM.so", &["libxml2.so.2", "libz.so.1", "libc.so.6"]),
        library("libxml2.so.2", "/l/libxml2.so.2", &["libicuuc.so.72", "libz.so.1", "libc.so.6"]),
        library("libz.so.1", "/l/libz.so.1", &["libc.so.6"]),
        library("libicuuc.so.72", "/l/libicuuc.so.72", &["libicudata.so.72"]),
        library("libicudata.so.72", "/l/libicudata.so.72", &[]),
        library("libc.so.6", "/l/libc.so.6", &["ld-linux-x86-64.so.2"]),
    ];
    let needed = ["libLLVM.so".to_owned(), "libc.so.6".to_owned()];
    let reached: Vec<&str> = standin::reached(&needed, &libraries).into_iter().collect();
    assert_eq!(reached, ["libLLVM.so", "libc.so.6", "libxml2.so.2", "libz.so.1"]);
}

#[test]
fn everything_is_in_its_own_place() {
    let kept = vec![library("liba.so.1", "/opt/lib/liba.so.1.5", &[]), library("libb.so", "/usr/lib/libb.so", &[])];
    let stand_in = StandIn { library: library("libz3.so.4", "/usr/lib/libz3.so.4", &[]), bytes: b"small".to_vec() };
    let choice = Choice { kept, stand_ins: vec![stand_in] };
    let contents = Contents::new(&compiler("/opt/bin/clang", "clang"), &version(&["/etc/clang.cfg"]), &choice).unwrap();
    let paths: Vec<&str> = contents.items.keys().map(String::as_str).collect();
    assert_eq!(
        paths,
        [
            "/bin/true",
            "/etc/clang.cfg",
            "/lib64/ld-linux-x86-64.so.2",
            "/opt/bin/clang",
            "/opt/lib/liba.so.1",
            "/usr/bin/as",
            "/usr/bin/clang",
            "/usr/lib/libb.so",
            "/usr/lib/libz3.so.4",
        ]
    );
    let source = |path: &str| match &contents.items[path] {
        Item::File(path) => path.display().to_string(),
        Item::Bytes(bytes) => format!("{} bytes", bytes.len()),
        Item::Link(target) => format!("-> {target}"),
    };
    assert_eq!(source("/opt/lib/liba.so.1"), "/opt/lib/liba.so.1.5");
    assert_eq!(source("/usr/lib/libz3.so.4"), "5 bytes");
    assert_eq!(source("/bin/true"), "-> ../usr/bin/clang");
    assert_eq!(contents.manifest.compiler, "/opt/bin/clang");
    assert_eq!(contents.manifest.folders, ["/opt/lib", "/usr/lib"]);
    assert_eq!(contents.manifest.arguments, ["tool", "--config=/etc/clang.cfg", "--no-default-config"]);
}

#[test]
fn a_compiler_in_the_place_of_the_entry_program_goes_elsewhere() {
    let none = Choice::all(&[]);
    for (program, name, expected) in [
        ("/usr/bin/clang", "clang", "/usr/lib/thinbridge/clang"),
        ("/usr/bin/llvm", "as", "/usr/lib/thinbridge/as"),
        ("/usr/bin/clang-22", "clang-22", "/usr/bin/clang-22"),
        ("/opt/bin/llvm", "cc", "/opt/bin/cc"),
    ] {
        let contents = Contents::new(&compiler(program, name), &version(&[]), &none).unwrap();
        assert_eq!(contents.manifest.compiler, expected);
        let file = Path::new(expected).with_file_name(Path::new(program).file_name().unwrap());
        assert!(matches!(&contents.items[file.to_str().unwrap()], Item::File(path) if path == Path::new(program)));
        assert!(matches!(&contents.items["/usr/bin/clang"], Item::Bytes(_)));
        assert_eq!(matches!(&contents.items[expected], Item::Link(_)), !program.ends_with(name));
    }
}

#[test]
fn what_no_manifest_can_say_is_refused() {
    let refused = |compiler: &Compiler, choice: &Choice| {
        Contents::new(compiler, &version(&[]), choice).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let none = Choice::all(&[]);
    let clang = compiler("/opt/bin/clang", "clang");
    assert!(refused(&compiler("/opt/a\nb/clang", "clang"), &none).contains("a line break; install the compiler in"));
    let colon = Choice::all(&[library("liba.so", "/opt/a:b/liba.so", &[])]);
    assert!(refused(&clang, &colon).contains("/opt/a:b/liba.so is in a folder with ':'"));
    for interpreter in ["ld.so", "/opt/../ld.so"] {
        let odd = Compiler { interpreter: Some(interpreter.into()), ..clang.clone() };
        assert!(refused(&odd, &none).contains(&format!("is started by {interpreter}")), "{interpreter}");
    }
}

#[test]
fn a_compiler_is_found_by_its_name_on_the_path() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    fs::create_dir(folder.path().join("first")).unwrap();
    fs::create_dir(folder.path().join("second")).unwrap();
    // A file that cannot be run is passed over, as a shell does.
    let passed_over = folder.path().join("first/cc");
    fs::write(&passed_over, "").unwrap();
    fs::set_permissions(&passed_over, fs::Permissions::from_mode(0o644)).unwrap();
    symlink(&own, folder.path().join("second/cc")).unwrap();
    let path = std::env::join_paths([folder.path().join("first"), folder.path().join("second")]).unwrap();
    let find = |words: &[&str], path: Option<&OsStr>| {
        Compiler::find(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), path)
    };
    let found = find(&["cc", "tool"], Some(&path)).unwrap();
    assert_eq!((found.program, &*found.name), (fs::canonicalize(&own).unwrap(), "cc"));
    assert_eq!(found.arguments, ["tool"]);
    for words in [&["cc"][..], &[], &["/no/such/cc"]] {
        assert!(find(words, None).unwrap_err().to_string().starts_with("there is no compiler"), "{words:?}");
    }
}
