//! What several links have to have in common.

use super::Linked;

/// Panics unless every job's object comes from a host and no attempt failed.
#[track_caller]
pub(crate) fn expect_all_remote(linked: &Linked) {
    let jobs = linked.report()["jobs"].as_array().expect("the report has jobs");
    assert!(!jobs.is_empty(), "the link has no jobs");
    for job in jobs {
        // The job that proves the hosts goes to each of them, and a late answer to it is not waited for.
        let went_well = |attempt: &serde_json::Value| attempt["outcome"] == "ok" || attempt["outcome"] == "cancelled";
        let all_went_well = job["attempts"].as_array().is_some_and(|attempts| attempts.iter().all(went_well));
        assert!(job["place"] == "remote" && all_went_well, "{job}\n{}", linked.stderr);
    }
    assert_eq!(linked.total("remote"), jobs.len() as u64);
    assert_eq!(linked.total("fallbacks"), 0);
}

/// Panics unless every job was meant for this machine and ran there.
#[track_caller]
pub(crate) fn expect_all_local(linked: &Linked) {
    assert!(linked.total("jobs") > 0, "the link has no jobs");
    assert_eq!(linked.total("local"), linked.total("jobs"));
    assert_eq!(linked.total("fallbacks"), 0, "nobody was meant for a host");
}

/// Compares the objects of two links with `--save-temps`, job by job.
#[track_caller]
pub(crate) fn expect_same_objects(one: &Linked, other: &Linked) {
    let (ones, others) = (objects(one), objects(other));
    assert_eq!(ones.len(), others.len(), "the links have different jobs");
    for ((name, one), (_, other)) in ones.iter().zip(&others) {
        assert!(one == other, "{name}: the objects differ, {} and {} bytes", one.len(), other.len());
    }
}

/// Each job's output and its bytes, in the linker's order.
#[track_caller]
fn objects(linked: &Linked) -> Vec<(String, Vec<u8>)> {
    let jobs = linked.report()["jobs"].as_array().expect("the report has jobs");
    let read = |job: &serde_json::Value| {
        let output = job["output"].as_str().expect("a job has an output");
        let bytes = std::fs::read(linked.folder.join(output)).unwrap_or_else(|error| panic!("{output}: {error}"));
        (output.to_owned(), bytes)
    };
    jobs.iter().map(read).collect()
}
