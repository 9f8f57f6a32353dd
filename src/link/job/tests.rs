//! Job descriptions: what ld.lld-22 writes, what is refused and with which words, and what a job's arguments mean.

use serde_json::{Value, json};

use super::{Description, JobError, Shape, UnknownShape, parse};

/// A description as ld.lld-22 writes it, with two jobs.
fn sample() -> Value {
    json!({
        "common": {
            "linker_output": "out/prog",
            "args": ["/usr/bin/clang-22", "-c", "--target=x86_64-unknown-linux-gnu", "-O2", "-faddrsig",
                     "-mllvm", "-no-pgo-warn-mismatch", "-fprofile-sample-use=p.prof",
                     "-Wno-unused-command-line-argument"],
            "inputs": ["p.prof"],
        },
        "jobs": [job("a.o", 1), job("lib.a(b.o at 110)", 2)],
    })
}

fn job(module: &str, task: usize) -> Value {
    let output = format!("out/x.{task}.77.native.o");
    let shard = format!("{output}.thinlto.bc");
    json!({
        "args": [module, format!("-fthinlto-index={shard}"), "-o", output],
        "inputs": [module, shard, "z.o"],
        "outputs": [output],
    })
}

fn parsed(value: &Value) -> Result<Description, JobError> {
    parse(value.to_string().as_bytes())
}

/// The sample with the value at `pointer` (RFC 6901) replaced, or removed.
fn changed(pointer: &str, new: Option<Value>) -> Value {
    let mut value = sample();
    match new {
        Some(new) => *value.pointer_mut(pointer).expect(pointer) = new,
        None => {
            let (parent, field) = pointer.rsplit_once('/').expect(pointer);
            value.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer).remove(field);
        }
    }
    value
}

/// The sample with more common arguments.
fn with_args(more: &[&str]) -> Description {
    let mut description = parsed(&sample()).unwrap();
    description.common_args.extend(more.iter().map(ToString::to_string));
    description
}

#[test]
fn the_compiler_is_told_from_its_options() {
    let split = |words: &[&str]| {
        let mut description = parsed(&sample()).unwrap();
        description.common_args = words.iter().map(ToString::to_string).collect();
        (description.compiler().join(" "), description.options().collect::<Vec<_>>().join(" "))
    };
    let pair = |compiler: &str, options: &str| (compiler.to_owned(), options.to_owned());
    assert_eq!(split(&["clang", "-c", "-O2"]), pair("clang", "-O2"));
    assert_eq!(split(&["ccache", "clang", "-c", "-O2", "-x", "ir"]), pair("ccache clang", "-O2 -x ir"));
    assert_eq!(split(&["nice", "-n", "5", "clang", "-c", "-O2"]), pair("nice -n 5 clang", "-O2"));
    assert_eq!(split(&["clang", "--driver-mode=gcc", "-c", "-O2"]), pair("clang", "--driver-mode=gcc -O2"));
    assert_eq!(split(&["clang"]), pair("clang", ""));
}

#[test]
fn the_linkers_description_is_understood() {
    let description = parsed(&sample()).unwrap();
    assert_eq!(description.linker_output, "out/prog");
    assert_eq!(description.common_args.first().unwrap(), "/usr/bin/clang-22");
    assert_eq!(description.common_inputs, ["p.prof"]);
    let job = &description.jobs[1];
    assert_eq!(job.module(), "lib.a(b.o at 110)");
    assert_eq!(job.shard(), "out/x.2.77.native.o.thinlto.bc");
    assert_eq!(job.imports(), ["z.o"]);
    assert_eq!(job.output(), "out/x.2.77.native.o");
    assert_eq!(description.shape(job), Ok(Shape { module: 0, index: 1, output: 3 }));
    assert_eq!(description.asks_side_files(job), None);
    assert!(description.suspicious().is_empty());
}

#[test]
fn fields_of_later_versions_are_ignored() {
    let mut value = sample();
    value["version"] = json!(3);
    value["common"]["env"] = json!({ "A": null });
    value["jobs"][0]["weight"] = json!([1, 2]);
    assert_eq!(parsed(&value), parsed(&sample()));
}

#[test]
fn names_may_hold_anything_but_nul() {
    for name in ["a b.o", "(x)", "it's", "q\"q", "back\\slash", "new\nline", "-dash.o", "@at.o", "Büro-研究.o", "\u{1}"]
    {
        let mut value = sample();
        value["jobs"][0] = job(name, 1);
        let description = parsed(&value).unwrap();
        let job = &description.jobs[0];
        assert_eq!(job.module(), name);
        assert_eq!(description.shape(job), Ok(Shape { module: 0, index: 1, output: 3 }), "{name}");
        assert_eq!(description.asks_side_files(job), None, "{name}");
    }
}

#[test]
fn what_is_not_json_is_refused_with_the_place() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "line 1, column 0: not JSON: EOF while parsing a value"),
        (b"{\n  \"common\": }", "line 2, column 13: not JSON: expected value"),
        (b"{} x", "line 1, column 4: not JSON: trailing characters"),
        (b"\"\xff\"", "line 1, column 2: not JSON: invalid unicode code point"),
        (b"\xef\xbb\xbf{}", "line 1, column 1: not JSON: expected value"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(parse(bytes).unwrap_err().to_string(), *expected);
    }
    let deep = "[".repeat(1_000_000);
    assert!(matches!(parse(deep.as_bytes()), Err(JobError::NotJson { .. })));
}

#[test]
fn every_missing_field_is_named() {
    for field in ["common/linker_output", "common/args", "common/inputs", "jobs", "common"] {
        let error = parsed(&changed(&format!("/{field}"), None)).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: the field is missing", field.replace('/', ".")));
    }
    for field in ["args", "inputs", "outputs"] {
        let error = parsed(&changed(&format!("/jobs/1/{field}"), None)).unwrap_err();
        assert_eq!(error.to_string(), format!("jobs[1].{field}: the field is missing"));
    }
}

#[test]
fn every_wrong_type_is_named() {
    let types = [
        (json!(null), "null"),
        (json!(true), "a boolean"),
        (json!(1.5), "a number"),
        (json!("s"), "a string"),
        (json!(["s"]), "an array"),
        (json!({}), "an object"),
    ];
    let places = [
        ("", "the top level", "an object"),
        ("/common", "common", "an object"),
        ("/common/linker_output", "common.linker_output", "a string"),
        ("/common/args", "common.args", "an array"),
        ("/common/args/2", "common.args[2]", "a string"),
        ("/common/inputs", "common.inputs", "an array"),
        ("/common/inputs/0", "common.inputs[0]", "a string"),
        ("/jobs", "jobs", "an array"),
        ("/jobs/1", "jobs[1]", "an object"),
        ("/jobs/0/args", "jobs[0].args", "an array"),
        ("/jobs/0/args/3", "jobs[0].args[3]", "a string"),
        ("/jobs/1/inputs", "jobs[1].inputs", "an array"),
        ("/jobs/1/inputs/1", "jobs[1].inputs[1]", "a string"),
        ("/jobs/1/outputs", "jobs[1].outputs", "an array"),
        ("/jobs/1/outputs/0", "jobs[1].outputs[0]", "a string"),
    ];
    for (pointer, place, expected) in places {
        for (value, found) in types.iter().filter(|(_, found)| *found != expected) {
            let error = parsed(&changed(pointer, Some(value.clone()))).unwrap_err();
            assert_eq!(error.to_string(), format!("{place}: expected {expected}, found {found}"));
        }
    }
}

#[test]
fn what_is_empty_or_too_short_is_named() {
    let cases = [
        ("/jobs", json!([]), "jobs: there are no jobs in it"),
        ("/common/args", json!([]), "common.args: expected the compiler, found nothing"),
        ("/common/args/0", json!(""), "common.args[0]: expected the compiler, found an empty string"),
        ("/common/inputs/0", json!(""), "common.inputs[0]: expected the name of a file, found an empty string"),
        ("/jobs/0/args", json!([]), "jobs[0].args: expected the arguments of the compiler, found nothing"),
        (
            "/jobs/0/inputs",
            json!(["a.o"]),
            "jobs[0].inputs: expected a module and its summary index shard, found only one entry",
        ),
        ("/jobs/0/inputs/2", json!(""), "jobs[0].inputs[2]: expected the name of a file, found an empty string"),
        ("/jobs/0/outputs", json!([]), "jobs[0].outputs: expected the object, found nothing"),
        ("/jobs/0/outputs/0", json!(""), "jobs[0].outputs[0]: expected the name of a file, found an empty string"),
        (
            "/jobs/0/inputs/0",
            json!("a\u{0}b"),
            "jobs[0].inputs[0]: holds a NUL character, which no file name or argument can",
        ),
        ("/common/args/1", json!("\u{0}"), "common.args[1]: holds a NUL character, which no file name or argument can"),
    ];
    for (pointer, value, expected) in cases {
        assert_eq!(parsed(&changed(pointer, Some(value))).unwrap_err().to_string(), expected);
    }
}

#[test]
fn names_that_the_linker_garbled_are_listed_once_with_what_to_look_for() {
    let mut value = sample();
    value["jobs"][0] = job("b\u{FFFD}.o", 1);
    value["jobs"][1]["inputs"][2] = json!("b\u{FFFD}.o");
    value["jobs"][1]["outputs"][0] = json!("o\u{FFFD}/x.o");
    value["common"]["inputs"][0] = json!("\u{FFFD}/p");
    let description = parsed(&value).unwrap();
    let suspicious = description.suspicious();
    let found: Vec<_> = suspicious.iter().map(|name| (name.name, name.witness.to_str().unwrap())).collect();
    let expected = [("b\u{FFFD}.o", "b\u{FFFD}.o"), ("\u{FFFD}/p", "\u{FFFD}/p"), ("o\u{FFFD}/x.o", "o\u{FFFD}")];
    assert_eq!(found, expected);
    let error = suspicious.first().unwrap().error().to_string();
    assert!(error.contains("'b\u{FFFD}.o'") && error.contains("rename"), "{error}");
}

#[test]
fn arguments_of_another_shape_say_so() {
    let shape = |args: Value| {
        let description = parsed(&changed("/jobs/0/args", Some(args))).unwrap();
        description.shape(&description.jobs[0])
    };
    let (index, output) = ("-fthinlto-index=out/x.1.77.native.o.thinlto.bc", "out/x.1.77.native.o");
    let reordered = json!(["-o", output, "-x", "ir", index, "-flag", "a.o"]);
    let description = parsed(&changed("/jobs/0/args", Some(reordered))).unwrap();
    let job = &description.jobs[0];
    let found = description.shape(job).unwrap();
    assert_eq!(found, Shape { module: 6, index: 4, output: 1 });
    assert_eq!(found.others(job).collect::<Vec<_>>(), ["-x", "ir", "-flag"]);

    assert_eq!(shape(json!(["b.o", index, "-o", output])), Err(UnknownShape::Module));
    assert_eq!(shape(json!(["a.o", "a.o", index, "-o", output])), Err(UnknownShape::Module));
    assert_eq!(shape(json!(["a.o", "-o", output])), Err(UnknownShape::Index));
    assert_eq!(shape(json!(["a.o", index, index, "-o", output])), Err(UnknownShape::Index));
    assert_eq!(shape(json!(["a.o", "-fthinlto-index=z", "-o", output])), Err(UnknownShape::Index));
    assert_eq!(shape(json!(["a.o", index])), Err(UnknownShape::Output));
    assert_eq!(shape(json!(["a.o", index, "-o"])), Err(UnknownShape::Output));
    assert_eq!(shape(json!(["a.o", index, "-o", "y"])), Err(UnknownShape::Output));
    assert_eq!(shape(json!(["a.o", index, format!("-o{output}")])), Err(UnknownShape::Output));
    assert_eq!(shape(json!(["a.o", index, "-o", output, "-o", output])), Err(UnknownShape::Output));
    for args in [&["-o"][..], &["-oz"], &["-fthinlto-index=z"], &["-Xclang", "-o"], &["-mllvm", "-mllvm", "-oz"]] {
        let description = with_args(args);
        assert_eq!(description.shape(&description.jobs[0]), Err(UnknownShape::Common), "{args:?}");
    }
}

#[test]
fn words_that_the_compiler_passes_on_name_no_files() {
    let mut description = parsed(&sample()).unwrap();
    let index = "-fthinlto-index=out/x.1.77.native.o.thinlto.bc";
    description.jobs[0].args = ["-o", "-mllvm", index, "a.o"].map(Into::into).into();
    description.jobs[0].outputs = vec!["-mllvm".into()];
    assert!(description.shape(&description.jobs[0]).is_ok(), "an output may be called so");

    let passed_on = [
        &["-mllvm", "-opt-bisect-limit=7"][..],
        &["-Xclang", "-opt-record-passes", "-Xclang", "inline"],
        &["-Xclang", "-mllvm", "-Xclang", "-outliner-leaf-descendants=0"],
        &["-Xassembler", "-o-like", "-Xlinker", "-o"],
    ];
    for args in passed_on {
        let description = with_args(args);
        assert!(description.shape(&description.jobs[0]).is_ok(), "{args:?}");

        let mut description = parsed(&sample()).unwrap();
        let job = &mut description.jobs[0];
        job.args.splice(..0, args.iter().map(ToString::to_string));
        let job = &description.jobs[0];
        let [module, index, output] = [0, 1, 3].map(|at| at + args.len());
        assert_eq!(description.shape(job), Ok(Shape { module, index, output }), "{args:?}");
        assert_eq!(description.shape(job).unwrap().others(job).collect::<Vec<_>>(), args);
    }
}

#[test]
fn arguments_that_need_this_machine_are_named() {
    let writing = "asks for more files than the object";
    let reading = "reads a file that the linker did not list";
    let machine = "means something else on another machine";
    let llvm = "reads or writes a file";
    let cases: &[(&[&str], &str)] = &[
        (&["-gsplit-dwarf"], writing),
        (&["-gsplit-dwarf=single"], writing),
        (&["-fsave-optimization-record"], writing),
        (&["-fsave-optimization-record=yaml"], writing),
        (&["-foptimization-record-file=r.yaml"], writing),
        (&["-save-temps"], writing),
        (&["--save-temps=obj"], writing),
        (&["-ftime-trace"], writing),
        (&["-ftime-trace=t.json"], writing),
        (&["-fstack-usage"], writing),
        (&["-MD"], writing),
        (&["-MMD"], writing),
        (&["-MF", "x.d"], writing),
        (&["-MFx.d"], writing),
        (&["-MJ", "x"], writing),
        (&["-Wp,-MD,x.d"], writing),
        (&["-fprofile-generate"], writing),
        (&["-fprofile-generate=/tmp"], writing),
        (&["-fprofile-instr-generate"], writing),
        (&["-fcs-profile-generate"], writing),
        (&["--coverage"], writing),
        (&["-ftest-coverage"], writing),
        (&["-fcrash-diagnostics-dir=/tmp"], writing),
        (&["--serialize-diagnostics", "x"], writing),
        (&["-serialize-diagnostics", "x"], writing),
        (&["-emit-llvm"], writing),
        (&["-dumpdir", "x"], writing),
        (&["-Xclang", "-split-dwarf-file", "-Xclang", "x.dwo"], writing),
        (&["-Xclang=-opt-record-file"], writing),
        (&["-fprofile-use"], reading),
        (&["-fprofile-use=/abs/p.profdata"], reading),
        (&["-fprofile-instr-use=rel.profdata"], reading),
        (&["-fprofile-sample-use=other.prof"], reading),
        (&["-fbasic-block-sections=list=x"], reading),
        (&["-fplugin=x.so"], reading),
        (&["-fpass-plugin=x.so"], reading),
        (&["-specs=x"], reading),
        (&["--specs=x"], reading),
        (&["--config=x.cfg"], reading),
        (&["--config", "x.cfg"], reading),
        (&["-Xclang", "-load", "-Xclang", "x.so"], reading),
        (&["-fsanitize-ignorelist=x"], reading),
        (&["@more"], "is a response file"),
        (&["-march=native"], machine),
        (&["-mtune=native"], machine),
        (&["-working-directory", "/x"], machine),
        (&["-mllvm", "-info-output-file=x"], llvm),
        (&["-mllvm", "-pass-remarks-output=x"], llvm),
        (&["-mllvm", "--memprof-file", "-mllvm", "x"], llvm),
        (&["-mllvm", "-anything=/x"], llvm),
        (&["-mllvm", "-load=x.so"], llvm),
        (&["-mllvm", "-print-changed=dot-cfg"], llvm),
        (&["-mllvm=-info-output-file=x"], llvm),
    ];
    for (args, why) in cases {
        let description = with_args(args);
        let reason = description.asks_side_files(&description.jobs[0]).unwrap_or_default();
        assert_eq!(reason, format!("'{}' {why}", named(args)), "{args:?}");
        // The same among the job's own arguments.
        let mut description = parsed(&sample()).unwrap();
        description.jobs[0].args.extend(args.iter().map(ToString::to_string));
        assert!(description.asks_side_files(&description.jobs[0]).is_some(), "{args:?}");
        assert_eq!(description.asks_side_files(&description.jobs[1]), None, "{args:?}");
    }
}

/// The argument that is named: behind `-Xclang` and `-mllvm` the value.
fn named<'a>(args: &[&'a str]) -> &'a str {
    match args {
        ["-Xclang" | "-mllvm", value, ..] => value,
        [first, ..] => first,
        [] => "",
    }
}

#[test]
fn ordinary_arguments_need_no_particular_machine() {
    let harmless = [
        "-O3",
        "-g",
        "-fpic",
        "-march=x86-64-v3",
        "-ftime-report",
        "-fno-crash-diagnostics",
        "-fno-profile-generate",
        "-fprofile-sample-accurate",
        "-fbasic-block-sections=all",
        "-fdebug-prefix-map=/a=/b",
        "--sysroot=/sdk",
        "--no-default-config",
        "-MT",
        "-mllvm",
        "-inline-threshold=500",
        "-mllvm",
        "-no-pgo-warn-mismatch",
        "-mcmodel=large",
        "-mcoverage-of-nothing",
        "-Wa,--noexecstack",
    ];
    let description = with_args(&harmless);
    assert_eq!(description.asks_side_files(&description.jobs[0]), None);
}

#[test]
fn more_than_one_output_needs_this_machine() {
    let description = parsed(&changed("/jobs/0/outputs", Some(json!(["a", "b"])))).unwrap();
    assert_eq!(description.asks_side_files(&description.jobs[0]).as_deref(), Some("it has 2 outputs"));
}

#[test]
fn an_output_may_look_like_an_option() {
    let mut value = sample();
    value["jobs"][0]["args"][3] = json!("@save");
    value["jobs"][0]["outputs"][0] = json!("@save");
    let description = parsed(&value).unwrap();
    assert_eq!(description.asks_side_files(&description.jobs[0]), None);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn no_cut_description_is_accepted(cut in 0usize..900) {
        let text = sample().to_string();
        if let Some(part) = text.as_bytes().get(..cut).filter(|part| part.len() < text.len()) {
            proptest::prop_assert!(parse(part).is_err());
        }
    }
}
