//! A job description that is wrong: exit 2 and one line with the file, the place and the field.

use serde_json::{Value, json};

use crate::jobs::{DESCRIPTION, Ended, Jobs, run};
use crate::support::{THINBRIDGE, Workdir, isolate};

fn described(folder: &Workdir, name: &str) -> Ended {
    let mut command = std::process::Command::new(THINBRIDGE);
    isolate(&mut command, folder);
    run(command.current_dir(folder.path()).arg(name))
}

/// What is said of this text.
#[track_caller]
fn refused(text: impl AsRef<[u8]>, words: &[&str]) {
    let folder = Workdir::new();
    folder.write(DESCRIPTION, text);
    let ended = described(&folder, DESCRIPTION).expect(2).says(words).says(&["thinbridge: error: jobs.json: "]);
    assert_eq!((ended.stderr.lines().count(), ended.stdout.as_str()), (1, ""), "{}", ended.stderr);
}

fn good() -> Value {
    let job = |name: &str| {
        let (object, shard) = (format!("{name}.native.o"), format!("{name}.bc"));
        let index = format!("-fthinlto-index={shard}");
        json!({ "args": [name, index, "-o", object], "inputs": [name, shard], "outputs": [object] })
    };
    json!({
        "common": { "linker_output": "program", "args": ["/usr/bin/clang-22", "-c", "-O2"], "inputs": [] },
        "jobs": [job("a.o"), job("b.o")],
    })
}

/// The description after a change at a JSON pointer: another value, or none.
fn changed(pointer: &str, value: Option<Value>) -> String {
    let mut description = good();
    let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
    let parent = description.pointer_mut(parent).expect("it points somewhere");
    match value {
        Some(value) => *parent.pointer_mut(&format!("/{field}")).expect("it points somewhere") = value,
        None => drop(parent.as_object_mut().expect("an object").remove(field)),
    }
    description.to_string()
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Workdir::new();
    described(&folder, "none.json").expect(2).says(&["none.json: cannot read the job description", "No such file"]);
    described(&folder, ".").expect(2).says(&["thinbridge: error: .: ", "directory"]);
    described(&folder, "home/.distcc/hosts/below.json").expect(2).says(&["below.json: "]);
}

#[test]
fn text_that_is_not_json_is_refused_with_its_line_and_column() {
    refused("", &["not JSON"]);
    refused("{\"common\":\n  oops}", &["line 2, column 3: not JSON"]);
    refused(good().to_string() + "}", &["line 1, column ", "not JSON"]);
    refused(&good().to_string().as_bytes()[..200], &["line 1, column ", "not JSON"]);
    refused(b"{\"common\": \"\xff\"}", &["line 1, column ", "not JSON"]);
    refused("[".repeat(100_000), &["not JSON"]);
}

#[test]
fn every_missing_field_is_named() {
    let places = [
        ("/common", "common"),
        ("/common/linker_output", "common.linker_output"),
        ("/common/args", "common.args"),
        ("/common/inputs", "common.inputs"),
        ("/jobs", "jobs"),
        ("/jobs/1/args", "jobs[1].args"),
        ("/jobs/1/inputs", "jobs[1].inputs"),
        ("/jobs/1/outputs", "jobs[1].outputs"),
    ];
    for (pointer, place) in places {
        refused(changed(pointer, None), &[&format!("jobs.json: {place}: the field is missing")]);
    }
}

#[test]
fn every_wrong_type_is_named_with_what_was_expected() {
    let objects = [("/common", "common"), ("/jobs/0", "jobs[0]")];
    let arrays = [
        ("/common/args", "common.args"),
        ("/common/inputs", "common.inputs"),
        ("/jobs", "jobs"),
        ("/jobs/1/args", "jobs[1].args"),
        ("/jobs/1/inputs", "jobs[1].inputs"),
        ("/jobs/1/outputs", "jobs[1].outputs"),
    ];
    let strings = [
        ("/common/linker_output", "common.linker_output"),
        ("/common/args/1", "common.args[1]"),
        ("/jobs/1/args/3", "jobs[1].args[3]"),
        ("/jobs/1/inputs/0", "jobs[1].inputs[0]"),
        ("/jobs/0/outputs/0", "jobs[0].outputs[0]"),
    ];
    let places = objects.map(|place| (place, "an object")).into_iter();
    let places = places.chain(arrays.map(|place| (place, "an array"))).chain(strings.map(|place| (place, "a string")));
    for ((pointer, place), expected) in places {
        for (value, found) in [(json!(null), "null"), (json!(7), "a number"), (json!(true), "a boolean")] {
            refused(
                changed(pointer, Some(value)),
                &[&format!("jobs.json: {place}: expected {expected}, found {found}")],
            );
        }
    }
    refused("[]", &["expected an object, found an array"]);
    refused(changed("/jobs/1/inputs", Some(json!("a.o"))), &["jobs[1].inputs: expected an array, found a string"]);
}

#[test]
fn empty_lists_and_names_are_refused() {
    refused(changed("/jobs", Some(json!([]))), &["jobs: there are no jobs"]);
    refused(changed("/common/args", Some(json!([]))), &["common.args: expected the compiler"]);
    refused(changed("/common/args/0", Some(json!(""))), &["common.args[0]: expected the compiler"]);
    refused(changed("/jobs/0/args", Some(json!([]))), &["jobs[0].args: "]);
    refused(changed("/jobs/0/inputs", Some(json!(["a.o"]))), &["jobs[0].inputs: ", "summary index shard"]);
    refused(changed("/jobs/0/outputs", Some(json!([]))), &["jobs[0].outputs: expected the object"]);
    refused(changed("/jobs/0/outputs/0", Some(json!(""))), &["jobs[0].outputs[0]: expected the name of a file"]);
    refused(changed("/jobs/1/inputs/1", Some(json!("a\0b"))), &["jobs[1].inputs[1]: ", "NUL"]);
}

#[test]
fn two_jobs_cannot_write_one_object() {
    refused(changed("/jobs/1/outputs/0", Some(json!("a.o.native.o"))), &["jobs[1].outputs[0]", "a.o.native.o"]);
}

#[test]
fn fields_of_later_linkers_are_ignored() {
    let mut jobs = Jobs::two();
    jobs.run(&[]).expect(0).silent();
    let expected = jobs.objects();
    jobs.remove_outputs();
    jobs.description["version"] = json!(2);
    jobs.description["common"]["environment"] = json!({ "a": [1, null] });
    jobs.description["jobs"][1]["weight"] = json!(1.5e300);
    jobs.run(&[]).expect(0).silent();
    assert_eq!(jobs.objects(), expected);
}

#[test]
fn the_file_may_be_a_pipe_or_have_a_strange_name() {
    let jobs = Jobs::two();
    let folder = &jobs.program.folder;
    let name = "-odd name\n'.json";
    jobs.run(&[]).expect(0);
    jobs.remove_outputs();
    std::fs::rename(folder.join(DESCRIPTION), folder.join(name)).expect("renamed");
    let mut command = std::process::Command::new(THINBRIDGE);
    isolate(&mut command, folder);
    run(command.current_dir(folder.path()).arg(folder.join(name))).expect(0);
    jobs.objects();
    jobs.remove_outputs();
    run(&mut jobs.scripted(&["env"], "\"$1\" /dev/stdin <jobs.json", &[])).expect(0);
    jobs.objects();
}
