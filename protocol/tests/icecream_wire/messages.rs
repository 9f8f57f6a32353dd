//! Every message in every version, field by field.

use std::net::Ipv4Addr;

use bytes::Bytes;
use thinbridge_protocol::icecream::{
    BlacklistHostEnv, CompileFile, CompileResult, ConfCs, EnvironmentId, GetCs, GetNativeEnv, JobBegin, JobDone,
    JobLocalBegin, Kind, Language, Login, Message, Sender, Stats, Subject, Text, Unsendable, UseCs, Version,
};

use crate::frames::{all_versions, decode, frame, n, s, since, version};

/// `message` has these bytes in `version`, and they read as `read`: the message without what the version lacks.
fn assert_is(version: Version, message: &Message, bytes: &[u8], read: Message) {
    assert_eq!(message.encode(version).unwrap(), bytes, "version {version}: {message:?}");
    assert_eq!(decode(version, bytes), Ok(Some(read)), "version {version}");
}

/// The same, for a message that is alike in all versions that have it.
fn assert_always(message: Message, bytes: &[u8]) {
    for version in all_versions() {
        if message.kind().is_in(version) {
            assert_is(version, &message, bytes, message.clone());
        }
    }
}

fn text(bytes: &str) -> Text {
    Text::from(bytes)
}

fn environments(ids: &[(&str, &str)]) -> Vec<EnvironmentId> {
    ids.iter().map(|&(platform, name)| EnvironmentId { platform: text(platform), name: text(name) }).collect()
}

#[test]
fn a_frame_byte_by_byte() {
    let conf = ConfCs { pong_seconds: 3, ping_seconds: 36, benchmark: text("") };
    let bytes = b"\0\0\0\x11\0\0\0\x5c\0\0\0\x03\0\0\0\x24\0\0\0\x01\0";
    assert_always(Message::ConfCs(conf), bytes);
    assert_always(Message::StatusText(text("no!")), b"\0\0\0\x0c\0\0\0\x5a\0\0\0\x04no!\0");
    assert_always(Message::End, b"\0\0\0\x04\0\0\0\x43");
}

#[test]
fn messages_that_are_alike_in_all_versions() {
    assert_always(Message::Ping, &frame(66, &[]));
    assert_always(Message::GetInternals, &frame(91, &[]));
    assert_always(Message::NativeEnv { path: text("/var/e.tar.zst") }, &frame(70, &[s("/var/e.tar.zst")]));
    assert_always(Message::JobLocalDone { id: 9 }, &frame(79, &[n(9)]));
    let stats = Stats { load: 1000, averages: [1, 2, 3], free_memory: 8000 };
    assert_always(Message::Stats(stats), &frame(81, &[n(1000), n(1), n(2), n(3), n(8000)]));
    let (name, target) = (text("e1"), text("aarch64"));
    let transfer = Message::TransferEnv { name: name.clone(), target: target.clone() };
    assert_always(transfer, &frame(88, &[s("e1"), s("aarch64")]));
    let verify = Message::VerifyEnv { name: name.clone(), target: target.clone() };
    assert_always(verify, &frame(93, &[s("e1"), s("aarch64")]));
    assert_always(Message::VerifyEnvResult { ok: true }, &frame(94, &[n(1)]));
    assert_always(Message::VerifyEnvResult { ok: false }, &frame(94, &[n(0)]));
    let entry = BlacklistHostEnv { name, target, host: text("10.0.0.7") };
    assert_always(Message::BlacklistHostEnv(entry), &frame(95, &[s("e1"), s("aarch64"), s("10.0.0.7")]));
    assert_always(Message::NoCs { job_id: 5, client_id: 7 }, &frame(96, &[n(5), n(7)]));
    let answer = UseCs {
        job_id: 5,
        port: 10245,
        host: Ipv4Addr::new(10, 77, 0, 11),
        host_platform: text("x86_64"),
        has_environment: true,
        client_id: 7,
        matched_job_id: 3,
    };
    assert_always(
        Message::UseCs(answer),
        &frame(72, &[n(5), n(10245), s("10.77.0.11"), s("x86_64"), n(1), n(7), n(3)]),
    );
}

#[test]
fn get_cs_in_every_version() {
    let full = GetCs {
        environments: environments(&[("x86_64", "e1"), ("aarch64", "e2")]),
        file_name: text("a/b/c.o"),
        language: Language::Cxx,
        count: 2,
        target: text("x86_64"),
        arg_flags: 9,
        client_id: 77,
        preferred_host: text("build7"),
        minimal_host_version: 42,
        client_count: 5,
        required_features: 2,
        niceness: 19,
    };
    for version in all_versions() {
        let v = version.number();
        let bytes = frame(
            71,
            &[
                n(2),
                s("x86_64"),
                s("e1"),
                s("aarch64"),
                s("e2"),
                s("a/b/c.o"),
                n(1),
                n(2),
                s("x86_64"),
                n(9),
                n(77),
                s("build7"),
                since(v, 31, n(1)),
                since(v, 34, n(42)),
                since(v, 39, n(5)),
                since(v, 42, n(2)),
                since(v, 43, n(19)),
            ],
        );
        let read = GetCs {
            minimal_host_version: match v {
                34.. => 42,
                31..=33 => 31,
                _ => 0,
            },
            client_count: if v >= 39 { 5 } else { 0 },
            required_features: if v >= 42 { 2 } else { 0 },
            niceness: if v >= 43 { 19 } else { 0 },
            ..full.clone()
        };
        assert_is(version, &Message::GetCs(full.clone()), &bytes, Message::GetCs(read));
    }
}

#[test]
fn a_request_that_asks_nothing_of_hosts() {
    let request = GetCs {
        environments: Vec::new(),
        file_name: text(""),
        language: Language::C,
        count: 1,
        target: text(""),
        arg_flags: 0,
        client_id: 1,
        preferred_host: text(""),
        minimal_host_version: 0,
        client_count: 0,
        required_features: 0,
        niceness: 0,
    };
    let bytes = frame(71, &[n(0), s(""), n(0), n(1), s(""), n(0), n(1), s(""), n(0)]);
    assert_is(version(31), &Message::GetCs(request.clone()), &bytes, Message::GetCs(request));
}

#[test]
fn compile_file_in_every_version() {
    let full = CompileFile {
        language: Language::ObjectiveCxx,
        job_id: 6,
        flags: vec![text("-c"), text("-O2"), text("")],
        environment: text("e1"),
        target: text("x86_64"),
        compiler: text("clang"),
        input_file: text("a.cc"),
        working_directory: text("/w"),
        output_file: text("a.o"),
        split_dwarf: true,
    };
    for version in all_versions() {
        let v = version.number();
        let second_list = if v < 41 { n(0) } else { Vec::new() };
        let bytes = frame(
            73,
            &[
                n(3),
                n(6),
                n(3),
                s("-c"),
                s("-O2"),
                s(""),
                second_list,
                s("e1"),
                s("x86_64"),
                s("clang"),
                since(v, 34, s("a.cc")),
                since(v, 34, s("/w")),
                since(v, 35, s("a.o")),
                since(v, 35, n(1)),
            ],
        );
        let read = CompileFile {
            input_file: text(if v >= 34 { "a.cc" } else { "" }),
            working_directory: text(if v >= 34 { "/w" } else { "" }),
            output_file: text(if v >= 35 { "a.o" } else { "" }),
            split_dwarf: v >= 35,
            ..full.clone()
        };
        assert_is(version, &Message::CompileFile(full.clone()), &bytes, Message::CompileFile(read));
    }
}

#[test]
fn both_lists_of_flags_count() {
    let fields =
        [n(0), n(1), n(1), s("-a"), n(2), s("-b"), s("-c"), s("e"), s("t"), s("gcc"), s(""), s(""), s(""), n(0)];
    match decode(version(40), &frame(73, &fields)) {
        Ok(Some(Message::CompileFile(request))) => assert_eq!(request.flags, ["-a", "-b", "-c"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn compile_result_in_every_version() {
    let full = CompileResult {
        stderr: text("warning: w\n"),
        stdout: text("out"),
        status: -1,
        out_of_memory: true,
        has_dwo: true,
    };
    for version in all_versions() {
        let v = version.number();
        let bytes = frame(75, &[s("warning: w\n"), s("out"), n(0xffff_ffff), n(1), since(v, 35, n(1))]);
        let read = CompileResult { has_dwo: v >= 35, ..full.clone() };
        assert_is(version, &Message::CompileResult(full.clone()), &bytes, Message::CompileResult(read));
    }
}

#[test]
fn the_messages_about_jobs_in_every_version() {
    let begin = JobBegin { job_id: 4, started: 1_700_000_000, client_count: 2 };
    let local = JobLocalBegin { started: 1_700_000_000, output_file: text("a.o"), id: 8, full_job: true };
    for version in all_versions() {
        let v = version.number();
        let bytes = frame(76, &[n(4), n(1_700_000_000), since(v, 39, n(2))]);
        let read = JobBegin { client_count: if v >= 39 { 2 } else { 0 }, ..begin };
        assert_is(version, &Message::JobBegin(begin), &bytes, Message::JobBegin(read));
        let bytes = frame(78, &[n(1_700_000_000), s("a.o"), n(8), since(v, 44, n(1))]);
        let read = JobLocalBegin { full_job: v >= 44, ..local.clone() };
        assert_is(version, &Message::JobLocalBegin(local.clone()), &bytes, Message::JobLocalBegin(read));
    }
}

fn measured(subject: Subject, sender: Sender, exit_code: i32) -> JobDone {
    JobDone {
        real_ms: 1,
        user_ms: 2,
        system_ms: 3,
        page_faults: 4,
        in_compressed: 5,
        in_uncompressed: 6,
        out_compressed: 7,
        out_uncompressed: 8,
        client_count: 9,
        ..JobDone::new(subject, sender, exit_code)
    }
}

#[test]
fn job_done_in_every_version() {
    let numbers: Vec<u8> = (1..=8).flat_map(n).collect();
    for version in all_versions() {
        let v = version.number();
        let tail = since(v, 39, n(9));
        let client_count = if v >= 39 { 9 } else { 0 };
        let done = |flags, exit: u32| frame(77, &[n(21), n(exit), numbers.clone(), n(flags), tail.clone()]);
        let read = |done| Message::JobDone(JobDone { client_count, ..done });

        let server = measured(Subject::Job(21), Sender::Server, 1);
        assert_is(version, &Message::JobDone(server), &done(0, 1), read(server));
        let submitter = measured(Subject::Job(21), Sender::Submitter, -1);
        assert_is(version, &Message::JobDone(submitter), &done(1, 0xffff_ffff), read(submitter));

        let withdrawn = measured(Subject::Request(21), Sender::Submitter, 107);
        let (flags, exit) = if v >= 39 { (3, 107) } else { (1, 200) };
        let expected = JobDone { exit_code: exit, ..withdrawn };
        assert_is(version, &Message::JobDone(withdrawn), &done(flags, exit.cast_unsigned()), read(expected));
    }
}

#[test]
fn an_exit_code_is_not_taken_for_a_withdrawal() {
    let done = JobDone::new(Subject::Job(21), Sender::Server, 200);
    for version in all_versions() {
        let exit_code = if version.number() >= 39 { 200 } else { 100 };
        let read = decode(version, &Message::JobDone(done).encode(version).unwrap());
        assert_eq!(read, Ok(Some(Message::JobDone(JobDone { exit_code, ..done }))));
    }
}

#[test]
fn login_in_every_version() {
    let full = Login {
        port: 10245,
        max_jobs: 8,
        environments: environments(&[("x86_64", "e1")]),
        node_name: text("build7"),
        platform: text("x86_64"),
        can_chroot: true,
        no_remote: true,
        features: 3,
    };
    for version in all_versions() {
        let v = version.number();
        let bytes = frame(
            80,
            &[n(10245), n(8), n(1), s("x86_64"), s("e1"), s("build7"), s("x86_64"), n(1), n(1), since(v, 42, n(3))],
        );
        let read = Login { features: if v >= 42 { 3 } else { 0 }, ..full.clone() };
        assert_is(version, &Message::Login(full.clone()), &bytes, Message::Login(read));
    }
}

#[test]
fn get_native_env_in_every_version() {
    let full = GetNativeEnv {
        compiler: text("/usr/bin/clang"),
        extra_files: vec![text("/a"), text("/b")],
        compression: text("zstd"),
    };
    for version in all_versions() {
        let v = version.number();
        let fields = [s("/usr/bin/clang"), n(2), s("/a"), s("/b"), since(v, 42, s("zstd"))].concat();
        let read = GetNativeEnv {
            compiler: text(if v >= 32 { "/usr/bin/clang" } else { "" }),
            extra_files: if v >= 32 { full.extra_files.clone() } else { Vec::new() },
            compression: text(if v >= 42 { "zstd" } else { "" }),
        };
        let bytes = frame(69, &[since(v, 32, fields)]);
        assert_is(version, &Message::GetNativeEnv(full.clone()), &bytes, Message::GetNativeEnv(read));
    }
}

#[test]
fn monitor_messages_are_passed_through() {
    let kinds = [
        (82, Kind::MonLogin),
        (83, Kind::MonGetCs),
        (84, Kind::MonJobBegin),
        (85, Kind::MonJobDone),
        (86, Kind::MonLocalJobBegin),
        (87, Kind::MonStats),
    ];
    for (number, kind) in kinds {
        let body = Bytes::from_static(b"anything");
        assert_always(Message::Monitor { kind, body }, &frame(number, &[b"anything".to_vec()]));
    }
}

#[test]
fn messages_are_not_sent_to_peers_that_do_not_have_them() {
    let verify = Message::VerifyEnvResult { ok: true };
    let refusal = Unsendable::NotInVersion { kind: Kind::VerifyEnvResult, version: version(30) };
    assert_eq!(verify.encode(version(30)), Err(refusal.clone()));
    assert_eq!(refusal.to_string(), "protocol version 30 has no message VERIFY_ENV_RESULT");
    let nobody = Message::NoCs { job_id: 1, client_id: 1 };
    assert!(nobody.encode(version(36)).is_err() && nobody.encode(version(37)).is_ok());
}

#[test]
fn a_message_fills_a_frame_but_not_more() {
    // Number and length of the string, and its zero byte.
    let room = (1 << 20) - 4 - 4 - 1;
    let full = Message::StatusText(text(&"x".repeat(room)));
    assert_eq!(decode(version(43), &full.encode(version(43)).unwrap()), Ok(Some(full)));
    let refusal = Message::StatusText(text(&"x".repeat(room + 1))).encode(version(43)).unwrap_err();
    assert_eq!(refusal, Unsendable::TooLong { kind: Kind::StatusText, length: (1 << 20) + 1 });
    assert_eq!(refusal.to_string(), "STATUS_TEXT would have 1048577 bytes, icecream takes at most 1048576");
}
