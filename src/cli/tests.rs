//! The command line: how its words are put together, and what its errors say.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{OPTIONS, Request, help, parse, words};

fn arrange(args: &[&str]) -> (Vec<String>, Option<String>, Option<String>) {
    let text = |word: OsString| word.into_string().unwrap();
    let words = words::arrange(args.iter().map(OsString::from).collect());
    (words.options.into_iter().map(text).collect(), words.json.map(text), words.stray.map(text))
}

fn error(args: &[&str]) -> String {
    match parse(args.iter().map(OsString::from).collect()) {
        Err(error) => error.to_string(),
        Ok(other) => panic!("{args:?} gave {other:?}"),
    }
}

#[test]
fn a_list_that_clang_split_is_whole_again() {
    let whole = "--hosts=a/2,lzo,cpp b,lzo";
    for args in [
        &[whole, "j"][..],
        &["--hosts=a/2", "lzo", "cpp b", "lzo", "j"],
        &["--hosts", "a/2", "lzo", "cpp b", "lzo", "j"],
        &["--hosts", "a/2,lzo,cpp b,lzo", "j"],
    ] {
        assert_eq!(arrange(args), (vec![whole.into()], Some("j".into()), None), "{args:?}");
    }
}

#[test]
fn an_option_ends_a_split_list() {
    let (options, json, stray) = arrange(&["--hosts=a", "lzo", "--verify", "1", "--hosts", "b", "lzo", "j"]);
    assert_eq!(options, ["--hosts=a,lzo", "--verify=1", "--hosts=b,lzo"]);
    assert_eq!((json.as_deref(), stray), (Some("j"), None));
    assert_eq!(arrange(&["--hosts=a", "--verify=1", "lzo", "j"]).2.as_deref(), Some("lzo"));
}

#[test]
fn a_list_may_start_with_a_dash_but_an_option_is_no_list() {
    assert_eq!(arrange(&["--hosts", "--randomize a b", "j"]).0, ["--hosts=--randomize a b"]);
    assert_eq!(arrange(&["--hosts", "--verbose=on", "j"]).0, ["--hosts", "--verbose=on"]);
    assert_eq!(arrange(&["--hosts", "--help", "j"]).0, ["--hosts", "--help"]);
}

#[test]
fn the_last_word_is_the_description_whatever_it_looks_like() {
    for json in ["j.json", "a b(c).json", "@x", "-", "-p.123.dist-file.json", "--hosts=x.1.dist-file.json", "Büro/j"] {
        assert_eq!(arrange(&["--verbose=on", json]).1.as_deref(), Some(json));
    }
    assert_eq!(arrange(&["--verbose=on", "--", "-j"]).1.as_deref(), Some("-j"));
    assert_eq!(arrange(&["--hosts", "a", "--verbose=on"]).1, None);
}

#[test]
fn a_description_may_have_any_name() {
    let name = OsString::from_vec(b"/tmp/\xff.json".to_vec());
    match parse(vec!["--verbose=on".into(), name.clone()]) {
        Ok(Request::Run { json, flags }) => {
            assert_eq!(json.into_os_string(), name);
            assert_eq!(flags.verbose, Some(true));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn options_that_are_not_utf8_are_refused() {
    let report = OsString::from_vec(b"--report=\xff".to_vec());
    let error = parse(vec![report, "j".into()]).unwrap_err().to_string();
    assert_eq!(error, "--report: the value is not UTF-8; write it in UTF-8");
    let unknown = OsString::from_vec(b"--\xff".to_vec());
    assert!(parse(vec![unknown, "j".into()]).unwrap_err().to_string().starts_with("unknown option "));
}

#[test]
fn errors_are_one_line_with_the_mend() {
    let cases: &[(&[&str], &str)] = &[
        (
            &[],
            "no job description: the last argument must be the JSON file that the linker wrote; ld.lld adds it by itself when it calls thinbridge; see 'thinbridge --help'",
        ),
        (&[""], "no job description: "),
        (&["--verbose=on"], "no job description: "),
        (&["--hots=a", "j"], "unknown option '--hots'; did you mean '--hosts'?"),
        (&["--hots", "a", "j"], "unknown option '--hots'; did you mean '--hosts'?"),
        (&["--bogus"], "unknown option '--bogus'; 'thinbridge --help' lists the options"),
        (&["-j4", "j"], "unknown option '-j'; 'thinbridge --help' lists the options"),
        (&["--local-slots=x", "j"], "--local-slots=x: expected a whole number from 0 to 1024"),
        (&["--local-slots", "-1", "j"], "--local-slots=-1: expected a whole number from 0 to 1024"),
        (&["--local-slots=", "j"], "--local-slots=: expected a whole number from 0 to 1024"),
        (
            &["--local-slots", "j"],
            "--local-slots has no value (the last word, 'j', is the job description); expected a whole number from 0 to 1024",
        ),
        (
            &["--hosts", "--verbose=on", "j"],
            "--hosts has no value (the last word, 'j', is the job description); expected a host list in distcc's grammar",
        ),
        (&["--verbose=true", "j"], "--verbose=true: expected on or off"),
        (&["--fallback=a\nb", "j"], "--fallback=a\\nb: expected on or off"),
        (&["--verify=nan", "j"], "--verify=nan: expected a number from 0 to 1"),
        (&["--max-fallback=2", "j"], "--max-fallback=2: expected a number from 0 to 1"),
        (&["--report=", "j"], "--report=: expected the name of a file or a folder"),
        (&["--remote-compiler=a=", "j"], "--remote-compiler=a=: expected [HOST=]NAME"),
        (&["--remote-compiler=-x", "j"], "--remote-compiler=-x: expected [HOST=]NAME"),
        (&["--help=x", "j"], "'--help' takes no value; "),
        (
            &["--report=/tmp/a", "b", "j"],
            "stray word 'b' before the job description; options start with '--'; clang splits -Xthinlto-distributor= at commas, so write a value with a comma (other than a host list) as -Xlinker --thinlto-distributor-arg=--OPTION=VALUE",
        ),
        (
            &["j.json", "--verbose", "on"],
            "'j.json' is not the last word; put the options first and the job description last",
        ),
        (&["j.json", "--verbose=on"], "'j.json' is not the last word; "),
    ];
    for (args, expected) in cases {
        let error = error(args);
        assert!(error.starts_with(expected), "{args:?}\n gave {error}\n not {expected}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn help_and_version_are_found_anywhere() {
    for args in [&["--help"][..], &["-h"], &["--help", "j"], &["--verbose=on", "--help"], &["x", "--help", "--hosts"]] {
        let request = parse(args.iter().map(OsString::from).collect());
        assert!(matches!(request, Ok(Request::Help(_))), "{args:?} gave {request:?}");
    }
    for args in [&["--version"][..], &["-V", "j"]] {
        match parse(args.iter().map(OsString::from).collect()) {
            Ok(Request::Version(text)) => assert_eq!(text, format!("thinbridge {}\n", env!("CARGO_PKG_VERSION"))),
            other => panic!("{args:?} gave {other:?}"),
        }
    }
}

#[test]
fn the_help_text() {
    // To renew it: run `thinbridge --help > src/cli/help.txt` and read the difference.
    assert_eq!(help::text(), include_str!("help.txt"));
}

#[test]
fn the_help_text_fits_and_names_everything() {
    let text = help::text();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
    for option in OPTIONS {
        assert!(text.contains(&format!("\n  --{} {}\n", option.name, option.value_name)), "{}", option.name);
    }
}
