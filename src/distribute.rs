//! The story of one link: read the jobs, find the hosts, run, publish, report.

mod cluster;
mod drive;
mod ledger;
mod parent;
mod signals;
mod work;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::distcc::{Client, ProfileTravels, profile_travels, refusal};
use crate::backend::slots::{self, Slots};
use crate::config::{Fallback, Origin, Place, Settings};
use crate::files::read_at_most;
use crate::fleet::{self, Fleet};
use crate::link::job::{self, Description};
use crate::link::plan::Plan;
use crate::link::publish::publish;
use crate::link::{dropped, linker};
use crate::report::json;
use crate::report::voice::Voice;
use crate::schedule::{FIRST_DEADLINE, HostSpec, JobSpec, Policy, Schedule};
use crate::words::plain;
use drive::{Drive, End, Rules};
use ledger::Ledger;
use work::Shared;

/// All objects are there.
pub const EXIT_OK: u8 = 0;
/// A backend compile failed locally too.
pub const EXIT_FAILED: u8 = 1;
/// The command line, the configuration or the job description is wrong.
pub const EXIT_USAGE: u8 = 2;
/// More jobs fell back than the user allows.
pub const EXIT_FALLBACK: u8 = 3;
/// A signal's number is added to this.
const EXIT_SIGNAL: u8 = 128;

/// A reason to stop before any job runs: the exit status and the words.
type Refusal = (u8, String);

/// Runs a link's backend jobs. Returns the exit status.
pub fn run(settings: &Settings) -> u8 {
    let voice = Voice::new(settings.log.as_deref(), settings.verbose);
    match link(settings, &voice) {
        Ok(status) => status,
        Err((status, words)) => {
            voice.fail(words);
            status
        }
    }
}

fn link(settings: &Settings, voice: &Voice) -> Result<u8, Refusal> {
    let started = Instant::now();
    let linker = std::os::unix::process::parent_id();
    settings.notes.iter().for_each(|note| voice.say(note));
    let description = read(&settings.json)?;
    if let Some(line) = dropped::line(&linker::dropped_options(&description.common_args)) {
        voice.say(line);
    }
    let mut plan = Plan::new(description).map_err(|error| (EXIT_FAILED, error.to_string()))?;
    let fleet = find_hosts(settings, voice)?;
    let asked = settings.local_only.is_none() && settings.icecream.place != Place::Off;
    if asked || !fleet.volunteers.is_empty() {
        decide_who_stays(&mut plan, !fleet.volunteers.is_empty(), voice);
    }

    let slots = local_slots(settings, &fleet, voice);
    let useless = asked.then(|| cluster::useless(&plan, slots.policy.local_slots)).flatten();
    let cluster = asked && useless.is_none();
    raise_descriptor_limit(&fleet, cluster, slots.count);
    let jobs = plan.jobs.iter().map(|job| JobSpec { cost: job.cost, remote: job.stays.is_none() }).collect();
    let hosts = fleet.volunteers.iter().map(|volunteer| HostSpec { slots: volunteer.slots }).collect();
    let mut schedule = Schedule::new(jobs, hosts, slots.policy, Instant::now());
    if cluster {
        schedule = schedule.with_cluster(Instant::now());
    }
    let mut ledger = Ledger::new(plan.jobs.len(), &fleet.volunteers, asked, started);
    if let Some(reason) = useless {
        voice.tell(format_args!("icecream: {reason}"));
        ledger.cluster_failed(reason);
    }
    let ssh = &settings.ssh;
    let ssh = std::iter::once(&ssh.program).chain(&ssh.args).cloned().collect();
    let shared = Arc::new(Shared::new(plan, fleet.volunteers.clone(), Client::new(ssh, settings.io_timeout)));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| (EXIT_FAILED, format!("cannot start: {}", plain(&error))))?;
    let facts = cluster::Facts::default();
    let icecream = cluster.then(|| {
        let _inside = runtime.enter();
        cluster::start(settings, &shared.plan, slots.folder, &facts)
    });
    let drive = Drive::new(Arc::clone(&shared), schedule, rules(settings), slots.slots, icecream, voice, ledger);
    let (end, mut ledger) = runtime.block_on(drive.run(linker));
    if let Some(facts) = facts.get() {
        ledger.environment(facts.clone());
    }
    // A thread that waits for a local slot waits for other links.
    runtime.shutdown_background();
    Ok(conclude(settings, &shared, &fleet, voice, &end, &ledger))
}

/// Tells what has to be told at the end, writes the report, and says how it ended.
fn conclude(settings: &Settings, shared: &Shared, fleet: &Fleet, voice: &Voice, end: &End, ledger: &Ledger) -> u8 {
    let explanations = ledger.explanations();
    let mut lines = if explanations.is_empty() { ledger.failing_hosts() } else { explanations };
    lines.extend(ledger.useless_cluster(&lines));
    if !matches!(end, End::TooManyFallbacks(_)) {
        lines.iter().for_each(|line| voice.say(line));
    }
    let description = &shared.plan.description;
    let report = ledger.report(description, fleet, processor_time());
    ledger.places(&shared.plan).iter().for_each(|line| voice.tell(line));
    let totals = &report.totals;
    voice.tell(format_args!(
        "{} jobs: {} on hosts, {} here, {} of these fell back; {} bytes sent, {} received, {:.2} s",
        totals.jobs,
        totals.remote,
        totals.local,
        totals.fallbacks,
        totals.bytes_sent,
        totals.bytes_received,
        totals.seconds.as_secs_f64()
    ));
    if let Some(template) = &settings.report {
        let path = json::path(template, &description.linker_output, std::process::id(), Path::is_dir);
        if let Err(error) = write(&path, json::to_json(&report).as_bytes()) {
            voice.say(format_args!("cannot write the report {}: {}", path.display(), plain(&error)));
        }
    }
    match end {
        End::Complete => EXIT_OK,
        End::Failed(reason) => {
            voice.fail(reason);
            EXIT_FAILED
        }
        End::TooManyFallbacks(reason) => {
            voice.fail(reason);
            EXIT_FALLBACK
        }
        End::Signal(number) => EXIT_SIGNAL.saturating_add(u8::try_from(*number).unwrap_or_default()),
    }
}

/// Writes a report: whole or not at all, unless the name is that of a link, a device or a pipe.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(facts) if !facts.is_file() => std::fs::write(path, text),
        _ => publish(path, text),
    }
}

/// Reads the job description.
fn read(path: &Path) -> Result<Description, Refusal> {
    let usage = |what: String| (EXIT_USAGE, format!("{}: {what}", path.to_string_lossy().escape_debug()));
    let bytes = read_at_most(path, job::MAX_DESCRIPTION_BYTES)
        .map_err(|error| usage(format!("cannot read the job description: {}", plain(&error))))?;
    let description = job::parse(&bytes).map_err(|error| usage(error.to_string()))?;
    match description.suspicious().into_iter().find(|name| !name.witness.exists()) {
        Some(name) => Err(usage(name.error().to_string())),
        None => Ok(description),
    }
}

/// The hosts that the settings name.
fn find_hosts(settings: &Settings, voice: &Voice) -> Result<Fleet, Refusal> {
    if let Some(reason) = settings.local_only {
        voice.tell(format_args!("all jobs run here: {reason}"));
        return Ok(Fleet::default());
    }
    let icecream = settings.icecream.place != Place::Off;
    let Some(source) = &settings.hosts else {
        if !icecream {
            voice.tell("all jobs run here: there is no host list (--hosts, DISTCC_HOSTS, ~/.distcc/hosts)");
        }
        return Ok(Fleet::default());
    };
    let meant = !matches!(source.origin, Origin::SystemDefault(_));
    let fleet = fleet::fleet(source, &settings.remote_compilers)
        .map_err(|error| (EXIT_USAGE, format!("{}: {error}", source.origin)))?;
    // A host list that nobody has made says nothing to somebody who has a cluster.
    if meant || !icecream {
        tell_left_out(&fleet, voice);
    }
    for host in fleet::unknown_hosts(&fleet, &settings.remote_compilers) {
        voice.say(format_args!("--remote-compiler names {host}, which is not in the host list"));
    }
    let none_left = fleet.volunteers.is_empty() && !fleet.left_out.is_empty();
    if none_left && meant && !icecream && settings.fallback == Fallback::Forbidden {
        return Err((EXIT_FALLBACK, format!("--fallback is off, and every host of {} is left out", source.origin)));
    }
    Ok(fleet)
}

/// A line for each reason, however many hosts it concerns.
fn tell_left_out(fleet: &Fleet, voice: &Voice) {
    let mut reasons: std::collections::BTreeMap<&str, Vec<&str>> = std::collections::BTreeMap::new();
    for left_out in &fleet.left_out {
        reasons.entry(&left_out.reason).or_default().push(&left_out.host);
    }
    for (reason, hosts) in reasons {
        let are = if hosts.len() == 1 { "is" } else { "are" };
        voice.say(format_args!("{} {are} left out: {reason}", hosts.join(", ")));
    }
}

/// Jobs that cannot leave this machine although there are hosts: notes why, with a line for each reason.
fn decide_who_stays(plan: &mut Plan, distcc: bool, voice: &Voice) {
    if let ProfileTravels::No { bytes } = profile_travels(plan) {
        let reason =
            format!("the sample profile ({bytes} bytes, packed) costs more to send with each job than it saves");
        plan.jobs.iter_mut().filter(|job| job.stays.is_none()).for_each(|job| job.stays = Some(reason.clone()));
    }
    if distcc {
        let refusals: Vec<_> = (0..plan.jobs.len()).map(|job| refusal(plan, job)).collect();
        for (job, refusal) in plan.jobs.iter_mut().zip(refusals) {
            job.stays = job.stays.take().or(refusal);
        }
    }
    let mut reasons: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for reason in plan.jobs.iter().filter_map(|job| job.stays.as_deref()) {
        *reasons.entry(reason).or_default() += 1;
    }
    for (reason, jobs) in reasons {
        let jobs = if jobs == 1 { "1 job stays".to_owned() } else { format!("{jobs} jobs stay") };
        voice.say(format_args!("{jobs} on this machine: {reason}"));
    }
}

/// The local slots and how they are used.
struct LocalSlots {
    slots: Slots,
    /// Where their locks are; `None`: only this link counts.
    folder: Option<PathBuf>,
    count: usize,
    policy: Policy,
}

fn local_slots(settings: &Settings, fleet: &Fleet, voice: &Voice) -> LocalSlots {
    let bearable = slots::default_count();
    let wanted = settings.local_slots.or(fleet.local_slots).unwrap_or(bearable).min(slots::MAX_COUNT);
    let policy = Policy {
        local_slots: wanted,
        fallback_slots: bearable,
        eager: settings.fallback == Fallback::Allowed && settings.max_fallback.is_none(),
        patience: FIRST_DEADLINE,
    };
    let runtime_dir = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = slots::folder(runtime_dir.as_deref()).inspect_err(|reason| {
        voice.say(format_args!("local slots are not shared with other links: {reason}"));
    });
    // Zero local slots still leave what no host can do to this machine.
    let count = if wanted > 0 { wanted } else { bearable };
    let folder = folder.ok();
    LocalSlots { slots: Slots::new(folder.clone(), count), folder, count, policy }
}

fn rules(settings: &Settings) -> Rules {
    use std::hash::BuildHasher;
    // The standard hasher is seeded anew in every process.
    let random = std::hash::RandomState::new().hash_one(std::process::id());
    Rules {
        fallback: settings.fallback,
        max_fallback: settings.max_fallback,
        verify: settings.verify,
        phase: (random % 1_000_000) as usize,
    }
}

/// Hosts times slots can be more connections than the usual limit of 1024 descriptors. Raised no further than needed:
/// compilers inherit it, and some programs walk through all descriptors they may have.
fn raise_descriptor_limit(fleet: &Fleet, cluster: bool, local_jobs: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// A TCP connection is one descriptor; ssh has a socket, a pipe for its words and a process.
    const PER_CONNECTION: u64 = 3;
    /// A compiler has three pipes, of which both ends exist for a moment, a process and a slot's lock.
    const PER_COMPILER: u64 = 8;
    /// Jobs that a cluster is likely to give to one link, each with a connection to its host and one to an `iceccd`.
    const IN_CLUSTER: u64 = 256;
    /// Everything else: files being mapped and written, the runtime's own.
    const OTHERS: u64 = 128;
    // A host is probed beside its jobs.
    let connections: u64 = fleet.volunteers.iter().map(|volunteer| volunteer.slots as u64 + 1).sum();
    let in_cluster = if cluster { 2 * IN_CLUSTER } else { 0 };
    let wanted = connections * PER_CONNECTION + in_cluster + local_jobs as u64 * PER_COMPILER + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    let wanted = wanted.min(limit.maximum.unwrap_or(u64::MAX));
    if limit.current.is_some_and(|current| current < wanted) {
        // Failing to raise it leaves the limit that was there.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

/// Processor time of this process, its compilers not counted.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or_default(), time.tv_nsec.try_into().unwrap_or_default())
}
