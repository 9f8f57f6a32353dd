//! Environments are made once, and anew when the compiler changes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use thinbridge::environment::{Environment, obtain};

use crate::laid_out::{LaidOut, bundle, field, stand_in};
use crate::support::{THINBRIDGE, Workdir, require, run, skip};

fn words(compiler: &Path) -> Vec<String> {
    vec![compiler.to_str().expect("UTF-8").to_owned()]
}

fn obtained(compiler: &Path, cache: &Path) -> Environment {
    obtain(&words(compiler), cache).unwrap_or_else(|error| panic!("{error}"))
}

fn archives(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join("environments")).expect("a folder");
    let entries = entries.map(|entry| entry.expect("readable").path());
    entries.filter(|path| path.extension().is_some_and(|it| it == "zst")).collect()
}

#[test]
fn it_is_taken_as_it_is_until_the_compiler_changes() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let first = obtained(&compiler, &cache);
    let made = fs::metadata(&first.archive).unwrap().modified().unwrap();
    // Whatever leads to the same file is the same compiler.
    symlink(&compiler, folder.join("clang-99")).unwrap();
    assert_eq!(obtained(&compiler, &cache), first);
    assert_eq!(fs::metadata(&first.archive).unwrap().modified().unwrap(), made);

    let open = fs::File::open(&first.archive).unwrap();
    let mut program = fs::read(&compiler).unwrap();
    program.extend_from_slice(b"a newer one");
    fs::write(&compiler, program).unwrap();
    let second = obtained(&compiler, &cache);
    assert_ne!(second.name, first.name);
    // The old one is gone, but not for who has it open.
    assert_eq!(archives(&cache), std::slice::from_ref(&second.archive));
    assert_eq!(open.metadata().unwrap().len(), first.packed);
}

#[test]
fn a_damaged_cache_is_mended() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let first = obtained(&compiler, &cache);
    let content = fs::read(&first.archive).unwrap();
    let again = || {
        assert_eq!(obtained(&compiler, &cache), first);
        assert_eq!(fs::read(&first.archive).unwrap(), content);
    };
    fs::remove_file(&first.archive).unwrap();
    again();
    fs::write(&first.archive, &content[..content.len() / 2]).unwrap();
    again();
    for entry in fs::read_dir(cache.join("environments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "json") {
            fs::write(path, "{").unwrap();
        }
    }
    again();
}

#[test]
fn what_a_killed_link_left_is_removed_by_the_next_that_makes_one() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let mut child = Command::new("true").spawn().unwrap();
    let (dead, own) = (child.id(), std::process::id());
    child.wait().unwrap();
    let environments = cache.join("environments");
    fs::create_dir_all(environments.join(format!(".proof-{dead}.tmp"))).unwrap();
    for name in [format!(".{dead}.tmp"), format!("0123.{dead}.tmp"), format!(".{own}1.x.tmp"), format!("{own}.tmp")] {
        fs::write(environments.join(name), "").unwrap();
    }
    obtained(&compiler, &cache);
    let left = fs::read_dir(environments).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = left.filter(|name| name.ends_with(".tmp")).collect();
    left.sort();
    assert_eq!(left, [format!(".{own}1.x.tmp"), format!("{own}.tmp")]);
}

#[test]
fn many_links_at_once_get_the_same() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let start = || {
        let mut command = Command::new(THINBRIDGE);
        command.args(["environment", "--compiler"]).arg(&compiler).env("XDG_CACHE_HOME", &cache);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let links: Vec<_> = (0..6).map(|_| start()).collect();
    let texts: Vec<String> = links
        .into_iter()
        .map(|link| {
            let output = link.wait_with_output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    assert_eq!(archives(&cache.join("thinbridge")), [PathBuf::from(field(&texts[0], "path"))]);
    let left = fs::read_dir(cache.join("thinbridge/environments")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
}

#[test]
fn threads_of_one_process_do_not_get_in_each_others_way() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (one, cache) = (stand_in(&folder, "one"), folder.join("cache"));
    let two = stand_in(&folder, "two");
    thread::scope(|scope| {
        let makers = [&one, &two, &one, &two].map(|compiler| scope.spawn(|| obtained(compiler, &cache)));
        let made = makers.map(|maker| maker.join().unwrap());
        assert!(made.iter().all(|it| fs::metadata(&it.archive).unwrap().len() == it.packed));
        assert_eq!((&made[0], &made[1]), (&made[2], &made[3]));
    });
}

#[test]
fn the_content_alone_makes_the_name() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let compiler = stand_in(&folder, "compiler");
    let (one, two) = (obtained(&compiler, &folder.join("one")), obtained(&compiler, &folder.join("two")));
    assert_eq!(one.name, two.name);
    assert_eq!(fs::read(one.archive).unwrap(), fs::read(two.archive).unwrap());
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let compiler = stand_in(&folder, "compiler");
    // Even root can make no folder there.
    let file = folder.write("file", "");
    fs::create_dir(folder.join("tmp")).unwrap();
    let mut command = Command::new(THINBRIDGE);
    command.args(["environment", "--compiler"]).arg(&compiler);
    command.env("XDG_CACHE_HOME", &file).env("TMPDIR", folder.join("tmp"));
    let path = field(&run(&mut command), "path");
    assert!(Path::new(&path).starts_with(folder.join("tmp")), "{path}");

    let output = command.env("TMPDIR", &file).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("cannot write") && stderr.contains("set XDG_CACHE_HOME"), "{stderr}");
}

#[test]
fn nothing_is_taken_from_or_made_in_a_cache_of_somebody_else() {
    use std::os::unix::fs::{PermissionsExt, chown};
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let compiler = stand_in(&folder, "compiler");
    let (theirs, open) = (folder.join("theirs"), folder.join("open"));
    fs::create_dir_all(&theirs).unwrap();
    if chown(&theirs, Some(65534), Some(65534)).is_err() {
        _ = skip("only root can give a folder to somebody else");
        return;
    }
    // A folder in which all can write, with ours already in it, and a trap.
    let environments = open.join("thinbridge/environments");
    fs::create_dir_all(&environments).unwrap();
    let precious = folder.write("precious", "content");
    symlink(&precious, environments.join("lock")).unwrap();
    chown(open.join("thinbridge"), Some(65534), None).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::create_dir(folder.join("tmp")).unwrap();
    for cache in [&theirs, &open, &theirs.join("not/there/yet")] {
        let mut command = Command::new(THINBRIDGE);
        command.args(["environment", "--compiler"]).arg(&compiler);
        command.env("XDG_CACHE_HOME", cache).env("TMPDIR", folder.join("tmp"));
        let path = field(&run(&mut command), "path");
        assert!(Path::new(&path).starts_with(folder.join("tmp")), "{path}");
    }
    assert_eq!(fs::read(precious).unwrap(), b"content");
    assert_eq!(fs::read_dir(theirs).unwrap().count(), 0);
}

#[test]
fn configuration_files_go_along_and_are_named_to_the_compiler() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let plain = obtained(&compiler, &cache);
    // It comes later, where a compiler looks for it: the environment is another one.
    let file = folder.write("compiler.cfg", "-O3\n");
    fs::write(&compiler, fs::read(&compiler).unwrap()).unwrap();
    let configured = obtained(&compiler, &cache);
    assert_ne!(configured.name, plain.name);
    let laid_out = LaidOut::of(&configured.archive);
    let file = file.to_str().unwrap();
    assert_eq!(fs::read(laid_out.program(file.trim_start_matches('/'))).unwrap(), b"-O3\n");
    let manifest = fs::read_to_string(laid_out.program("thinbridge.manifest")).unwrap();
    let arguments: Vec<&str> = manifest.lines().filter_map(|line| line.strip_prefix("argument ")).collect();
    assert_eq!(arguments, [&format!("--config={file}"), "--no-default-config"]);
    assert!(laid_out.run(bundle(&["cat"], &[])).status.success());
    fs::write(file, "-O2\n").unwrap();
    assert_ne!(obtained(&compiler, &cache).name, configured.name);
}

#[test]
fn the_compiler_is_found_among_the_words_that_start_it() {
    if !require(&["clang-22"]) {
        return;
    }
    let folder = Workdir::new();
    let (compiler, cache) = (stand_in(&folder, "compiler"), folder.join("cache"));
    let alone = obtained(&compiler, &cache);
    let name = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        obtain(&words, &cache).unwrap_or_else(|error| panic!("{error}")).name
    };
    let compiler = compiler.to_str().unwrap();
    assert_eq!(name(&["/usr/bin/wrapper", compiler]), alone.name);
    // A program that is many: the tool's name goes along.
    let many = LaidOut::of(&obtain(&[compiler.to_owned(), "clang".to_owned()], &cache).expect("one too").archive);
    let manifest = fs::read_to_string(many.program("thinbridge.manifest")).unwrap();
    assert!(manifest.contains("\nargument clang\n"), "{manifest}");
}
