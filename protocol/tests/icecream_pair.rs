//! Both ends of the icecream protocol against each other, in pieces of every size.
// A failed unwrap is a failed test.
#![allow(missing_docs, clippy::unwrap_used)]

use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use thinbridge_protocol::icecream::{
    Algorithm, BlacklistHostEnv, Channel, Chunk, CompileFile, CompileResult, ConfCs, EnvironmentId, FileReceiver,
    GetCs, GetNativeEnv, JobBegin, JobDone, JobLocalBegin, Kind, Language, Login, Message, Progress, Sender, Stats,
    Subject, Text, UseCs, Version, pack_file,
};

/// One end of a connection: what it has received, and what it wants to send.
struct End {
    channel: Channel,
    input: BytesMut,
    output: Vec<u8>,
    received: Vec<Message>,
    ready: bool,
}

impl End {
    fn new(own: Version) -> Self {
        let channel = Channel::new(own);
        let output = channel.greeting().to_vec();
        Self { channel, input: BytesMut::new(), output, received: Vec::new(), ready: false }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        loop {
            match self.channel.advance(&mut self.input).unwrap() {
                Progress::Incomplete => return,
                Progress::Send(word) => self.output.extend(word),
                Progress::Ready => self.ready = true,
                Progress::Message(message) => self.received.push(message),
            }
        }
    }

    fn send(&mut self, message: &Message) {
        self.output.extend(message.encode(self.channel.version().unwrap()).unwrap());
    }
}

/// Carries what `from` has to send to `to`, in pieces whose lengths are `cuts`, over and over.
fn carry(from: &mut End, to: &mut End, cuts: &[usize]) {
    let bytes = std::mem::take(&mut from.output);
    let mut rest = bytes.as_slice();
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            return;
        }
        let (piece, later) = rest.split_at(rest.len().min(*cut));
        to.receive(piece);
        rest = later;
    }
}

/// Two ends that have agreed on a version.
fn connected(ours: Version, theirs: Version, cuts: &[usize]) -> (End, End) {
    let (mut ours, mut theirs) = (End::new(ours), End::new(theirs));
    for _ in 0..2 {
        carry(&mut ours, &mut theirs, cuts);
        carry(&mut theirs, &mut ours, cuts);
    }
    assert!(ours.ready && theirs.ready);
    assert_eq!(ours.channel.version(), theirs.channel.version());
    (ours, theirs)
}

fn version() -> impl Strategy<Value = Version> {
    (30..=44u32).prop_map(|number| Version::from_number(number).unwrap())
}

fn text() -> impl Strategy<Value = Text> {
    prop_oneof!["\\PC{0,12}".prop_map(Text::new), vec(1..=255u8, 0..12).prop_map(Text::new)]
}

fn texts() -> impl Strategy<Value = Vec<Text>> {
    vec(text(), 0..5)
}

fn environments() -> impl Strategy<Value = Vec<EnvironmentId>> {
    vec((text(), text()).prop_map(|(platform, name)| EnvironmentId { platform, name }), 0..4)
}

fn language() -> impl Strategy<Value = Language> {
    let all = [Language::C, Language::Cxx, Language::ObjectiveC, Language::ObjectiveCxx, Language::Custom];
    proptest::sample::select(all.to_vec())
}

fn chunk() -> impl Strategy<Value = Message> {
    let repetitive = (vec(any::<u8>(), 1..20), 0..300usize).prop_map(|(unit, times)| unit.repeat(times));
    prop_oneof![vec(any::<u8>(), 0..3000), repetitive]
        .prop_map(|plain| Message::FileChunk(Chunk::pack(&plain, Algorithm::Lzo).unwrap()))
}

fn get_cs() -> impl Strategy<Value = Message> {
    let start = (environments(), text(), language(), any::<u32>(), text());
    (start, any::<[u32; 6]>(), text()).prop_map(|(start, numbers, preferred_host)| {
        let (environments, file_name, language, count, target) = start;
        let [arg_flags, client_id, minimal_host_version, client_count, required_features, niceness] = numbers;
        Message::GetCs(GetCs {
            environments,
            file_name,
            language,
            count,
            target,
            arg_flags,
            client_id,
            preferred_host,
            minimal_host_version,
            client_count,
            required_features,
            niceness,
        })
    })
}

fn compile_file() -> impl Strategy<Value = Message> {
    let head = (language(), any::<u32>(), texts());
    (head, vec(text(), 6), any::<bool>()).prop_map(|((language, job_id, flags), texts, split_dwarf)| {
        let [environment, target, compiler, input_file, working_directory, output_file] = texts.try_into().unwrap();
        Message::CompileFile(CompileFile {
            language,
            job_id,
            flags,
            environment,
            target,
            compiler,
            input_file,
            working_directory,
            output_file,
            split_dwarf,
        })
    })
}

fn job_done() -> impl Strategy<Value = Message> {
    let subject = prop_oneof![any::<u32>().prop_map(Subject::Job), any::<u32>().prop_map(Subject::Request)];
    let sender = prop_oneof![Just(Sender::Server), Just(Sender::Submitter)];
    (subject, sender, any::<i32>(), any::<[u32; 9]>()).prop_map(|(subject, sender, exit_code, numbers)| {
        let [real_ms, user_ms, system_ms, page_faults, in_compressed, in_uncompressed, ..] = numbers;
        let [.., out_compressed, out_uncompressed, client_count] = numbers;
        Message::JobDone(JobDone {
            subject,
            sender,
            exit_code,
            real_ms,
            user_ms,
            system_ms,
            page_faults,
            in_compressed,
            in_uncompressed,
            out_compressed,
            out_uncompressed,
            client_count,
        })
    })
}

fn login() -> impl Strategy<Value = Message> {
    let head = (any::<u16>(), any::<u32>(), environments());
    (head, text(), text(), any::<[bool; 2]>(), any::<u32>()).prop_map(
        |((port, max_jobs, environments), node_name, platform, [can_chroot, no_remote], features)| {
            Message::Login(Login { port, max_jobs, environments, node_name, platform, can_chroot, no_remote, features })
        },
    )
}

fn use_cs() -> impl Strategy<Value = Message> {
    (any::<[u32; 3]>(), any::<u16>(), any::<[u8; 4]>(), text(), any::<bool>()).prop_map(
        |([job_id, client_id, matched_job_id], port, host, host_platform, has_environment)| {
            let host = host.into();
            Message::UseCs(UseCs { job_id, port, host, host_platform, has_environment, client_id, matched_job_id })
        },
    )
}

fn messages_about_environments() -> impl Strategy<Value = Message> {
    let native = (text(), texts(), text()).prop_map(|(compiler, extra_files, compression)| {
        Message::GetNativeEnv(GetNativeEnv { compiler, extra_files, compression })
    });
    let named = (text(), text(), option::of(text())).prop_map(|(name, target, host)| match host {
        Some(host) => Message::BlacklistHostEnv(BlacklistHostEnv { name, target, host }),
        None if name < target => Message::TransferEnv { name, target },
        None => Message::VerifyEnv { name, target },
    });
    let verified = any::<bool>().prop_map(|ok| Message::VerifyEnvResult { ok });
    prop_oneof![native, text().prop_map(|path| Message::NativeEnv { path }), named, verified]
}

fn small_messages() -> impl Strategy<Value = Message> {
    let result = (text(), text(), any::<i32>(), any::<[bool; 2]>()).prop_map(
        |(stderr, stdout, status, [out_of_memory, has_dwo])| {
            Message::CompileResult(CompileResult { stderr, stdout, status, out_of_memory, has_dwo })
        },
    );
    let begin = any::<[u32; 3]>()
        .prop_map(|[job_id, started, client_count]| Message::JobBegin(JobBegin { job_id, started, client_count }));
    let local = (any::<[u32; 2]>(), text(), any::<bool>()).prop_map(|([started, id], output_file, full_job)| {
        Message::JobLocalBegin(JobLocalBegin { started, output_file, id, full_job })
    });
    let stats = (any::<[u32; 3]>(), any::<[u32; 2]>())
        .prop_map(|(averages, [load, free_memory])| Message::Stats(Stats { load, averages, free_memory }));
    let conf = (any::<[u32; 2]>(), text()).prop_map(|([pong_seconds, ping_seconds], benchmark)| {
        Message::ConfCs(ConfCs { pong_seconds, ping_seconds, benchmark })
    });
    let monitor =
        vec(any::<u8>(), 0..20).prop_map(|body| Message::Monitor { kind: Kind::MonStats, body: Bytes::from(body) });
    let nobody = any::<[u32; 2]>().prop_map(|[job_id, client_id]| Message::NoCs { job_id, client_id });
    let bare = proptest::sample::select(vec![Message::Ping, Message::End, Message::GetInternals]);
    let id = any::<u32>().prop_map(|id| Message::JobLocalDone { id });
    prop_oneof![result, begin, local, stats, conf, monitor, nobody, bare, id, text().prop_map(Message::StatusText)]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        get_cs(),
        compile_file(),
        job_done(),
        login(),
        use_cs(),
        chunk(),
        messages_about_environments(),
        small_messages()
    ]
}

proptest! {
    #[test]
    fn the_newest_version_loses_nothing(messages in vec(message(), 1..6), cuts in vec(1..200usize, 1..4)) {
        let (mut ours, mut theirs) = connected(Version::NEWEST, Version::NEWEST, &cuts);
        messages.iter().for_each(|message| ours.send(message));
        carry(&mut ours, &mut theirs, &cuts);
        prop_assert_eq!(theirs.received, messages);
    }

    /// What an older version lacks is lost at once and nothing else later: the second time it arrives as it was sent.
    #[test]
    fn an_older_version_loses_the_same_once(
        messages in vec(message(), 1..6), versions in (version(), version()), cuts in vec(1..200usize, 1..4),
    ) {
        let (mut ours, mut theirs) = connected(versions.0, versions.1, &cuts);
        let agreed = versions.0.min(versions.1);
        prop_assert_eq!(ours.channel.version(), Some(agreed));
        let sent: Vec<_> = messages.iter().filter(|message| message.kind().is_in(agreed)).collect();
        sent.iter().for_each(|message| ours.send(message));
        carry(&mut ours, &mut theirs, &cuts);
        let once = std::mem::take(&mut theirs.received);
        prop_assert_eq!(once.len(), sent.len());
        once.iter().for_each(|message| theirs.send(message));
        carry(&mut theirs, &mut ours, &cuts);
        prop_assert_eq!(&ours.received, &once);
    }

    #[test]
    fn files_arrive(content in vec(any::<u8>(), 0..5000), times in 0..200usize, version in version()) {
        let content = content.repeat(times);
        let (mut ours, mut theirs) = connected(version, Version::NEWEST, &[4]);
        for frame in pack_file(&content, Algorithm::of(version)) {
            ours.output.extend(frame);
        }
        ours.send(&Message::End);
        carry(&mut ours, &mut theirs, &[70_000, 1]);
        let mut receiver = FileReceiver::new(content.len());
        prop_assert_eq!(theirs.received.pop(), Some(Message::End));
        for message in &theirs.received {
            match message {
                Message::FileChunk(chunk) => receiver.add(chunk).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        prop_assert!(receiver.finish() == content);
    }
}

#[test]
fn a_conversation_cut_at_each_byte() {
    let (mut ours, _) = connected(Version::OURS, Version::OURS, &[usize::MAX]);
    ours.output = [Version::OURS.number().to_le_bytes(), Version::OURS.number().to_le_bytes()].concat();
    ours.send(&Message::StatusText(Text::from("words")));
    ours.send(&Message::NoCs { job_id: 1, client_id: 2 });
    let stream = ours.output;
    for cut in 0..=stream.len() {
        let mut end = End::new(Version::OURS);
        end.receive(&stream[..cut]);
        end.receive(&stream[cut..]);
        assert_eq!(end.received.len(), 2, "cut at {cut}");
    }
}
