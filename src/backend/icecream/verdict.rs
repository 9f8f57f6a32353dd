//! What a compile server's answer means: no IO.

use thinbridge_protocol::bundle;
use thinbridge_protocol::icecream::{CompileResult, Text};

use super::server::told;
use crate::backend::{Failure, harmless};
use crate::schedule::Fault;

/// icecream's own numbers for how a job ended.
const GENERAL: i32 = 100;
const COMPILER_CRASHED: i32 = 104;
const OUT_OF_MEMORY: i32 = 105;
const IO_ERROR: i32 = 107;
const COMPILER_MISSING: i32 = 110;
const CLIENT_KILLED: i32 = 118;

/// The statuses of a compiler that was killed, as by the kernel when memory ran out, or told to end, as by the server.
const KILLED: i32 = 128 + 9;
const TERMINATED: i32 = 128 + 15;

/// The statuses of the program that stands for the compiler in the environment.
const BAD_BUNDLE: i32 = bundle::BAD_BUNDLE as i32;
const INCOMPLETE_ENVIRONMENT: i32 = bundle::INCOMPLETE_ENVIRONMENT as i32;
const BAD_OBJECT: i32 = bundle::BAD_OBJECT as i32;

/// Why an answer brings no object, if it brings none. `words`: what the server itself said.
pub(super) fn failure(result: &CompileResult, words: Option<&Text>) -> Option<Failure> {
    let stderr = result.stderr.to_string();
    let failure = |fault, reason: &str, said: &str| {
        let said = told(said);
        let colon = if said.is_empty() { "" } else { ": " };
        Some(Failure::new(fault, format!("{reason}{colon}{said}")))
    };
    let by_server = words.map(Text::to_string).unwrap_or_default();
    match (result.status, entry_says(&stderr)) {
        (0, _) => None,
        _ if result.out_of_memory => {
            failure(Fault::Exhausted, "it lacks memory or disk space, or did not get its input in time", &stderr)
        }
        (OUT_OF_MEMORY | KILLED, _) => failure(Fault::Exhausted, "its compiler was killed; out of memory?", &stderr),
        (BAD_BUNDLE, Some(line)) => failure(Fault::Misbehaved, "the job arrived damaged", line),
        (INCOMPLETE_ENVIRONMENT, Some(line)) => failure(Fault::Incompatible, "its environment is damaged", line),
        // Its input was as it was sent, so this may be the job's own fault. A local compile will tell.
        (BAD_OBJECT, Some(line)) => failure(Fault::Compile, "the compiler there made no object", line),
        (COMPILER_MISSING, _) => failure(Fault::EnvironmentGone, "it no longer has the environment", &by_server),
        (GENERAL | IO_ERROR | CLIENT_KILLED | TERMINATED, _) => {
            failure(Fault::Refused, "it gave the job up", &by_server)
        }
        (COMPILER_CRASHED, _) => failure(Fault::Compile, "the compiler there crashed", &stderr),
        (status, _) => failure(Fault::Compile, &format!("the compiler there ended with status {status}"), &stderr),
    }
}

/// Whether the answer says that the environment is damaged on that host.
pub(super) fn environment_is_bad(result: &CompileResult) -> bool {
    result.status == INCOMPLETE_ENVIRONMENT && !result.out_of_memory && entry_says(&result.stderr.to_string()).is_some()
}

/// What the program that stands for the compiler said itself: its statuses could be a compiler's, too.
fn entry_says(stderr: &str) -> Option<&str> {
    stderr.lines().find_map(|line| line.strip_prefix(bundle::MESSAGE_PREFIX))
}

/// What the compiler there said, without control characters: a host has no say over the user's terminal.
pub(super) fn clean(stderr: &Text) -> Vec<u8> {
    stderr.as_bytes().iter().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: i32) -> CompileResult {
        CompileResult {
            stderr: "m.o: error: no\nmore".into(),
            stdout: "".into(),
            status,
            out_of_memory: false,
            has_dwo: false,
        }
    }

    #[test]
    fn statuses_say_whose_fault_it_was() {
        let fault = |status| failure(&result(status), None).map(|failure| failure.fault);
        assert_eq!(fault(0), None);
        assert_eq!(fault(1), Some(Fault::Compile));
        assert_eq!(fault(70), Some(Fault::Compile));
        assert_eq!(fault(96), Some(Fault::Compile), "a compiler's own status");
        assert_eq!(fault(107), Some(Fault::Refused));
        assert_eq!(fault(110), Some(Fault::EnvironmentGone));
        assert_eq!(fault(137), Some(Fault::Exhausted));
        assert_eq!(fault(139), Some(Fault::Compile));
        assert_eq!(fault(-1), Some(Fault::Compile));
    }

    #[test]
    fn the_entry_program_says_what_it_found() {
        let entry = |status| CompileResult { stderr: "warning: w\nthinbridge-entry: bad x\n".into(), ..result(status) };
        let fault = |status| failure(&entry(status), None).map(|failure| failure.fault);
        assert_eq!(fault(95), Some(Fault::Misbehaved));
        assert_eq!(fault(96), Some(Fault::Incompatible));
        assert_eq!(fault(97), Some(Fault::Compile));
        assert_eq!(failure(&entry(95), None).unwrap().reason, "the job arrived damaged: bad x");
        assert!(environment_is_bad(&entry(96)) && !environment_is_bad(&entry(95)) && !environment_is_bad(&result(96)));
        assert!(!environment_is_bad(&CompileResult { out_of_memory: true, ..entry(96) }));
    }

    #[test]
    fn words_before_a_good_result_are_no_failure() {
        assert!(failure(&result(0), Some(&"some warning".into())).is_none());
    }

    #[test]
    fn out_of_memory_counts_whatever_the_status_is_but_not_with_a_good_one() {
        assert_eq!(failure(&CompileResult { out_of_memory: true, ..result(1) }, None).unwrap().fault, Fault::Exhausted);
        assert!(failure(&CompileResult { out_of_memory: true, ..result(0) }, None).is_none());
    }

    #[test]
    fn reasons_quote_one_line() {
        let failure = failure(&result(1), None).unwrap();
        assert_eq!(failure.reason, "the compiler there ended with status 1: m.o: error: no");
        assert_eq!(clean(&Text::new(b"a\x1b[1m\n\tb\r")), b"a?[1m\n\tb?");
    }
}
